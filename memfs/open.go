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
	wrote   bool // by one of the handles something may have been written
}

// file is an open file or directory.
type file struct {
	m       *FS
	n       *inode
	name    string // base name it was opened with
	access  access
	closed  atomic.Bool
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
	if f := m.openCached(name, opts); f != nil {
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

// openCached opens what is there, belongs to this FS and is remembered. It does
// without mu: whoever takes the inode away forgets the name, then asks under
// openMu whether it is open.
func (m *FS) openCached(name provider.Path, opts provider.OpenOptions) *file {
	c := m.paths.Load()
	if c == nil {
		return nil
	}
	path := elems(name)
	s, _ := m.slot(c, path)
	e := s.entry.Load()
	if e == nil || e.path != path || mayOpen(e.n, opts) != nil {
		return nil
	}
	f := m.newFile(e.n, name.Base(), opts)
	m.openMu.Lock()
	defer m.openMu.Unlock()
	if s.entry.Load() != e || m.paths.Load() != c || e.n.owner != m.owner {
		return nil
	}
	f.attach(e.d, e.key, opts)
	return f
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
	return m.open(d, key, n, name.Base(), opts), nil
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
		return m.open(d, key, n, name.Base(), opts), nil
	}
	if err := mayOpen(n, opts); err != nil {
		return nil, err
	}
	if n, err = m.own(name); err != nil {
		return nil, err
	}
	return m.open(d, key, n, name.Base(), opts), nil
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

// newFile returns a handle on n that attach completes.
func (m *FS) newFile(n *inode, base string, opts provider.OpenOptions) *file {
	return &file{m: m, n: n, name: base, access: access{opts.Read, opts.Write, opts.Append}}
}

// open opens n, which is in d under key, and is this FS's own. The caller holds
// mu.
func (m *FS) open(d *dir, key string, n *inode, base string, opts provider.OpenOptions) *file {
	f := m.newFile(n, base, opts)
	m.openMu.Lock()
	defer m.openMu.Unlock()
	f.attach(d, key, opts)
	return f
}

// attach counts f as a handle of its inode, and empties the file if that is asked
// for. The caller holds openMu.
func (f *file) attach(d *dir, key string, opts provider.OpenOptions) {
	m, n := f.m, f.n
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
	if opts.Write || opts.Truncate {
		f.opening.wrote = true
	}
	if opts.Truncate {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = n.truncate(m, 0) // cannot fail: it asks for less
	}
}

// Close implements [provider.File].
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return fs.ErrClosed
	}
	if f.access.write {
		f.n.mu.Lock() // a write that runs is done before the Close
		f.n.mu.Unlock()
	}
	f.m.openMu.Lock()
	defer f.m.openMu.Unlock()
	f.detach()
	return nil
}

// detach is the end of what attach began. The caller holds openMu.
func (f *file) detach() {
	m, o := f.m, f.opening
	if o.refs--; o.refs > 0 {
		return
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
	case o.wrote:
		n.trim()
	}
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
