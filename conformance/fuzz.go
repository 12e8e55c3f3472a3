package conformance

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// fuzzSeeds is how many random scripts a plain "go test" runs, and shortSeeds how
// many "go test -short" does.
const (
	fuzzSeeds  = 48
	shortSeeds = 12
)

// Fuzz is a fuzz target: it runs sequences of operations on the provider and on
// a model that is as simple as the contract allows, and compares every answer
// and the tree. A sequence that shows a difference is shrunk and printed as a
// script that [Replay] runs. Without -fuzz it runs a fixed set of sequences.
//
// The Harness needs New.
func Fuzz(f *testing.F, h Harness) {
	f.Helper()
	if h.New == nil {
		f.Fatal("conformance: Fuzz needs a Harness with New")
	}
	seeds := uint64(fuzzSeeds)
	if testing.Short() {
		seeds = shortSeeds
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 200+rng.IntN(300))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		t.Helper()
		runShrunk(t, h, decode(data))
	})
}

// Replay runs a script that [Fuzz] printed: one operation a line, held against
// the model.
func Replay(t testing.TB, h Harness, script string) {
	t.Helper()
	steps, err := parseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	if out := play(t, h, steps); out.verdict == fails {
		t.Error(out.report)
	}
}

// runShrunk plays a script, and a shorter one for the report if it fails.
func runShrunk(t testing.TB, h Harness, steps []step) {
	t.Helper()
	out := play(t, h, steps)
	if out.verdict != fails {
		return
	}
	short, out := shrink(steps, out, func(steps []step) outcome { return play(t, h, steps) })
	t.Errorf("%s\nreplay with conformance.Replay(t, h, `\n%s`)", out.report, renderScript(short))
}

// shrinkBudget bounds how long shrinking takes.
const shrinkBudget = 20 * time.Second

// shrink removes steps, in halves, then in smaller pieces, as long as what is
// left still fails.
func shrink(steps []step, out outcome, play func([]step) outcome) ([]step, outcome) {
	deadline := time.Now().Add(shrinkBudget)
	for size := len(steps) / 2; size > 0; {
		removed := false
		for at := 0; at+size <= len(steps) && time.Now().Before(deadline); {
			shorter := slices.Delete(slices.Clone(steps), at, at+size)
			if o := play(shorter); o.verdict == fails {
				steps, out, removed = shorter, o, true
				continue
			}
			at += size
		}
		if !removed || size > len(steps) {
			size /= 2
		}
		if time.Now().After(deadline) {
			break
		}
	}
	return steps, out
}

// play runs a script against a new provider and a new model.
func play(t testing.TB, h Harness, steps []step) outcome {
	t.Helper()
	tr := newTrial(t)
	c := &probe{trial: tr, h: h, id: "FUZZ", needs: needWrite}
	return tr.run("The provider answers as the model of the contract does.", "FUZZ", func() {
		c.prepare()
		p := &player{probe: c, model: newModel()}
		for i, s := range steps {
			p.step(s)
			if i%16 == 15 {
				p.compare()
			}
		}
		p.compare()
	}, ordinaryPatience)
}

// player plays a script.
type player struct {
	*probe
	model *model
	held  [heldFiles]heldFile
}

// heldFile is an open File with its node in the model.
type heldFile struct {
	f    provider.File
	n    *node
	opts provider.OpenOptions
}

func (p *player) compare() {
	got := p.observe(".")
	want := p.model.layout()
	p.sameTree(want, got)
}

// agrees compares an error with the ones that the model allows, and reports
// whether the call succeeded.
func (p *player) agrees(s step, err error, want []error) bool {
	if len(want) == 0 {
		if err != nil {
			p.failNow(s.String()+" succeeds", describe(err))
		}
		return true
	}
	p.fails(err, s.String(), want...)
	return false
}

// inPlace reports whether the step may be made: storage that cannot write in
// place has ERR-not-in-place instead.
func (p *player) inPlace(o provider.OpenOptions) bool {
	return p.features.InPlace || !o.Write && !o.Append && !o.Truncate
}

func (p *player) step(s step) {
	if s.name == "" {
		p.stepHeld(s)
		return
	}
	name := provider.MustPath(s.name)
	switch s.op {
	case "mkdir":
		p.agrees(s, p.mkdir(s.name), p.model.mkdir(name))
	case "remove":
		p.agrees(s, p.remove(s.name), p.model.remove(name))
	case "rename":
		to := provider.MustPath(s.to)
		p.agrees(s, p.renameWith(s.name, s.to, s.renameOptions()), p.model.rename(name, to, s.renameOptions()))
	case "replace":
		p.stepReplace(s, name)
	case "chmod":
		if p.features.Chmod && !name.IsRoot() {
			p.agrees(s, p.chmod(s.name, s.mode()), p.model.chmod(name, s.mode()))
		}
	case "open", "hold":
		p.stepOpen(s, name)
	case "write", "append", "truncate":
		p.stepWrite(s, name)
	default:
		p.stepLook(s, name)
	}
}

