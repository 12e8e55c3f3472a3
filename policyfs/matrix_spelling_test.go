package policyfs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// spelling is one way to write a path, from one session directory.
type spelling struct{ dir, name string }

// spellings returns the legal spellings of the absolute path p ("/a/b").
func spellings(p string) []spelling {
	rel := strings.TrimPrefix(p, "/")
	list := []spelling{
		{"/", rel}, {"/", p}, {"/", "/workspace" + p}, {"/", "./" + rel}, {"/", "//" + rel},
		{"/", strings.ReplaceAll(p, "/", "//")}, {"/", "/." + p}, {"/", strings.ReplaceAll(p, "/", "/./")},
		{"/", "/./workspace/." + p}, {"/", "//workspace//" + rel}, {"/", "././/" + rel},
		{"/open", p}, {"/open", "/workspace" + p}, {"/secret/d", p}, {"/nowhere/at/all", "/." + p},
		{"/", p + "/"}, {"/", p + "//"}, {"/", p + "/."}, {"/", p + "/./"}, {"/", rel + "/"},
	}
	// Relative from every directory above.
	for i := len(p) - 1; i > 0; i-- {
		if p[i] == '/' {
			list = append(list, spelling{p[:i], p[i+1:]}, spelling{p[:i], "./" + p[i+1:]}, spelling{p[:i], ".//" + p[i+1:] + "/"})
		}
	}
	list = append(list, spelling{p, "."}, spelling{p, ""}, spelling{p, "./"}, spelling{p, "././."})
	return list
}

// spellingPaths are the paths of the matrix, and what is at them.
var spellingPaths = []string{
	"/open/f", "/open", "/open/e/g", "/open/missing", "/secret", "/secret/x", "/secret/d/y", "/secret/missing/z",
	"/.git/config", "/app/.env", "/app", "/node_modules/m/i.js", "/way/down/f", "/way", "/way/side",
}

// spellingPolicy has every kind of rule.
func spellingPolicy(t testing.TB) policyfs.Policy {
	return compile(t, policyfs.Spec{
		AllowRead: []string{"open", "app", "secret", "node_modules", "way/down", ".git"}, AllowWrite: []string{"open", "app", "node_modules", "secret"},
		DenyRead: []string{"secret"}, DenyWrite: []string{"secret"}, DenyWriteComponent: []string{"node_modules"},
		AllowHidden: []string{".git"}, AllowRecursiveDelete: true,
	})
}

func spellingTree(t testing.TB) *memfs.FS {
	m := deniedTree(t)
	b := &box{t: t, memory: true, w: m}
	b.file("W/way/down/f", "down")
	b.file("W/way/side", "side")
	return m
}

// verdict is what a refusal says, apart from the caller's spelling.
func verdict(err error) string {
	var denied *policyfs.DeniedError
	if errors.Is(err, syscall.EINVAL) {
		return "EINVAL"
	}
	if !errors.As(err, &denied) {
		return "not denied"
	}
	return fmt.Sprintf("denied %v %v %q", denied.Op, denied.Path, denied.Rule)
}

// TestSpellingMatrix calls every method with every legal spelling of a path: the
// verdict is that of the canonical spelling, and the provider sees no other path.
func TestSpellingMatrix(t *testing.T) {
	pol := spellingPolicy(t)
	base := spellingTree(t)
	n := 0
	for _, c := range faceCalls() {
		t.Run(c.label, func(t *testing.T) {
			for _, p := range spellingPaths {
				for pos := range c.names {
					want, seen := spelled(t, c, pol, base, spelling{"/", p}, pos)
					for _, s := range spellings(p) {
						n++
						got, saw := spelled(t, c, pol, base, s, pos)
						blank := s.name == "" && !c.reads // refused as blank wherever it leads
						if dot := strings.HasSuffix("/"+s.name, "/."); dot && got == "EINVAL" && (want == "not denied" || strings.Contains(want, "_tree")) {
							continue // package os refuses to remove or rename "."
						}
						if c.quiet && s.name == "" {
							continue // the table adds "/**" to it, which begins at the root
						}
						if got != want && !blank {
							t.Errorf("%q from %s: %s, want %s as for %s", s.name, s.dir, got, want, p)
						}
						for path := range saw {
							if !seen[path] && !aboveOrBelow(path, p) {
								t.Errorf("%q from %s: the provider saw %s", s.name, s.dir, path)
							}
						}
					}
				}
			}
		})
	}
	t.Logf("%d calls", n)
}

// aboveOrBelow reports whether path is p, or what a method may look at around it:
// an ancestor, or something below.
func aboveOrBelow(path provider.Path, p string) bool {
	q := provider.MustPath(strings.TrimPrefix(p, "/"))
	return path.Contains(q) || q.Contains(path)
}

