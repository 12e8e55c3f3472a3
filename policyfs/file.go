package policyfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// File is an open file or directory. It has the methods of afero.File and
// fs.ReadDirFile, with the answers that *os.File gives on Linux: syscall.EBADF
// for a direction it was not opened for, syscall.EISDIR for reading a directory,
// fs.ErrClosed after Close.
//
// A File keeps the policy and the access it was opened with. It is safe for
// concurrent use; Read, Write and Seek share one position.
type File struct {
	f    provider.File
	fs   *FS                  // the policy and the options
	ns   *namespace.Namespace // of the snapshot
	name string               // the caller's spelling
	path namespace.Path
	mode fileMode

	mu  sync.Mutex // guards pos and dir; taken before any call of f that moves them
	pos int64
	dir *dirStream
}

// fileMode is how a File was opened.
type fileMode struct{ read, write, append, sync bool }

var (
	_ afero.File     = (*File)(nil)
	_ fs.ReadDirFile = (*File)(nil)
)

// newFile keeps of the snapshot and the target what a File needs for its life.
func newFile(v *view, t *target, f provider.File, opts provider.OpenOptions, flag int) *File {
	return &File{
		f: f, fs: v.fs, ns: v.ns, name: t.name, path: t.Path,
		mode: fileMode{opts.Read, opts.Write, opts.Append, flag&os.O_SYNC != 0},
	}
}

// view is the snapshot that the file was opened with, for its listing.
func (f *File) view() view { return view{fs: f.fs, ns: f.ns, pol: f.fs.pol} }

// Name returns the spelling the file was opened with.
func (f *File) Name() string { return f.name }

// err gives an error of this file its operation and name. io.EOF stays bare.
func (f *File) err(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return pathErr(op, f.name, err)
}

// Close closes the file. A second Close is fs.ErrClosed.
func (f *File) Close() error {
	if f.f == nil {
		return f.err("close", fs.ErrClosed)
	}
	return f.err("close", f.f.Close())
}

// open returns fs.ErrClosed for the zero File.
func (f *File) open() error {
	if f.f == nil {
		return fs.ErrClosed
	}
	return nil
}

// alive is the error of an operation that the mode forbids: fs.ErrClosed comes
// first, as in package os.
func (f *File) alive(otherwise error) error {
	if err := f.open(); err != nil {
		return err
	}
	if _, err := f.f.Stat(); errors.Is(err, fs.ErrClosed) {
		return fs.ErrClosed
	}
	return otherwise
}

// Read reads up to len(p) bytes at the position. At the end it is io.EOF.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.read(p)
	return n, f.err("read", err)
}

func (f *File) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, f.alive(nil)
	}
	if !f.mode.read {
		return 0, f.alive(syscall.EBADF)
	}
	if err := f.open(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.f.ReadAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 && err == io.EOF {
		err = nil // the next Read says so, as with *os.File
	}
	return n, err
}

// ReadAt reads len(p) bytes at off; fewer come with an error, io.EOF at the end.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.readAt(p, off)
	return n, f.err("read", err)
}

func (f *File) readAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, f.alive(syscall.EINVAL)
	case len(p) == 0:
		return 0, f.alive(nil)
	case !f.mode.read:
		return 0, f.alive(syscall.EBADF)
	}
	if err := f.open(); err != nil {
		return 0, err
	}
	return f.f.ReadAt(p, off)
}

// Write writes p at the position, or at the end of a file opened with O_APPEND,
// where concurrent writes never overlap. Growing a file beyond
// Options.MaxFileBytes is syscall.EFBIG and writes nothing. After each write to a
// file opened with O_SYNC the content is synced.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.write(p)
	return n, f.err("write", err)
}

