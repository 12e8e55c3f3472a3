package policyfs_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var diffSeed = flag.Uint64("differential.seed", 0, "seed of TestDifferential; 0 for WORKSPACEFS_SEED, or else a new one")

// diffScriptLen is how many operations one script has: enough for trees and
// handles to become involved, few enough to shrink fast.
const diffScriptLen = 250

// TestDifferential runs random scripts through the face on memory and on a real
// directory: all flags, handles kept open over renames and removals, holes, paged
// directories, planted links, several sessions. Every result, with the text and
// the class of every error, and every tree must be the same. A script that shows
// a difference is shrunk and printed; TestDifferentialScripts runs it again from a
// file.
func TestDifferential(t *testing.T) {
	ops := scale(10_000, 50_000, 1_000_000)
	seed := diffFirstSeed(t)
	r := newDiffRun(t)
	steps := map[string]int{}
	succeeded := map[string]int{}
	start := time.Now()
	done := 0
	for i := uint64(0); done < ops; i++ {
		g := &diffGenerator{rand: rand.New(rand.NewPCG(seed, i))}
		script := g.script(min(diffScriptLen, ops-done))
		d := r.play(script)
		if d.err != nil {
			t.Fatal(d.err)
		}
		if d.at >= 0 {
			r.report(seed, script, d)
			return
		}
		done += len(script)
		for j, s := range script {
			steps[s.op]++
			if d.ok[j] {
				succeeded[s.op]++
			}
		}
	}
	t.Logf("%d operations, %d of them successful, seed %d (-differential.seed or WORKSPACEFS_SEED), %v%s", done, sum(succeeded), seed, time.Since(start).Round(time.Millisecond), map[bool]string{true: "; -short: a fifth of the ordinary number"}[testing.Short()])
	if testing.Verbose() {
		for _, op := range slices.Sorted(maps.Keys(diffShapes)) {
			t.Logf("%-12s %6d steps, %6d successful", op, steps[op], succeeded[op])
		}
	}
	for op := range diffShapes {
		// What never succeeds compares nothing but refusals.
		if succeeded[op] == 0 {
			t.Errorf("%s: %d steps, none of them successful", op, steps[op])
		}
	}
}

