package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// randomTree makes a tree with names that sort around the slash.
func randomTree(r *rand.Rand, size int) tree {
	names := []string{"a", "a-b", "a.b", "a b", "ab", "b", "z", "0", "A", "a!", "a/", "\u00e9", "x", "y", "a-", "a0"}
	tr := tree{}
	dirs := []string{""}
	for range size {
		dir := dirs[r.IntN(len(dirs))]
		name := dir + strings.TrimSuffix(names[r.IntN(len(names))], "/")
		if strings.Count(name, "/") > 6 || slices.Contains(dirs, name+"/") {
			continue
		}
		if _, ok := tr[name]; ok {
			continue
		}
		if r.IntN(2) == 0 {
			dirs = append(dirs, name+"/")
			tr[name+"/"] = ""
		} else {
			tr[name] = "text"
		}
	}
	return tr
}

// paths are the canonical paths of a tree, sorted by bytes, with the root.
func (tr tree) paths() []string {
	out := []string{"/workspace"}
	for name := range tr {
		out = append(out, "/workspace/"+strings.TrimSuffix(name, "/"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestWalkIsInByteOrderOfThePath(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 6))
	for range scale(20, 150, 3000) {
		tr := randomTree(r, 1+r.IntN(120))
		f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
		var got []string
		for e, err := range f.Walk("/") {
			if err != nil {
				t.Fatal(err)
			}
			if e.DirEntry.Name() != e.Path.Base() || e.Name != e.Path.String() && e.Path.String() != "/workspace" {
				t.Fatalf("entry %v, name %q, %q", e.Path, e.Name, e.DirEntry.Name())
			}
			got = append(got, e.Path.String())
		}
		if want := tr.paths(); !slices.Equal(got, want) {
			t.Fatalf("walk of %q:\n got %q\nwant %q", slices.Sorted(maps.Keys(tr)), got, want)
		}
	}
}

func TestWalkTable(t *testing.T) {
	tr := tree{"a/z": "1", "a-b": "22", "a.b/c": "333", "src/generated/x": "", "src/main": "", ".env": "S", ".git/config": "S", "credentials.json": "S", ".agents/s": "", "file": "abc"}
	full := policyfs.Spec{AllowRead: []string{"/"}}
	for _, c := range []struct {
		name, root string
		spec       policyfs.Spec
		want       string
	}{
		{"all visible", "/", full, "[a a-b a.b a.b/c a/z file src src/generated src/generated/x src/main]"},
		{"below a directory", "/src", full, "[src src/generated src/generated/x src/main]"},
		{"relative", "src/generated", full, "[src/generated src/generated/x]"},
		{"a file", "/file", full, "[file]"},
		{"spine", "/", policyfs.Spec{AllowRead: []string{"src/generated"}}, "[src src/generated src/generated/x]"},
		{"spine of a file", "/", policyfs.Spec{AllowRead: []string{"src/main"}}, "[src src/main]"},
		{"denied inside", "/", policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"/a", "/src/main"}}, "[a-b a.b a.b/c file src src/generated src/generated/x]"},
		{"hidden opt-in", "/", policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{".agents"}}, "[.agents .agents/s a a-b a.b a.b/c a/z file src src/generated src/generated/x src/main]"},
		{"below a hidden scope", "/.agents", policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{".agents"}}, "[.agents .agents/s]"},
	} {
		s := newSpy(tr.memory(t))
		f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, c.spec)})
		if got := fmt.Sprint(walked(t, f, c.root, policyfs.WalkOptions{})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		_, opened := s.take()
		for p := range opened {
			if !p.IsRoot() && !strings.Contains(c.want, p.String()) {
				t.Errorf("%s: the provider was asked for %v", c.name, p)
			}
		}
	}
}

