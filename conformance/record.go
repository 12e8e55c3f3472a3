package conformance

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// recorder is the provider under test as the checks see it: it writes down every
// call, and holds every answer against what is true of all answers (invariant.go).
type recorder struct {
	tr    *trial
	inner provider.Provider
	inv   *invariants
}

var _ provider.Provider = (*recorder)(nil)

// recorderWithReader is a recorder of a provider that has a FileReader.
type recorderWithReader struct{ *recorder }

var _ provider.FileReader = recorderWithReader{}

// recorderWithInto is a recorder of a provider that has a FileIntoReader.
type recorderWithInto struct{ recorderWithReader }

var _ provider.FileIntoReader = recorderWithInto{}

// record wraps p. The wrapper has the optional interfaces that p has.
func record(tr *trial, p provider.Provider, inv *invariants) provider.Provider {
	r := &recorder{tr: tr, inner: p, inv: inv}
	switch p.(type) {
	case provider.FileIntoReader:
		return recorderWithInto{recorderWithReader{r}}
	case provider.FileReader:
		return recorderWithReader{r}
	}
	return r
}

// done notes the result of a call that returns only an error.
func (r *recorder) done(end func(string), op string, err error) error {
	end(describe(err))
	r.inv.err(op, err)
	return err
}

// Open implements [provider.Provider].
func (r *recorder) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	end := r.tr.calls.begin("Open(%s, %s)", quote(name), describeOpen(opts))
	f, err := r.inner.Open(ctx, name, opts)
	if err != nil {
		r.done(end, "Open", err)
		r.inv.nilBeside("Open", f != nil)
		return nil, err
	}
	if f == nil {
		end("nil, nil")
		r.inv.nilBeside("Open", true)
		return nil, errNilFile
	}
	n := r.tr.calls.nextFile()
	end(fmt.Sprintf("file %d", n))
	file := &recordedFile{r: r, inner: f, id: n, name: name}
	r.tr.cleanup(func() { f.Close() })
	if _, ok := f.(provider.EntryRemover); ok {
		return recordedRemover{file}, nil
	}
	return file, nil
}

// errNilFile stands for a File that is not there.
var errNilFile = fmt.Errorf("Open returned neither a File nor an error")

// Stat implements [provider.Provider].
func (r *recorder) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	end := r.tr.calls.begin("Stat(%s)", quote(name))
	info, err := r.inner.Stat(ctx, name)
	return r.info(end, "Stat", name.Base(), info, err)
}

// info notes the result of a Stat.
func (r *recorder) info(end func(string), op, base string, info fs.FileInfo, err error) (fs.FileInfo, error) {
	if err != nil {
		r.done(end, op, err)
		r.inv.nilBeside(op, info != nil)
		return nil, err
	}
	if info == nil {
		end("nil, nil")
		r.inv.nilBeside(op, true)
		return nil, errNilFile
	}
	end(describeInfo(info))
	r.inv.info(op, base, info)
	return info, nil
}

// Mkdir implements [provider.Provider].
func (r *recorder) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	end := r.tr.calls.begin("Mkdir(%s, %#o)", quote(name), uint32(perm))
	return r.done(end, "Mkdir", r.inner.Mkdir(ctx, name, perm))
}

// Remove implements [provider.Provider].
func (r *recorder) Remove(ctx context.Context, name provider.Path) error {
	end := r.tr.calls.begin("Remove(%s)", quote(name))
	return r.done(end, "Remove", r.inner.Remove(ctx, name))
}

// Rename implements [provider.Provider].
func (r *recorder) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	var flags strings.Builder
	if opts.NoReplace {
		flags.WriteString(", NoReplace")
	}
	if opts.NotDir {
		flags.WriteString(", NotDir")
	}
	end := r.tr.calls.begin("Rename(%s, %s%s)", quote(oldname), quote(newname), flags.String())
	return r.done(end, "Rename", r.inner.Rename(ctx, oldname, newname, opts))
}

// Replace implements [provider.Provider].
func (r *recorder) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	end := r.tr.calls.begin("Replace(%s%s)", quote(name), describeReplace(opts))
	d, err := r.inner.Replace(ctx, name, content, opts)
	return d, r.done(end, "Replace", err)
}

// Chmod implements [provider.Provider].
func (r *recorder) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	end := r.tr.calls.begin("Chmod(%s, %v)", quote(name), perm)
	return r.done(end, "Chmod", r.inner.Chmod(ctx, name, perm))
}

// Chtimes implements [provider.Provider].
func (r *recorder) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	end := r.tr.calls.begin("Chtimes(%s, %s, %s)", quote(name), describeTime(atime), describeTime(mtime))
	return r.done(end, "Chtimes", r.inner.Chtimes(ctx, name, atime, mtime))
}

// Features implements [provider.Provider].
func (r *recorder) Features() provider.Features { return r.inner.Features() }

// Close implements [provider.Provider].
func (r *recorder) Close() error {
	end := r.tr.calls.begin("Close()")
	return r.done(end, "Close", r.inner.Close())
}

// ReadFile implements [provider.FileReader].
func (r recorderWithReader) ReadFile(ctx context.Context, name provider.Path, limit int64) ([]byte, error) {
	end := r.tr.calls.begin("ReadFile(%s, %d)", quote(name), limit)
	data, err := r.inner.(provider.FileReader).ReadFile(ctx, name, limit)
	if err != nil {
		r.done(end, "ReadFile", err)
		r.inv.nilBeside("ReadFile", data != nil)
		return nil, err
	}
	end(describeBytes(data))
	return data, nil
}

// ReadFileInto implements [provider.FileIntoReader].
func (r recorderWithInto) ReadFileInto(ctx context.Context, name provider.Path, p []byte) (int, error) {
	end := r.tr.calls.begin("ReadFileInto(%s, %d bytes)", quote(name), len(p))
	n, err := r.inner.(provider.FileIntoReader).ReadFileInto(ctx, name, p)
	if err != nil {
		return 0, r.done(end, "ReadFileInto", err)
	}
	end(fmt.Sprint(n))
	return n, nil
}

// withoutReader hides the FileReader and the FileIntoReader of a recorded provider.
func withoutReader(p provider.Provider) provider.Provider {
	switch r := p.(type) {
	case recorderWithInto:
		return r.recorder
	case recorderWithReader:
		return r.recorder
	}
	return p
}
