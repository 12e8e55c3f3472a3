package memfs

import (
	"io/fs"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// inode is one object of a tree: a regular file, a directory or a link.
//
// An inode bears the owner of its FS, or is shared with clones and then never
// changes. An inode with open handles always is its FS's own, and so are all
// directories above an inode that is.
type inode struct {
	// owner changes under FS.mu and FS.openMu, and while open is set under mu too:
	// to read it, any one of them is enough.
	owner *owner

	// mu guards content, and writing the attributes.
	mu      sync.RWMutex
	seq     atomic.Uint32 // odd while the attributes are being written
	mode    atomic.Uint32 // an fs.FileMode
	mtime   atomic.Int64  // Unix time in nanoseconds
	size    atomic.Int64  // of a file: its length; else 0
	content *content      // of a file; nil where all of it is a hole

	dir  *dir                    // the directory that this is the inode of
	open atomic.Pointer[handles] // nil when it has none, nor had some lately; stored under FS.openMu
}

// dir is a directory. FS.mu guards all that inode.mu does not.
type dir struct {
	inode
	entries tree[string, *inode]

	// parent and key say where it is. They are right only while the directory
	// is its FS's own: clones may move a shared one apart. A directory without
	// a parent that is not the root was removed.
	parent *dir
	key    string
}

func newInode(o *owner, mode fs.FileMode, mtime int64) *inode {
	n := &inode{owner: o}
	n.mode.Store(uint32(mode))
	n.mtime.Store(mtime)
	return n
}

func newDir(o *owner, perm fs.FileMode, mtime int64) *dir {
	d := &dir{}
	d.owner = o
	d.dir = d
	d.mode.Store(uint32(fs.ModeDir | perm&fs.ModePerm))
	d.mtime.Store(mtime)
	return d
}

// kind returns the type bits, which never change.
func (n *inode) kind() fs.FileMode { return fs.FileMode(n.mode.Load()).Type() }

// attr is what Stat reports.
type attr struct {
	mode  fs.FileMode
	mtime int64
	size  int64
}

// attr returns the attributes of one moment. It takes no lock unless it meets a
// writer, because Stat is the most common operation of all.
func (n *inode) attr() attr {
	for range 4 {
		seq := n.seq.Load()
		a := n.loadAttr()
		if seq&1 == 0 && n.seq.Load() == seq {
			return a
		}
		runtime.Gosched()
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.loadAttr()
}

func (n *inode) loadAttr() attr {
	return attr{mode: fs.FileMode(n.mode.Load()), mtime: n.mtime.Load(), size: n.size.Load()}
}

// setAttr stores what is new; the caller holds mu, or n is not published yet.
func (n *inode) setAttr(a attr) {
	n.seq.Add(1)
	n.mode.Store(uint32(a.mode))
	n.mtime.Store(a.mtime)
	n.size.Store(a.size)
	n.seq.Add(1)
}

// update changes the attributes under mu.
func (n *inode) update(change func(*attr)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.loadAttr()
	change(&a)
	n.setAttr(a)
}

// touch sets the modification time of directories whose entries changed, which
// may be the same. Who sees one of them changed sees both so: they are read
// without a lock.
func touch(mtime int64, from, to *dir) {
	from.mu.Lock()
	defer from.mu.Unlock()
	if from != to {
		to.mu.Lock() // nobody else holds the mu of two directories
		defer to.mu.Unlock()
		to.seq.Add(1)
		defer to.seq.Add(1)
		to.mtime.Store(mtime)
	}
	from.seq.Add(1)
	from.mtime.Store(mtime)
	from.seq.Add(1)
}

// touch sets the modification time of a directory whose entries changed.
func (d *dir) touch(mtime int64) { touch(mtime, d, d) }

// copyFor returns a copy of a shared inode that o may change. The content stays
// shared. It needs no lock of the inode, because a shared one does not change.
func (n *inode) copyFor(o *owner, parent *dir, key string) *inode {
	a := n.loadAttr()
	if n.dir == nil {
		c := newInode(o, a.mode, a.mtime)
		c.size.Store(a.size)
		c.content = n.content
		return c
	}
	c := newDir(o, a.mode, a.mtime)
	c.entries = n.dir.entries
	c.parent, c.key = parent, strings.Clone(key)
	return &c.inode
}

// info returns the snapshot of an inode under a name, in the plain form that the
// face hands on without copying.
func (a attr) info(name string) *provider.Info {
	return provider.NewInfo(name, a.size, a.mode, time.Unix(0, a.mtime))
}

func (n *inode) info(name string) fs.FileInfo { return n.attr().info(name) }

// nanoseconds returns t as kept in an inode: the times that do not fit (before
// 1678 and after 2261) become the nearest that do.
func nanoseconds(t time.Time) int64 {
	const second = int64(time.Second)
	switch sec := t.Unix(); {
	case sec >= math.MaxInt64/second:
		return math.MaxInt64
	case sec <= math.MinInt64/second:
		return math.MinInt64
	}
	return t.UnixNano()
}
