package memfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// call is one operation of a concurrent history, in a form that both an FS and
// the model can do. The result of each is text, and must be the same.
type call struct {
	name  string
	real  func(m *FS, h provider.File) string
	model func(s *linearState) string

	start, end int64
	result     string
}

// linearState is the model with one file that the history has a handle on.
type linearState struct {
	m     *model
	h     *object
	ticks int64 // of the clock, one for each change
}

func (s *linearState) copy() *linearState {
	c := &linearState{ticks: s.ticks}
	var dup func(o *object) *object
	dup = func(o *object) *object {
		d := *o
		d.data, d.lens = slices.Clone(o.data), maps.Clone(o.lens)
		if o.kids != nil {
			d.kids = map[string]*kid{}
			for key, k := range o.kids {
				d.kids[key] = &kid{k.name, dup(k.obj)}
			}
		}
		if o == s.h {
			c.h = &d
		}
		return &d
	}
	c.m = &model{opts: s.m.opts, clock: func() int64 { c.ticks++; return c.ticks }, root: dup(s.m.root)}
	for _, o := range s.m.gone {
		c.m.gone = append(c.m.gone, dup(o))
	}
	if c.h == nil {
		dup(s.h) // it is nowhere in the tree
	}
	return c
}

func (s *linearState) String() string {
	return renderModel(s.m.root) + times(s.m.root) + "|" + string(s.h.data) + "|" + fmt.Sprint(s.m.usage(), s.ticks)
}

func times(o *object) string {
	b := fmt.Sprint(o.mtime, " ")
	for _, key := range slices.Sorted(maps.Keys(o.kids)) {
		b += times(o.kids[key].obj)
	}
	return b
}

