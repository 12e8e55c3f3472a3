package memfs

import (
	"context"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// opening is an inode with open handles. Clone needs all of them, and where they
// are: it leaves them to the FS they were opened in. FS.openMu guards it.
type opening struct {
	n          *inode
	refs       int
	prev, next *opening

	// parent and key say where a file is; a directory says so itself. removed
	// is true once it is in no directory any more.
	parent  *dir
	key     string
	removed bool
}

// file is an open file or directory.
type file struct {
	m       *FS
	n       *inode
	name    string // base name it was opened with
	opts    access
	closed  atomic.Bool // of a file: set with n.mu held for writing
	opening *opening
	first   opening // the memory for opening, when this was the first handle
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
	f, err := m.openShared(name, opts)
	if f == nil && err == nil {
		f, err = m.openExclusive(name, opts)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
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
	return m.newFile(d, key, n, name.Base(), opts), nil
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
		return m.newFile(d, key, n, name.Base(), opts), nil
	}
	if err := mayOpen(n, opts); err != nil {
		return nil, err
	}
	if n, err = m.own(name); err != nil {
		return nil, err
	}
	return m.newFile(d, key, n, name.Base(), opts), nil
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

// newFile opens n, which is in d under key, and is this FS's own. The caller
// holds mu.
func (m *FS) newFile(d *dir, key string, n *inode, base string, opts provider.OpenOptions) *file {
	f := &file{m: m, n: n, name: base, opts: access{opts.Read, opts.Write, opts.Append}}
	m.openMu.Lock()
	if n.open == nil {
		f.first = opening{n: n, next: m.opened}
		if n.dir == nil {
			f.first.parent, f.first.key = d, key
		}
		if m.opened != nil {
			m.opened.prev = &f.first
		}
		m.opened, n.open = &f.first, &f.first
	}
	f.opening = n.open
	f.opening.refs++
	m.openMu.Unlock()
	if opts.Truncate {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = n.truncate(m, 0) // cannot fail: it asks for less
	}
	return f
}

// Close implements [provider.File].
func (f *file) Close() error {
	if !f.shut() {
		return fs.ErrClosed
	}
	m, o := f.m, f.opening
	m.openMu.Lock()
	defer m.openMu.Unlock()
	if o.refs--; o.refs > 0 {
		return nil
	}
	n := o.n
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		m.opened = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	}
	n.open, o.prev, o.next = nil, nil, nil
	switch {
	case o.removed:
		m.quota.release(n)
		n.drop()
	case n.dir == nil:
		n.trim()
	}
	return nil
}

// shut marks f as closed, after the operations that run, and reports whether it
// was open.
func (f *file) shut() bool {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	return !f.closed.Swap(true)
}

// drop lets go of the content of a file that nothing can reach any more, since a
// closed handle may be kept for long.
func (n *inode) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.content = nil
}

// trim gives back capacity that was kept for a writer.
func (n *inode) trim() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if c := n.content; c != nil && c.owner == n.owner {
		c.trim()
	}
}
