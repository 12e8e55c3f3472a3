package policyfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// interferencePolicy is the policy of the test: everything may be read but what
// is secret, hidden or sensitive; only pub may be written; way and .config are
// only the way to something.
func interferencePolicy(t testing.TB) policyfs.Policy {
	return compile(t, policyfs.Spec{
		AllowRead: []string{"pub", "mixed", "way/down", ".config/app"}, AllowWrite: []string{"pub", "mixed/secret/w"},
		DenyRead: []string{"mixed/secret"}, DenyWrite: []string{"mixed/secret"}, AllowHidden: []string{".config/app"},
		AllowRecursiveDelete: true,
	})
}

// permitted fills what both trees share.
func permitted(b *box) {
	for name, content := range map[string]string{
		"W/pub/a": "alpha needle\n", "W/pub/d/b": "beta\nneedle\n", "W/pub/d/e/c": "gamma", "W/mixed/x": "x needle\n",
		"W/mixed/sub/y": "y\n", "W/way/down/f": "down needle\n", "W/.config/app/k": "key needle\n",
	} {
		b.file(name, content)
	}
	b.mkdir("W/pub/empty")
}

// denied fills, at random, what the policy hides.
func denied(b *box, rng *rand.Rand) {
	places := []string{
		"W/mixed/secret", "W/mixed/secret/a", "W/mixed/secret/b/c", "W/.git", "W/.git/config", "W/mixed/.env", "W/mixed/.ssh/id", "W/other", "W/other/f",
		"W/way/side", "W/way/.hidden/z", "W/.config/other/q", "W/mixed/credentials", "W/mixed/sub/.x", "W/zzz", "W/mixed/secret/deep/er/est",
		"W/.config/.env", "W/way/zz/f", "W/mixed/.env.local", "W/aaa/bbb/ccc",
	}
	for _, p := range places {
		if _, err := b.lstat(p); err == nil {
			continue
		}
		if strings.Count(p, "/") > 1 {
			if parent, err := b.lstat(p[:strings.LastIndexByte(p, '/')]); err == nil && !parent.IsDir() {
				continue
			}
			clear := true
			for q := p; strings.Count(q, "/") > 1; {
				q = q[:strings.LastIndexByte(q, '/')]
				if i, err := b.lstat(q); err == nil && !i.IsDir() {
					clear = false
				}
			}
			if !clear {
				continue
			}
		}
		switch rng.IntN(5) {
		case 0:
			b.file(p, strings.Repeat("S3CR3T needle\n", rng.IntN(50)))
		case 1:
			b.mkdir(p)
		case 2:
			b.link(p, []string{"../pub", "pub/a", "/etc/passwd", "nowhere"}[rng.IntN(4)])
		case 3:
			b.mkdir(p)
			for i := range rng.IntN(20) {
				b.file(fmt.Sprintf("%s/.n%d", p, i), "S3CR3T needle")
			}
		}
	}
}

// interferenceNames are what the generated calls name: permitted and denied.
var interferenceNames = []string{
	"/", "/pub", "/pub/a", "/pub/d", "/pub/d/b", "/pub/d/e", "/pub/d/e/c", "/pub/empty", "/pub/new", "/pub/new/x", "/pub/z",
	"/mixed", "/mixed/x", "/mixed/sub", "/mixed/sub/y", "/mixed/missing", "/way", "/way/down", "/way/down/f", "/way/down/no", "/.config", "/.config/app", "/.config/app/k",
	"/mixed/secret", "/mixed/secret/a", "/mixed/secret/b/c", "/mixed/secret/w", "/mixed/secret/w/x", "/.git", "/.git/config", "/mixed/.env", "/mixed/.ssh/id", "/other", "/other/f",
	"/way/side", "/way/.hidden/z", "/.config/other", "/.config/other/q", "/mixed/credentials", "/mixed/sub/.x", "/zzz", "/aaa/bbb", "/MIXED/SECRET/a", "/mixed/se\u200bcret/a",
	"/mixed/secret/", "/way/", "/pub/a/", "/mixed/x/y", "/mixed/.env/x", "/zzz/y/z", "mixed/secret/../x",
}