func TestWalkRootErrors(t *testing.T) {
	m := tree{"file": "x", "private/x": "", ".env": ""}.memory(t)
	m.Symlink("file", provider.MustPath("link"))
	f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"private"}})})
	var zero policyfs.FS
	for _, c := range []struct {
		f    *policyfs.FS
		root string
		want error
	}{
		{f, "/private", fs.ErrPermission}, {f, "/.env", fs.ErrPermission}, {f, "/missing", fs.ErrNotExist}, {f, "/link", provider.ErrSymlink}, {f, "/link/x", provider.ErrSymlink},
		{f, "/file/", syscall.ENOTDIR}, {f, "../x", fs.ErrInvalid}, {f, "a\x00", fs.ErrInvalid}, {&zero, "/", fs.ErrPermission},
	} {
		n := 0
		for e, err := range c.f.Walk(c.root) {
			n++
			if !errors.Is(err, c.want) {
				t.Errorf("Walk(%q): %v, %v; want %v", c.root, e, err, c.want)
			}
			if pe := new(fs.PathError); !errors.As(err, &pe) || pe.Op != "walk" {
				t.Errorf("Walk(%q): %v is no *fs.PathError", c.root, err)
			}
		}
		if n != 1 {
			t.Errorf("Walk(%q) yielded %d times", c.root, n)
		}
		for _, err := range c.f.Grep(c.root, policyfs.Query{Pattern: "x"}) {
			if !errors.Is(err, c.want) {
				t.Errorf("Grep(%q): %v; want %v", c.root, err, c.want)
			}
		}
	}
}

func TestWalkNeverFollowsLinks(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			b := newBox(t, kind)
			b.file("O/d/s", "SECRET")
			b.file("W/x/f", "plain")
			b.link("W/l", "O/d")
			b.link("W/x/self", "../x")
			b.link("W/x/f2", "f")
			b.open()
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: everything(t)})
			var got []string
			for e, err := range f.Walk("/") {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Name+" "+e.DirEntry.Type().String())
				if info, err := e.DirEntry.Info(); err != nil || info.Mode().Type() != e.DirEntry.Type() || info.Mode()&fs.ModeSymlink != 0 && info.Size() != 0 {
					t.Errorf("%s: Info %v, %v", e.Name, info, err)
				}
			}
			if want := "[/workspace d--------- /workspace/l L--------- /workspace/x d--------- /workspace/x/f ---------- /workspace/x/f2 L--------- /workspace/x/self L---------]"; fmt.Sprint(got) != want {
				t.Errorf("got %v\nwant %v", got, want)
			}
			for m, err := range f.Grep("/", policyfs.Query{Pattern: "SECRET|plain"}) {
				if err != nil || m.Path.String() != "/workspace/x/f" {
					t.Errorf("grep: %v, %v", m, err)
				}
			}
			if names, err := f.Glob("/**/s"); err != nil || len(names) > 0 {
				t.Errorf("glob: %v, %v", names, err)
			}
		})
	}
}

func TestWalkAcrossMounts(t *testing.T) {
	app := tree{"main.go": "k", "lib/x": "k", "data/covered": "k"}.memory(t)
	data := tree{"d1": "k", "sub/d2": "k"}.memory(t)
	notes := tree{"n": "k"}.memory(t)
	ns, err := namespace.New(
		namespace.Mount{At: "/workspace", Provider: app, Access: namespace.ReadWrite},
		namespace.Mount{At: "/data", Provider: data},
		namespace.Mount{At: "/mnt/notes", Provider: notes})
	if err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(ns, policyfs.Options{Policy: everything(t)})
	if got, want := fmt.Sprint(walked(t, f, "/", policyfs.WalkOptions{})), "[data data/d1 data/sub data/sub/d2 lib lib/x main.go mnt mnt/notes mnt/notes/n]"; got != want {
		t.Errorf("walk: %s\nwant %s", got, want)
	}
	if got, want := fmt.Sprint(walked(t, f, "/mnt", policyfs.WalkOptions{})), "[mnt mnt/notes mnt/notes/n]"; got != want {
		t.Errorf("walk /mnt: %s\nwant %s", got, want)
	}
	var lines []string
	for m, err := range f.Grep("/", policyfs.Query{Pattern: "k"}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m.Name)
	}
	if got, want := fmt.Sprint(lines), "[/data/d1 /data/sub/d2 /workspace/lib/x /workspace/main.go /mnt/notes/n]"; got != want {
		t.Errorf("grep: %s\nwant %s", got, want)
	}
	if got, err := f.Glob("/**/d?"); err != nil || fmt.Sprint(got) != "[/data/d1 /data/sub/d2]" {
		t.Errorf("glob: %v, %v", got, err)
	}
	denied := f.WithPolicy(compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"/data/sub", "/mnt"}}))
	if got, want := fmt.Sprint(walked(t, denied, "/", policyfs.WalkOptions{})), "[data data/d1 lib lib/x main.go]"; got != want {
		t.Errorf("walk: %s\nwant %s", got, want)
	}
}

