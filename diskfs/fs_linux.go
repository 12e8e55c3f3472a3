package diskfs

import (
	"context"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// FS is a provider over one host directory. It is made by [Open], safe for
// concurrent use, and must be closed.
type FS struct {
	root desc // O_PATH
	tree
	opts    Options
	resolve uint64      // how openAt resolves
	walk    bool        // openAt walks: openat2 is not there, or a test asked
	mount   mountID     // of the root, for walkAt
	mounts  atomic.Bool // a name led to another mount: see openDir
	chmod2  bool        // fchmodat2 is there
	noTmp   atomic.Bool // O_TMPFILE, or giving its file a name, does not work here
	umask   uint32
	feat    provider.Features
	swept   sweepLog
}

// tree is what open files share with the FS, and need after it is closed.
type tree struct {
	lock     *rootLock
	readOnly bool
	traits   traits
	dev      uint64 // of the root
	devs     devCache
}

var (
	_ provider.Provider       = (*FS)(nil)
	_ provider.FileIntoReader = (*FS)(nil)
)

// Open opens the host directory dir as a provider. dir is trusted: links in it
// are followed, once. From then on the provider holds the directory by
// descriptor, so it stays the same one when it is renamed or when something
// else takes its name.
//
// Errors are bare conditions without the host path: fs.ErrNotExist,
// syscall.ENOTDIR, and [provider.ErrIrregular] for a directory of proc, sysfs
// and their like. Nothing is written.
func Open(dir string, opts Options) (*FS, error) {
	return open(dir, opts, runtime.GOOS == "android") // there openat2 kills the process
}

// open is Open; forceWalk leaves openat2 alone.
func open(dir string, opts Options, forceWalk bool) (*FS, error) {
	if dir == "" {
		return nil, fs.ErrNotExist
	}
	fd, e := openat(unix.AT_FDCWD, dir, pathDir, 0)
	if e != 0 {
		return nil, e // a loop of links in dir is no refusal of ours
	}
	d := &FS{opts: opts, walk: forceWalk}
	d.root.fd = fd
	if err := d.init(); err != nil {
		closeFD(fd)
		return nil, err
	}
	return d, nil
}

// init looks at the root and the kernel; nothing of it is asked again later.
func (d *FS) init() error {
	fd := d.root.fd
	var st unix.Stat_t
	if e := fstat(fd, &st); e != 0 {
		return e
	}
	d.dev = uint64(st.Dev)
	magic, stfs, err := statfs(fd)
	if err != nil {
		return err
	}
	if isKernelFS(magic) {
		return provider.ErrIrregular
	}
	if d.lock, err = lockOf(fd); err != nil {
		return err
	}
	d.traits = traitsOf(fd, magic, d.dev, int64(stfs.Blocks)*int64(stfs.Bsize))
	d.devs.p.Store(&[]storage{{dev: d.dev, exact: d.traits.exact}})
	d.readOnly = d.opts.ReadOnly || stfs.Flags&unix.ST_RDONLY != 0
	d.resolve = beneath
	if d.opts.OneFileSystem {
		d.resolve |= unix.RESOLVE_NO_XDEV
	}
	if !d.walk {
		// Asked here and never again: EPERM and ENOSYS from a filter look like
		// answers to an operation.
		probe, e := openat2(fd, ".", pathDir, 0, beneath)
		if e != 0 {
			d.walk = true
		} else {
			closeFD(probe)
		}
	}
	if d.walk {
		d.mount, _ = mountOf(fd)
	}
	d.chmod2 = fchmodat2(-1, "", 0, unix.AT_EMPTY_PATH) == unix.EBADF
	d.umask = currentUmask()
	write := !d.readOnly
	d.feat = provider.Features{
		Write: write, InPlace: write,
		CaseSensitive: d.traits.caseSensitive,
		LinkFree:      d.traits.linkFree,
		RaceFree:      true,
		Chmod:         write && d.traits.chmod,
		Chtimes:       write,
		AtomicRename:  d.traits.atomicRename,
		Durable:       d.traits.durable && !d.opts.NoSync,
	}
	return nil
}

// lockOf returns the lock for the root that fd holds.
func lockOf(fd int) (*rootLock, error) {
	dup, err := dupFile(fd)
	if err != nil {
		return nil, err
	}
	defer dup.Close()
	info, err := dup.Stat()
	if err != nil {
		return nil, bare(err)
	}
	return lockFor(info), nil
}

// dupFile returns a second descriptor for fd as a file of package os.
func dupFile(fd int) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(dup), "."), nil
}

// Features says what this directory's storage promises.
func (d *FS) Features() provider.Features { return d.feat }

// Close releases the directory. Open files stay usable.
func (d *FS) Close() error { return d.root.close() }

// RootFile returns a new handle of the root directory (O_PATH on Linux), for
// trusted code that hands the same directory to a sandbox or a child process.
// The caller closes it.
func (d *FS) RootFile() (*os.File, error) {
	fd, ok := d.root.use()
	if !ok {
		return nil, fs.ErrClosed
	}
	defer d.root.done()
	return dupFile(fd)
}