// interferenceCall is one generated call; it returns everything that the caller
// learns.
func interferenceCall(f *policyfs.FS, rng *rand.Rand, calls []faceCall) (string, string) {
	name := func() string { return interferenceNames[rng.IntN(len(interferenceNames))] }
	told := func(out string, err error) string {
		return fmt.Sprintf("%q %v exist=%v notexist=%v perm=%v", out, err, os.IsExist(err), os.IsNotExist(err), errors.Is(err, fs.ErrPermission))
	}
	switch rng.IntN(12) {
	case 0: // a handle, paged
		n := name()
		h, err := f.Open(n)
		if err != nil {
			return "open " + n, told("", err)
		}
		defer h.Close()
		var out []string
		for range 6 {
			list, err := h.Readdirnames(1 + rng.IntN(3))
			out = append(out, fmt.Sprint(list, err))
		}
		h.Seek(0, 0)
		list, err := h.Readdir(-1)
		for _, i := range list {
			out = append(out, describe(i))
		}
		return "page " + n, told(strings.Join(out, "\n"), err)
	case 1:
		pattern := []string{"**", "/**", "*", "/*/*", "/mixed/**", "/**/.*", "/.*/**", "**/needle*", "/way/*", "/{mixed,zzz}/**", "/mixed/secret/*", "/mixed/secret/a"}[rng.IntN(12)]
		names, err := f.Glob(pattern)
		return "glob " + pattern, told(strings.Join(names, "\n"), err)
	case 2:
		n := name()
		var out []string
		q := policyfs.Query{Pattern: "needle", Before: rng.IntN(2), MaxMatches: rng.IntN(4), Ignore: rng.IntN(2) == 0,
			Skipped: func(name string, reason error) { out = append(out, fmt.Sprint("skipped ", name, reason)) }}
		for m, err := range f.Grep(n, q) {
			out = append(out, fmt.Sprint(m, err))
		}
		return "grep " + n, strings.Join(out, "\n")
	case 3:
		n := name()
		var out []string
		var last policyfs.Progress
		opts := policyfs.WalkOptions{Ignore: rng.IntN(2) == 0, Progress: func(p policyfs.Progress) { last = p }}
		for e, err := range f.Walk(n, opts) {
			line := fmt.Sprint(e.Name, e.Path, err)
			if err == nil {
				i, err := e.DirEntry.Info()
				if err == nil {
					line += describe(i)
				} else {
					line += err.Error()
				}
			}
			out = append(out, line)
		}
		return "walk " + n, fmt.Sprint(strings.Join(out, "\n"), last)
	case 4:
		n := strings.TrimPrefix(name(), "/")
		list, err := fs.ReadDir(f.IOFS(), strings.TrimSuffix(n, "/"))
		out := ""
		for _, e := range list {
			out += fs.FormatDirEntry(e) + "\n"
		}
		return "io " + n, told(out, err)
	case 5: // afero's own walk
		n := name()
		out := ""
		err := afero.Walk(f, n, func(path string, i fs.FileInfo, err error) error {
			out += path
			if err != nil {
				out += " " + err.Error()
			} else {
				out += " " + describe(i)
			}
			out += "\n"
			return nil
		})
		return "afero walk " + n, told(out, err)
	}
	c := calls[rng.IntN(len(calls))]
	names := []string{name(), name()}[:c.names]
	out, err := c.do(f, names...)
	return c.label + fmt.Sprintf(" %q", names), told(out, err)
}

// TestNonInterference runs the same calls on two trees that differ only in what
// the policy hides: every answer and every error is the same. Section 8 lists what
// is told all the same; the policy here gives none of it: nothing hidden lies where
// the caller may write.
func TestNonInterference(t *testing.T) {
	pol := interferencePolicy(t)
	calls := faceCalls()
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			pairs := scale(10, 60, 2000)
			if kind == "disk" {
				pairs = scale(3, 8, 500)
			}
			n, differ := 0, 0
			for seed := range uint64(pairs) {
				var faces [2]*policyfs.FS
				var stores [2]provider.Provider
				for i := range faces {
					b := newBox(t, kind)
					permitted(b)
					denied(b, rand.New(rand.NewPCG(seed, uint64(i))))
					b.open()
					stores[i] = b.w
					faces[i] = policyfs.New(namespace.Workspace(b.w), policyfs.Options{
						Policy: pol, MaxWalk: 25, ResolveParents: seed%2 == 0, CreateParents: seed%3 == 0, PortableNames: seed%5 == 0,
					})
				}
				if providerTree(t, stores[0]) != providerTree(t, stores[1]) {
					differ++
				}
				rngs := [2]*rand.Rand{rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 7))}
				var history []string
				for range scale(60, 120, 300) {
					call, a := interferenceCall(faces[0], rngs[0], calls)
					_, b := interferenceCall(faces[1], rngs[1], calls)
					n++
					history = append(history, call)
					if a != b {
						t.Errorf("seed %d: %s:\n%s\nand\n%s\nafter %q\ntrees\n%s\n\n%s", seed, call, a, b, lastOf(history, 5), providerTree(t, stores[0]), providerTree(t, stores[1]))
						break
					}
					if strings.Contains(a, "S3CR3T") {
						t.Errorf("seed %d: %s tells %s", seed, call, a)
					}
				}
				if t.Failed() {
					break
				}
			}
			t.Logf("%d calls on %d pairs of trees, %d of them different", n, pairs, differ)
			if differ < pairs/2 && !t.Failed() {
				t.Error("the trees do not differ: nothing was tested")
			}
		})
	}
}

