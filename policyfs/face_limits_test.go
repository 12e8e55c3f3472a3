package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// limitBytes is what no hostile input may make the process take in addition.
const limitBytes = 200 << 20

// holdsLittle returns a function that fails when the process has taken more
// memory since than it may, whatever tests before this one needed: what they
// left is given back first.
func holdsLittle(t *testing.T) func() {
	t.Helper()
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	return func() {
		t.Helper()
		runtime.ReadMemStats(&after)
		mapped := int64(after.Sys) - int64(before.Sys)
		held := int64(after.Sys-after.HeapReleased) - int64(before.Sys-before.HeapReleased)
		if max(mapped, held) > limitBytes {
			t.Errorf("the process took %d MiB", max(mapped, held)>>20)
		}
	}
}

// face makes a face that allows everything over an empty storage.
func face(t testing.TB, kind string, opts policyfs.Options) (*policyfs.FS, *box) {
	t.Helper()
	b := newBox(t, kind)
	b.open()
	if opts.Policy == nil {
		opts.Policy = compile(t, fullSpec())
	}
	return policyfs.New(namespace.Workspace(b.w), opts), b
}

// TestHugeSizes: writes, truncates and reads beyond Options.MaxFileBytes are
// EFBIG before anything is allocated.
func TestHugeSizes(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			within := holdsLittle(t)
			f, b := face(t, kind, policyfs.Options{})
			h, err := f.OpenFile("/f", os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			for _, size := range []int64{1 << 43, 1 << 62, math.MaxInt64, policyfs.DefaultMaxFileBytes + 1} {
				if err := h.Truncate(size); !errors.Is(err, syscall.EFBIG) {
					t.Errorf("Truncate(%d): %v", size, err)
				}
				if n, err := h.WriteAt([]byte("x"), size); n != 0 || !errors.Is(err, syscall.EFBIG) {
					t.Errorf("WriteAt(%d): %d, %v", size, n, err)
				}
				if _, err := h.Seek(size, io.SeekStart); err != nil {
					t.Errorf("Seek(%d): %v", size, err)
				}
				if n, err := h.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.EFBIG) {
					t.Errorf("Write at %d: %d, %v", size, n, err)
				}
				if n, err := h.ReadAt(make([]byte, 1), size); n != 0 || err != io.EOF {
					t.Errorf("ReadAt(%d): %d, %v", size, n, err)
				}
			}
			if err := h.Truncate(policyfs.DefaultMaxFileBytes); err != nil {
				t.Errorf("Truncate to the limit: %v", err)
			}
			if n, err := h.WriteAt([]byte("xy"), policyfs.DefaultMaxFileBytes-2); n != 2 || err != nil {
				t.Errorf("WriteAt up to the limit: %d, %v", n, err)
			}
			a, err := f.OpenFile("/f", os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if n, err := a.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.EFBIG) {
				t.Errorf("append at the limit: %d, %v", n, err)
			}
			if info, err := h.Stat(); err != nil || info.Size() != policyfs.DefaultMaxFileBytes {
				t.Errorf("%v, %v", info.Size(), err)
			}
			// A sparse file that was there before: it can be opened and changed
			// inside, not read as a whole.
			b.big("W/huge", 1<<43)
			if _, _, err := f.ReadFile("/huge"); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("ReadFile: %v", err)
			}
			if _, err := fs.ReadFile(f.IOFS(), "huge"); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("IOFS ReadFile: %v", err)
			}
			if _, err := f.WriteFile("/huge", []byte("x"), provider.ReplaceOptions{If: provider.IfMatch(provider.Digest{})}); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("WriteFile IfMatch: %v", err)
			}
			g, err := f.OpenFile("/huge", os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if n, err := g.WriteAt([]byte("x"), 1<<40); n != 1 || err != nil {
				t.Errorf("a write inside is no growth: %d, %v", n, err)
			}
			if err := g.Truncate(1<<43 + 1); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("growing: %v", err)
			}
			if err := g.Truncate(1); err != nil {
				t.Errorf("shrinking: %v", err)
			}
			start := time.Now()
			b.big("W/huge", 1<<43)
			for m, err := range f.Grep("/", policyfs.Query{Pattern: "x"}) {
				t.Logf("grep: %v, %v", m, err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("grep took %v", took)
			}
			within()
		})
	}
	t.Run("no limit", func(t *testing.T) {
		within := holdsLittle(t)
		f, _ := face(t, "memory", policyfs.Options{MaxFileBytes: -1})
		h, err := f.Create("/f")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if err := h.Truncate(1 << 40); err != nil {
			t.Errorf("a hole costs nothing: %v", err)
		}
		within()
	})
	t.Run("small limit", func(t *testing.T) {
		for _, kind := range boxKinds {
			f, _ := face(t, kind, policyfs.Options{MaxFileBytes: 10})
			if _, err := f.WriteFile("/f", make([]byte, 11), provider.ReplaceOptions{}); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s: %v", kind, err)
			}
			if err := afero.WriteFile(f, "/g", make([]byte, 11), 0o644); !errors.Is(err, syscall.EFBIG) {
				t.Errorf("%s: %v", kind, err)
			}
			if _, err := f.WriteFile("/f", make([]byte, 10), provider.ReplaceOptions{}); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			if data, _, err := f.ReadFile("/f"); err != nil || len(data) != 10 {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

// TestHostileNames gives every method names that are too long, too deep or not
// text: refused at once, and the provider is not asked.
func TestHostileNames(t *testing.T) {
	within := holdsLittle(t)
	names := map[string]string{
		"megabyte":      strings.Repeat("x", 1<<20),
		"megabyte deep": strings.Repeat("x/", 1<<19),
		"slashes":       strings.Repeat("/", 1<<20) + "\x00",
		"dots":          strings.Repeat("./", 1<<19) + "a\nb",
		"long element":  "/" + strings.Repeat("é", 128),
		"deep":          strings.Repeat("a/", 2048),
		"nul":           "a\x00b", "newline": "a\nb", "escape": "a\x1b[2J", "bidi": "a\u202eb", "c1": "a\u0085b", "backslash": `a\b`,
		"bad utf8": "a\xffb", "surrogate": "a\xed\xa0\x80b", "dotdot": "a/../b", "only dotdot": "..",
	}
	for _, c := range faceCalls() {
		t.Run(c.label, func(t *testing.T) {
			for label, name := range names {
				for pos := range c.names {
					s := newSpy(deniedTree(t))
					f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, fullSpec())})
					args := slices.Repeat([]string{"/open/f"}, c.names)
					args[pos] = name
					start := time.Now()
					_, err := c.do(f, args...)
					if took := time.Since(start); took > 5*time.Second {
						t.Errorf("%s: took %v", label, took)
					}
					if c.quiet {
						continue // patterns have their own limits: TestHostilePatterns
					}
					if err == nil {
						t.Errorf("%s: accepted", label)
						continue
					}
					if text := err.Error(); len(text) > 20<<10 || strings.ContainsAny(text, "\x00\x1b\n\u202e\u0085") && c.method != "Walk" && c.method != "Grep" {
						t.Errorf("%s: error text of %d bytes: %.100q", label, len(text), text)
					}
					if calls, _ := s.take(); len(calls) != 0 {
						t.Errorf("%s: the provider was asked %q", label, calls)
					}
				}
			}
		})
	}
	within()
}