// SameDir reports whether the host path dir, links followed, names the
// directory that d holds, now.
func (d *FS) SameDir(dir string) bool {
	fd, ok := d.root.use()
	if !ok {
		return false
	}
	defer d.root.done()
	var own, other unix.Stat_t
	return fstat(fd, &own) == 0 && unix.Stat(dir, &other) == nil && own.Dev == other.Dev && own.Ino == other.Ino
}

// begin is what every operation on a name starts with. It counts the caller in on
// the root, who must end with d.root.done when err is nil.
func (d *FS) begin(ctx context.Context, mutation bool, name provider.Path) (root int, err error) {
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	root, ok := d.root.use()
	if !ok {
		return -1, fs.ErrClosed
	}
	if mutation && d.readOnly {
		err = unix.EROFS
	} else {
		err = d.checkName(root, name)
	}
	if err != nil {
		d.root.done()
		return -1, err
	}
	return root, nil
}

// reserved reports whether elem is, or may reach, a reserved temporary.
func (t *tree) reserved(elem string) bool {
	return isReserved(elem) || !t.traits.caseSensitive && foldReserved(elem)
}

// Stat describes what is at name, a link itself included.
func (d *FS) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	root, err := d.begin(ctx, false, name)
	if err != nil {
		return nil, err
	}
	defer d.root.done()
	if !d.traits.atomicRename {
		d.lock.mu.RLock()
		defer d.lock.mu.RUnlock()
	}
	var st unix.Stat_t
	if err := d.stat(root, name, &st); err != nil {
		return nil, err
	}
	return newInfo(name.Base(), &st), nil
}

// stat fills st. One element below the root needs no descriptor of its own:
// there is nothing to resolve, and fstatat follows no link at the end. The walk
// has the parent open anyway.
func (d *FS) stat(root int, name provider.Path, st *unix.Stat_t) error {
	if name.IsRoot() {
		return mapErrno(fstat(root, st))
	}
	if (d.walk || name.Parent().IsRoot()) && !d.opts.OneFileSystem {
		dir, err := d.parent(root, name)
		if err != nil {
			return err
		}
		e := fstatat(dir, name.Base(), st)
		leave(root, dir)
		return mapErrno(e)
	}
	fd, err := d.openAt(root, name.String(), pathAny, 0, d.resolve)
	if err != nil {
		return err
	}
	e := fstat(fd, st)
	closeFD(fd)
	return mapErrno(e)
}

// Mkdir makes one directory; the process's umask applies.
func (d *FS) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	root, err := d.begin(ctx, true, name)
	if err != nil {
		return err
	}
	defer d.root.done()
	if name.IsRoot() {
		return fs.ErrExist
	}
	dir, err := d.parent(root, name)
	if err != nil {
		return err
	}
	defer leave(root, dir)
	return mapErrno(mkdirat(dir, name.Base(), uint32(perm&fs.ModePerm)))
}

// Remove unlinks a file, a link or an empty directory. A directory that holds
// nothing but stale temporaries counts as empty.
func (d *FS) Remove(ctx context.Context, name provider.Path) error {
	root, err := d.begin(ctx, true, name)
	if err != nil {
		return err
	}
	defer d.root.done()
	if name.IsRoot() {
		return unix.EBUSY
	}
	dir, err := d.parent(root, name)
	if err != nil {
		return err
	}
	defer leave(root, dir)
	d.lock.mu.RLock()
	defer d.lock.mu.RUnlock()
	// The kernel says EISDIR for a directory; EPERM is what POSIX says, and
	// some storage.
	e := unlinkat(dir, name.Base(), 0)
	if e != unix.EISDIR && e != unix.EPERM {
		return mapErrno(e)
	}
	if err := d.rmdirAt(dir, name.Base()); err != unix.ENOTDIR {
		return err
	}
	return mapErrno(e)
}

// unlinkFile unlinks what is not a directory: EISDIR for one.
func unlinkFile(dir int, elem string) unix.Errno {
	e := unlinkat(dir, elem, 0)
	if e == unix.EPERM {
		var st unix.Stat_t
		if fstatat(dir, elem, &st) == 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return unix.EISDIR
		}
	}
	return e
}

// rmdirAt removes an empty directory, for which purpose stale temporaries do
// not count. The caller holds d.lock shared.
func (t *tree) rmdirAt(dir int, elem string) error {
	e := unlinkat(dir, elem, unix.AT_REMOVEDIR)
	if e == unix.EEXIST {
		e = unix.ENOTEMPTY // what POSIX allows, and some storage says
	}
	if e == unix.ENOTEMPTY && t.sweepAll(dir, elem) {
		if e = unlinkat(dir, elem, unix.AT_REMOVEDIR); e == unix.EEXIST {
			e = unix.ENOTEMPTY
		}
	}
	return mapErrno(e)
}
