package faults_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/internal/faults"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestConformance: without a plan the wrapper changes nothing.
func TestConformance(t *testing.T) {
	for name, wrapped := range map[string]func(*memfs.FS) provider.Provider{
		"FileReader":     func(m *memfs.FS) provider.Provider { return m },
		"FileIntoReader": func(m *memfs.FS) provider.Provider { return into{m} },
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, conformance.Harness{New: func(t testing.TB) provider.Provider {
				p, _ := faults.Wrap(wrapped(memfs.New(memfs.Options{})), nil)
				return p
			}})
		})
	}
}

// scenario is a use of the face that may fail at any call of its provider.
type scenario struct {
	name string
	run  func(f *policyfs.FS) error
	// parents is Options.CreateParents.
	parents bool
	// partly says that a failure may leave some of the work done.
	partly bool
	// tolerant says that a failing call may leave the scenario without error:
	// it only loses what it asked for.
	tolerant bool
}

// with opens a file, uses it and closes it; the first error counts.
func with(f *policyfs.FS, name string, flag int, use func(afero.File) error) error {
	file, err := f.OpenFile(name, flag, 0o644)
	if err != nil {
		return err
	}
	err = use(file)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// fails returns nil where err is the one that is to come without a fault.
func fails(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return err
}

// only is f with two scopes, one to read and one to write.
func only(f *policyfs.FS, read, write string) *policyfs.FS {
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{read}, AllowWrite: []string{write}})
	if err != nil {
		panic(err)
	}
	return f.WithPolicy(policy)
}

// errEndless is an iterator that does not come to its end.
var errEndless = errors.New("the iteration has no end")