// spelled does one call on a clone of the tree.
func spelled(t *testing.T, c faceCall, pol policyfs.Policy, base *memfs.FS, s spelling, pos int) (string, map[provider.Path]bool) {
	t.Helper()
	sp := newSpy(base.Clone())
	f := policyfs.New(namespace.Workspace(sp), policyfs.Options{Policy: pol, Dir: namespace.MustParse(s.dir)})
	names := slices.Repeat([]string{"/open/e/g"}, c.names)
	names[pos] = s.name
	out, err := c.do(f, names...)
	_, paths := sp.take()
	if c.quiet {
		// A pattern is matched by its text; only what it finds is compared.
		return "quiet", paths
	}
	if err == nil && strings.Contains(out, "SECRET") {
		t.Errorf("%s(%q) from %s gives %q", c.label, names, s.dir, out)
	}
	return verdict(err), paths
}

// foldedSpellings are other spellings of denied elements, which some storage
// takes for the same name.
var foldedSpellings = map[string][]string{
	"/secret/x":            {"/SECRET/x", "/Secret/x", "/\u017fecret/x", "/se\u200bcret/x", "/secret./x", "/secret /x", "/secret. ./x", "/\ufeffsecret/x", "/sec\u00adret/x", "/SECRET/X"},
	"/.git/config":         {"/.GIT/config", "/.g\u200cit/config", "/.git./config", "/.git /config", "/\u200d.git/config", "/.GiT/CONFIG"},
	"/app/.env":            {"/app/.ENV", "/app/.Env", "/app/.env.", "/app/.env ", "/app/.e\u200dnv", "/app/.ENV.local", "/app/.env.prod"},
	"/node_modules/m/i.js": {"/Node_Modules/m/i.js", "/NODE_MODULES/m/i.js", "/node_module\u017f/m/i.js", "/node_modules./m/i.js"},
	"/caf\u00e9/x":         {"/cafe\u0301/x", "/CAF\u00c9/x", "/CAFE\u0301/x"},
	"/stra\u00dfe/x":       {"/STRASSE/x", "/strasse/x", "/stra\u1e9ee/x"},
}

// TestFoldingMatrix calls every method that a denial holds for with spellings
// that fold like a denied path: refused, and the provider sees nothing.
func TestFoldingMatrix(t *testing.T) {
	spec := denyScopes("secret", "caf\u00e9", "stra\u00dfe")
	spec.AllowSensitive = nil
	spec.DenyWriteComponent = []string{"node_modules"}
	pol := compile(t, spec)
	n := 0
	for _, c := range faceCalls() {
		if c.quiet {
			continue
		}
		t.Run(c.label, func(t *testing.T) {
			for p, variants := range foldedSpellings {
				if (c.reads || c.method == "MkdirAll") && strings.HasPrefix(p, "/node_modules") {
					continue // denied for writing only, and MkdirAll may look whether it exists
				}
				for _, name := range append(variants, p) {
					for pos := range c.names {
						n++
						sp := newSpy(spellingTree(t))
						f := policyfs.New(namespace.Workspace(sp), policyfs.Options{Policy: pol})
						names := slices.Repeat([]string{"/open/e/g"}, c.names)
						names[pos] = name
						_, err := c.do(f, names...)
						if err == nil {
							t.Errorf("%s(%q): allowed", c.label, names)
						}
						if calls, _ := sp.take(); len(calls) != 0 {
							t.Errorf("%s(%q): the provider was asked %q", c.label, names, calls)
						}
					}
				}
			}
		})
	}
	t.Logf("%d calls", n)
}

// TestFoldingOnStorageThatFolds: storage that takes other spellings for the same
// name gives nothing away through a deny.
func TestFoldingOnStorageThatFolds(t *testing.T) {
	m := memfs.New(memfs.Options{CaseInsensitive: true})
	b := &box{t: t, memory: true, w: m}
	b.file("W/secret/x", "SECRET")
	b.file("W/Public/x", "public")
	f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: compile(t, denyScopes("secret"))})
	for _, name := range []string{"/SECRET/x", "/Secret/X", "/sEcReT/x"} {
		if data, _, err := f.ReadFile(name); err == nil {
			t.Errorf("ReadFile(%q): %q", name, data)
		}
	}
	if data, _, err := f.ReadFile("/PUBLIC/X"); err != nil || string(data) != "public" {
		t.Errorf("the storage does not fold: %q, %v", data, err)
	}
	// An allow does not widen: another spelling of an allowed name is not allowed.
	f = policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: compile(t, policyfs.Spec{AllowRead: []string{"Public"}})})
	if _, _, err := f.ReadFile("/public/x"); err == nil {
		t.Error("an allow covers another spelling")
	}
}
