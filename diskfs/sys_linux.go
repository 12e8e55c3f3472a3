package diskfs

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls that take a name. They build the C string on their own
// stack, where the wrappers of x/sys allocate it, and retry EINTR. The names
// they get hold no NUL: Path refuses it, the kernel never lists it, and
// RemoveEntry checks it.

// stackPath is what fits on the stack; longer names allocate.
const stackPath = 256

// cstring returns name with a NUL behind it, in buf if it fits.
func cstring(buf *[stackPath]byte, name string) *byte {
	b := buf[:]
	if len(name) >= stackPath {
		b = make([]byte, len(name)+1)
	}
	copy(b, name)
	return &b[0]
}

// eagainTries bounds the retries of EAGAIN, which openat2 answers when a rename
// anywhere raced with it: never more than 3 in a row were seen.
const eagainTries = 128

func openat2(dir int, name string, flags int, perm uint32, resolve uint64) (int, unix.Errno) {
	var buf [stackPath]byte
	p := cstring(&buf, name)
	how := unix.OpenHow{Flags: uint64(flags), Mode: uint64(perm), Resolve: resolve}
	for eagain := 0; ; {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unix.SizeofOpenHow, 0, 0)
		switch {
		case e == 0:
			return int(fd), 0
		case e == unix.EINTR:
		case e == unix.EAGAIN && eagain < eagainTries:
			eagain++
		default:
			return -1, e
		}
	}
}

func openat(dir int, name string, flags int, perm uint32) (int, unix.Errno) {
	var buf [stackPath]byte
	p := cstring(&buf, name)
	for {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags), uintptr(perm), 0, 0)
		if e == 0 {
			return int(fd), 0
		}
		if e != unix.EINTR {
			return -1, e
		}
	}
}

// fstatat describes one element of dir and never follows a link there.
func fstatat(dir int, elem string, st *unix.Stat_t) unix.Errno {
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if sysFstatat == 0 {
		return errno(unix.Fstatat(dir, elem, st, flags))
	}
	var buf [stackPath]byte
	p := cstring(&buf, elem)
	for {
		_, _, e := syscall.Syscall6(sysFstatat, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(st)), flags, 0, 0)
		if e != unix.EINTR {
			return e
		}
	}
}

func fstat(fd int, st *unix.Stat_t) unix.Errno {
	if sysFstat == 0 {
		for {
			if e := errno(unix.Fstat(fd, st)); e != unix.EINTR {
				return e
			}
		}
	}
	for {
		_, _, e := syscall.Syscall(sysFstat, uintptr(fd), uintptr(unsafe.Pointer(st)), 0)
		if e != unix.EINTR {
			return e
		}
	}
}

// closeFD closes a descriptor for a caller that has no use for the error: nothing
// was written through it, or it was synced. EINTR means closed on Linux.
func closeFD(fd int) { syscall.Syscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) }

func mkdirat(dir int, elem string, perm uint32) unix.Errno {
	var buf [stackPath]byte
	p := cstring(&buf, elem)
	for {
		_, _, e := syscall.Syscall(unix.SYS_MKDIRAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(perm))
		if e != unix.EINTR {
			return e
		}
	}
}

func unlinkat(dir int, elem string, flags int) unix.Errno {
	var buf [stackPath]byte
	p := cstring(&buf, elem)
	for {
		_, _, e := syscall.Syscall(unix.SYS_UNLINKAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags))
		if e != unix.EINTR {
			return e
		}
	}
}

func renameat2(olddir int, oldelem string, newdir int, newelem string, flags int) unix.Errno {
	var oldbuf, newbuf [stackPath]byte
	o, n := cstring(&oldbuf, oldelem), cstring(&newbuf, newelem)
	for {
		_, _, e := syscall.Syscall6(unix.SYS_RENAMEAT2, uintptr(olddir), uintptr(unsafe.Pointer(o)), uintptr(newdir), uintptr(unsafe.Pointer(n)), uintptr(flags), 0)
		switch {
		case e == unix.EINTR:
		case (e == unix.ENOSYS || e == unix.EPERM) && flags == 0:
			// Kernels before 3.15, and filters that know no renameat2; a
			// legitimate EPERM comes again from renameat.
			return errno(unix.Renameat(olddir, oldelem, newdir, newelem))
		default:
			return e
		}
	}
}

func linkat(olddir int, oldname string, newdir int, newelem string, flags int) unix.Errno {
	var oldbuf, newbuf [stackPath]byte
	o, n := cstring(&oldbuf, oldname), cstring(&newbuf, newelem)
	for {
		_, _, e := syscall.Syscall6(unix.SYS_LINKAT, uintptr(olddir), uintptr(unsafe.Pointer(o)), uintptr(newdir), uintptr(unsafe.Pointer(n)), uintptr(flags), 0)
		if e != unix.EINTR {
			return e
		}
	}
}

func fchmodat2(dir int, name string, mode uint32, flags int) unix.Errno {
	var buf [stackPath]byte
	p := cstring(&buf, name)
	for {
		_, _, e := syscall.Syscall6(unix.SYS_FCHMODAT2, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(mode), uintptr(flags), 0, 0)
		if e != unix.EINTR {
			return e
		}
	}
}

func utimensat(dir int, name string, times *[2]unix.Timespec, flags int) unix.Errno {
	var buf [stackPath]byte
	p := cstring(&buf, name)
	for {
		_, _, e := syscall.Syscall6(unix.SYS_UTIMENSAT, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(times)), uintptr(flags), 0, 0)
		if e != unix.EINTR {
			return e
		}
	}
}

// errno unpacks the error of an x/sys wrapper.
func errno(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(unix.Errno); ok {
		return e
	}
	return unix.EINVAL // the wrapper refused an argument
}