// TestWalkJudgesAliases: a provider mounted twice is judged at both places.
func TestWalkJudgesAliases(t *testing.T) {
	m := tree{"a": "k", "secret": "k", "d/secret": "k"}.memory(t)
	ns, err := namespace.New(namespace.Mount{At: "/data", Provider: m}, namespace.Mount{At: "/mnt/same", Provider: m})
	if err != nil {
		t.Fatal(err)
	}
	s := compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"/mnt/same/secret", "/data/d/secret"}})
	f := policyfs.New(ns, policyfs.Options{Policy: s})
	if got, want := fmt.Sprint(walked(t, f, "/", policyfs.WalkOptions{})), "[data data/a data/d mnt mnt/same mnt/same/a mnt/same/d]"; got != want {
		t.Errorf("walk: %s\nwant %s", got, want)
	}
	for m, err := range f.Grep("/", policyfs.Query{Pattern: "k"}) {
		if err != nil || m.Path.Base() != "a" {
			t.Errorf("grep: %v, %v", m, err)
		}
	}
}

func TestWalkSkip(t *testing.T) {
	// Where there are goroutines that list ahead, they have time to do so.
	tr := tree{}
	for i := range 100 {
		tr[fmt.Sprintf("d%02d/node_modules/x", i)] = ""
	}
	ahead := newSpy(tr.memory(t))
	for e := range policyfs.New(namespace.Workspace(ahead), policyfs.Options{Policy: everything(t)}).Walk("/", policyfs.WalkOptions{
		Skip: func(e policyfs.Entry) bool { return e.Path.Base() == "node_modules" },
	}) {
		if e.Path.Base() == "x" {
			t.Errorf("%s was yielded", e.Name)
		}
		time.Sleep(50 * time.Microsecond)
	}
	if _, paths := ahead.take(); len(paths) != 101 {
		t.Errorf("%d directories were opened, want 101", len(paths))
	}

	tr = tree{"a/b/c": "", "a/d/e": "", "node_modules/x/y": "", "z": "", "a/node_modules/q/r": ""}
	s := newSpy(tr.memory(t))
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: everything(t)})
	asked := map[string]int{}
	skip := func(e policyfs.Entry) bool {
		asked[e.Name]++
		return e.Path.Base() == "node_modules"
	}
	if got, want := fmt.Sprint(walked(t, f, "/", policyfs.WalkOptions{Skip: skip})), "[a a/b a/b/c a/d a/d/e a/node_modules node_modules z]"; got != want {
		t.Errorf("walk: %s\nwant %s", got, want)
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("Skip was asked about %s %d times", name, n)
		}
	}
	_, paths := s.take()
	for p := range paths {
		if strings.Contains(p.String(), "node_modules") {
			t.Errorf("%v was opened", p)
		}
	}
	if got := walked(t, f, "/node_modules", policyfs.WalkOptions{Skip: skip}); len(got) != 3 {
		t.Errorf("Skip hides an explicit root: %v", got)
	}
}

