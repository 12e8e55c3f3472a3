package diskfs

import (
	"io"
	"io/fs"
	"math"
	"sync"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// file is an open regular file or directory.
type file struct {
	desc desc
	fs   *tree
	name string // base name it was opened with

	dir           bool
	write, append bool
	// end is the size it had when it was opened for reading, or -1 where sizes
	// are no truth. A read that stops short there has seen the end.
	end int64

	// mu guards the descriptor's own position, which only listings and appends
	// use, and what follows. It is taken before fs.lock.
	mu     sync.Mutex
	listed bool
	tildes map[string]struct{} // the names of the last listing that look like short names; see hasListed
}

var (
	_ provider.File         = (*file)(nil)
	_ provider.EntryRemover = (*file)(nil)
	_ provider.EntryReader  = (*file)(nil)
)

// Close releases the descriptor, once operations in progress are done.
func (f *file) Close() error { return f.desc.close() }

// Stat describes the object as it is now.
func (f *file) Stat() (fs.FileInfo, error) {
	fd, ok := f.desc.use()
	if !ok {
		return nil, fs.ErrClosed
	}
	defer f.desc.done()
	var st unix.Stat_t
	if e := fstat(fd, &st); e != 0 {
		return nil, e
	}
	return newInfo(f.name, &st), nil
}

// ReadAt reads with pread until p is full or the file ends.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	fd, ok := f.desc.use()
	if !ok {
		return 0, fs.ErrClosed
	}
	defer f.desc.done()
	if f.dir {
		return 0, unix.EISDIR
	}
	if off < 0 {
		return 0, unix.EINVAL
	}
	return preadFull(fd, p, off, f.end)
}

// preadFull reads len(p) bytes at off, or fewer with an error. end is where a
// short read needs no second one to tell that the file ends, or -1.
func preadFull(fd int, p []byte, off, end int64) (int, error) {
	n := 0
	for n < len(p) {
		// The kernel refuses a range that ends beyond the largest offset.
		q := p[n:]
		if room := math.MaxInt64 - off - int64(n); int64(len(q)) > room {
			q = q[:room]
		}
		if len(q) == 0 {
			return n, io.EOF
		}
		m, err := unix.Pread(fd, q, off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		}
		n += m
		if n < len(p) && off+int64(n) == end {
			return n, io.EOF
		}
	}
	return n, nil
}

// WriteAt writes with pwrite until all of p is written.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	fd, ok := f.desc.use()
	if !ok {
		return 0, fs.ErrClosed
	}
	defer f.desc.done()
	switch {
	case f.dir:
		return 0, unix.EISDIR
	case !f.write:
		return 0, unix.EBADF
	case off < 0:
		return 0, unix.EINVAL
	case len(p) == 0:
		return 0, nil
	case int64(len(p)) > f.fs.maxSize()-off:
		return 0, unix.EFBIG
	}
	if f.append {
		return f.writeAtAppend(fd, p, off)
	}
	f.fs.lock.mu.RLock()
	defer f.fs.lock.mu.RUnlock()
	return pwriteFull(fd, p, off)
}

// maxSize is the size that no file may pass.
func (t *tree) maxSize() int64 {
	if t.traits.maxFile > 0 {
		return t.traits.maxFile
	}
	return math.MaxInt64
}

// writeAtAppend is WriteAt for a descriptor opened with O_APPEND, which makes
// Linux append whatever pwrite is told; the flag is off while it writes.
func (f *file) writeAtAppend(fd int, p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fs.lock.mu.RLock()
	defer f.fs.lock.mu.RUnlock()
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return 0, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^unix.O_APPEND); err != nil {
		return 0, err
	}
	n, err := pwriteFull(fd, p, off)
	if _, e := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags); err == nil {
		err = e
	}
	return n, err
}

// pwriteFull writes all of p at off, or less with an error.
func pwriteFull(fd int, p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		m, err := unix.Pwrite(fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, err
		case m == 0:
			return n, io.ErrShortWrite
		}
		n += m
	}
	return n, nil
}

// Append writes p at the end of the file, wherever that is when the kernel gets
// to it (O_APPEND), so that other processes' appends do not overlap either.
func (f *file) Append(p []byte) (int, int64, error) {
	fd, ok := f.desc.use()
	if !ok {
		return 0, 0, fs.ErrClosed
	}
	defer f.desc.done()
	switch {
	case f.dir:
		return 0, 0, unix.EISDIR
	case !f.append || !f.write:
		return 0, 0, unix.EBADF
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fs.lock.mu.RLock()
	defer f.fs.lock.mu.RUnlock()
	n := 0
	for n < len(p) {
		m, err := unix.Write(fd, p[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, appendEnd(fd, n), err
		case m == 0:
			return n, appendEnd(fd, n), io.ErrShortWrite
		}
		n += m
	}
	return n, appendEnd(fd, n), nil
}

// appendEnd returns where an append of n bytes ended: the descriptor's position
// after it, which is exact whatever others appended since. An append of nothing
// did not move it.
func appendEnd(fd, n int) int64 {
	if n > 0 {
		if end, err := unix.Seek(fd, 0, unix.SEEK_CUR); err == nil {
			return end
		}
	}
	var st unix.Stat_t
	if fstat(fd, &st) != 0 {
		return 0
	}
	return st.Size
}

// Truncate sets the size.
func (f *file) Truncate(size int64) error {
	fd, ok := f.desc.use()
	if !ok {
		return fs.ErrClosed
	}
	defer f.desc.done()
	switch {
	case f.dir:
		return unix.EISDIR
	case !f.write:
		return unix.EBADF
	case size < 0:
		return unix.EINVAL
	case size > f.fs.maxSize():
		return unix.EFBIG
	}
	f.fs.lock.mu.RLock()
	defer f.fs.lock.mu.RUnlock()
	return mapErrno(ftruncate(fd, size))
}

func ftruncate(fd int, size int64) unix.Errno {
	for {
		if e := errno(unix.Ftruncate(fd, size)); e != unix.EINTR {
			return e
		}
	}
}

// Sync makes content durable, and for a directory its entries.
func (f *file) Sync() error {
	fd, ok := f.desc.use()
	if !ok {
		return fs.ErrClosed
	}
	defer f.desc.done()
	if f.dir {
		return mapErrno(fsyncDir(fd))
	}
	return mapErrno(fsync(fd))
}

func fsync(fd int) unix.Errno {
	for {
		if e := errno(unix.Fsync(fd)); e != unix.EINTR {
			return e
		}
	}
}

// fsyncDir syncs a directory; storage that has no such thing is not an error.
func fsyncDir(fd int) unix.Errno {
	switch e := fsync(fd); e {
	case unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP, unix.EROFS:
		return 0
	default:
		return e
	}
}
