package aferofs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/provider"
)

// maxGap is how far beyond its end a file can be written or extended in one
// step: some backends allocate the gap.
const maxGap = 1 << 30

// Open implements [provider.Provider].
func (f *FS) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := f.begin(ctx, name); err != nil {
		return nil, err
	}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.Mutates() && f.readOnly {
		return nil, syscall.EROFS
	}
	if opts.Create {
		f.mu.Lock()
		defer f.mu.Unlock()
	} else {
		f.mu.RLock()
		defer f.mu.RUnlock()
	}
	info, err := f.look(name)
	if errors.Is(err, fs.ErrNotExist) && opts.Create {
		return f.create(name, opts)
	}
	if err != nil {
		return nil, err
	}
	if opts.Create && opts.Exclusive {
		return nil, fs.ErrExist
	}
	if err := ordinary(info); err != nil {
		return nil, err
	}
	if info.IsDir() && opts.Mutates() {
		return nil, syscall.EISDIR
	}
	if !info.IsDir() && opts.Directory {
		return nil, syscall.ENOTDIR
	}
	return f.openExisting(name, info, opts)
}

// create makes a file that was not there.
func (f *FS) create(name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := f.lookDir(name.Parent()); err != nil {
		return nil, err
	}
	base, err := f.base.OpenFile(native(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, opts.FileMode())
	if err != nil {
		return nil, bare(err)
	}
	return &file{fs: f, base: base, name: name, write: opts.Write, append: opts.Append && opts.Write}, nil
}

// openExisting opens what look found, and checks that it still is that. It never
// asks the backend to create or truncate in the open.
func (f *FS) openExisting(name provider.Path, info fs.FileInfo, opts provider.OpenOptions) (provider.File, error) {
	flag := os.O_RDONLY
	if opts.Write || opts.Truncate {
		flag = os.O_WRONLY
		if opts.Read {
			flag = os.O_RDWR
		}
	}
	base, err := f.base.OpenFile(native(name), flag, 0)
	if err != nil {
		return nil, bare(err)
	}
	opened, err := base.Stat()
	if err == nil {
		err = ordinary(opened)
	}
	// Backends of the operating system say which file it is: another one than
	// was looked at came through a link that was put there meanwhile.
	if err == nil && os.SameFile(info, info) && !os.SameFile(info, opened) {
		err = provider.ErrSymlink
	}
	if err == nil && opts.Truncate && opened.Size() > 0 {
		f.content.RLock()
		err = base.Truncate(0)
		f.content.RUnlock()
	}
	if err != nil {
		base.Close()
		return nil, conditionOf(err)
	}
	return &file{
		fs: f, base: base, name: name, dir: info.IsDir(), os: os.SameFile(info, info),
		write: opts.Write, append: opts.Append && opts.Write,
	}, nil
}

// conditionOf is bare for errors that may be the contract's own.
func conditionOf(err error) error {
	if errors.Is(err, provider.ErrSymlink) || errors.Is(err, provider.ErrIrregular) {
		return err
	}
	return bare(err)
}

// file is an open file or directory. Its lock makes one operation at a time of
// what backends do with a cursor.
type file struct {
	fs            *FS
	name          provider.Path
	dir           bool
	os            bool // the backend is the operating system's
	write, append bool

	mu     sync.Mutex // guards what follows
	base   afero.File
	closed bool
}

var _ provider.File = (*file)(nil)

// begin locks f for an operation on a file (or, with dir, on a directory).
func (f *file) begin(dir bool) (unlock func(), err error) {
	f.mu.Lock()
	switch {
	case f.closed:
		err = fs.ErrClosed
	case f.dir && !dir:
		err = syscall.EISDIR
	case !f.dir && dir:
		err = syscall.ENOTDIR
	default:
		return f.mu.Unlock, nil
	}
	f.mu.Unlock()
	return nil, err
}

// ReadAt implements [io.ReaderAt].
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	unlock, err := f.begin(false)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if off > math.MaxInt-int64(len(p)) {
		return 0, io.EOF // a backend that counts in int would wrap around
	}
	n := 0
	for n < len(p) {
		m, err := f.base.ReadAt(p[n:], off+int64(n))
		n += max(m, 0)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && m <= 0 {
			return n, io.EOF
		}
		if err != nil {
			return n, bare(err)
		}
	}
	return n, nil
}

// size returns the size of the open file.
func (f *file) size() (int64, error) {
	info, err := f.base.Stat()
	if err != nil {
		return 0, bare(err)
	}
	return info.Size(), nil
}

