package diskfs

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// Chmod sets the permission bits of the very object whose type was checked.
func (d *FS) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	var st unix.Stat_t
	fd, err := d.beginObject(ctx, name, &st)
	if err != nil {
		return err
	}
	defer d.endObject(fd)
	if !d.traits.chmod {
		return errors.ErrUnsupported
	}
	mode := uint32(perm & fs.ModePerm)
	if e := d.chmodFD(fd, mode); e != 0 {
		return mapErrno(e)
	}
	if d.traits.exact {
		return nil
	}
	// A file server may answer success and do nothing.
	if e := fstat(fd, &st); e != 0 {
		return e
	}
	if st.Mode&0o777 != mode {
		return errors.ErrUnsupported
	}
	return nil
}

// chmodFD changes the mode of an O_PATH descriptor, for which fchmod does not
// serve.
func (d *FS) chmodFD(fd int, mode uint32) unix.Errno {
	if d.chmod2 {
		return fchmodat2(fd, "", mode, unix.AT_EMPTY_PATH)
	}
	return throughProc(fd, func(name string) unix.Errno {
		return errno(unix.Fchmodat(unix.AT_FDCWD, name, mode, 0))
	})
}

// throughProc calls change with the name that /proc gives to fd: the way of
// kernels that cannot act on an O_PATH descriptor itself.
func throughProc(fd int, change func(name string) unix.Errno) unix.Errno {
	proc, e := openat(unix.AT_FDCWD, "/proc/self/fd", pathDir, 0)
	if e != 0 {
		return unix.EOPNOTSUPP
	}
	defer closeFD(proc)
	if magic, _, err := statfs(proc); err != nil || magic != unix.PROC_SUPER_MAGIC {
		return unix.EOPNOTSUPP // somebody's own directory of that name
	}
	return change("/proc/self/fd/" + strconv.Itoa(fd))
}

// Chtimes sets the times of the very object whose type was checked.
func (d *FS) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	var times [2]unix.Timespec
	for i, t := range [2]time.Time{atime, mtime} {
		if t.IsZero() {
			times[i].Nsec = unix.UTIME_OMIT
			continue
		}
		ts, err := unix.TimeToTimespec(t)
		if err != nil {
			return unix.EINVAL // beyond what this system can express
		}
		times[i] = ts
	}
	var st unix.Stat_t
	fd, err := d.beginObject(ctx, name, &st)
	if err != nil {
		return err
	}
	defer d.endObject(fd)
	if !d.traits.exact {
		// Some file servers ignore a call that sets only one of them.
		for i, now := range [2]unix.Timespec{st.Atim, st.Mtim} {
			if times[i].Nsec == unix.UTIME_OMIT {
				times[i] = now
			}
		}
	}
	e := utimensat(fd, "", &times, unix.AT_EMPTY_PATH)
	if e == unix.ENOENT || e == unix.EINVAL || e == unix.ENOSYS {
		// Before 5.8 the flag is not known.
		e = utimesThroughProc(fd, times)
	}
	return mapErrno(e)
}

// utimesThroughProc is utimensat for old kernels.
func utimesThroughProc(fd int, times [2]unix.Timespec) unix.Errno {
	return throughProc(fd, func(name string) unix.Errno { return utimensat(unix.AT_FDCWD, name, &times, 0) })
}

// beginObject opens the regular file or directory at name with O_PATH for a
// change of attributes, which must end with endObject when err is nil.
func (d *FS) beginObject(ctx context.Context, name provider.Path, st *unix.Stat_t) (fd int, err error) {
	root, err := d.begin(ctx, true, name)
	if err != nil {
		return -1, err
	}
	if fd, err = d.openAt(root, name.String(), pathAny, 0, d.resolve); err != nil {
		d.root.done()
		return -1, err
	}
	if _, err := d.checkObject(fd, st); err != nil {
		d.endObject(fd)
		return -1, err
	}
	return fd, nil
}

// endObject ends what beginObject began.
func (d *FS) endObject(fd int) {
	closeFD(fd)
	d.root.done()
}
