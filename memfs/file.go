package memfs

import (
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

var (
	_ provider.File          = (*file)(nil)
	_ provider.EntryRemover  = (*file)(nil)
	_ provider.ContentViewer = (*file)(nil)
)

// ReadAt implements [provider.File].
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.h.n.mu.RLock()
	defer f.h.n.mu.RUnlock()
	if err := f.mayRead(); err != nil {
		return 0, err
	}
	return f.h.n.read(p, off)
}

// ViewContent implements [provider.ContentViewer], for files without holes of up to
// 256 KiB. No lock is held while fn runs. What a write leaves to fn is not charged.
func (f *file) ViewContent(limit int, fn func(content []byte)) (ok bool, err error) {
	c, text, err := f.lend(limit)
	if c == nil {
		return false, err
	}
	defer c.lent.Add(-1)
	fn(text)
	return true, nil
}

// lend is [inode.lend] for a reader of f.
func (f *file) lend(limit int) (*content, []byte, error) {
	f.h.n.mu.RLock()
	defer f.h.n.mu.RUnlock()
	if err := f.mayRead(); err != nil {
		return nil, nil, err
	}
	c, text := f.h.n.lend(limit)
	return c, text, nil
}

// mayRead reports whether f can be read. The caller holds n.mu.
func (f *file) mayRead() error {
	switch {
	case f.closed.Load():
		return fs.ErrClosed
	case f.h.n.dir != nil:
		return syscall.EISDIR
	case !f.access.read:
		return syscall.EBADF
	}
	return nil
}

// WriteAt implements [provider.File].
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	f.h.n.mu.Lock()
	defer f.h.n.mu.Unlock()
	if err := f.mayWrite(); err != nil {
		return 0, err
	}
	switch {
	case off < 0:
		return 0, syscall.EINVAL
	case len(p) == 0:
		return 0, nil
	}
	if err := f.h.n.write(f.h.m, p, off); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Append implements [provider.File].
func (f *file) Append(p []byte) (n int, end int64, err error) {
	f.h.n.mu.Lock()
	defer f.h.n.mu.Unlock()
	if err := f.mayWrite(); err != nil {
		return 0, 0, err
	}
	size := f.h.n.size.Load()
	switch {
	case !f.access.append:
		return 0, size, syscall.EBADF
	case len(p) == 0:
		return 0, size, nil
	}
	if err := f.h.n.write(f.h.m, p, size); err != nil {
		return 0, size, err
	}
	return len(p), f.h.n.size.Load(), nil
}

// Truncate implements [provider.File]. Growth is a hole, and costs nothing.
func (f *file) Truncate(size int64) error {
	f.h.n.mu.Lock()
	defer f.h.n.mu.Unlock()
	if err := f.mayWrite(); err != nil {
		return err
	}
	if size < 0 {
		return syscall.EINVAL
	}
	return f.h.n.truncate(f.h.m, size)
}

// mayWrite reports whether f takes writes. The caller holds n.mu.
func (f *file) mayWrite() error {
	switch {
	case f.closed.Load():
		return fs.ErrClosed
	case f.h.n.dir != nil:
		return syscall.EISDIR
	case !f.access.write:
		return syscall.EBADF
	}
	return nil
}

// Stat implements [provider.File].
func (f *file) Stat() (fs.FileInfo, error) {
	a := f.h.n.attr()
	if f.closed.Load() {
		return nil, fs.ErrClosed
	}
	return a.info(f.name), nil
}

// Sync implements [provider.File]; there is nothing to do.
func (f *file) Sync() error {
	if f.closed.Load() {
		return fs.ErrClosed
	}
	return nil
}
