package conformance_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/provider"
)

// archive is a provider that a third party could write: any fs.FS, read-only.
// Its Features claim nothing, so the suite tests reading and that every mutation
// is refused. It is also the worked example of the README.
type archive struct {
	fsys   fs.FS
	closed atomic.Bool
}

var _ provider.Provider = (*archive)(nil)

// begin is what every method asks first: nothing after Close, nothing once the
// context is done.
func begin(ctx context.Context, closed *atomic.Bool) error {
	if closed.Load() {
		return fs.ErrClosed
	}
	return ctx.Err()
}

// end closes what is open; a second time is an error.
func end(closed *atomic.Bool) error {
	if closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}

// find describes what is at name. An fs.FS says "not found" for a name below a
// file; the contract says ENOTDIR, so the parents are asked in turn. Nothing is
// followed: an fs.FS whose Lstat reports a link is refused there.
func (a *archive) find(name provider.Path) (fs.FileInfo, error) {
	if !name.IsRoot() {
		switch dir, err := a.find(name.Parent()); {
		case err != nil:
			return nil, err
		case dir.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return nil, provider.ErrSymlink
		case !dir.IsDir():
			return nil, syscall.ENOTDIR
		}
	}
	info, err := fs.Lstat(a.fsys, name.String())
	if err != nil {
		return nil, bareError(err)
	}
	return bareInfo(info, name.Base()), nil
}

// bareInfo keeps what the contract knows, under the name that was asked for.
func bareInfo(info fs.FileInfo, name string) fs.FileInfo {
	return provider.NewInfo(name, info.Size(), info.Mode(), info.ModTime())
}

// bareError takes an error out of its *fs.PathError; what is no condition of the
// contract becomes EIO, for its text may hold anything.
func bareError(err error) error {
	for _, condition := range []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrClosed, fs.ErrInvalid} {
		if errors.Is(err, condition) {
			return condition
		}
	}
	return syscall.EIO
}

func (a *archive) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := cmp.Or(begin(ctx, &a.closed), opts.Check()); err != nil {
		return nil, err
	}
	if opts.Mutates() {
		return nil, syscall.EROFS
	}
	f := &archiveFile{fsys: a.fsys, name: name}
	var err error
	switch f.info, err = a.find(name); {
	case err != nil:
		return nil, err
	case f.info.IsDir():
		return f, nil
	case f.info.Mode()&fs.ModeSymlink != 0:
		return nil, provider.ErrSymlink
	case opts.Directory:
		return nil, syscall.ENOTDIR
	case !f.info.Mode().IsRegular():
		return nil, provider.ErrIrregular
	}
	if f.content, err = fs.ReadFile(a.fsys, name.String()); err != nil {
		return nil, bareError(err)
	}
	return f, nil
}

func (a *archive) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := begin(ctx, &a.closed); err != nil {
		return nil, err
	}
	return a.find(name)
}

// refuse is the answer to every mutation.
func (a *archive) refuse(ctx context.Context) error {
	return cmp.Or(begin(ctx, &a.closed), error(syscall.EROFS))
}

func (a *archive) Mkdir(ctx context.Context, _ provider.Path, _ fs.FileMode) error {
	return a.refuse(ctx)
}
func (a *archive) Remove(ctx context.Context, _ provider.Path) error { return a.refuse(ctx) }
func (a *archive) Rename(ctx context.Context, _, _ provider.Path, _ provider.RenameOptions) error {
	return a.refuse(ctx)
}
func (a *archive) Replace(ctx context.Context, _ provider.Path, _ io.Reader, _ provider.ReplaceOptions) (provider.Digest, error) {
	return provider.Digest{}, a.refuse(ctx)
}
func (a *archive) Chmod(ctx context.Context, _ provider.Path, _ fs.FileMode) error {
	return a.refuse(ctx)
}
func (a *archive) Chtimes(ctx context.Context, _ provider.Path, _, _ time.Time) error {
	return a.refuse(ctx)
}
func (a *archive) Features() provider.Features { return provider.Features{} }
func (a *archive) Close() error                { return end(&a.closed) }

// archiveFile is an open file with its content, or an open directory.
type archiveFile struct {
	fsys    fs.FS
	name    provider.Path
	info    fs.FileInfo
	content []byte
	closed  atomic.Bool
}

// begin refuses a closed File, then what is wrong with the call.
func (f *archiveFile) begin(wrong bool, err error) error {
	switch {
	case f.closed.Load():
		return fs.ErrClosed
	case wrong:
		return err
	}
	return nil
}

func (f *archiveFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.begin(f.info.IsDir(), syscall.EISDIR); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, syscall.EINVAL
	}
	n := copy(p, f.content[min(off, int64(len(f.content))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *archiveFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	if err := f.begin(!f.info.IsDir(), syscall.ENOTDIR); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(f.fsys, f.name.String())
	switch {
	case err != nil:
		return nil, bareError(err)
	case limit > 0 && len(entries) > limit:
		return nil, provider.ErrTooMany
	}
	for i, e := range entries {
		info, err := e.Info()
		if err != nil {
			return nil, bareError(err)
		}
		entries[i] = fs.FileInfoToDirEntry(bareInfo(info, e.Name()))
	}
	return entries, nil
}

func (f *archiveFile) Stat() (fs.FileInfo, error) {
	if err := f.begin(false, nil); err != nil {
		return nil, err
	}
	return f.info, nil
}

func (f *archiveFile) Sync() error                        { return f.begin(false, nil) }
func (f *archiveFile) Truncate(int64) error               { return f.begin(true, syscall.EROFS) }
func (f *archiveFile) WriteAt([]byte, int64) (int, error) { return 0, f.begin(true, syscall.EROFS) }
func (f *archiveFile) Append([]byte) (int, int64, error)  { return 0, 0, f.begin(true, syscall.EROFS) }
func (f *archiveFile) Close() error                       { return end(&f.closed) }

func TestExampleProvider(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		NewWith: func(t testing.TB, files map[string]string) provider.Provider {
			fsys := fstest.MapFS{}
			for name, content := range files {
				fsys[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
			}
			return &archive{fsys: fsys}
		},
	})
}