// TestWalkEntriesStay: an Entry is the same after the walk as when it was yielded, or
// handed to Skip.
func TestWalkEntriesStay(t *testing.T) {
	tr := tree{}
	for i := range 300 {
		tr[fmt.Sprintf("d%02d/e%d/f%03d", i%30, i%7, i)] = ""
		tr[fmt.Sprintf("d%02d/g%03d", i%30, i)] = ""
	}
	f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
	var yielded, asked []policyfs.Entry
	for e, err := range f.Walk("/", policyfs.WalkOptions{Skip: func(e policyfs.Entry) bool {
		asked = append(asked, e)
		return false
	}}) {
		if err != nil {
			t.Fatal(err)
		}
		yielded = append(yielded, e)
	}
	const dirs = 30 + 30*7
	if len(asked) != dirs || len(yielded) != 1+dirs+len(tr) {
		t.Fatalf("Skip was asked %d times, want %d; %d entries, want %d", len(asked), dirs, len(yielded), 1+dirs+len(tr))
	}
	for _, e := range append(yielded, asked...) {
		info, err := f.Stat(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		now, err := e.DirEntry.Info()
		if err != nil || e.DirEntry.Name() != e.Path.Base() || e.DirEntry.IsDir() != info.IsDir() || e.DirEntry.Type() != info.Mode().Type() ||
			now.Name() != e.Path.Base() || now.Mode() != info.Mode() {
			t.Fatalf("%s has become %v, %v, %v", e.Name, e.DirEntry, now, err)
		}
	}
}

func TestWalkGoesOnAfterErrors(t *testing.T) {
	tr := tree{"a/x": "k", "b/x": "k", "c/x": "k"}
	s := newSpy(tr.memory(t))
	s.fault = func(method string, name provider.Path) error {
		if name.String() == "b" && method == "Open" {
			return syscall.EACCES
		}
		return nil
	}
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: everything(t)})
	var got []string
	for e, err := range f.Walk("/") {
		line := e.Path.String()
		if err != nil {
			line += "!" + fmt.Sprint(errors.Is(err, syscall.EACCES))
		}
		got = append(got, line)
	}
	if want := "[/workspace /workspace/a /workspace/a/x /workspace/b /workspace/b!true /workspace/c /workspace/c/x]"; fmt.Sprint(got) != want {
		t.Errorf("got %v\nwant %v", got, want)
	}
	var skipped []string
	n := 0
	for _, err := range f.Grep("/", policyfs.Query{Pattern: "k", Skipped: func(name string, err error) { skipped = append(skipped, name+": "+err.Error()) }}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 || fmt.Sprint(skipped) != "[/workspace/b: permission denied]" {
		t.Errorf("grep: %d matches, skipped %v", n, skipped)
	}
}

func TestWalkStopsAtMaxWalk(t *testing.T) {
	tr := tree{".hidden1": "k", ".hidden2": "k", ".hidden3": "k"}
	for i := range 20 {
		tr[fmt.Sprintf("f%02d", i)] = "k"
	}
	for _, limit := range []int{1, 5, 20, 21} {
		f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: policyfs.ReadOnly(), MaxWalk: limit})
		n, failed := 0, false
		for e, err := range f.Walk("/") {
			if err != nil {
				failed = true
				if !errors.Is(err, provider.ErrTooMany) || !errors.Is(err, fs.ErrPermission) || e.Path.String() != "" {
					t.Errorf("limit %d: %v, %v", limit, e, err)
				}
				continue
			}
			n++
		}
		if n != min(limit, 20)+1 || failed != (limit < 20) {
			t.Errorf("limit %d: %d entries, failed %v", limit, n, failed)
		}
		n, failed = 0, false
		for _, err := range f.Grep("/", policyfs.Query{Pattern: "k"}) {
			failed = failed || errors.Is(err, provider.ErrTooMany)
			n++
		}
		if failed != (limit < 20) || n != min(limit, 20)+map[bool]int{true: 1}[failed] {
			t.Errorf("limit %d: grep yielded %d, failed %v", limit, n, failed)
		}
	}
}