// beginWrite is begin for a change of content.
func (f *file) beginWrite() (unlock func(), err error) {
	unlock, err = f.begin(false)
	if err == nil && !f.write {
		unlock()
		return nil, syscall.EBADF
	}
	return unlock, err
}

// WriteAt implements [io.WriterAt].
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	unlock, err := f.beginWrite()
	if err != nil {
		return 0, err
	}
	defer unlock()
	if off < 0 {
		return 0, syscall.EINVAL
	}
	if len(p) == 0 {
		return 0, nil
	}
	f.fs.content.RLock()
	defer f.fs.content.RUnlock()
	if err := f.mayGrow(off, int64(len(p))); err != nil {
		return 0, err
	}
	return f.writeAt(p, off)
}

// mayGrow refuses to write n bytes at an offset that is out of reach.
func (f *file) mayGrow(off, n int64) error {
	size, err := f.size()
	if err != nil {
		return err
	}
	if off > math.MaxInt64-n || off-size > maxGap {
		return syscall.EFBIG
	}
	return nil
}

// writeAt writes all of p, or says why not.
func (f *file) writeAt(p []byte, off int64) (int, error) {
	n, err := f.base.WriteAt(p, off)
	n = min(max(n, 0), len(p))
	if n < len(p) && err == nil {
		err = io.ErrShortWrite
	}
	return n, bare(err)
}

// Append implements [provider.File].
func (f *file) Append(p []byte) (n int, end int64, err error) {
	unlock, err := f.beginWrite()
	if err != nil {
		return 0, 0, err
	}
	defer unlock()
	if !f.append {
		return 0, 0, syscall.EBADF
	}
	f.fs.content.Lock()
	defer f.fs.content.Unlock()
	if end, err = f.size(); err != nil || len(p) == 0 {
		return 0, end, err
	}
	if err := f.mayGrow(end, int64(len(p))); err != nil {
		return 0, end, err
	}
	n, err = f.writeAt(p, end)
	return n, end + int64(n), err
}

// Truncate implements [provider.File].
func (f *file) Truncate(size int64) error {
	unlock, err := f.beginWrite()
	if err != nil {
		return err
	}
	defer unlock()
	if size < 0 {
		return syscall.EINVAL
	}
	f.fs.content.RLock()
	defer f.fs.content.RUnlock()
	if err := f.mayGrow(size, 0); err != nil {
		return err
	}
	return bare(f.base.Truncate(size))
}

// Stat implements [provider.File].
func (f *file) Stat() (fs.FileInfo, error) {
	unlock, err := f.begin(f.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	info, err := f.base.Stat()
	if err != nil {
		return nil, bare(err)
	}
	return plain(info, f.name.Base()), nil
}

// Sync implements [provider.File].
func (f *file) Sync() error {
	unlock, err := f.begin(f.dir)
	if err != nil {
		return err
	}
	defer unlock()
	return bare(f.base.Sync())
}

// Close implements [io.Closer].
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	f.closed = true
	return bare(f.base.Close())
}

// ReadDir implements [provider.File]. The entries are snapshots.
func (f *file) ReadDir(limit int) ([]fs.DirEntry, error) {
	unlock, err := f.begin(true)
	if err != nil {
		return nil, err
	}
	defer unlock()
	infos, err := f.list(limit)
	if err != nil {
		return nil, bare(err)
	}
	entries := make([]fs.DirEntry, 0, len(infos))
	for _, info := range infos {
		if !isTemporary(info.Name()) {
			entries = append(entries, fs.FileInfoToDirEntry(plain(info, info.Name())))
		}
	}
	if limit > 0 && len(entries) > limit {
		return nil, provider.ErrTooMany
	}
	return entries, nil
}

// temporaries is how many temporaries a bounded listing looks past.
const temporaries = 64

// list reads the directory from its beginning, a little beyond limit.
func (f *file) list(limit int) ([]fs.FileInfo, error) {
	dir := f.base
	if f.os {
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
	} else {
		// Not every backend can go back to the beginning.
		again, err := f.fs.base.Open(native(f.name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // removed
		}
		if err != nil {
			return nil, err
		}
		defer again.Close()
		dir = again
	}
	if limit <= 0 || limit > math.MaxInt-temporaries-1 {
		infos, err := dir.Readdir(-1)
		return infos, ignoreEOF(err)
	}
	var infos []fs.FileInfo
	for len(infos) <= limit+temporaries {
		more, err := dir.Readdir(limit + temporaries + 1 - len(infos))
		infos = append(infos, more...)
		if err != nil || len(more) == 0 {
			return infos, ignoreEOF(err)
		}
	}
	return infos, nil
}