// TestHostilePatterns: brace bombs, pattern bombs and huge windows are errors.
func TestHostilePatterns(t *testing.T) {
	within := holdsLittle(t)
	f, b := face(t, "memory", policyfs.Options{})
	b.file("W/aaaa", strings.Repeat("a", 10_000))
	bomb := strings.Repeat("{a,b}", 40)
	deep := strings.Repeat("{a,", 500) + strings.Repeat("}", 500)
	start := time.Now()
	for label, pattern := range map[string]string{
		"braces": bomb, "nested": deep, "stars": strings.Repeat("*a", 2000), "long": strings.Repeat("x", 1<<20), "class": "[" + strings.Repeat("a", 1<<20),
		"globstars": strings.Repeat("**/", 500) + "x", "open brace": "{a", "open class": "[", "escape": `a\`,
	} {
		names, err := f.Glob(pattern)
		if err == nil && len(names) > 0 {
			t.Errorf("Glob(%s): %d names", label, len(names))
		}
		if err == nil && (label == "braces" || label == "nested" || label == "long" || label == "class" || strings.HasPrefix(label, "open")) {
			t.Errorf("Glob(%s) is accepted", label)
		}
	}
	grep := func(q policyfs.Query) error {
		for _, err := range f.Grep("/", q) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for label, q := range map[string]policyfs.Query{
		"include bomb": {Pattern: "a", Include: []string{bomb}}, "exclude bomb": {Pattern: "a", Exclude: []string{bomb}},
		"long pattern": {Pattern: strings.Repeat("a", 1001)}, "repeat": {Pattern: "((a{100}){100}){100}"}, "before": {Pattern: "a", Before: 1001},
		"after": {Pattern: "a", After: 1001}, "bad": {Pattern: "("}, "negative": {Pattern: "a", Before: -1},
	} {
		if err := grep(q); err == nil {
			t.Errorf("Grep(%s) is accepted", label)
		}
	}
	if err := grep(policyfs.Query{Pattern: "(a+)+$"}); err != nil {
		t.Errorf("an ordinary pattern: %v", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	within()
}

// TestDeepRename: a move that would make a path longer than Parse allows is
// refused, and so is a tree of more than MaxWalk entries.
func TestDeepRename(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			f, b := face(t, kind, policyfs.Options{})
			long := strings.Repeat("n", 200)
			chain := func(root string, n int) string {
				at := root
				for range n {
					at += "/" + long
				}
				if err := f.MkdirAll(at, 0o755); err != nil {
					t.Fatal(err)
				}
				return at
			}
			chain("/from", 12)
			to := chain("/to", 10)
			before := ""
			if kind == "memory" {
				before = providerTree(t, b.w)
			}
			err := f.Rename("/from", to+"/x")
			if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENAMETOOLONG) {
				t.Errorf("%.200v", err)
			}
			if before != "" && providerTree(t, b.w) != before {
				t.Error("the tree changed")
			}
			if err := f.Rename("/from", "/moved"); err != nil {
				t.Errorf("an ordinary move: %.200v", err)
			}
			if err := f.RemoveAll("/moved"); err != nil {
				t.Errorf("RemoveAll: %.200v", err)
			}
			if err := f.RemoveAll("/to"); err != nil {
				t.Errorf("RemoveAll: %.200v", err)
			}
		})
	}
}

// TestMaxWalk: a tree of more than MaxWalk entries is neither moved nor removed,
// and nothing happens to it.
func TestMaxWalk(t *testing.T) {
	for _, kind := range boxKinds {
		f, b := face(t, kind, policyfs.Options{MaxWalk: 10})
		for i := range 9 {
			b.file(fmt.Sprintf("W/ok/d%d/f", i%2)+fmt.Sprint(i), "")
		}
		for i := range 12 {
			b.file(fmt.Sprintf("W/big/f%d", i), "")
		}
		before := providerTree(t, b.w)
		for label, err := range map[string]error{"rename": f.Rename("/big", "/x"), "removeall": f.RemoveAll("/big"), "rename deep": f.Rename("/ok", "/y")} {
			var denied *policyfs.DeniedError
			if !errors.As(err, &denied) || !strings.Contains(err.Error(), "MaxWalk") {
				t.Errorf("%s: %s: %v", kind, label, err)
			}
		}
		if providerTree(t, b.w) != before {
			t.Errorf("%s: the tree changed", kind)
		}
		b.must(f.Remove("/ok/d0/f0"))
		if err := f.RemoveAll("/ok"); err != nil {
			t.Errorf("%s: exactly MaxWalk entries: %v", kind, err)
		}
	}
}

// TestDeepTree makes, walks and removes a tree as deep as paths go.
func TestDeepTree(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			within := holdsLittle(t)
			f, _ := face(t, kind, policyfs.Options{})
			deep := strings.Repeat("/d", scale(200, 500, 2000))
			if err := f.MkdirAll(deep, 0o755); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range f.Walk("/") {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if want := strings.Count(deep, "/") + 1; n != want {
				t.Errorf("walked %d, want %d", n, want)
			}
			if err := f.Rename("/d", "/e"); err != nil {
				t.Error(err)
			}
			if err := f.RemoveAll("/e"); err != nil {
				t.Error(err)
			}
			within()
		})
	}
}

// TestContextCancels: a context that is done ends every method, and long ones
// meanwhile; nothing is changed.
func TestContextCancels(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			base, b := face(t, kind, policyfs.Options{})
			b.file("W/open/f", "x")
			b.file("W/open/e/g", "y")
			before := providerTree(t, b.w)
			ctx, cancel := context.WithCancel(t.Context())
			h, err := base.WithContext(ctx).Open("/open/f")
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			cancel()
			f := base.WithContext(ctx)
			for _, c := range faceCalls() {
				for _, name := range []string{"/open/f", "/open", "/open/new"} {
					_, err := c.do(f, slices.Repeat([]string{name}, c.names)...)
					switch c.method {
					case "Explain", "Chown", "HostPath":
						continue // no I/O to cancel, or refused whatever the context says
					}
					if !errors.Is(err, context.Canceled) {
						t.Errorf("%s(%s): %v", c.label, name, err)
					}
				}
			}
			if providerTree(t, b.w) != before {
				t.Error("the tree changed")
			}
			if _, err := base.Stat("/open/f"); err != nil {
				t.Errorf("the value it was derived from: %v", err)
			}
		})
	}
	// A walk that is under way.
	f, b := face(t, "memory", policyfs.Options{})
	for i := range 300 {
		b.file(fmt.Sprintf("W/d%d/f", i), "needle\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range f.WithContext(ctx).Walk("/") {
		if last = err; err == nil {
			n++
		}
		if n == 5 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || n > 500 {
		t.Errorf("%d entries, then %v", n, last)
	}
}