func scenarios() []scenario {
	return []scenario{
		{name: "Create", run: func(f *policyfs.FS) error {
			file, err := f.Create("new")
			if err != nil {
				return err
			}
			return file.Close()
		}},
		{name: "Open and Read", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDONLY, func(h afero.File) error { _, err := io.ReadAll(h); return err })
		}},
		{name: "ReadAt", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDONLY, func(h afero.File) error { _, err := h.ReadAt(make([]byte, 3), 1); return err })
		}},
		{name: "Write", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDWR, func(h afero.File) error { _, err := h.Write([]byte("X")); return err })
		}},
		{name: "WriteAt", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDWR, func(h afero.File) error { _, err := h.WriteAt([]byte("X"), 2); return err })
		}},
		{name: "WriteString and Sync", partly: true, run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDWR, func(h afero.File) error {
				if _, err := h.WriteString("X"); err != nil {
					return err
				}
				return h.Sync()
			})
		}},
		{name: "O_SYNC", partly: true, run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDWR|os.O_SYNC, func(h afero.File) error { _, err := h.Write([]byte("X")); return err })
		}},
		{name: "append", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_WRONLY|os.O_APPEND, func(h afero.File) error { _, err := h.Write([]byte("X")); return err })
		}},
		{name: "O_TRUNC", partly: true, run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDWR|os.O_TRUNC, func(h afero.File) error { return nil })
		}},
		{name: "Truncate", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDWR, func(h afero.File) error { return h.Truncate(2) })
		}},
		{name: "File.Stat", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDONLY, func(h afero.File) error { _, err := h.Stat(); return err })
		}},
		{name: "Seek from the end", run: func(f *policyfs.FS) error {
			return with(f, "d/f", os.O_RDONLY, func(h afero.File) error { _, err := h.Seek(-1, io.SeekEnd); return err })
		}},
		{name: "Readdir", tolerant: true, run: func(f *policyfs.FS) error {
			return with(f, "d", os.O_RDONLY, func(h afero.File) error { _, err := h.Readdir(-1); return err })
		}},
		{name: "Readdirnames", run: func(f *policyfs.FS) error {
			return with(f, "d", os.O_RDONLY, func(h afero.File) error { _, err := h.Readdirnames(2); return err })
		}},
		{name: "Stat", run: func(f *policyfs.FS) error { _, err := f.Stat("d/f"); return err }},
		{name: "LstatIfPossible", run: func(f *policyfs.FS) error { _, _, err := f.LstatIfPossible("d/f"); return err }},
		{name: "Stat through ..", run: func(f *policyfs.FS) error { _, err := f.Stat("d/e/../f"); return err }},
		{name: "Chmod of a spelled directory", run: func(f *policyfs.FS) error { return f.Chmod("d/", 0o700) }},
		{name: "write to a spelled directory", run: func(f *policyfs.FS) error {
			return fails(with(f, "d/", os.O_WRONLY, func(afero.File) error { return nil }), syscall.EISDIR)
		}},
		{name: "Rename into itself", run: func(f *policyfs.FS) error { return fails(f.Rename("d", "d/e/new"), syscall.EINVAL) }},
		{name: "Rename to a spelled directory", run: func(f *policyfs.FS) error { return f.Rename("d/e", "d/new/") }},
		{name: "create with parents", parents: true, partly: true, run: func(f *policyfs.FS) error {
			return with(f, "x/y/new", os.O_WRONLY|os.O_CREATE, func(afero.File) error { return nil })
		}},
		{name: "Rename with parents", parents: true, partly: true, run: func(f *policyfs.FS) error { return f.Rename("d/f", "x/y/new") }},
		{name: "MkdirAll below a missing directory that may not be made", run: func(f *policyfs.FS) error {
			return fails(only(f, "/d", "/d/x/y").MkdirAll("d/x/y", 0o755), fs.ErrPermission)
		}},
		{name: "Stat below a file that may not be read", tolerant: true, run: func(f *policyfs.FS) error {
			_, err := only(f, "/d/f/x", "/d").Stat("d/f/x")
			return fails(fails(err, fs.ErrNotExist), syscall.ENOTDIR)
		}},
		{name: "HostPath", run: func(f *policyfs.FS) error {
			_, err := f.HostPath(policyfs.OpStat, "d/f")
			return fails(err, errors.ErrUnsupported)
		}},
		{name: "Mkdir", run: func(f *policyfs.FS) error { return f.Mkdir("d/new", 0o755) }},
		{name: "MkdirAll", partly: true, run: func(f *policyfs.FS) error { return f.MkdirAll("d/x/y/z", 0o755) }},
		{name: "Remove", run: func(f *policyfs.FS) error { return f.Remove("d/f") }},
		{name: "RemoveAll", partly: true, run: func(f *policyfs.FS) error { return f.RemoveAll("d") }},
		{name: "RemoveAll of a file", run: func(f *policyfs.FS) error { return f.RemoveAll("d/f") }},
		{name: "Rename", run: func(f *policyfs.FS) error { return f.Rename("d/f", "d/moved") }},
		{name: "Rename over a file", run: func(f *policyfs.FS) error { return f.Rename("d/f", "d/e/g") }},
		{name: "Rename of a directory", run: func(f *policyfs.FS) error { return f.Rename("d", "moved") }},
		{name: "Move", run: func(f *policyfs.FS) error {
			return f.Move("d/f", "d/moved", provider.RenameOptions{NoReplace: true})
		}},
		{name: "Chmod", run: func(f *policyfs.FS) error { return f.Chmod("d/f", 0o600) }},
		{name: "Chtimes", run: func(f *policyfs.FS) error { return f.Chtimes("d/f", time.Unix(1e9, 0), time.Unix(1e9, 0)) }},
		{name: "ReadFile", run: func(f *policyfs.FS) error { _, _, err := f.ReadFile("d/f"); return err }},
		{name: "WriteFile", run: func(f *policyfs.FS) error {
			_, err := f.WriteFile("d/f", []byte("new"), provider.ReplaceOptions{})
			return err
		}},
		{name: "WriteFile if it matches", run: func(f *policyfs.FS) error {
			_, err := f.WriteFile("d/f", []byte("new"), provider.ReplaceOptions{If: provider.IfMatch(sha256.Sum256([]byte("content of f")))})
			return err
		}},
		{name: "WriteFile if absent", run: func(f *policyfs.FS) error {
			_, err := f.WriteFile("d/new", []byte("new"), provider.ReplaceOptions{If: provider.IfAbsent()})
			return err
		}},
		{name: "Seed", partly: true, run: func(f *policyfs.FS) error {
			return f.Seed(policyfs.SeedFile{Name: "d/new", Data: []byte("1")}, policyfs.SeedFile{Name: "x/y/z", Data: []byte("2"), ReadOnly: true})
		}},
		{name: "Walk", run: func(f *policyfs.FS) error {
			var first error
			n := 0
			for _, err := range f.Walk(".") {
				if first == nil {
					first = err
				}
				if n++; n > 1000 {
					return errEndless
				}
			}
			return first
		}},
		{name: "Glob", run: func(f *policyfs.FS) error { _, err := f.Glob("**/g"); return err }, tolerant: true},
		{name: "Grep in a large file", run: func(f *policyfs.FS) error {
			var first error
			q := policyfs.Query{Pattern: "content", Skipped: func(_ string, reason error) { first = errors.Join(first, reason) }}
			for _, err := range f.Grep("large", q) {
				first = errors.Join(first, err)
			}
			return first
		}},
		{name: "Grep", run: func(f *policyfs.FS) error {
			var first error
			q := policyfs.Query{Pattern: "content", Skipped: func(_ string, reason error) { first = errors.Join(first, reason) }}
			n := 0
			for _, err := range f.Grep(".", q) {
				first = errors.Join(first, err)
				if n++; n > 1000 {
					return errEndless
				}
			}
			return first
		}},
		{name: "Authorize", run: func(f *policyfs.FS) error { return f.Authorize(policyfs.OpWrite, "d/f", "d/new") }},
		{name: "IOFS", run: func(f *policyfs.FS) error { _, err := fs.ReadFile(f.IOFS(), "d/f"); return err }},
	}
}