func TestWalkStopsWhenTheTableIsSwapped(t *testing.T) {
	tr := tree{}
	for i := range 50 {
		tr[fmt.Sprintf("d%02d/f", i)] = "k"
	}
	one, two := namespace.Workspace(tr.memory(t)), namespace.Workspace(tr.memory(t))
	var live namespace.Live
	live.Store(one)
	f := policyfs.New(&live, policyfs.Options{Policy: everything(t)})
	n, swapped := 0, false
	for _, err := range f.Walk("/") {
		if n++; n == 10 {
			live.Store(two)
		}
		if err != nil {
			swapped = errors.Is(err, syscall.ESTALE)
		}
	}
	if !swapped || n > 15 {
		t.Errorf("walk yielded %d, ended by the swap: %v", n, swapped)
	}
	live.Store(one)
	n, swapped = 0, false
	for _, err := range f.Grep("/", policyfs.Query{Pattern: "k"}) {
		if n++; n == 3 {
			live.Store(two)
		}
		if err != nil {
			swapped = errors.Is(err, syscall.ESTALE)
		}
	}
	if !swapped {
		t.Errorf("grep yielded %d and was not ended by the swap", n)
	}
}

// counting is a provider that counts open Files.
type counting struct {
	provider.Provider
	open, opened atomic.Int64
	slow         time.Duration
}

func (c *counting) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := c.Provider.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	c.open.Add(1)
	if c.slow > 0 {
		time.Sleep(c.slow)
	}
	return &countedFile{f, c}, nil
}

type countedFile struct {
	provider.File
	c *counting
}

func (f *countedFile) Close() error {
	err := f.File.Close()
	if err == nil {
		f.c.open.Add(-1)
	}
	return err
}

// noLeak fails if goroutines or Files are left over.
func noLeak(t *testing.T, c *counting, before int) {
	t.Helper()
	if n := c.open.Load(); n != 0 {
		t.Errorf("%d Files are open", n)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestWalkEndsWithTheCaller(t *testing.T) {
	tr := tree{}
	for i := range 300 {
		tr[fmt.Sprintf("d%02d/e%d/f%03d", i%30, i%7, i)] = strings.Repeat("needle\n", 500)
	}
	c := &counting{Provider: tr.memory(t)}
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: everything(t)})
	before := runtime.NumGoroutine()
	for _, stop := range []int{1, 2, 3, 50, 400, 10_000} {
		n := 0
		for range f.Walk("/") {
			if n++; n == stop {
				break
			}
		}
		noLeak(t, c, before)
		n = 0
		for range f.Grep("/", policyfs.Query{Pattern: "needle"}) {
			if n++; n == stop {
				break
			}
		}
		noLeak(t, c, before)
	}
	// A caller that panics or is ended by its own test releases everything too.
	func() {
		defer func() { recover() }()
		for range f.Grep("/", policyfs.Query{Pattern: "needle"}) {
			panic("the caller")
		}
	}()
	noLeak(t, c, before)
	for _, q := range []policyfs.Query{{Pattern: "needle", MaxMatches: 3}, {Pattern: "needle", MaxMatches: 600}, {Pattern: "none"}} {
		for range f.Grep("/", q) {
		}
		noLeak(t, c, before)
	}
}

