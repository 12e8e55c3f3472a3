package memfs

import (
	"context"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// Remove implements [provider.Provider].
func (m *FS) Remove(ctx context.Context, name provider.Path) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	m.mu.lock()
	defer m.mu.unlock()
	d, key, n, err := m.ownParent(name)
	switch {
	case err != nil:
		return err
	case d == nil:
		return syscall.EBUSY
	case n == nil:
		return syscall.ENOENT
	case n.dir != nil && n.dir.entries.len > 0:
		return syscall.ENOTEMPTY
	}
	m.unlink(d, key, n)
	d.touch(m.now())
	return nil
}

// RemoveEntry implements [provider.EntryRemover].
func (f *file) RemoveEntry(elem string, dir bool) error {
	if _, err := (provider.Path{}).Join(elem); err != nil {
		return err
	}
	m, d := f.h.m, f.h.n.dir
	m.mu.lock()
	defer m.mu.unlock()
	switch {
	case f.closed.Load():
		return fs.ErrClosed
	case d == nil:
		return syscall.ENOTDIR
	}
	key, n := m.lookup(d, elem)
	switch {
	case n == nil:
		return syscall.ENOENT
	case dir && n.dir == nil:
		return syscall.ENOTDIR
	case !dir && n.dir != nil:
		return syscall.EISDIR
	case n.dir != nil && n.dir.entries.len > 0:
		return syscall.ENOTEMPTY
	}
	m.unlink(d, key, n)
	d.touch(m.now())
	return nil
}