// world is a face over memory that can fail.
type world struct {
	mem  *memfs.FS
	ctl  *faults.FS
	face *policyfs.FS

	mu   sync.Mutex // guards told
	told []string   // the errors that Audit heard of
}

// plain hides what a provider has beyond the contract.
type plain struct{ *faults.FS }

func (p plain) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := p.FS.Open(ctx, name, opts)
	if f == nil {
		return nil, err
	}
	return struct{ provider.File }{f}, err
}

func newWorld(t *testing.T, s scenario, optional bool) *world {
	t.Helper()
	mem := memfs.New(memfs.Options{})
	ctx := t.Context()
	for _, dir := range []string{"d", "d/e", "d/h"} {
		if err := mem.Mkdir(ctx, provider.MustPath(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"d/f": "content of f", "d/e/g": "content of g", "d/h/i": "content of i", "large": strings.Repeat("line\n", 100_000)} {
		if err := provider.WriteFile(ctx, mem, provider.MustPath(name), []byte(content), 0); err != nil {
			t.Fatal(err)
		}
	}
	p, ctl := faults.Wrap(into{mem}, nil)
	if !optional {
		p = plain{ctl}
	}
	all := []string{"/"}
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: all, AllowWrite: all, AllowHidden: all, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	// An operation that goes round in circles ends with its context.
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	t.Cleanup(cancel)
	w := &world{mem: mem, ctl: ctl}
	w.face = policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policy, ResolveParents: true, CreateParents: s.parents, Audit: w.record}).WithContext(limited)
	return w
}

// into is memory with a FileIntoReader, which it has no use for itself.
type into struct{ *memfs.FS }

func (m into) ReadFileInto(ctx context.Context, name provider.Path, p []byte) (int, error) {
	data, err := m.ReadFile(ctx, name, 0)
	switch {
	case err != nil:
		return 0, err
	case len(data) > len(p):
		return 0, syscall.EFBIG
	}
	return copy(p, data), nil
}

func (w *world) record(_ context.Context, e policyfs.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Err != nil {
		w.told = append(w.told, e.Err.Error())
	}
}

// tree describes everything that is stored.
func (w *world) tree(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	var walk func(dir provider.Path)
	walk = func(dir provider.Path) {
		f, err := w.mem.Open(t.Context(), dir, provider.OpenOptions{Read: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		entries, err := f.ReadDir(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name, err := dir.Join(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %v", name, info.Mode())
			if e.IsDir() {
				b.WriteByte('\n')
				walk(name)
				continue
			}
			data, err := provider.ReadFile(t.Context(), w.mem, name)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, " %x\n", sha256.Sum256(data))
		}
	}
	walk(provider.Path{})
	return b.String()
}

// TestPolicyfsFaults fails every call that every use of the face makes, one at a
// time: the injected error comes back under errors.Is, no File stays open,
// nothing is half done, and the text shows nothing of the storage.
func TestPolicyfsFaults(t *testing.T) {
	// An errno is passed on as it is; what a provider says in its own words must
	// not be printed.
	own := errors.New("disk at /srv/tenant-7 is on fire")
	for _, injected := range []error{syscall.EIO, own} {
		for _, optional := range []bool{true, false} {
			for _, s := range scenarios() {
				t.Run(fmt.Sprintf("%s/%v/%.10v", s.name, optional, injected), func(t *testing.T) {
					clean := newWorld(t, s, optional)
					before := clean.tree(t)
					if err := s.run(clean.face); err != nil {
						t.Fatalf("without faults: %v", err)
					}
					after := clean.tree(t)
					calls := clean.ctl.Calls()
					if len(calls) == 0 && s.name != "Authorize" {
						t.Fatal("the scenario makes no calls")
					}
					seen := map[string]int{}
					for _, call := range calls {
						w := newWorld(t, s, optional)
						seen[call.Op+call.Name]++
						w.ctl.SetPlan(faults.Like(call.Op, call.Name, seen[call.Op+call.Name], injected))
						err := s.run(w.face)
						where := fmt.Sprintf("call %d of %d, %s %s", call.N, len(calls), call.Op, call.Name)
						if !errors.Is(err, injected) && !(err == nil && s.tolerant) && !closing(call, err) {
							t.Errorf("%s: %v, which is not %v", where, err, injected)
						}
						if err != nil && strings.Contains(err.Error(), "tenant") {
							t.Errorf("%s: the error prints what the provider said: %v", where, err)
						}
						if open := w.ctl.OpenFiles(); len(open) > 0 {
							t.Errorf("%s: still open: %q", where, open)
						}
						if tree := w.tree(t); tree != before && tree != after && !s.partly {
							t.Errorf("%s: half done:\n%s", where, tree)
						}
					}
				})
			}
		}
	}
}

// closing reports whether a call is the Close of something that was only read,
// whose error tells nobody anything.
func closing(call faults.Call, err error) bool { return call.Op == "File.Close" && err == nil }

// innermost is the text of what err wraps, of all if it wraps several.
func innermost(err error) string {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return innermost(inner)
		}
	case interface{ Unwrap() []error }:
		var all []string
		for _, inner := range e.Unwrap() {
			all = append(all, innermost(inner))
		}
		return strings.Join(all, "\n")
	}
	return err.Error()
}