func lastOf(list []string, n int) []string { return list[max(0, len(list)-n):] }

// TestNonInterferenceCanFail shows that the comparison sees a leak: under a policy
// that hides nothing the same trees are told apart.
func TestNonInterferenceCanFail(t *testing.T) {
	calls := faceCalls()
	told := false
	for seed := range uint64(5) {
		var faces [2]*policyfs.FS
		for i := range faces {
			b := newBox(t, "memory")
			permitted(b)
			denied(b, rand.New(rand.NewPCG(seed, uint64(i))))
			faces[i] = policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, fullSpec())})
		}
		rngs := [2]*rand.Rand{rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 7))}
		for range 50 {
			_, a := interferenceCall(faces[0], rngs[0], calls)
			_, b := interferenceCall(faces[1], rngs[1], calls)
			told = told || a != b
		}
	}
	if !told {
		t.Error("no call tells the trees apart")
	}
}

// TestWayIsNoOracle: a file or link that bears the name of a directory on the way
// to something permitted is as good as absent, for every name below it too.
func TestWayIsNoOracle(t *testing.T) {
	pol := compile(t, policyfs.Spec{AllowRead: []string{"way/down"}})
	for _, kind := range boxKinds {
		var answers []map[string]string
		for _, what := range []string{"nothing", "file", "link", "dangling"} {
			b := newBox(t, kind)
			b.file("W/pub", "")
			switch what {
			case "file":
				b.file("W/way", "S3CR3T")
			case "link":
				b.link("W/way", "pub")
			case "dangling":
				b.link("W/way", "nowhere")
			}
			b.open()
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: pol, ResolveParents: true})
			told := map[string]string{}
			for _, c := range faceCalls() {
				if !c.reads || c.method == "HostPath" {
					continue // HostPath is for programs, and has to refuse a link: TestHostPath
				}
				for _, name := range []string{"/", "/way", "/way/", "/way/down", "/way/down/f", "/way/down/f/", "/way/../x", "/way/down/../x", "/way/down/../../way/down"} {
					out, err := c.do(f, slices.Repeat([]string{name}, c.names)...)
					told[c.label+" "+name] = fmt.Sprintf("%q %v", out, err)
				}
			}
			answers = append(answers, told)
		}
		for i, told := range answers {
			for call, got := range told {
				if want := answers[0][call]; got != want {
					t.Errorf("%s, tree %d: %s: %s, want %s as when nothing is there", kind, i, call, got, want)
				}
			}
		}
	}
}

// TestWayAtOnePathOfTwo: a file that may be read at one of its paths and bears, at
// the other, the name of a directory on the way to something is not there at
// either.
func TestWayAtOnePathOfTwo(t *testing.T) {
	m := tree{"way": "k", "open": "k"}.memory(t)
	ns, err := namespace.New(namespace.Mount{At: "/data", Provider: m}, namespace.Mount{At: "/mnt/same", Provider: m})
	if err != nil {
		t.Fatal(err)
	}
	for _, aliases := range []bool{false, true} {
		spec := policyfs.Spec{AllowRead: []string{"/data", "/mnt/same/open", "/mnt/same/way/down"}}
		if aliases {
			spec.AllowRead = append(spec.AllowRead, "/mnt/same/way")
		}
		f := policyfs.New(ns, policyfs.Options{Policy: compile(t, spec)})
		for name, want := range map[string]bool{
			"/data/open": true, "/mnt/same/open": true, "/data/way": aliases, "/mnt/same/way": aliases,
		} {
			_, err := f.Stat(name)
			if want && err != nil || !want && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("readable at both %v: Stat(%s): %v, want it to be there: %v", aliases, name, err, want)
			}
		}
	}
}

// TestWayAtTheShorthand: the same where one of the two paths is the shorthand that
// the caller named.
func TestWayAtTheShorthand(t *testing.T) {
	m := tree{"way": "k", "open": "k"}.memory(t)
	open := func(string, namespace.Access) (provider.Provider, error) { return m, nil }
	ns, err := namespace.FromGrants(namespace.Portable, open, namespace.Grant{Dir: t.TempDir(), Label: "app", Kind: namespace.KindFolder, Access: namespace.ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	for _, both := range []bool{false, true} {
		spec := policyfs.Spec{AllowRead: []string{"/mnt/app", "/workspace/open", "/workspace/way/down"}}
		if both {
			spec.AllowRead = append(spec.AllowRead, "/workspace/way")
		}
		f := policyfs.New(ns, policyfs.Options{Policy: compile(t, spec)})
		for name, want := range map[string]bool{
			"/mnt/app/open": true, "/mnt/app/way": true, "/workspace/open": true, "/workspace/way": both,
		} {
			_, err := f.Stat(name)
			if want && err != nil || !want && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("readable at both %v: Stat(%s): %v, want it to be there: %v", both, name, err, want)
			}
		}
	}
}
