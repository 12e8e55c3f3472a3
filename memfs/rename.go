package memfs

import (
	"context"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// Rename implements [provider.Provider]. It moves a directory with all below it
// in the time that a file takes (with Options.MaxDepth, moving one further down
// visits the directories below it). In a case-insensitive FS a rename to another
// spelling of the same name changes the spelling.
func (m *FS) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	if oldname.IsRoot() || newname.IsRoot() {
		return syscall.EBUSY
	}
	m.mu.lock()
	defer m.mu.unlock()
	from, oldKey, n, err := m.ownParent(oldname)
	if err != nil {
		return err
	}
	if n != nil {
		// At once, as the way to newname may lead through it.
		n = m.ownEntry(from, oldKey, n)
	}
	to, targetKey, target, err := m.ownParent(newname)
	switch {
	case err != nil:
		return err
	case n == nil:
		return syscall.ENOENT
	case n.dir != nil && opts.NotDir:
		return syscall.EISDIR
	case target != nil && opts.NoReplace:
		return syscall.EEXIST
	case target == n && oldname.Base() == newname.Base():
		return nil
	}
	// From here on the answers come in the order of os.Rename and rename(2).
	switch {
	case target != n && target != nil && target.dir != nil:
		return syscall.EEXIST
	case n.dir != nil && to.below(n.dir):
		return syscall.EINVAL
	case target != n && target != nil && n.dir != nil:
		return syscall.ENOTDIR
	}
	if n.dir != nil && m.tooDeep(n.dir, depth(newname)-depth(oldname), depth(newname)) {
		return provider.ErrQuota
	}
	if n.dir == nil && m.opts.MaxDepth > 0 && depth(newname) > m.opts.MaxDepth {
		return provider.ErrQuota
	}
	m.forgetAll(from, oldKey, n)
	from.entries.delete(m.owner, oldKey)
	if target != nil && target != n {
		m.unlink(to, targetKey, target)
	}
	m.place(n, from, to, m.newKey(newname.Base()))
	return nil
}

// place makes n, which is in no directory, the entry of to under key. It was in
// from before.
func (m *FS) place(n *inode, from, to *dir, key string) {
	to.entries.set(m.owner, key, n)
	if n.dir != nil {
		n.dir.parent, n.dir.key = to, key
	}
	m.moved(n, to, key)
	touch(m.now(), from, to)
}

// below reports whether d is top or lies below it. Both are their FS's own.
func (d *dir) below(top *dir) bool {
	for ; d != nil; d = d.parent {
		if d == top {
			return true
		}
	}
	return false
}

// tooDeep reports whether something below d would exceed MaxDepth if d were at
// depth at, down elements further below than now.
func (m *FS) tooDeep(d *dir, down, at int) bool {
	if m.opts.MaxDepth <= 0 || down <= 0 {
		return false
	}
	for level := []*dir{d}; len(level) > 0; at++ {
		if at > m.opts.MaxDepth {
			return true
		}
		var next []*dir
		for _, d := range level {
			if d.entries.len > 0 && at+1 > m.opts.MaxDepth {
				return true
			}
			for _, n := range d.entries.all {
				if n.dir != nil {
					next = append(next, n.dir)
				}
			}
		}
		level = next
	}
	return false
}
