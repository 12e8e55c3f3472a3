package memfs

import (
	"context"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// file is an open file or directory.
type file struct {
	h      *handles // of its inode
	name   string   // base name it was opened with
	access access
	closed atomic.Bool
}

// location is an entry of a directory. It never changes.
type location struct {
	d   *dir
	key string
}

// access is what a file was opened for.
type access struct{ read, write, append bool }

// Open implements [provider.Provider]. ctx is looked at only here: operations on
// a File in memory take no time worth cancelling.
func (m *FS) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if f := m.openRecalled(m.recall(elems(name)), name.Base(), opts); f != nil {
		return f, nil
	}
	f, err := m.openShared(name, opts)
	if f == nil && err == nil {
		f, err = m.openExclusive(name, opts)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openRecalled opens what is remembered of a path, if it is still so and belongs
// to this FS. It does without mu: see enter.
func (m *FS) openRecalled(r recall, base string, opts provider.OpenOptions) *file {
	if r.e == nil || mayOpen(r.e.n, opts) != nil {
		return nil
	}
	return m.open(r.e.n, &r.e.location, &r, base, opts)
}

// openShared opens what is there already. It returns nothing when opening has to
// change the structure.
func (m *FS) openShared(name provider.Path, opts provider.OpenOptions) (*file, error) {
	shard := m.mu.rlock()
	defer m.mu.runlock(shard)
	d, key, n, err := m.findParent(name)
	switch {
	case err != nil:
		return nil, err
	case n == nil && !opts.Create:
		return nil, syscall.ENOENT
	case n == nil:
		return nil, nil
	}
	if err := mayOpen(n, opts); err != nil {
		return nil, err
	}
	if n.owner != m.owner {
		return nil, nil
	}
	return m.open(n, &location{d, key}, nil, name.Base(), opts), nil
}

// openExclusive opens, and creates the file or makes the inode this FS's own
// before.
func (m *FS) openExclusive(name provider.Path, opts provider.OpenOptions) (*file, error) {
	m.mu.lock()
	defer m.mu.unlock()
	d, key, n, err := m.ownParent(name)
	switch {
	case err != nil:
		return nil, err
	case n == nil && !opts.Create:
		return nil, syscall.ENOENT
	case n == nil:
		if err := m.mayCreate(name); err != nil {
			return nil, err
		}
		now := m.now()
		n = newInode(m.owner, opts.FileMode(), now)
		m.link(d, key, n, now)
		opts.Truncate = false
		return m.open(n, &location{d, key}, nil, name.Base(), opts), nil
	}
	if err := mayOpen(n, opts); err != nil {
		return nil, err
	}
	if n, err = m.own(name); err != nil {
		return nil, err
	}
	return m.open(n, &location{d, key}, nil, name.Base(), opts), nil
}

// mayOpen reports whether n, which exists, can be opened so.
func mayOpen(n *inode, opts provider.OpenOptions) error {
	switch kind := n.kind(); {
	case opts.Create && opts.Exclusive:
		return syscall.EEXIST
	case kind == fs.ModeSymlink:
		return provider.ErrSymlink
	case n.dir != nil && opts.Mutates():
		return syscall.EISDIR
	case n.dir == nil && opts.Directory:
		return syscall.ENOTDIR
	}
	return nil
}

// open opens n as enter says. It returns nil where that fails.
func (m *FS) open(n *inode, at *location, r *recall, base string, opts provider.OpenOptions) *file {
	var flags int64
	if opts.Write || opts.Truncate {
		flags = wrote
	}
	h := m.enter(n, at, flags, r)
	if h == nil {
		return nil
	}
	if opts.Truncate {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = n.truncate(m, 0) // cannot fail: it asks for less
	}
	return &file{h: h, name: base, access: access{opts.Read, opts.Write, opts.Append}}
}

// Close implements [provider.File]. When it returns, no operation on f is under
// way that could still write: nor when f no longer counts as a handle, because a
// clone takes an inode without handles for one that does not change.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return fs.ErrClosed
	}
	if f.access.write {
		f.h.n.mu.Lock()
		f.h.n.mu.Unlock() //lint:ignore SA2001 to have waited is the purpose
	}
	f.h.m.leave(f.h)
	return nil
}