func (f *File) write(p []byte) (int, error) {
	if !f.mode.write {
		return 0, f.alive(syscall.EBADF)
	}
	if len(p) == 0 {
		return 0, f.alive(nil)
	}
	if err := f.open(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mode.append {
		if err := f.growth(-1, int64(len(p))); err != nil {
			return 0, err
		}
		n, end, err := f.f.Append(p)
		if n > 0 {
			f.pos = end
		}
		return n, f.synced(err)
	}
	if err := f.growth(f.pos, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.f.WriteAt(p, f.pos)
	f.pos += int64(n)
	return n, f.synced(err)
}

// synced syncs after a write that succeeded, where O_SYNC asks for it.
func (f *File) synced(err error) error {
	if err != nil || !f.mode.sync {
		return err
	}
	return f.f.Sync()
}

// growth refuses a write of n bytes at off (at the end for off -1) that would
// make the file larger than the limit. A write inside a file that is larger
// already is no growth.
func (f *File) growth(off, n int64) error {
	if off > math.MaxInt64-n {
		return syscall.EFBIG
	}
	limit, ok := f.fs.maxFileBytes()
	if !ok || off >= 0 && off+n <= limit {
		return nil
	}
	info, err := described(f.f.Stat())
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	size := info.Size()
	if off < 0 {
		off = size
	}
	if off > limit-n && off+n > size {
		return syscall.EFBIG
	}
	return nil
}

// WriteAt writes p at off. On a file opened with O_APPEND it is syscall.EINVAL:
// package os refuses that too, because the kernel would ignore off.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.writeAt(p, off)
	return n, f.err("write", err)
}

func (f *File) writeAt(p []byte, off int64) (int, error) {
	switch {
	case f.mode.append, off < 0:
		return 0, f.alive(syscall.EINVAL)
	case len(p) == 0:
		return 0, f.alive(nil)
	case !f.mode.write:
		return 0, f.alive(syscall.EBADF)
	}
	if err := f.open(); err != nil {
		return 0, err
	}
	if err := f.growth(off, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.f.WriteAt(p, off)
	return n, f.synced(err)
}

// WriteString is Write of a string.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// Seek sets the position. Beyond the end is allowed; before the beginning, or an
// unknown whence, is syscall.EINVAL and moves nothing. On a directory Seek(0,
// io.SeekStart) starts the listing anew, which sees what has changed since; any
// other position is syscall.EINVAL.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	pos, err := f.seek(offset, whence)
	return pos, f.err("seek", err)
}

func (f *File) seek(offset int64, whence int) (int64, error) {
	if err := f.open(); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := described(f.f.Stat())
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		if offset != 0 || whence != io.SeekStart && (whence != io.SeekCurrent || f.dir != nil) {
			return 0, syscall.EINVAL
		}
		f.dir = nil
		return 0, nil
	}
	var base int64
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		base = f.pos
	case io.SeekEnd:
		base = info.Size()
	default:
		return 0, syscall.EINVAL
	}
	if offset > 0 && base > math.MaxInt64-offset || base+offset < 0 {
		return 0, syscall.EINVAL
	}
	f.pos = base + offset
	return f.pos, nil
}

// Stat describes the open object at this moment; later changes do not show in
// the result. A directory has size 0, and Sys is nil.
func (f *File) Stat() (fs.FileInfo, error) {
	if err := f.open(); err != nil {
		return nil, f.err("stat", err)
	}
	info, err := described(f.f.Stat())
	if err != nil {
		return nil, f.err("stat", err)
	}
	return publicInfo(info, f.path.Base()), nil
}

// Sync makes the content durable where the provider can, and succeeds where
// there is nothing to do.
func (f *File) Sync() error {
	if err := f.open(); err != nil {
		return f.err("sync", err)
	}
	err := f.f.Sync()
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return f.err("sync", err)
}

// Truncate sets the size; the position stays. Without write access, and for a
// negative size, it is syscall.EINVAL, as ftruncate says; beyond
// Options.MaxFileBytes syscall.EFBIG.
func (f *File) Truncate(size int64) error {
	return f.err("truncate", f.truncate(size))
}

func (f *File) truncate(size int64) error {
	if !f.mode.write || size < 0 {
		return f.alive(syscall.EINVAL)
	}
	if err := f.open(); err != nil {
		return err
	}
	if err := f.growth(size, 0); err != nil {
		return err
	}
	return f.f.Truncate(size)
}