// TestWalkCancellation: a walk and a glob that are under way end soon after their
// context.
func TestWalkCancellation(t *testing.T) {
	tr := tree{}
	for i := range 400 {
		tr[fmt.Sprintf("d%d/e/f", i)] = "x"
	}
	c := &counting{Provider: tr.memory(t), slow: 5 * time.Millisecond}
	before := runtime.NumGoroutine()
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: everything(t)})
	for name, run := range map[string]func(f *policyfs.FS) error{
		"walk": func(f *policyfs.FS) (last error) {
			for _, err := range f.Walk("/") {
				last = err
			}
			return last
		},
		"glob": func(f *policyfs.FS) error { _, err := f.Glob("**/f"); return err },
	} {
		best := time.Hour
		for range 5 { // other processes may have the processor
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan time.Time, 1)
			timer := time.AfterFunc(20*time.Millisecond, func() { ended <- time.Now(); cancel() })
			err := run(f.WithContext(ctx))
			if timer.Stop() || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want the context's error", name, err)
			} else {
				best = min(best, time.Since(<-ended))
			}
			cancel()
			if best < 50*time.Millisecond {
				break
			}
		}
		if best > 50*time.Millisecond {
			t.Errorf("%s: ended %v after its context", name, best)
		}
	}
	noLeak(t, c, before)
}

// TestWalkIsBounded: what is listed ahead of a caller that waits stays bounded.
func TestWalkIsBounded(t *testing.T) {
	m := memfs.New(memfs.Options{})
	dirs, files := 600, 100
	for i := range dirs {
		dir := provider.MustPath(fmt.Sprintf("d%04d", i))
		if err := m.Mkdir(t.Context(), dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range files {
			name, _ := dir.Join(fmt.Sprintf("f%04d", j))
			if err := provider.WriteFile(t.Context(), m, name, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := &counting{Provider: m}
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: everything(t)})
	n := 0
	for _, err := range f.Walk("/") {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			time.Sleep(100 * time.Millisecond)
			// 16 Ki entries, and what was being listed when that was reached.
			if listed := c.opened.Load(); listed > (16<<10)/int64(files)+8 {
				t.Errorf("%d directories were listed ahead", listed)
			}
		}
	}
	if n != dirs*(files+1)+1 {
		t.Errorf("%d entries", n)
	}
}

func TestWalkEqualsWalkDir(t *testing.T) {
	dir := goSource(t)
	f := searchFS(t, dir, everything(t))
	var want []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			want = append(want, filepath.ToSlash(rel))
		}
		return err
	})
	slices.Sort(want)
	if got := walked(t, f, "/", policyfs.WalkOptions{}); !slices.Equal(got, want) {
		t.Errorf("%d entries, want %d: %s", len(got), len(want), firstDifference(got, want))
	}
}

func TestWalkProgress(t *testing.T) {
	tr := tree{".hidden": "secret bytes"}
	for i := range 30 {
		tr[fmt.Sprintf("d%d/f%d", i%3, i)] = "12345\n"
	}
	c := &counting{Provider: tr.memory(t), slow: 10 * time.Millisecond}
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: policyfs.ReadOnly()})
	check := func(name string, want policyfs.Progress, run func(report func(policyfs.Progress))) {
		begin, calls := time.Now(), 0
		var last policyfs.Progress
		run(func(p policyfs.Progress) {
			calls++
			if p.Files < last.Files || p.Bytes < last.Bytes {
				t.Errorf("%s: %v after %v", name, p, last)
			}
			last = p
		})
		if last != want {
			t.Errorf("%s: %v at the end, want %v", name, last, want)
		}
		if limit := int(time.Since(begin)/(100*time.Millisecond)) + 1; calls > limit {
			t.Errorf("%s: %d calls in %v", name, calls, time.Since(begin))
		}
	}
	check("walk", policyfs.Progress{Files: 30}, func(report func(policyfs.Progress)) {
		for range f.Walk("/", policyfs.WalkOptions{Progress: report}) {
		}
	})
	check("grep", policyfs.Progress{Files: 30, Bytes: 180}, func(report func(policyfs.Progress)) {
		for range f.Grep("/", policyfs.Query{Pattern: "none", Progress: report}) {
		}
	})
}