// TestDifferentialScripts runs the scripts in testdata/differential, each of which
// once showed a difference.
func TestDifferentialScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/differential/*.txt")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	r := newDiffRun(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, err := parseDiffScript(string(text))
			if err != nil {
				t.Fatal(err)
			}
			d := r.play(script)
			if d.err != nil {
				t.Fatal(d.err)
			}
			if d.at >= 0 {
				t.Error(d.text)
			}
		})
	}
}

// TestDifferentialScriptText: what is printed is what is replayed.
func TestDifferentialScriptText(t *testing.T) {
	g := &diffGenerator{rand: rand.New(rand.NewPCG(1, 2))}
	script := g.script(5000)
	text := renderDiffScript(script)
	again, err := parseDiffScript(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := renderDiffScript(again); got != text {
		t.Error("a script changes when it is printed and read")
	}
	for i := range script {
		if a, b := script[i], again[i]; a.op == "open" && (a.openFlag() != b.openFlag() || a.name != b.name || a.perm() != b.perm()) {
			t.Errorf("%v is read as %v", a, b)
		}
	}
	for _, bad := range []string{"fly", "mkdir a 0", `mkdir "a" x`, `close 6`, `close -1`, `write 0 A*3`, `write 0 a*-3`, `stat "a" 1`} {
		if _, err := parseDiffScript(bad); err == nil {
			t.Errorf("%q is read as a script", bad)
		}
	}
}

// TestDifferentialShrinks: of a failing script, what does not matter goes.
func TestDifferentialShrinks(t *testing.T) {
	g := &diffGenerator{rand: rand.New(rand.NewPCG(3, 4))}
	script := g.script(200)
	script[40] = diffStep{op: "mkdir", name: "a/b", mode: 0o755}
	script[150] = diffStep{op: "write", slot: 1, letter: 'q', size: 30}
	short := shrinkDiff(script, time.Now().Add(time.Minute), func(steps []diffStep) bool {
		mkdir := slices.IndexFunc(steps, func(s diffStep) bool { return s.op == "mkdir" && s.mode == 0o755 })
		return mkdir >= 0 && slices.ContainsFunc(steps[mkdir:], func(s diffStep) bool { return s.op == "write" && s.size > 4 })
	})
	if len(short) != 2 || short[1].size > 9 {
		t.Errorf("shrunk to %d steps:\n%s", len(short), renderDiffScript(short))
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// diffFirstSeed is the seed asked for, or a new one.
func diffFirstSeed(t *testing.T) uint64 {
	if *diffSeed != 0 {
		return *diffSeed
	}
	if s := os.Getenv("WORKSPACEFS_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("WORKSPACEFS_SEED: %v", err)
		}
		return seed
	}
	return rand.Uint64()
}

// diffRun plays scripts, each in a new directory.
type diffRun struct {
	t        *testing.T
	dir      string
	played   int
	policies diffPolicies
}

func newDiffRun(t *testing.T) *diffRun {
	t.Helper()
	// Memory has no umask, so the disk must do without.
	old := hostUmask(0)
	t.Cleanup(func() { hostUmask(old) })
	policies, err := newDiffPolicies()
	if err != nil {
		t.Fatal(err)
	}
	return &diffRun{t: t, dir: t.TempDir(), policies: policies}
}

// difference is what playing a script found.
type difference struct {
	at   int // the step; -1 for none
	text string
	ok   []bool // which steps succeeded
	err  error  // the script could not be played
}

// treeEvery is how many steps lie between two comparisons of the trees. The last
// step is always followed by one.
const treeEvery = 50

// play runs a script on both storages and stops at the first difference.
func (r *diffRun) play(script []diffStep) difference {
	r.played++
	dir := filepath.Join(r.dir, strconv.Itoa(r.played))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return difference{err: err}
	}
	defer os.RemoveAll(dir)
	disk, err := newDiskSide(dir)
	if err != nil {
		return difference{err: err}
	}
	defer disk.close()
	memory := newMemorySide()
	defer memory.close()
	first := diffStep{op: "use", flags: "strict", name: "/"}
	for _, side := range []*diffSide{memory, disk} {
		if err := side.use(first, r.policies); err != nil {
			return difference{err: err}
		}
	}
	d := difference{at: -1, ok: make([]bool, len(script))}
	for i, s := range script {
		a, b := memory.do(s, r.policies), disk.do(s, r.policies)
		if a != b {
			d.at, d.text = i, fmt.Sprintf("step %d, %v:\n memory %s\n disk   %s", i, s, a, b)
			return d
		}
		d.ok[i] = strings.HasSuffix(a, "ok") || s.op == "walk" && strings.Contains(a, " ok; ")
		if (i+1)%treeEvery != 0 && i != len(script)-1 {
			continue
		}
		if a, b := memory.tree(), disk.tree(); !slices.Equal(a, b) {
			d.at, d.text = i, fmt.Sprintf("the trees after step %d, %v:\n memory: %s\n disk:   %s", i, s, strings.Join(without(a, b), "\n         "), strings.Join(without(b, a), "\n         "))
			return d
		}
	}
	return d
}

// without returns the lines of a that b lacks.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// shrinkTime bounds how long a failing script is shrunk.
const shrinkTime = 30 * time.Second

// report shrinks a script and prints it.
func (r *diffRun) report(seed uint64, script []diffStep, d difference) {
	r.t.Helper()
	short := shrinkDiff(script[:d.at+1], time.Now().Add(shrinkTime), func(steps []diffStep) bool {
		d := r.play(steps)
		return d.err == nil && d.at >= 0
	})
	if again := r.play(short); again.at >= 0 {
		d = again
	} else {
		short = script
	}
	r.t.Errorf("memory and disk differ, seed %d (-differential.seed or WORKSPACEFS_SEED)\n%s\nThe script, for a file in testdata/differential:\n%s", seed, d.text, renderDiffScript(short))
}

// shrinkDiff makes a failing script shorter, and its steps simpler, as long as it
// still fails: steps go in halves first, then in smaller pieces, until no single
// one can go (delta debugging).
func shrinkDiff(script []diffStep, deadline time.Time, fails func([]diffStep) bool) []diffStep {
	for {
		before := renderDiffScript(script)
		for size := max(1, len(script)/2); size > 0; size /= 2 {
			for at := len(script) - size; at >= 0 && time.Now().Before(deadline); at -= size {
				if shorter := slices.Delete(slices.Clone(script), at, at+size); fails(shorter) {
					script = shorter
				}
				at = min(at, len(script))
			}
		}
		for i := range script {
			for _, simpler := range simplerSteps(script[i]) {
				if time.Now().After(deadline) {
					return script
				}
				with := slices.Clone(script)
				with[i] = simpler
				if fails(with) {
					script = with
				}
			}
		}
		if renderDiffScript(script) == before || time.Now().After(deadline) {
			return script
		}
	}
}

// simplerSteps are steps that may do in the place of s.
func simplerSteps(s diffStep) []diffStep {
	var list []diffStep
	add := func(change func(*diffStep)) {
		simpler := s
		if change(&simpler); simpler != s {
			list = append(list, simpler)
		}
	}
	add(func(s *diffStep) { s.size = min(s.size, 1) })
	add(func(s *diffStep) { s.size /= 2 })
	add(func(s *diffStep) { s.letter = 'a' })
	add(func(s *diffStep) { s.n /= 2 })
	add(func(s *diffStep) { s.m = min(s.m, 1) })
	add(func(s *diffStep) { s.slot = 0 })
	if s.mode != 0 {
		add(func(s *diffStep) { s.mode = 0o755 })
	}
	add(func(s *diffStep) { _, s.name = cutFirst(s.name) })
	add(func(s *diffStep) { _, s.to = cutFirst(s.to) })
	if s.op == "use" {
		add(func(s *diffStep) { s.name = "/" })
		for _, w := range []string{"parents", "dotdot", "policed", "fewentries", "portable"} {
			add(func(s *diffStep) { s.flags = strings.ReplaceAll(s.flags, "|"+w, "") })
		}
	}
	return list
}

// cutFirst cuts the first element off a name that has more than one.
func cutFirst(name string) (string, string) {
	if first, rest, ok := strings.Cut(name, "/"); ok && rest != "" {
		return first, rest
	}
	return "", name
}
