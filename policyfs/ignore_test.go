package policyfs_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// tree is the content of a storage by path; a path that ends in a slash is a
// directory.
type tree map[string]string

// memory makes a memfs of a tree.
func (tr tree) memory(t testing.TB) *memfs.FS {
	t.Helper()
	m := memfs.New(memfs.Options{})
	for _, name := range slices.Sorted(maps.Keys(tr)) {
		dirs := strings.Split(strings.Trim(name, "/"), "/")
		if !strings.HasSuffix(name, "/") {
			dirs = dirs[:len(dirs)-1]
		}
		at := provider.Path{}
		for _, elem := range dirs {
			var err error
			if at, err = at.Join(elem); err != nil {
				t.Fatal(err)
			}
			m.Mkdir(t.Context(), at, 0o755)
		}
		if !strings.HasSuffix(name, "/") {
			if err := provider.WriteFile(t.Context(), m, provider.MustPath(strings.Trim(name, "/")), []byte(tr[name]), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

// host writes a tree to a directory.
func (tr tree) host(t testing.TB, dir string) {
	t.Helper()
	for name, text := range tr {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// walked returns the paths that Walk yields below root, without "/workspace/".
func walked(t testing.TB, f *policyfs.FS, root string, o policyfs.WalkOptions) []string {
	t.Helper()
	var names []string
	for e, err := range f.Walk(root, o) {
		if err != nil {
			t.Fatalf("walk %s: %v", root, err)
		}
		if e.Path.String() != "/workspace" {
			names = append(names, strings.TrimPrefix(e.Path.String(), "/workspace/"))
		}
	}
	return names
}

// gitIgnored asks git which files of a tree it leaves out.
func gitIgnored(t testing.TB, git, dir string, files []string) map[string]bool {
	t.Helper()
	cmd := exec.Command(git, "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\x00") + "\x00")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
			t.Fatalf("git check-ignore: %v: %s", err, errs.Bytes())
		}
	}
	ignored := map[string]bool{}
	for name := range strings.SplitSeq(out.String(), "\x00") {
		ignored[name] = true
	}
	return ignored
}

// ignoreLines are what generated .gitignore files are made of.
var ignoreLines = []string{
	"*.o", "!keep.o", "build/", "/build", "build", "a/b", "/a/*", "**/c", "a/**", "a/**/c", "!a/b/c", "*", "!*/", "!x", "?", "[ab]", "[!ab]", "[^a-b]x", "[a-c]*",
	"#comment", "\\#hash", "\\!bang", "!bang", "trail ", "trail\\ ", "a*c", "**", "/**", "**/", "***", "a/***/c", "foo**bar", "x/", "!x/", "x/*.txt", "/x/**/y", "",
	"[[:alpha:]]", "[[:digit:]]x", "[[:bad:]]", "[", "[]", "[]a]", "[a", "[a-]", "[-a]", "\\", "a\\", "\\a", "a\\*c", "a\\?c", "*/c", "/*/c", "b/**", "**/b/**", "!**/c", "/", "//", "!",
	"*.[oa]", "[[:upper:][:digit:]]", "a/./b", "./a", "a//b", "b/", "c ", "\tc", "caf\u00e9", "caf?", "caf??", "[\\]]", "[a\\-c]", "[c-a]", "[\\a-c]", "a/b/", "dir/**/", "!dir/**/c",
}

// ignoreNames are what generated trees are made of.
var ignoreNames = []string{"a", "b", "c", "x", "y", "build", "keep.o", "m.o", "n.a", "t.txt", "#hash", "!bang", "trail", "trail ", "abc", "a*c", "a?c", "aXc", "foobar", "fooxbar", "dir", "1x", "ax", "A", "9", "caf\u00e9", "]", "-", "\\ "}

func TestIgnoreEqualsGit(t *testing.T) {
	git := need(t, "git")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	rounds := 60
	switch {
	case os.Getenv("WORKSPACEFS_LONG") == "1":
		rounds = 2000
	case testing.Short():
		rounds = 10
	}
	for range rounds {
		tr := tree{}
		var dirs []string
		var grow func(prefix string, depth int)
		grow = func(prefix string, depth int) {
			dirs = append(dirs, prefix)
			for range 2 + r.IntN(5) {
				name := ignoreNames[r.IntN(len(ignoreNames))]
				if strings.Contains(name, "\\") {
					continue // no name here
				}
				if _, ok := tr[prefix+name]; ok || slices.Contains(dirs, prefix+name+"/") {
					continue
				}
				if depth < 4 && r.IntN(2) == 0 {
					grow(prefix+name+"/", depth+1)
				} else {
					tr[prefix+name] = "text"
				}
			}
		}
		grow("", 0)
		for _, dir := range dirs {
			if dir != "" && r.IntN(4) > 0 {
				continue
			}
			var lines []string
			for range 1 + r.IntN(5) {
				lines = append(lines, ignoreLines[r.IntN(len(ignoreLines))])
			}
			tr[dir+".gitignore"] = strings.Join(lines, []string{"\n", "\n", "\r\n"}[r.IntN(3)]) + []string{"", "\n"}[r.IntN(2)]
		}
		dir := t.TempDir()
		tr.host(t, dir)
		if out, err := exec.Command(git, "-C", dir, "init", "-q").CombinedOutput(); err != nil {
			t.Fatalf("git init: %v: %s", err, out)
		}
		files := slices.Sorted(maps.Keys(tr))
		ignored := gitIgnored(t, git, dir, files)
		var want []string
		for _, name := range files {
			if !ignored[name] {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
		got := slices.DeleteFunc(walked(t, f, "/", policyfs.WalkOptions{Ignore: true}), func(name string) bool { _, file := tr[name]; return !file })
		if fmt.Sprint(got) != fmt.Sprint(want) {
			var rules []string
			for _, name := range files {
				if strings.HasSuffix(name, ".gitignore") {
					rules = append(rules, fmt.Sprintf("%s: %q", name, tr[name]))
				}
			}
			t.Fatalf("%s\n got %q\nwant %q", strings.Join(rules, "\n"), got, want)
		}
	}
}

// TestIgnoreAsksPolicy: a .gitignore that the policy hides is not read and has no
// effect; one that it shows has.
func TestIgnoreAsksPolicy(t *testing.T) {
	tr := tree{".gitignore": "*.o\n", "a.o": "k", "a.c": "k", "sub/.gitignore": "*.c\n", "sub/b.c": "k", "sub/b.o": "k"}
	for _, c := range []struct {
		name string
		spec policyfs.Spec
		want string
	}{
		{"hidden", policyfs.Spec{AllowRead: []string{"/"}}, "[a.c a.o sub sub/b.c sub/b.o]"},
		{"shown", policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{"/"}}, "[.gitignore a.c sub sub/.gitignore]"},
		{"one", policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{"/sub"}}, "[a.c a.o sub sub/.gitignore sub/b.o]"},
		{"denied", policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{"/"}, DenyRead: []string{"/.gitignore"}}, "[a.c a.o sub sub/.gitignore sub/b.o]"},
	} {
		pol, err := policyfs.Compile(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		s := newSpy(tr.memory(t))
		f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: pol})
		if got := fmt.Sprint(walked(t, f, "/", policyfs.WalkOptions{Ignore: true})); got != c.want {
			t.Errorf("%s: walk %s, want %s", c.name, got, c.want)
		}
		var files []string
		for m, err := range f.Grep("/", policyfs.Query{Pattern: "k", Ignore: true}) {
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, m.Path.String())
		}
		if len(files) > 4 {
			t.Errorf("%s: %v", c.name, files)
		}
		// The files above the root are asked for like the others.
		below := fmt.Sprint(walked(t, f, "/sub", policyfs.WalkOptions{Ignore: true}))
		if shows := strings.Contains(below, "sub/b.o"); shows == strings.HasPrefix(c.want, "[.gitignore") {
			t.Errorf("%s: walk below: %s", c.name, below)
		}
		_, paths := s.take()
		for p := range paths {
			if strings.HasSuffix(p.String(), ".gitignore") && !strings.Contains(c.want, p.String()) {
				t.Errorf("%s: %v was opened", c.name, p)
			}
		}
	}
}

// TestIgnoreNeverHidesRoot: what is named explicitly is searched, and the files
// above the root count.
func TestIgnoreNeverHidesRoot(t *testing.T) {
	tr := tree{".gitignore": "build\n*.o\n/src/gen\n", "build/x.c": "k", "build/x.o": "k", "src/gen/y": "k", "src/z": "k", "one.o": "k"}
	f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
	for root, want := range map[string]string{
		"/build": "[build build/x.c]", "/src": "[src src/z]", "/one.o": "[one.o]", "/build/x.o": "[build/x.o]", "/src/gen": "[src/gen src/gen/y]",
	} {
		if got := fmt.Sprint(walked(t, f, root, policyfs.WalkOptions{Ignore: true})); got != want {
			t.Errorf("walk %s: %s, want %s", root, got, want)
		}
		n := 0
		for _, err := range f.Grep(root, policyfs.Query{Pattern: "k", Ignore: true}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("grep %s: %d matches", root, n)
		}
	}
}
