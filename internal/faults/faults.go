// Package faults makes any provider fail on purpose, for tests: it counts the
// calls of every method of a [provider.Provider] and its Files, fails the ones
// that a [Plan] picks, and knows which Files are open.
package faults

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// Call is one call of a method.
type Call struct {
	N    int    // the number of the call, from 1, over all methods
	Op   string // "Open", "Stat", ... for the Provider; "File.ReadAt", "Entry.Info", ... for Files
	Name string // of the object, in the form of package io/fs
}

// Plan says what a call fails with, or nil. It is called for one call at a time.
type Plan func(Call) error

// ErrNothing, from a Plan, makes a call that has a result return nil in its place and
// no error, as no provider may; a listing gets a nil entry. It means no fault for
// other calls.
var ErrNothing = errors.New("faults: neither a result nor an error")

// unless returns err, and nil where it is ErrNothing.
func unless(err error) error {
	if err == ErrNothing {
		return nil
	}
	return err
}

// Nth fails the n-th call.
func Nth(n int, err error) Plan {
	return func(c Call) error {
		if c.N == n {
			return err
		}
		return nil
	}
}

// From fails the n-th call and all after it: storage that goes away.
func From(n int, err error) Plan {
	return func(c Call) error {
		if c.N >= n {
			return err
		}
		return nil
	}
}

// Like fails the k-th call, from 1, of a method on a name. Unlike [Nth] it fails
// the same call when the order of calls differs from run to run.
func Like(op, name string, k int, err error) Plan {
	seen := 0
	return func(c Call) error {
		if c.Op != op || c.Name != name {
			return nil
		}
		if seen++; seen == k {
			return err
		}
		return nil
	}
}

// Op fails every call of one method.
func Op(op string, err error) Plan {
	return func(c Call) error {
		if c.Op == op {
			return err
		}
		return nil
	}
}

// FS is a provider that fails as planned. A call that fails does nothing, with
// one exception: a failing Close of a File or of the Provider closes all the
// same, as package os does.
type FS struct {
	inner provider.Provider

	mu    sync.Mutex // guards what follows
	plan  Plan
	calls []Call
	open  map[*file]string
}

var _ provider.Provider = (*FS)(nil)

// withReader is an FS over a provider that has a FileReader.
type withReader struct{ *FS }

// withInto is an FS over a provider that has a FileIntoReader.
type withInto struct{ withReader }

// Wrap returns p with faults, and the FS that controls them: the provider has
// the FileReader and the FileIntoReader that p has. plan may be nil.
func Wrap(p provider.Provider, plan Plan) (provider.Provider, *FS) {
	f := &FS{inner: p, plan: plan, open: map[*file]string{}}
	switch p.(type) {
	case provider.FileIntoReader:
		return withInto{withReader{f}}, f
	case provider.FileReader:
		return withReader{f}, f
	}
	return f, f
}

// SetPlan replaces the plan and counts from 1 again.
func (f *FS) SetPlan(plan Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.calls = plan, nil
}

// Calls returns the calls since the plan was set.
func (f *FS) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// OpenFiles returns the names of the Files that are open.
func (f *FS) OpenFiles() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Values(f.open))
}

// begin counts a call and asks the plan.
func (f *FS) begin(op string, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := Call{N: len(f.calls) + 1, Op: op, Name: name}
	f.calls = append(f.calls, c)
	if f.plan == nil {
		return nil
	}
	return f.plan(c)
}

// Open implements [provider.Provider].
func (f *FS) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := f.begin("Open", name.String()); err != nil {
		return nil, unless(err)
	}
	inner, err := f.inner.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	h := &file{fs: f, File: inner, name: name.String()}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[h] = name.String()
	if _, ok := inner.(provider.EntryRemover); ok {
		return remover{h}, nil
	}
	return h, nil
}

// Stat implements [provider.Provider].
func (f *FS) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := f.begin("Stat", name.String()); err != nil {
		return nil, unless(err)
	}
	return f.inner.Stat(ctx, name)
}

// Mkdir implements [provider.Provider].
func (f *FS) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := f.begin("Mkdir", name.String()); err != nil {
		return err
	}
	return f.inner.Mkdir(ctx, name, perm)
}

// Remove implements [provider.Provider].
func (f *FS) Remove(ctx context.Context, name provider.Path) error {
	if err := f.begin("Remove", name.String()); err != nil {
		return err
	}
	return f.inner.Remove(ctx, name)
}

// Rename implements [provider.Provider].
func (f *FS) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if err := f.begin("Rename", oldname.String()); err != nil {
		return err
	}
	return f.inner.Rename(ctx, oldname, newname, opts)
}

// Replace implements [provider.Provider].
func (f *FS) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if err := f.begin("Replace", name.String()); err != nil {
		return provider.Digest{}, err
	}
	return f.inner.Replace(ctx, name, content, opts)
}

// Chmod implements [provider.Provider].
func (f *FS) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := f.begin("Chmod", name.String()); err != nil {
		return err
	}
	return f.inner.Chmod(ctx, name, perm)
}

// Chtimes implements [provider.Provider].
func (f *FS) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	if err := f.begin("Chtimes", name.String()); err != nil {
		return err
	}
	return f.inner.Chtimes(ctx, name, atime, mtime)
}

// Features implements [provider.Provider]. It never fails.
func (f *FS) Features() provider.Features { return f.inner.Features() }

// Close implements [provider.Provider].
func (f *FS) Close() error {
	injected := f.begin("Close", ".")
	if err := f.inner.Close(); err != nil {
		return err
	}
	return injected
}

// ReadFile implements [provider.FileReader].
func (f withReader) ReadFile(ctx context.Context, name provider.Path, limit int64) ([]byte, error) {
	if err := f.begin("ReadFile", name.String()); err != nil {
		return nil, err
	}
	return f.inner.(provider.FileReader).ReadFile(ctx, name, limit)
}

// ReadFileInto implements [provider.FileIntoReader].
func (f withInto) ReadFileInto(ctx context.Context, name provider.Path, p []byte) (int, error) {
	if err := f.begin("ReadFileInto", name.String()); err != nil {
		return 0, err
	}
	return f.inner.(provider.FileIntoReader).ReadFileInto(ctx, name, p)
}
