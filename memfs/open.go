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
	m      *FS
	n      *inode
	name   string // base name it was opened with
	access access
	closed atomic.Bool

	// FS.openMu guards the rest. The first handle on an inode leads: it is in
	// the list of open inodes until the last one is closed, and holds what is
	// known of all of them.
	removed    bool // the inode is in no directory any more
	wrote      bool // a handle could write
	refs       int32
	lead       *file
	prev, next *file
	at         *location // of a file: where it is; a directory says so itself
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
// to this FS. It does without mu: whoever takes the inode away forgets the name,
// then asks under openMu whether it is open.
func (m *FS) openRecalled(r recall, base string, opts provider.OpenOptions) *file {
	if r.e == nil || mayOpen(r.e.n, opts) != nil {
		return nil
	}
	f := m.newFile(r.e.n, base, opts)
	m.openMu.Lock()
	defer m.openMu.Unlock()
	if !r.holds() || f.n.owner != m.owner {
		return nil
	}
	f.attach(&r.e.location, opts)
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
	f.attach(&location{d, key}, opts)
	return f
}

// attach counts f as a handle of its inode, and empties the file if that is asked
// for. The caller holds openMu.
func (f *file) attach(at *location, opts provider.OpenOptions) {
	m, n := f.m, f.n
	if n.open == nil {
		if n.dir == nil {
			f.at = at
		}
		if m.opened != nil {
			m.opened.prev = f
			f.next = m.opened
		}
		m.opened, n.open = f, f
	}
	lead := n.open
	f.lead = lead
	lead.refs++
	if opts.Write || opts.Truncate {
		lead.wrote = true
	}
	if opts.Truncate {
		n.mu.Lock()
		defer n.mu.Unlock()
		_ = n.truncate(m, 0) // cannot fail: it asks for less
	}
}

// Close implements [provider.File]. When it returns, no operation on f is under
// way that could still write.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return fs.ErrClosed
	}
	if last := f.detach(); !last && f.access.write {
		f.n.mu.Lock()
		f.n.mu.Unlock() //lint:ignore SA2001 to have waited is the purpose
	}
	return nil
}

// detach is the end of what attach began, and reports whether f was the last
// handle of its inode. What nothing can reach any more is released.
func (f *file) detach() (last bool) {
	m, n, lead := f.m, f.n, f.lead
	m.openMu.Lock()
	defer m.openMu.Unlock()
	if lead.refs--; lead.refs > 0 {
		return false
	}
	if lead.prev != nil {
		lead.prev.next = lead.next
	} else {
		m.opened = lead.next
	}
	if lead.next != nil {
		lead.next.prev = lead.prev
	}
	// A closed handle may be kept for long, and must not keep others.
	n.open, lead.prev, lead.next, lead.at = nil, nil, nil, nil
	if !lead.removed && !lead.wrote {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if lead.removed {
		m.quota.release(n)
		n.content = nil
	} else if n.content != nil && n.content.owner == n.owner {
		n.content.trim()
	}
	return true
}
