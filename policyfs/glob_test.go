package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

var globTree = tree{
	"a.go": "", "b.go": "", "a.txt": "", "src/x.go": "", "src/y.js": "", "src/sub/x.go": "", "src/sub/deep/z.go": "", "src/sub/deep/z.txt": "",
	"docs/a.md": "", "docs/b{c}.md": "", "docs/[x].md": "", "docs/s*r.md": "", "empty/": "", "x/x/x/x": "", "a/b/c/d": "", "a/c/c/d": "", "A.GO": "", "caf\u00e9.txt": "",
}

func TestGlobTable(t *testing.T) {
	f := policyfs.New(namespace.Workspace(globTree.memory(t)), policyfs.Options{Policy: everything(t)})
	for _, c := range []struct{ pattern, want string }{
		{"*.go", "[a.go b.go]"},
		{"a.go/**", "[]"},
		{"*/x.go/**", "[]"},
		{"*", "[A.GO a a.go a.txt b.go caf\u00e9.txt docs empty src x]"},
		{"/*.txt", "[/a.txt /caf\u00e9.txt]"},
		{"/workspace/*.txt", "[/workspace/a.txt /workspace/caf\u00e9.txt]"},
		{"src/**/*.go", "[src/sub/deep/z.go src/sub/x.go src/x.go]"},
		{"src/**", "[src src/sub src/sub/deep src/sub/deep/z.go src/sub/deep/z.txt src/sub/x.go src/x.go src/y.js]"},
		{"./src//*.go", "[src/x.go]"},
		{"{a,b}.go", "[a.go b.go]"},
		{"{src,docs}/*.{go,md}", "[docs/[x].md docs/a.md docs/b{c}.md docs/s*r.md src/x.go]"},
		{"docs/b\\{c\\}.md", "[docs/b{c}.md]"},
		{"docs/s\\*r.md", "[docs/s*r.md]"},
		{"docs/\\[x\\].md", "[docs/[x].md]"},
		{"docs/[[]x*", "[docs/[x].md]"},
		{"a.go", "[a.go]"},
		{"./a.go", "[a.go]"},
		{"missing", "[]"},
		{"missing/*", "[]"},
		{"a.go/*", "[]"},
		{"", "[.]"},
		{".", "[.]"},
		{"/", "[/]"},
		{"**/z.*", "[src/sub/deep/z.go src/sub/deep/z.txt]"},
		{"**/x", "[x x/x x/x/x x/x/x/x]"},
		{"a/*/c/d", "[a/b/c/d a/c/c/d]"},
		{"s*/", "[src]"},
		{"*/", "[a docs empty src x]"},
		{"src/", "[src]"},
		{"a.go/", "[]"},
		{"[a-b].go", "[a.go b.go]"},
		{"[!a].go", "[b.go]"},
		{"[^a].go", "[b.go]"},
		{"?.go", "[a.go b.go]"},
		{"caf?.txt", "[caf\u00e9.txt]"},
		{"**/**/**/d", "[a/b/c/d a/c/c/d]"},
		{"{a,{b,c}}.go", "[a.go b.go]"},
		{"{,a}.go", "[a.go]"},
	} {
		got, err := f.Glob(c.pattern)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("Glob(%q) = %v, %v; want %s", c.pattern, got, err, c.want)
		}
	}
	sub := f.WithDir(namespace.MustParse("/src"))
	if got, err := sub.Glob("*/x.go"); err != nil || fmt.Sprint(got) != "[sub/x.go]" {
		t.Errorf("Glob from /src: %v, %v", got, err)
	}
	if got, err := sub.Glob("/docs/a*"); err != nil || fmt.Sprint(got) != "[/docs/a.md]" {
		t.Errorf("absolute Glob from /src: %v, %v", got, err)
	}
}

