package memfs

// Clone returns an FS with the same tree, limits and clock. Either may be
// changed and closed without effect on the other. Nothing is copied until one
// of them is changed, and then only what is changed, so the time does not depend
// on the size of the tree, only on the number of open files and their depth.
// Open Files stay with m; what was removed and is still open is not in the clone.
//
// Clone shows one moment: all of each operation or nothing of it. It works on a
// closed FS too, and the clone is open.
func (m *FS) Clone() *FS {
	m.mu.lock()
	defer m.mu.unlock()
	if m.root == nil {
		return New(m.opts)
	}
	m.openMu.Lock()
	defer m.openMu.Unlock()
	m.reap() // what has no handles is shared with the clone
	// With all open inodes locked no write is under way: other inodes cannot
	// be written to. Nobody who holds one of these locks waits for another.
	for h := m.opened; h != nil; h = h.next {
		h.n.mu.Lock()
	}
	defer func() {
		for h := m.opened; h != nil; h = h.next {
			h.n.mu.Unlock()
		}
	}()
	c := newFS(m.opts, m.seed, m.clock)
	c.root = m.root
	bytes, files := m.quota.bytes.Load(), m.quota.files.Load()
	own := new(owner)
	for h := m.opened; h != nil; h = h.next {
		if h.state.Load()&removed != 0 {
			bytes -= h.n.content.charge()
			files--
			continue
		}
		// Handles know their inode, so it stays with m, and so do the
		// directories above it; the clone gets copies.
		c.copyPath(h)
		h.keep(own)
	}
	c.quota.bytes.Store(bytes)
	c.quota.files.Store(files)
	m.owner = own
	return c
}

// above returns the directories from the root down to the one that the inode is or
// is in.
func (h *handles) above() []*dir {
	d := h.n.dir
	if d == nil {
		d = h.at.d
	}
	n := 0
	for up := d; up != nil; up = up.parent {
		n++
	}
	dirs := make([]*dir, n)
	for up := d; up != nil; up = up.parent {
		n--
		dirs[n] = up
	}
	return dirs
}

// copyPath makes copies of the inode of h and of all above it in m, a clone that
// is not published yet.
func (m *FS) copyPath(h *handles) {
	above := h.above()
	d := m.ownRoot()
	for _, from := range above[1:] {
		n, _ := d.entries.get(from.key)
		d = m.ownEntry(d, from.key, n).dir
	}
	if h.n.dir == nil {
		m.ownEntry(d, h.at.key, h.n)
	}
}

// keep makes the inode of h, and all above it, belong to own.
func (h *handles) keep(own *owner) {
	h.n.owner = own
	for _, d := range h.above() {
		d.owner = own
	}
}
