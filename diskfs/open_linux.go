package diskfs

import (
	"context"
	"io"
	"io/fs"
	"math"
	"time"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// Open opens a regular file, or a directory for listing; see
// [provider.Provider]. The type is known only once the object is open, so a
// FIFO that is opened by name is opened without blocking, recognised, and
// closed; a peer that waits for the other end may notice. A File that is dropped
// without Close keeps its descriptor.
func (d *FS) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	root, err := d.begin(ctx, opts.Mutates(), name)
	if err != nil {
		return nil, err
	}
	defer d.root.done()
	// Between Replace's check and its publish no name may appear and no content
	// change; and where a rename shows a moment without the name, this process
	// at least does not look then.
	if opts.Create || opts.Truncate || !d.traits.atomicRename {
		d.lock.mu.RLock()
		defer d.lock.mu.RUnlock()
	}
	f := &file{fs: &d.tree, name: name.Base(), write: opts.Write, append: opts.Append, end: -1}
	switch {
	case opts.Directory:
		f.dir = true
		f.desc.fd, err = d.openDir(root, name)
	default:
		f.desc.fd, f.dir, f.end, err = d.openFile(root, name, opts)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// openDir opens a directory for listing. Where no other filesystem is mounted
// in the tree, RESOLVE_NO_XDEV proves that the directory lies on the root's,
// whose kind is known, and saves the fstat.
func (d *FS) openDir(root int, name provider.Path) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | openFlags
	if !d.walk && !d.mounts.Load() {
		fd, err := d.openAt(root, name.String(), flags, 0, d.resolve|unix.RESOLVE_NO_XDEV)
		if err != unix.EXDEV || d.opts.OneFileSystem {
			return fd, err
		}
	}
	fd, err := d.openAt(root, name.String(), flags, 0, d.resolve)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if _, err := d.checkObject(fd, &st); err != nil {
		closeFD(fd)
		return -1, err
	}
	if uint64(st.Dev) != d.dev {
		d.mounts.Store(true)
	}
	return fd, nil
}

// openFile opens what is at name, creating it if opts say so.
func (d *FS) openFile(root int, name provider.Path, opts provider.OpenOptions) (fd int, dir bool, end int64, err error) {
	flags := openFlags
	switch {
	case opts.Write && opts.Read, opts.Truncate && !opts.Write:
		flags |= unix.O_RDWR // ftruncate needs a writable descriptor
	case opts.Write:
		flags |= unix.O_WRONLY
	}
	if opts.Append && opts.Write {
		flags |= unix.O_APPEND
	}
	var perm uint32
	if opts.Create {
		if name.IsRoot() {
			if opts.Exclusive {
				return -1, false, -1, fs.ErrExist
			}
			return -1, false, -1, unix.EISDIR
		}
		flags |= unix.O_CREAT
		perm = uint32(opts.FileMode())
		if opts.Exclusive {
			flags |= unix.O_EXCL
		}
	}
	var before time.Time
	if opts.Truncate {
		before = time.Now()
	}
	fd, err = d.openAt(root, name.String(), flags, perm, d.resolve)
	if err != nil {
		return -1, false, -1, d.explainOpen(root, name, err)
	}
	dir, end, err = d.prepare(fd, opts, before)
	if err != nil {
		closeFD(fd)
		return -1, false, -1, err
	}
	return fd, dir, end, nil
}

// prepare checks the type of what was opened and truncates it if asked. The
// caller holds d.lock shared then. before is when a call that truncates began.
func (d *FS) prepare(fd int, opts provider.OpenOptions, before time.Time) (dir bool, end int64, err error) {
	var st unix.Stat_t
	kind, err := d.checkObject(fd, &st)
	if err != nil {
		return false, -1, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if opts.Mutates() {
			return true, -1, unix.EISDIR
		}
		return true, -1, nil
	}
	if d.opts.RejectHardLinks && st.Nlink > 1 && (opts.Write || opts.Truncate) {
		return false, -1, provider.ErrHardLink
	}
	// Not O_TRUNC in the open: the type was not known. A file that this open has
	// made is spared the call: it is empty, and modified now. (That an old empty
	// file gets a new time is what os.Create is used as touch(1) for.)
	if opts.Truncate && (st.Size != 0 || st.Blocks != 0 || !kind.exact || !modifiedSince(&st, before)) {
		return false, -1, mapErrno(ftruncate(fd, 0))
	}
	if opts.Mutates() || !kind.exact {
		return false, -1, nil
	}
	return false, st.Size, nil
}

// kernelTick is by how much the kernel's time stamps lag behind the clock, at
// most (CONFIG_HZ=100).
const kernelTick = 10 * time.Millisecond

// modifiedSince reports whether the modification time lies between before and
// now, as precisely as the kernel's stamps are.
func modifiedSince(st *unix.Stat_t, before time.Time) bool {
	mtime := time.Unix(st.Mtim.Unix())
	return !mtime.Before(before.Add(-kernelTick)) && !mtime.After(time.Now())
}

// checkObject lets regular files and directories pass, and neither of kernel
// filesystems.
func (t *tree) checkObject(fd int, st *unix.Stat_t) (storage, error) {
	if e := fstat(fd, st); e != 0 {
		return storage{}, e
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR:
	case unix.S_IFLNK:
		return storage{}, provider.ErrSymlink
	default:
		return storage{}, provider.ErrIrregular
	}
	kind, err := t.devs.of(fd, uint64(st.Dev))
	if err != nil {
		return storage{}, err
	}
	if kind.kernel {
		return storage{}, provider.ErrIrregular
	}
	return kind, nil
}

// explainOpen finds the reason for answers that depend on the type: sockets,
// FIFOs without a peer and devices say ENXIO, ENODEV, EACCES and others.
func (d *FS) explainOpen(root int, name provider.Path, err error) error {
	switch err {
	case unix.ENXIO, unix.ENODEV, unix.EACCES, unix.EPERM, unix.EBUSY, unix.EOPNOTSUPP, unix.EINVAL, unix.EIO:
		var st unix.Stat_t
		if d.stat(root, name, &st) == nil {
			switch st.Mode & unix.S_IFMT {
			case unix.S_IFREG, unix.S_IFDIR:
			case unix.S_IFLNK:
				return provider.ErrSymlink
			default:
				return provider.ErrIrregular
			}
		}
	}
	return err
}

// firstRead bounds what is allocated on the word of st_size alone.
const firstRead = 1 << 30

// ReadFile reads a whole regular file; see [provider.FileReader].
func (d *FS) ReadFile(ctx context.Context, name provider.Path, limit int64) ([]byte, error) {
	root, err := d.begin(ctx, false, name)
	if err != nil {
		return nil, err
	}
	defer d.root.done()
	var st unix.Stat_t
	fd, exact, err := d.openContent(root, name, &st)
	if err != nil {
		return nil, err
	}
	defer closeFD(fd)
	if limit <= 0 || limit > math.MaxInt-1 {
		limit = math.MaxInt - 1
	}
	if st.Size > limit {
		return nil, unix.EFBIG
	}
	return readWhole(ctx, fd, st.Size, limit, exact)
}

// ReadFileInto reads a whole regular file into p; see [provider.FileIntoReader].
func (d *FS) ReadFileInto(ctx context.Context, name provider.Path, p []byte) (int, error) {
	root, err := d.begin(ctx, false, name)
	if err != nil {
		return 0, err
	}
	defer d.root.done()
	var st unix.Stat_t
	fd, exact, err := d.openContent(root, name, &st)
	if err != nil {
		return 0, err
	}
	defer closeFD(fd)
	if st.Size > int64(len(p)) {
		return 0, unix.EFBIG
	}
	end := int64(-1)
	if exact {
		end = st.Size
	}
	n, err := preadFull(fd, p, 0, end)
	if err == nil && int64(n) != end { // p is full, and there may be more
		var m int
		if m, err = preadFull(fd, make([]byte, 1), int64(n), -1); m > 0 {
			return 0, unix.EFBIG
		}
	}
	if err != nil && err != io.EOF {
		return 0, err
	}
	return n, nil
}

// openContent opens the regular file at name to read all of it, and describes it.
// exact says that its size is the truth. Where a rename shows a moment without the
// name, this process does not look then; while content is read, which may wait for a
// network there, no lock is held.
func (d *FS) openContent(root int, name provider.Path, st *unix.Stat_t) (fd int, exact bool, err error) {
	if !d.traits.atomicRename {
		d.lock.mu.RLock()
		defer d.lock.mu.RUnlock()
	}
	fd, err = d.openAt(root, name.String(), unix.O_RDONLY|openFlags, 0, d.resolve)
	if err != nil {
		return -1, false, d.explainOpen(root, name, err)
	}
	kind, err := d.checkObject(fd, st)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		err = unix.EISDIR
	}
	if err != nil {
		closeFD(fd)
		return -1, false, err
	}
	return fd, kind.exact, nil
}

// readWhole reads fd to its end. One read is enough when it brings exactly size
// bytes where more were asked for, unless sizes are no truth here.
func readWhole(ctx context.Context, fd int, size, limit int64, exact bool) ([]byte, error) {
	const sizeUnknown = 4 << 10
	buf := make([]byte, min(max(size, 0), firstRead)+1)
	if size <= 0 || !exact {
		buf = make([]byte, max(int64(len(buf)), min(sizeUnknown, limit+1)))
	}
	n := 0
	for {
		m, err := unix.Pread(fd, buf[n:], int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		n += m
		switch {
		case int64(n) > limit:
			return nil, unix.EFBIG
		case m == 0, exact && int64(n) == size && n < len(buf):
			return buf[:n:n], nil
		case n == len(buf):
			grown := make([]byte, min(2*int64(len(buf)), limit+1))
			copy(grown, buf)
			buf = grown
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}
