package memfs

import (
	"context"
	"hash/maphash"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// Options are the limits and the behaviour of an [FS]. The zero value has no
// limits and distinguishes case. A limit of 0 (or below) is none; exceeding one
// is [provider.ErrQuota] and changes nothing.
type Options struct {
	// MaxBytes limits the bytes of content that the tree and its open files
	// retain. Holes are free; see the package comment.
	MaxBytes int64
	// MaxFileBytes limits the length of each file, holes included.
	MaxFileBytes int64
	// MaxFiles limits the number of objects: files, directories and links,
	// without the root. A removed object counts until its last handle is
	// closed.
	MaxFiles int
	// MaxDepth limits the number of elements of a path: with 1, only the root
	// can hold anything.
	MaxDepth int
	// CaseInsensitive makes names that differ by case only (one by one, as
	// unicode.SimpleFold says) name the same object. The spelling of the
	// creation is kept, and changed by a Rename to another one. It is there to
	// test policies against such storage.
	CaseInsensitive bool
	// Now is the clock for modification times; nil is time.Now. It is called
	// with locks held: it must not use the FS, and it makes tests
	// deterministic, one call for each change.
	Now func() time.Time
}

// FS is a tree in memory. Make one with [New] or [FS.Clone]; the zero FS is a
// closed one. An FS must not be copied. All methods are safe for concurrent use.
type FS struct {
	opts  Options
	live  atomic.Bool // false before New and after Close
	quota quota
	clock *clock

	// mu guards the structure: who is in which directory, and owner. Holding
	// it for reading is enough to find an inode and change its attributes.
	// Order: mu, openMu, inode.mu. Reading, writing and closing a File do
	// without mu.
	mu    treeLock
	owner *owner
	root  *dir

	paths atomic.Pointer[pathCache] // nil when nothing is remembered
	seed  maphash.Seed              // of the hashes in paths

	unremembered atomic.Int32 // paths looked for without a cache

	// openMu guards the list of inodes that have handles, or had some lately.
	openMu sync.Mutex
	opened *handles // the first
	listed int      // how many
	reapAt int      // how many are too many
}

var (
	_ provider.Provider   = (*FS)(nil)
	_ provider.FileReader = (*FS)(nil)
)

// New returns an FS that holds an empty root directory of mode 0o755.
func New(opts Options) *FS {
	m := newFS(opts, maphash.MakeSeed(), newClock())
	m.root = newDir(m.owner, 0o755, m.now())
	return m
}

func newFS(opts Options, seed maphash.Seed, c *clock) *FS {
	m := &FS{opts: opts, owner: new(owner), seed: seed, clock: c}
	m.quota.maxBytes, m.quota.maxFiles = max(opts.MaxBytes, 0), int64(max(opts.MaxFiles, 0))
	m.mu.init()
	m.live.Store(true)
	return m
}

// now reads the clock.
func (m *FS) now() int64 {
	if m.opts.Now != nil {
		return nanoseconds(m.opts.Now())
	}
	return m.clock.now()
}

// Features implements [provider.Provider]. Nothing outlives the process, so
// nothing is durable; links appear only through [FS.Symlink], which is not for
// agents; Quota is true when a limit is set.
func (m *FS) Features() provider.Features {
	o := &m.opts
	return provider.Features{
		Write: true, InPlace: true,
		CaseSensitive: !o.CaseInsensitive,
		LinkFree:      true, RaceFree: true,
		Chmod: true, Chtimes: true,
		AtomicRename: true,
		Quota:        o.MaxBytes > 0 || o.MaxFileBytes > 0 || o.MaxFiles > 0 || o.MaxDepth > 0,
	}
}

// Close implements [provider.Provider]. It releases nothing that open Files
// need; clones are not affected.
func (m *FS) Close() error {
	if !m.live.Swap(false) {
		return fs.ErrClosed
	}
	return nil
}

// begin is what every method of the provider asks first.
func (m *FS) begin(ctx context.Context) error {
	if !m.live.Load() {
		return fs.ErrClosed
	}
	return ctx.Err()
}

// Stat implements [provider.Provider].
func (m *FS) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	if r := m.recall(elems(name)); r.e != nil {
		if info := r.info(); info != nil {
			return info, nil
		}
	}
	shard := m.mu.rlock()
	defer m.mu.runlock(shard)
	n, err := m.find(name)
	if err != nil {
		return nil, err
	}
	return n.info(name.Base()), nil
}

// Chmod implements [provider.Provider].
func (m *FS) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	return m.changeAttr(ctx, name, func(a *attr) { a.mode = a.mode.Type() | perm&fs.ModePerm })
}

// Chtimes implements [provider.Provider]. Times are kept to the nanosecond, from
// the year 1678 to 2261; what lies beyond becomes the nearest of them.
func (m *FS) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	return m.changeAttr(ctx, name, func(a *attr) {
		if !mtime.IsZero() {
			a.mtime = nanoseconds(mtime)
		}
	})
}

// changeAttr changes the attributes of a file or directory.
func (m *FS) changeAttr(ctx context.Context, name provider.Path, change func(*attr)) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	if own, err := m.tryChangeAttr(name, change); own || err != nil {
		return err
	}
	m.mu.lock()
	defer m.mu.unlock()
	n, err := m.own(name)
	if err != nil {
		return err
	}
	if n.kind() == fs.ModeSymlink {
		return provider.ErrSymlink
	}
	n.update(change)
	return nil
}

// tryChangeAttr does it under the shared lock, unless the inode is shared with a
// clone; then it changes nothing and own is false.
func (m *FS) tryChangeAttr(name provider.Path, change func(*attr)) (own bool, err error) {
	shard := m.mu.rlock()
	defer m.mu.runlock(shard)
	n, err := m.find(name)
	switch {
	case err != nil:
		return false, err
	case n.kind() == fs.ModeSymlink:
		return false, provider.ErrSymlink
	case n.owner != m.owner:
		return false, nil
	}
	n.update(change)
	return true, nil
}

// Mkdir implements [provider.Provider].
func (m *FS) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	m.mu.lock()
	defer m.mu.unlock()
	d, key, n, err := m.ownParent(name)
	switch {
	case err != nil:
		return err
	case n != nil:
		return syscall.EEXIST
	}
	if err := m.mayCreate(name); err != nil {
		return err
	}
	now := m.now()
	made := newDir(m.owner, perm, now)
	made.parent, made.key = d, key
	m.link(d, key, &made.inode, now)
	return nil
}

// Symlink plants a symbolic link at name. It is for trusted code, to test that
// links are refused: the target may be any text and is not kept, since nothing
// follows or reports it. The parent of name must exist; anything at name is
// fs.ErrExist, and an empty target fs.ErrNotExist, as in package os.
func (m *FS) Symlink(target string, name provider.Path) error {
	if err := m.begin(context.Background()); err != nil {
		return err
	}
	if target == "" {
		return syscall.ENOENT
	}
	m.mu.lock()
	defer m.mu.unlock()
	d, key, n, err := m.ownParent(name)
	switch {
	case err != nil:
		return err
	case n != nil:
		return syscall.EEXIST
	}
	if err := m.mayCreate(name); err != nil {
		return err
	}
	now := m.now()
	made := newInode(m.owner, fs.ModeSymlink|fs.ModePerm, now)
	m.link(d, key, made, now)
	return nil
}