// TestSearchesTellNothing: two trees that differ only in what is denied look the
// same to walk, glob and grep, callbacks included, and the storage is asked the
// same.
func TestSearchesTellNothing(t *testing.T) {
	visible := tree{"a/x": "needle\n", "b/y": "needle\n", "b/z.bin": "\x00", "c": "needle"}
	secret := maps.Clone(visible)
	for i := range 200 {
		secret[fmt.Sprintf(".secret%d/f", i)] = "needle\n"
		secret[fmt.Sprintf("private/%d", i)] = "needle\n"
		secret[fmt.Sprintf("a/.env.%d", i)] = "needle\n"
	}
	visible["private/"] = ""
	observe := func(tr tree) string {
		s := newSpy(tr.memory(t))
		f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"private"}}), MaxWalk: 10})
		var log []string
		for e, err := range f.Walk("/", policyfs.WalkOptions{Ignore: true, Progress: func(p policyfs.Progress) { log = append(log, fmt.Sprint(p)) }}) {
			log = append(log, fmt.Sprint(e.Name, err))
		}
		for _, p := range []string{"**", "*/*", ".*/*", "private/*", "**/f", "{a,private}/*"} {
			names, err := f.Glob(p)
			log = append(log, fmt.Sprint(names, err))
		}
		q := policyfs.Query{Pattern: "needle", Ignore: true, Skipped: func(name string, err error) { log = append(log, name+err.Error()) }, Progress: func(p policyfs.Progress) { log = append(log, fmt.Sprint(p)) }}
		for _, root := range []string{"/", "/a", "/private", "/.secret1", "/.secret9999"} {
			for m, err := range f.Grep(root, q) {
				log = append(log, fmt.Sprint(m, err))
			}
		}
		calls, _ := s.take()
		slices.Sort(calls) // several goroutines ask
		return strings.Join(log, "\n") + strings.Join(calls, "\n")
	}
	if a, b := observe(visible), observe(secret); a != b {
		t.Errorf("the trees can be told apart:\n%s\n----\n%s", a, b)
	}
}

// TestWalkJudgesTheShorthand: where a name stands for one in the working
// directory, everything below is judged at both.
func TestWalkJudgesTheShorthand(t *testing.T) {
	dir := t.TempDir()
	tree{"src/ok": "k", "src/one": "k", "src/two": "k", "src/sub/three": "k"}.host(t, dir)
	ns, err := namespace.FromGrants(namespace.Portable, func(dir string, _ namespace.Access) (provider.Provider, error) {
		return openDisk(t, dir), nil
	}, namespace.Grant{Dir: dir, Label: "app", Kind: namespace.KindFolder, Access: namespace.ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	home, ok := ns.Dir()
	if !ok {
		t.Fatal("no working directory")
	}
	pol := compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"/workspace/src/one", "/workspace/src/sub", home.String() + "/src/two"}})
	f := policyfs.New(ns, policyfs.Options{Policy: pol})
	for root, want := range map[string]string{"/workspace/src": "[ok]", "src": "[ok one sub three]", home.String() + "/src": "[ok one sub three]"} {
		var walk, grep []string
		for e, err := range f.Walk(root) {
			if err != nil {
				t.Fatal(err)
			}
			walk = append(walk, e.Path.Base())
		}
		if got := fmt.Sprint(walk[1:]); got != want {
			t.Errorf("walk %s: %s, want %s", root, got, want)
		}
		for m, err := range f.Grep(root, policyfs.Query{Pattern: "k"}) {
			if err != nil {
				t.Fatal(err)
			}
			grep = append(grep, m.Path.Base())
		}
		if got := fmt.Sprint(grep); got != strings.Replace(want, "sub ", "", 1) {
			t.Errorf("grep %s: %s, want %s", root, got, want)
		}
		names, err := f.Glob(root + "/**/*")
		if err != nil || len(names) != len(walk)-1 {
			t.Errorf("glob below %s: %q, %v", root, names, err)
		}
	}
}
