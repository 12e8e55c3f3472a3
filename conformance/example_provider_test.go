package conformance_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
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

// begin is what every method asks first.
func (a *archive) begin(ctx context.Context) error {
	if a.closed.Load() {
		return fs.ErrClosed
	}
	return ctx.Err()
}

// find describes what is at name. An fs.FS says "not found" for a name below a
// file; the contract says ENOTDIR, so the parents are asked in turn. Nothing is
// followed: an fs.FS whose Lstat reports a link is refused there.
func (a *archive) find(name provider.Path) (fs.FileInfo, error) {
	var dir provider.Path
	for elem := range name.Elems() {
		info, err := fs.Lstat(a.fsys, dir.String())
		switch {
		case err != nil:
			return nil, bareError(err)
		case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return nil, provider.ErrSymlink
		case !info.IsDir():
			return nil, syscall.ENOTDIR
		}
		dir, _ = dir.Join(elem)
	}
	info, err := fs.Lstat(a.fsys, name.String())
	if err != nil {
		return nil, bareError(err)
	}
	return archiveInfo{info, name.Base()}, nil
}

// bareError takes an error out of its *fs.PathError; what is no condition of the
// contract becomes EIO, for its text may hold anything.
func bareError(err error) error {
	for _, target := range []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrClosed, fs.ErrInvalid, io.EOF} {
		if errors.Is(err, target) {
			return target
		}
	}
	return syscall.EIO
}

// Open implements provider.Provider.
func (a *archive) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.Mutates() {
		return nil, syscall.EROFS
	}
	info, err := a.find(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, provider.ErrSymlink
	case !info.IsDir() && opts.Directory:
		return nil, syscall.ENOTDIR
	case info.IsDir():
		return &archiveFile{a: a, name: name, info: info}, nil
	case !info.Mode().IsRegular():
		return nil, provider.ErrIrregular
	}
	content, err := fs.ReadFile(a.fsys, name.String())
	if err != nil {
		return nil, bareError(err)
	}
	return &archiveFile{a: a, name: name, info: info, content: content}, nil
}

// Stat implements provider.Provider.
func (a *archive) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	return a.find(name)
}

// refuse is the answer to every mutation.
func (a *archive) refuse(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	return syscall.EROFS
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

// Close implements provider.Provider.
func (a *archive) Close() error {
	if a.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}

// archiveFile is an open file with its content, or an open directory.
type archiveFile struct {
	a       *archive
	name    provider.Path
	info    fs.FileInfo
	content []byte

	mu     sync.Mutex // guards closed
	closed bool
}

// begin refuses a closed File, and a kind of file the operation is not for.
func (f *archiveFile) begin(wrongKind bool, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	if wrongKind {
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
	entries, err := fs.ReadDir(f.a.fsys, f.name.String())
	if err != nil {
		return nil, bareError(err)
	}
	if limit > 0 && len(entries) > limit {
		return nil, provider.ErrTooMany
	}
	for i, e := range entries {
		entries[i] = archiveEntry{e}
	}
	return entries, nil
}

func (f *archiveFile) Stat() (fs.FileInfo, error) {
	if err := f.begin(false, nil); err != nil {
		return nil, err
	}
	return f.info, nil
}

func (f *archiveFile) Sync() error          { return f.begin(false, nil) }
func (f *archiveFile) Truncate(int64) error { return f.begin(true, syscall.EROFS) }
func (f *archiveFile) WriteAt([]byte, int64) (int, error) {
	return 0, f.begin(true, syscall.EROFS)
}
func (f *archiveFile) Append([]byte) (int, int64, error) {
	return 0, 0, f.begin(true, syscall.EROFS)
}

func (f *archiveFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	return nil
}

// archiveInfo hides Sys and has the name that was asked for.
type archiveInfo struct {
	fs.FileInfo
	name string
}

func (i archiveInfo) Name() string { return i.name }
func (i archiveInfo) Sys() any     { return nil }

// archiveEntry hides Sys.
type archiveEntry struct{ fs.DirEntry }

func (e archiveEntry) Info() (fs.FileInfo, error) {
	info, err := e.DirEntry.Info()
	if err != nil {
		return nil, bareError(err)
	}
	return archiveInfo{info, e.Name()}, nil
}

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