func TestGlobErrors(t *testing.T) {
	f := policyfs.New(namespace.Workspace(globTree.memory(t)), policyfs.Options{Policy: everything(t)})
	for _, pattern := range []string{
		"[", "{a", "\\", "[]", "a}", "[a", "[a-]b[", "a[/]b", "../**", "/d/../../O/*", "*/../x", "d/*/../../../O/*", "a\x00*", "\xff*/a\x01", strings.Repeat("a", 5000),
		strings.Repeat("{a,b}", 7), strings.Repeat("{a,b,c,d,e,f,g,h,i}", 2), strings.Repeat("*/a/", 600), "{" + strings.Repeat("a,", 64) + "a}",
	} {
		got, err := f.Glob(pattern)
		if err == nil || got != nil || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Glob(%.40q) = %v, %v; want fs.ErrInvalid", pattern, got, err)
		}
		if pe := new(fs.PathError); !errors.As(err, &pe) || pe.Op != "glob" {
			t.Errorf("Glob(%.40q): %v is no *fs.PathError", pattern, err)
		}
	}
	for _, pattern := range []string{"[", "{a", "\\"} {
		if _, err := f.Glob(pattern); !errors.Is(err, doublestar.ErrBadPattern) {
			t.Errorf("Glob(%q): %v, want ErrBadPattern", pattern, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.WithContext(ctx).Glob("**"); !errors.Is(err, context.Canceled) {
		t.Errorf("Glob with a context that is done: %v", err)
	}
	small := policyfs.New(namespace.Workspace(globTree.memory(t)), policyfs.Options{Policy: everything(t), MaxWalk: 5})
	if _, err := small.Glob("**"); !errors.Is(err, provider.ErrTooMany) {
		t.Errorf("Glob beyond MaxWalk: %v", err)
	}
	var zero policyfs.FS
	if _, err := zero.Glob("*"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Glob on the zero FS: %v", err)
	}
}

// TestGlobIsQuick: patterns that make matchers backtrack cost no more than others.
func TestGlobIsQuick(t *testing.T) {
	tr := tree{}
	for i := range 40 {
		tr[strings.Repeat("a/", 30)+strings.Repeat("a", i+1)] = ""
	}
	f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
	for _, pattern := range []string{
		strings.Repeat("**/a/", 25) + "b", strings.Repeat("*a", 40) + "b", "**/" + strings.Repeat("*a*", 30) + "x", strings.Repeat("**/*/", 30) + "b",
		"{" + strings.Repeat("**/a/,", 30) + "}" + strings.Repeat("**/a/", 4) + "b", strings.Repeat("{a,a}", 6) + "/**/b", strings.Repeat("?*", 60),
	} {
		begin := time.Now()
		if _, err := f.Glob(pattern); err != nil {
			t.Errorf("Glob(%.40q): %v", pattern, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("Glob(%.40q) took %v", pattern, took)
		}
	}
}

// TestGlobEqualsDoublestar compares with doublestar over the same tree on disk.
// Escapes are left out: doublestar.Glob takes a name with one for a plain name.
func TestGlobEqualsDoublestar(t *testing.T) {
	dir := t.TempDir()
	globTree.host(t, dir)
	f := policyfs.New(namespace.Workspace(globTree.memory(t)), policyfs.Options{Policy: everything(t)})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	rounds := 2000
	if os.Getenv("WORKSPACEFS_LONG") == "1" {
		rounds = 50_000
	}
	elems := []string{"*", "**", "?", "a", "src", "sub", "x", "*.go", "[a-c]", "{a,src}", "{x,**}", "s*", "*.{go,txt}", "docs", "c", "d", "**a", "a**", "[!a]*", "x.go", "{a/b,src/sub}", "deep"}
	for range rounds {
		var parts []string
		for range 1 + r.IntN(4) {
			parts = append(parts, elems[r.IntN(len(elems))])
		}
		pattern := strings.Join(parts, "/")
		want, err := doublestar.Glob(os.DirFS(dir), pattern)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		got, err := f.Glob(pattern)
		if err != nil {
			t.Fatalf("Glob(%q): %v", pattern, err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("Glob(%q):\n got %q\nwant %q", pattern, got, want)
		}
	}
}

// TestGlobOpensOnlyWhatCanMatch: neither what is denied nor what cannot hold a
// match.
func TestGlobOpensOnlyWhatCanMatch(t *testing.T) {
	tr := maps.Clone(globTree)
	tr["private/src/x.go"], tr[".git/x.go"], tr["src/private/x.go"] = "", "", ""
	s := newSpy(tr.memory(t))
	pol, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"/private", "/src/private"}})
	if err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: pol})
	for _, c := range []struct{ pattern, names, opened string }{
		{"src/*.go", "[src/x.go]", "[src]"},
		{"**/x.go", "[src/sub/x.go src/x.go]", "[. a a/b a/b/c a/c a/c/c docs empty src src/sub src/sub/deep x x/x x/x/x]"},
		{"*/x.go", "[src/x.go]", "[. a docs empty src x]"},
		{"private/*", "[]", "[]"},
		{".git/*", "[]", "[]"},
		{"src/sub/../*", "", "[]"},
		{"*/sub/*/z.go", "[src/sub/deep/z.go]", "[. a docs empty src src/sub src/sub/deep x]"},
		{"a.go", "[a.go]", "[]"},
	} {
		s.take()
		names, err := f.Glob(c.pattern)
		if got := fmt.Sprint(names); got != c.names && err == nil {
			t.Errorf("Glob(%q) = %s, %v; want %s", c.pattern, got, err, c.names)
		}
		calls, _ := s.take()
		opened := map[string]bool{}
		for _, call := range calls {
			if name, ok := strings.CutPrefix(call, "Open["); ok {
				opened[strings.TrimSuffix(name, "]")] = true
			}
		}
		if got := fmt.Sprint(slices.Sorted(maps.Keys(opened))); got != c.opened {
			t.Errorf("Glob(%q) opened %s, want %s", c.pattern, got, c.opened)
		}
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*", "**/x", "{a,b}/[c-d]*", "\\*", "[", "a/**/../b", strings.Repeat("{a,b}", 6)} {
		f.Add(p)
	}
	face := policyfs.New(namespace.Workspace(globTree.memory(f)), policyfs.Options{Policy: everything(f)})
	f.Fuzz(func(t *testing.T, pattern string) {
		names, err := face.Glob(pattern)
		if err != nil {
			return
		}
		if !slices.IsSorted(names) {
			t.Errorf("Glob(%q) is not sorted: %q", pattern, names)
		}
		for _, name := range names {
			if _, _, err := face.LstatIfPossible(name); err != nil {
				t.Errorf("Glob(%q) returned %q: %v", pattern, name, err)
			}
		}
	})
}