func renderModel(o *object) string {
	if o.kids == nil {
		return fmt.Sprintf("%v=%s;", o.mode, o.data)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v{", o.mode)
	for _, key := range slices.Sorted(maps.Keys(o.kids)) {
		b.WriteString(key + ":" + renderModel(o.kids[key].obj))
	}
	return b.String() + "}"
}

func renderTree(m *FS, p provider.Path) string {
	ctx := context.Background()
	info, err := m.Stat(ctx, p)
	if err != nil {
		return err.Error()
	}
	if !info.IsDir() {
		data, err := m.ReadFile(ctx, p, 0)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%v=%s;", info.Mode(), data)
	}
	f, err := m.Open(ctx, p, provider.OpenOptions{Read: true})
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	list, err := f.ReadDir(0)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v{", info.Mode())
	for _, e := range list {
		q, _ := p.Join(e.Name())
		b.WriteString(e.Name() + ":" + renderTree(m, q))
	}
	return b.String() + "}"
}

func text(v any, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}

func randomCall(r *rand.Rand, id int) *call {
	names := []string{"a", "b", "d", "d/x", "e", "e/x", "d/y/z"}
	pick := func() provider.Path { return provider.MustPath(names[r.IntN(len(names))]) }
	ctx := context.Background()
	p, q := pick(), pick()
	data := []byte(fmt.Sprintf("<%d>", id))
	switch r.IntN(13) {
	case 0:
		return &call{name: fmt.Sprintf("mkdir %v", p),
			real:  func(m *FS, _ provider.File) string { return text("ok", m.Mkdir(ctx, p, 0o755)) },
			model: func(s *linearState) string { return text("ok", s.m.mkdir(p, 0o755)) }}
	case 1:
		return &call{name: fmt.Sprintf("remove %v", p),
			real:  func(m *FS, _ provider.File) string { return text("ok", m.Remove(ctx, p)) },
			model: func(s *linearState) string { return text("ok", s.m.remove(p)) }}
	case 2, 3, 4:
		opts := provider.RenameOptions{NoReplace: r.IntN(3) == 0}
		return &call{name: fmt.Sprintf("rename %v %v %+v", p, q, opts),
			real:  func(m *FS, _ provider.File) string { return text("ok", m.Rename(ctx, p, q, opts)) },
			model: func(s *linearState) string { return text("ok", s.m.rename(p, q, opts)) }}
	case 5:
		opts := provider.ReplaceOptions{}
		if r.IntN(2) == 0 {
			opts.If = provider.IfAbsent()
		}
		return &call{name: fmt.Sprintf("replace %v %s %+v", p, data, opts),
			real:  func(m *FS, _ provider.File) string { return text(m.Replace(ctx, p, bytes.NewReader(data), opts)) },
			model: func(s *linearState) string { return text(s.m.replace(p, data, opts)) }}
	case 6:
		opts := provider.ReplaceOptions{If: provider.IfMatch(digestOf([]byte("start")))}
		p := provider.MustPath("a")
		return &call{name: fmt.Sprintf("replace %v %s if start", p, data),
			real:  func(m *FS, _ provider.File) string { return text(m.Replace(ctx, p, bytes.NewReader(data), opts)) },
			model: func(s *linearState) string { return text(s.m.replace(p, data, opts)) }}
	case 7:
		return &call{name: fmt.Sprintf("stat %v", p),
			real: func(m *FS, _ provider.File) string {
				info, err := m.Stat(ctx, p)
				if err != nil {
					return err.Error()
				}
				return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
			},
			model: func(s *linearState) string {
				o, err := s.m.stat(p)
				if err != nil {
					return err.Error()
				}
				return fmt.Sprint(o.mode, len(o.data), o.mtime)
			}}
	case 8:
		return &call{name: fmt.Sprintf("readfile %v", p),
			real: func(m *FS, _ provider.File) string {
				data, err := m.ReadFile(ctx, p, 0)
				return text(string(data), err)
			},
			model: func(s *linearState) string {
				o, err := s.m.stat(p)
				switch {
				case err != nil:
					return err.Error()
				case o.kids != nil:
					return errIsDir.Error()
				}
				return string(o.data)
			}}
	case 9:
		return &call{name: fmt.Sprintf("append %s", data),
			real: func(_ *FS, h provider.File) string { _, end, err := h.Append(data); return text(end, err) },
			model: func(s *linearState) string {
				err := s.m.write(s.h, data, int64(len(s.h.data)))
				return text(len(s.h.data), err)
			}}
	case 10:
		return &call{name: "readat",
			real: func(_ *FS, h provider.File) string {
				buf := make([]byte, 1000)
				n, err := h.ReadAt(buf, 0)
				if err != nil && err != io.EOF {
					return err.Error()
				}
				return string(buf[:n])
			},
			model: func(s *linearState) string { return string(s.h.data) }}
	case 11:
		size := int64(r.IntN(9))
		return &call{name: fmt.Sprintf("truncate %d", size),
			real:  func(_ *FS, h provider.File) string { return text("ok", h.Truncate(size)) },
			model: func(s *linearState) string { return text("ok", s.m.truncate(s.h, size)) }}
	}
	return &call{name: "clone",
		real:  func(m *FS, _ provider.File) string { return renderTree(m.Clone(), provider.Path{}) },
		model: func(s *linearState) string { return renderModel(s.m.root) }}
}

// linearize looks for an order of the calls, with each between its start and its
// end, in which the model gives every result. steps bounds the search.
func linearize(calls []*call, s *linearState, steps *int) bool {
	calls = slices.SortedFunc(slices.Values(calls), func(a, b *call) int { return int(a.end - b.end) }) // the likely order first
	seen := map[string]bool{}
	var try func(done uint64, s *linearState) bool
	try = func(done uint64, s *linearState) bool {
		if bits.OnesCount64(done) == len(calls) {
			return true
		}
		if *steps--; *steps < 0 {
			return false
		}
		before := s.String()
		key := fmt.Sprint(done, before)
		if seen[key] {
			return false
		}
		seen[key] = true
		first := int64(1) << 62
		for i, c := range calls {
			if done&(1<<i) == 0 {
				first = min(first, c.end)
			}
		}
		type way struct {
			done uint64
			s    *linearState
		}
		var ways []way
		for i, c := range calls {
			if done&(1<<i) != 0 || c.start > first {
				continue
			}
			next := s.copy()
			if c.model(next) != c.result {
				continue
			}
			if next.String() == before {
				// It changed nothing and nothing has to come before it: in any
				// order that explains the rest it may as well come first.
				return try(done|1<<i, next)
			}
			ways = append(ways, way{done | 1<<i, next})
		}
		return slices.ContainsFunc(ways, func(w way) bool { return try(w.done, w.s) })
	}
	return try(0, s)
}

// TestLinearizable has 16 goroutines on a tree of seven names, with a shared
// handle and clones, and looks for a sequential order that explains all results.
func TestLinearizable(t *testing.T) {
	rounds := 250
	switch {
	case os.Getenv("WORKSPACEFS_LONG") != "":
		rounds = 5000
	case testing.Short():
		rounds = 60
	}
	const goroutines, each, budget = 16, 2, 4000
	// More processors than there are, and a clock that gives way while locks are
	// held, make calls overlap on a small machine too.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(goroutines))
	undecided, overlapping := 0, 0
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(s, uint64(round)))
		var ticks atomic.Int64
		opts := Options{MaxFiles: 7, MaxBytes: 60, Now: func() time.Time {
			runtime.Gosched()
			return time.Unix(0, ticks.Add(1))
		}}
		state := &linearState{}
		m, mod := New(opts), newModel(opts, func() int64 { state.ticks++; return state.ticks })
		if round%4 != 0 {
			m.unremembered.Store(1 << 20) // the path cache is there from the start
		}
		h, o := linearStart(t, m, mod)
		state.m, state.h = mod, o
		for range 2 {
			for _, name := range []string{"a", "d", "e"} {
				m.Stat(t.Context(), provider.MustPath(name))
			}
		}
		var calls []*call
		var clock atomic.Int64
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for range goroutines {
			mine := make([]*call, each)
			for i := range mine {
				mine[i] = randomCall(r, len(calls)+i)
			}
			calls = append(calls, mine...)
			wg.Go(func() {
				<-begin
				for _, c := range mine {
					c.start = clock.Add(1)
					c.result = c.real(m, h)
					c.end = clock.Add(1)
				}
			})
		}
		close(begin)
		wg.Wait()
		for _, c := range calls {
			if c.end > c.start+1 {
				overlapping++
			}
		}
		checkTree(t, m)
		steps := budget
		if !linearize(calls, state, &steps) {
			if steps < 0 {
				undecided++
				continue
			}
			slices.SortFunc(calls, func(a, b *call) int { return int(a.start - b.start) })
			for _, c := range calls {
				t.Logf("%d-%d %s: %s", c.start, c.end, c.name, c.result)
			}
			t.Fatalf("no order explains these results; seed %d round %d", s, round)
		}
		h.Close()
	}
	t.Logf("%d rounds, %d calls overlapping another, %d rounds undecided", rounds, overlapping, undecided)
	if undecided > rounds/10 {
		t.Errorf("%d of %d rounds undecided", undecided, rounds)
	}
}

// linearStart makes the same start on both sides: file a with an open handle, and
// directories d and e.
func linearStart(t *testing.T, m *FS, mod *model) (provider.File, *object) {
	ctx := t.Context()
	a, d, e := provider.MustPath("a"), provider.MustPath("d"), provider.MustPath("e")
	if _, err := m.Replace(ctx, a, strings.NewReader("start"), provider.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	opts := provider.OpenOptions{Read: true, Write: true, Append: true}
	h, err := m.Open(ctx, a, opts)
	_, err1 := mod.replace(a, []byte("start"), provider.ReplaceOptions{})
	o, err2 := mod.open(a, opts)
	err = errors.Join(err, err1, err2, m.Mkdir(ctx, d, 0o755), m.Mkdir(ctx, e, 0o755), mod.mkdir(d, 0o755), mod.mkdir(e, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return h, o
}

// TestLinearizeFindsFaults shows that the search says no: two exclusive creates
// that both won, and a read that saw what was never there.
func TestLinearizeFindsFaults(t *testing.T) {
	steps := 1000
	mod := newModel(Options{}, func() int64 { return 0 })
	made := func() *call {
		return &call{start: 1, end: 9, result: "ok", model: func(s *linearState) string {
			return text("ok", s.m.mkdir(provider.MustPath("a"), 0o755))
		}}
	}
	state := func() *linearState { return &linearState{m: mod.clone(), h: &object{mode: fs.ModeDir}} }
	if !linearize([]*call{made()}, state(), &steps) {
		t.Error("one mkdir is refused")
	}
	if linearize([]*call{made(), made()}, state(), &steps) {
		t.Error("two winners are accepted")
	}
	late := made()
	late.start, late.end = 20, 21
	gone := &call{start: 30, end: 31, result: errNotExist.Error(), model: func(s *linearState) string {
		_, err := s.m.stat(provider.MustPath("a"))
		return text("there", err)
	}}
	if linearize([]*call{late, gone}, state(), &steps) {
		t.Error("a stat that ignores what was finished before it is accepted")
	}
}
