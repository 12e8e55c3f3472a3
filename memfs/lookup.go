package memfs

import (
	"io/fs"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// lookup returns what is in d under elem, and the key of it.
func (m *FS) lookup(d *dir, elem string) (string, *inode) {
	if !m.opts.CaseInsensitive {
		n, _ := d.entries.get(elem)
		return elem, n
	}
	folded := foldKey(elem)
	key, n, ok := d.entries.ceiling(folded)
	if !ok || !strings.HasPrefix(key, folded) {
		return folded + elem, nil
	}
	return key, n
}

// newKey returns the key under which elem is put into a directory: its own
// memory, since elem may be a small part of a long path.
func (m *FS) newKey(elem string) string {
	if m.opts.CaseInsensitive {
		return foldKey(elem) + elem
	}
	return strings.Clone(elem)
}

// cutElem splits the first element off a path that is not empty. Elements are
// short: the loop is faster than strings.IndexByte.
func cutElem(path string) (elem, rest string) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

// elems returns the elements of name, joined; "" for the root.
func elems(name provider.Path) string {
	if name.IsRoot() {
		return ""
	}
	return name.String()
}

// notDir is the error for going on below n.
func notDir(n *inode) error {
	if n.kind() == fs.ModeSymlink {
		return provider.ErrSymlink
	}
	return syscall.ENOTDIR
}

// find returns the inode at name. The caller holds mu for reading.
func (m *FS) find(name provider.Path) (*inode, error) {
	_, _, n, err := m.findParent(name)
	if n == nil && err == nil {
		err = syscall.ENOENT
	}
	return n, err
}

// findParent returns the directory that name is in, its key there, and what is
// there, nil for nothing. For the root, d is nil. No link is followed: only
// directories are descended into. The caller holds mu for reading.
func (m *FS) findParent(name provider.Path) (d *dir, key string, n *inode, err error) {
	path := elems(name)
	if path == "" {
		return nil, "", &m.root.inode, nil
	}
	if e := m.recall(path).e; e != nil {
		return e.d, e.key, e.n, nil
	}
	d = m.root
	for rest := path; ; {
		var elem string
		elem, rest = cutElem(rest)
		key, n = m.lookup(d, elem)
		switch {
		case rest == "":
			if n != nil {
				m.remember(path, d, key, n)
			}
			return d, key, n, nil
		case n == nil:
			return nil, "", nil, syscall.ENOENT
		case n.dir == nil:
			return nil, "", nil, notDir(n)
		}
		d = n.dir
	}
}

// ownParent is findParent, and makes the directories on the way its own. What
// is at name is not made so: see ownEntry. key is fit for an insertion. The
// caller holds mu for writing.
func (m *FS) ownParent(name provider.Path) (d *dir, key string, n *inode, err error) {
	if name.IsRoot() {
		return nil, "", &m.root.inode, nil
	}
	d = m.ownRoot()
	for path := elems(name); ; {
		var elem string
		elem, path = cutElem(path)
		key, n = m.lookup(d, elem)
		switch {
		case path == "" && n == nil:
			return d, m.newKey(elem), nil, nil
		case path == "":
			return d, key, n, nil
		case n == nil:
			return nil, "", nil, syscall.ENOENT
		case n.dir == nil:
			return nil, "", nil, notDir(n)
		}
		d = m.ownEntry(d, key, n).dir
	}
}

// ownRoot returns the root as a directory of this FS's own. The caller holds mu
// for writing.
func (m *FS) ownRoot() *dir {
	if m.root.owner != m.owner {
		m.dropCache()
		m.root = m.root.copyFor(m.owner, nil, "").dir
	}
	return m.root
}

// ownEntry returns n, which is in d (this FS's own) under key, as an inode of its own.
func (m *FS) ownEntry(d *dir, key string, n *inode) *inode {
	if n.owner == m.owner {
		return n
	}
	m.forgetAll(d, key, n)
	n = n.copyFor(m.owner, d, key)
	d.entries.set(m.owner, key, n)
	return n
}

// own returns the inode at name as an inode of this FS's own. The caller holds
// mu for writing.
func (m *FS) own(name provider.Path) (*inode, error) {
	d, key, n, err := m.ownParent(name)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		return nil, syscall.ENOENT
	case d == nil:
		return &m.ownRoot().inode, nil
	}
	return m.ownEntry(d, key, n), nil
}

// link puts n, which is new, into d. The caller asked mayCreate before.
func (m *FS) link(d *dir, key string, n *inode, now int64) {
	d.entries.set(m.owner, key, n)
	d.touch(now)
	m.quota.files.Add(1)
}

// unlink takes n out of d. What it retains is released now, or when its last
// handle is closed.
func (m *FS) unlink(d *dir, key string, n *inode) {
	m.forget(d, key)
	d.entries.delete(m.owner, key)
	m.orphan(n)
}

// mayCreate reports whether the limits allow one more object, at name.
func (m *FS) mayCreate(name provider.Path) error {
	if m.opts.MaxDepth > 0 && depth(name) > m.opts.MaxDepth {
		return provider.ErrQuota
	}
	return m.quota.mayAdd()
}

// depth returns the number of elements of name.
func depth(name provider.Path) int {
	if name.IsRoot() {
		return 0
	}
	return strings.Count(name.String(), "/") + 1
}