func (p *player) stepReplace(s step, name provider.Path) {
	var o provider.ReplaceOptions
	switch s.flags {
	case "absent":
		o.If = provider.IfAbsent()
	case "match":
		if n, err := p.model.find(name); err == nil && !n.isDir() {
			o.If = provider.IfMatch(digestOf(string(n.data)))
		}
	case "stale":
		o.If = provider.IfMatch(digestOf("what nobody wrote"))
	}
	d, err := p.replaceWith(s.name, s.text, o)
	if p.agrees(s, err, p.model.replace(name, s.text, o)) {
		p.expect(d == digestOf(s.text), "the digest of the content", "%s", d)
	}
}

func (p *player) stepOpen(s step, name provider.Path) {
	o := parseOptions(s.flags)
	if !p.inPlace(o) {
		return
	}
	f, err := p.open(s.name, o)
	n, want := p.model.open(name, o)
	if !p.agrees(s, err, want) {
		return
	}
	if s.op == "open" {
		p.ok(f.Close())
		return
	}
	if old := p.held[s.slot].f; old != nil {
		p.ok(old.Close())
	}
	p.held[s.slot] = heldFile{f, n, o}
}

// stepWrite opens a file by name, changes it and closes it.
func (p *player) stepWrite(s step, name provider.Path) {
	if !p.features.InPlace {
		return
	}
	o := optAppend
	f, err := p.open(s.name, o)
	n, want := p.model.open(name, o)
	if !p.agrees(s, err, want) {
		return
	}
	p.change(s, heldFile{f, n, o})
	p.ok(f.Close())
}

// change writes to an open file, and to its node.
func (p *player) change(s step, h heldFile) {
	switch s.op {
	case "write", "hwrite":
		n, err := h.f.WriteAt([]byte(s.text), s.number)
		p.ok(err)
		p.expect(n == len(s.text), fmt.Sprintf("%s writes %d bytes", s, len(s.text)), "%d", n)
		h.n.writeAt(s.text, s.number)
	case "append", "happend":
		n, end, err := h.f.Append([]byte(s.text))
		p.ok(err)
		h.n.writeAt(s.text, int64(len(h.n.data)))
		p.expect(n == len(s.text) && end == int64(len(h.n.data)), fmt.Sprintf("%s returns %d and the size %d", s, len(s.text), len(h.n.data)), "%d, %d", n, end)
	case "truncate", "htruncate":
		p.ok(h.f.Truncate(s.number))
		h.n.truncate(s.number)
	}
}

// stepLook looks at a name.
func (p *player) stepLook(s step, name provider.Path) {
	n, err := p.model.find(name)
	var want []error
	if err != nil {
		want = []error{err}
	}
	switch s.op {
	case "stat":
		info, err := p.stat(s.name)
		if p.agrees(s, err, want) {
			p.sameNode(s, info, n)
		}
	case "list":
		if want == nil && !n.isDir() {
			want = []error{syscall.ENOTDIR}
		}
		f, err := p.open(s.name, optDir)
		if p.agrees(s, err, want) {
			p.lists(f, s.String(), n.entries()...)
			p.ok(f.Close())
		}
	case "read":
		if want == nil && n.isDir() {
			want = []error{syscall.EISDIR}
		}
		data, err := provider.ReadFile(p.ctx, p.p, name)
		if p.agrees(s, err, want) {
			p.expect(string(data) == string(n.data), fmt.Sprintf("%s reads %s", s, describeBytes(n.data)), "%s", describeBytes(data))
		}
	}
}

// sameNode compares a description with the model.
func (p *player) sameNode(s step, info fs.FileInfo, n *node) {
	p.expect(info.IsDir() == n.isDir() && (n.isDir() || info.Size() == int64(len(n.data))), fmt.Sprintf("%s says directory %v, %d bytes", s, n.isDir(), len(n.data)), "%s", describeInfo(info))
	if n.hasMode {
		p.expect(info.Mode().Perm() == n.mode, fmt.Sprintf("%s says the mode %v", s, n.mode), "%s", describeInfo(info))
	}
}

// stepHeld uses a File that the script holds open.
func (p *player) stepHeld(s step) {
	h := p.held[s.slot]
	if h.f == nil {
		return
	}
	switch s.op {
	case "hclose":
		p.ok(h.f.Close())
		p.fails(h.f.Close(), "the second Close", fs.ErrClosed)
		p.held[s.slot] = heldFile{}
	case "hstat":
		info, err := h.f.Stat()
		p.ok(err)
		p.sameNode(s, info, h.n)
	case "hread":
		if !h.n.isDir() && h.opts.Read {
			p.handleHolds(h.f, s.String(), string(h.n.data))
		}
	case "hlist":
		if h.n.isDir() {
			entries, err := h.f.ReadDir(0)
			if err != nil { // a directory that was removed
				p.fails(err, s.String()+", if the directory is gone,", fs.ErrNotExist)
				p.expect(len(h.n.kids) == 0, s.String()+" lists its entries", "%s", describe(err))
				return
			}
			p.expect(slices.Equal(names(entries), h.n.entries()), fmt.Sprintf("%s lists %q", s, h.n.entries()), "%q", names(entries))
		}
	case "hwrite", "htruncate":
		if !h.n.isDir() && h.opts.Write {
			p.change(s, h)
		}
	case "happend":
		if !h.n.isDir() && h.opts.Write && h.opts.Append {
			p.change(s, h)
		}
	}
}
