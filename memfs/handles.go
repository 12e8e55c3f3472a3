package memfs

import "sync/atomic"

// handles is what an FS knows of an inode of its own that has handles, or had some
// not long ago: opening and closing again what is used again then takes one step
// and no lock.
type handles struct {
	m     *FS
	n     *inode
	state atomic.Int64 // how many handles there are, and the flags below

	// FS.openMu guards the rest.
	at         *location // of a file: where it is; a directory says so itself
	prev, next *handles
}

// The flags of handles.state, above the count. Only shut is set without a look at
// the count, by who makes a record.
const (
	wrote   = 1 << (iota + 32) // a handle could write; taken back when the last one is closed
	removed                    // the inode is in no directory any more: the last handle releases it
	shut                       // nothing can become a handle any more, or not yet

	countMask = 1<<32 - 1
)

// maxIdle is how many records without handles are kept besides as many as there
// are with some.
const maxIdle = 64

// join counts one more handle. It fails where the record is shut.
func (h *handles) join(flags int64) bool {
	for {
		s := h.state.Load()
		if s&shut != 0 {
			return false
		}
		if h.state.CompareAndSwap(s, s+1|flags) {
			return true
		}
	}
}

// bequeath leaves a removed inode to the last of its handles. It fails where there
// are none.
func (h *handles) bequeath() bool {
	for {
		s := h.state.Load()
		if s&countMask == 0 {
			return false
		}
		if h.state.CompareAndSwap(s, s|removed) {
			return true
		}
	}
}

// enter counts a handle on n, which is m's own and at at. The caller holds mu; or
// he does not and has recalled n, in r: then it fails, returning nil, if that does
// not hold or n is not m's own. Whoever takes an inode away forgets its name
// first and then looks for its handles; here the handle is there first, and then
// it is asked whether the name still is. So one sees the other.
func (m *FS) enter(n *inode, at *location, flags int64, r *recall) *handles {
	h := n.open.Load()
	if h == nil || !h.join(flags) {
		return m.enterFirst(n, at, flags, r)
	}
	if r != nil && !r.holds() {
		m.leave(h)
		return nil
	}
	return h
}

// enterFirst is enter where there is no record, or was none.
func (m *FS) enterFirst(n *inode, at *location, flags int64, r *recall) *handles {
	m.openMu.Lock()
	defer m.openMu.Unlock()
	if n.owner != m.owner {
		// Before anything is stored: in an inode that is shared, another FS would
		// find it, which has an openMu of its own.
		return nil
	}
	h := n.open.Load()
	if h == nil {
		h = &handles{m: m, n: n}
		h.state.Store(shut)
		n.open.Store(h)
		if r != nil && !r.holds() {
			n.open.Store(nil)
			return nil
		}
		if n.dir == nil {
			h.at = at
		}
		m.list(h)
		h.state.Store(1 | flags)
		return h
	}
	h.join(flags) // not shut: that is so only while openMu is held
	if r != nil && !r.holds() {
		h.state.Add(-1)
		m.settle(h)
		return nil
	}
	return h
}

// leave is the end of what enter began. What nothing can reach any more is
// released.
func (m *FS) leave(h *handles) {
	s := h.state.Add(-1)
	if s&countMask != 0 || s&(wrote|removed) == 0 {
		return
	}
	m.openMu.Lock()
	defer m.openMu.Unlock()
	m.settle(h)
}

// settle does what is due once the last handle is closed, unless there is one
// again, or another call has done it. The caller holds openMu.
func (m *FS) settle(h *handles) {
	n := h.n
	for {
		s := h.state.Load()
		switch {
		case s&(countMask|shut) != 0 || s == 0:
			return
		case s&removed != 0:
			if !h.state.CompareAndSwap(s, s|shut) {
				continue
			}
			m.unlist(h)
			n.mu.Lock()
			defer n.mu.Unlock()
			m.quota.release(n)
			n.content = nil
			return
		case h.state.CompareAndSwap(s, s&^wrote):
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.content != nil && n.content.owner == n.owner {
				n.content.trim()
			}
			return
		}
	}
}

// retire shuts the record for good if it has no handles, and reports whether. That
// of a removed inode is left to settle, for which its last handle may be waiting.
// The caller holds openMu.
func (m *FS) retire(h *handles) bool {
	for {
		s := h.state.Load()
		if s&(countMask|removed) != 0 {
			return false
		}
		if h.state.CompareAndSwap(s, s|shut) {
			m.unlist(h)
			return true
		}
	}
}

// idle reports whether n has no handles, and sees to it that there will be none
// before the caller, who holds mu for writing and openMu and has forgotten the name
// of n, gives mu back.
func (m *FS) idle(n *inode) bool {
	h := n.open.Load()
	return h == nil || m.retire(h)
}

// orphan makes an inode that is in no directory any more forget where it was. It is
// called once for an inode, by who took it out of its directory. What the inode
// retains is released now, or when its last handle is closed. The caller holds mu
// for writing, and has forgotten the name.
func (m *FS) orphan(n *inode) {
	if n.dir != nil && n.owner == m.owner {
		n.dir.parent, n.dir.key = nil, ""
	}
	if n.open.Load() == nil {
		m.quota.release(n)
		return
	}
	m.openMu.Lock()
	defer m.openMu.Unlock()
	m.orphanLocked(n)
}

// orphanLocked is orphan of a file, by a caller who holds openMu too.
func (m *FS) orphanLocked(n *inode) {
	h := n.open.Load()
	for h != nil && !m.retire(h) {
		if h.bequeath() {
			h.at = nil
			return
		}
	}
	m.quota.release(n)
}

// moved notes where a file is now. The caller holds mu for writing, and has
// forgotten the name that it had.
func (m *FS) moved(n *inode, to *dir, key string) {
	if n.dir != nil || n.open.Load() == nil {
		return
	}
	m.openMu.Lock()
	defer m.openMu.Unlock()
	if h := n.open.Load(); h != nil {
		h.at = &location{to, key}
	}
}

// list puts a record into the list, and takes others out of it when too many have
// no handles. The caller holds openMu.
func (m *FS) list(h *handles) {
	if m.listed >= m.reapAt {
		m.reap()
		m.reapAt = 2*m.listed + maxIdle
	}
	if m.opened != nil {
		m.opened.prev = h
		h.next = m.opened
	}
	m.opened = h
	m.listed++
}

// unlist takes a record that is shut out of the list. The caller holds openMu.
func (m *FS) unlist(h *handles) {
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		m.opened = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	m.listed--
	h.n.open.Store(nil)
	h.prev, h.next, h.at = nil, nil, nil
}

// reap takes all records without handles out of the list. The caller holds openMu.
func (m *FS) reap() {
	for h := m.opened; h != nil; {
		next := h.next // settle and retire may unlist h, and nothing else
		m.settle(h)
		if h.state.Load()&shut == 0 {
			m.retire(h)
		}
		h = next
	}
}
