package memfs

import (
	"hash/maphash"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/workspacefs/workspacefs/provider"
)

const (
	// cacheSlots and slotWays are how many paths a tree remembers. A path that has
	// no place is found element by element, which is slower and gives the same
	// answer.
	cacheSlots, slotWays = 1024, 2
	// maxCached is the length of the longest path worth remembering; it bounds
	// the memory of the cache together with the number of paths.
	maxCached = 256
	// warmUp is how many paths are looked for before there is a cache: a tree
	// that is used a little, or cloned for a few changes, does without.
	warmUp = 64
)

// pathCache remembers where paths led: what Linux calls a dentry cache. Except
// while FS.mu is held for writing, what is in it is so. That rests on three
// rules: entries are put in under the shared lock; whoever changes which inode an
// existing name means, forgets the name first, before any effect of the change;
// and a reader without a lock looks whether the entry is still there after it
// has read from the inode (then the change, if one has begun, is not done, and
// the reader came before it).
//
// Names that do not exist are not remembered, and nothing is in a
// case-insensitive tree, where a name has many spellings.
type pathCache struct {
	slots [cacheSlots]cacheSlot
}

type cacheSlot struct {
	ways   [slotWays]cacheWay
	missed atomic.Uint32 // the hash of the last path that was looked for in vain
}

type cacheWay = atomic.Pointer[cachedPath]

// cachedPath never changes, but for told.
type cachedPath struct {
	path string
	location
	n    *inode
	told atomic.Pointer[cachedInfo]
}

// cachedInfo is what Stat has told of a path. It never changes, so Stat gives the
// same again while the attributes are these.
type cachedInfo struct {
	attr
	info provider.Info
}

// slot returns where path belongs. m.paths is c.
func (m *FS) slot(c *pathCache, path string) (*cacheSlot, uint32) {
	h := uint32(maphash.String(m.seed, path))
	return &c.slots[h%cacheSlots], h
}

// find returns the way that holds path, and what is in it, or nil.
func (s *cacheSlot) find(path string) (*cacheWay, *cachedPath) {
	for i := range s.ways {
		if e := s.ways[i].Load(); e != nil && e.path == path {
			return &s.ways[i], e
		}
	}
	return nil, nil
}

// recall is what was remembered of a path: nothing, unless e is there. Who holds
// mu may use e; who does not may use what he read from it if it still holds
// afterwards.
type recall struct {
	m   *FS
	c   *pathCache
	way *cacheWay
	e   *cachedPath
}

// recall looks path up.
func (m *FS) recall(path string) recall {
	c := m.paths.Load()
	if c == nil {
		return recall{}
	}
	s, _ := m.slot(c, path)
	way, e := s.find(path)
	return recall{m, c, way, e}
}

// holds reports whether what was remembered still is.
func (r recall) holds() bool { return r.way.Load() == r.e && r.m.paths.Load() == r.c }

// info describes what is at the path, if that still holds; if not, it returns nil.
func (r recall) info() fs.FileInfo {
	a := r.e.n.attr()
	if !r.holds() {
		return nil
	}
	c := r.e.told.Load()
	if c == nil || c.attr != a {
		c = &cachedInfo{a, *a.info(r.e.key)}
		r.e.told.Store(c)
	}
	return &c.info
}

// remember notes that path leads to n, which is in d under key, when path is
// looked for the second time: a walk over many files would otherwise push out
// what is used again. The caller holds mu for reading.
func (m *FS) remember(path string, d *dir, key string, n *inode) {
	if m.opts.CaseInsensitive || len(path) > maxCached {
		return
	}
	c := m.paths.Load()
	if c == nil {
		if m.unremembered.Add(1) < warmUp {
			return
		}
		c = new(pathCache)
		if !m.paths.CompareAndSwap(nil, c) {
			return
		}
	}
	s, h := m.slot(c, path)
	if s.missed.Swap(h) != h {
		return
	}
	way := &s.ways[h/cacheSlots%slotWays]
	for i := range s.ways {
		if s.ways[i].Load() == nil {
			way = &s.ways[i]
		}
	}
	// The path of the caller may be a piece of something large.
	path = strings.Clone(path)
	way.Store(&cachedPath{path: path, location: location{d, path[len(path)-len(key):]}, n: n})
}

// forget makes sure that what is in d under key is not remembered. The caller
// holds mu for writing and changes the entry afterwards; d is this FS's own.
func (m *FS) forget(d *dir, key string) {
	c := m.paths.Load()
	if c == nil {
		return
	}
	var buf [maxCached]byte
	at := len(buf)
	for {
		if at -= len(key); at < 0 {
			return // too long to be remembered
		}
		copy(buf[at:], key)
		if d.parent == nil {
			break
		}
		if at--; at < 0 {
			return
		}
		buf[at] = '/'
		d, key = d.parent, d.key
	}
	path := buf[at:]
	s := &c.slots[uint32(maphash.Bytes(m.seed, path))%cacheSlots]
	for i := range s.ways { // two readers may have noted it twice
		if e := s.ways[i].Load(); e != nil && e.path == string(path) {
			s.ways[i].Store(nil)
		}
	}
}

// forgetAll is forget for an entry that is going to be moved, or to be another
// inode: with a directory, that concerns all below it.
func (m *FS) forgetAll(d *dir, key string, n *inode) {
	if n.dir == nil {
		m.forget(d, key)
	} else {
		m.dropCache()
	}
}

// dropCache forgets everything. The caller holds mu for writing.
func (m *FS) dropCache() {
	if m.paths.Load() != nil {
		m.paths.Store(nil)
		m.unremembered.Add(-warmUp)
	}
}