// TestPolicyfsNothing makes every call that has a result return neither that nor an
// error, one at a time: the caller gets an input/output error and no panic, which
// hides the truth that Audit hears, no File stays open and nothing is half done.
func TestPolicyfsNothing(t *testing.T) {
	const truth = "neither a result nor an error"
	results := []string{"Open", "Stat", "File.Stat", "File.ReadDir", "Entry.Info"}
	hit := map[string]int{}
	for _, optional := range []bool{true, false} {
		for _, s := range scenarios() {
			clean := newWorld(t, s, optional)
			before := clean.tree(t)
			clean.ctl.SetPlan(nil)
			if err := s.run(clean.face); err != nil {
				t.Fatalf("%s without faults: %v", s.name, err)
			}
			calls, after := clean.ctl.Calls(), clean.tree(t)
			seen := map[string]int{}
			for _, call := range calls {
				seen[call.Op+call.Name]++
				if !slices.Contains(results, call.Op) {
					continue
				}
				hit[call.Op]++
				w := newWorld(t, s, optional)
				w.ctl.SetPlan(faults.Like(call.Op, call.Name, seen[call.Op+call.Name], faults.ErrNothing))
				err := s.run(w.face)
				where := fmt.Sprintf("%s: call %d of %d, %s %s", s.name, call.N, len(calls), call.Op, call.Name)
				switch {
				case err == nil && s.tolerant:
				case err == nil || !strings.Contains(err.Error(), syscall.EIO.Error()):
					t.Errorf("%s: %v, want an input/output error", where, err)
				case !strings.Contains(innermost(err), truth):
					t.Errorf("%s: %v hides %q, want %q", where, err, innermost(err), truth)
				case len(w.told) > 0 && !strings.Contains(strings.Join(w.told, "\n"), truth):
					t.Errorf("%s: Audit heard %q, want %q", where, w.told, truth)
				}
				if open := w.ctl.OpenFiles(); len(open) > 0 {
					t.Errorf("%s: still open: %q", where, open)
				}
				if tree := w.tree(t); tree != before && tree != after && !s.partly {
					t.Errorf("%s: half done:\n%s", where, tree)
				}
			}
		}
	}
	for _, op := range results {
		if hit[op] == 0 {
			t.Errorf("no scenario calls %s", op)
		}
	}
	t.Logf("calls that returned nothing: %v", hit)
}

// TestPolicyfsStorageGone fails every call from the n-th on.
func TestPolicyfsStorageGone(t *testing.T) {
	for _, s := range scenarios() {
		clean := newWorld(t, s, true)
		if err := s.run(clean.face); err != nil {
			t.Fatalf("%s without faults: %v", s.name, err)
		}
		for n := range len(clean.ctl.Calls()) {
			w := newWorld(t, s, true)
			w.ctl.SetPlan(faults.From(n+1, syscall.EIO))
			err := s.run(w.face)
			// Which calls those are differs from run to run: a search makes them on
			// several goroutines.
			failed := w.ctl.Calls()[min(n, len(w.ctl.Calls())):]
			onlyCloses := !slices.ContainsFunc(failed, func(c faults.Call) bool { return !closing(c, err) })
			if !errors.Is(err, syscall.EIO) && !s.tolerant && !onlyCloses {
				t.Errorf("%s from call %d on: %v", s.name, n+1, err)
			}
			if open := w.ctl.OpenFiles(); len(open) > 0 {
				t.Errorf("%s from call %d on: still open: %q", s.name, n+1, open)
			}
		}
	}
}
