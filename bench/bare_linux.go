package main

import (
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bareMkdir makes directories at depth 8 by no more than the system calls that keep
// below dir, with names that are C strings already. Without openat2 there are no such
// calls, and no side.
func bareMkdir(dir string) (side, func(), error) {
	below := path.Dir(deep(8))
	host := filepath.Join(dir, below)
	if err := os.MkdirAll(host, 0o755); err != nil {
		return nil, nil, err
	}
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	release := func() { unix.Close(root) }
	parent := cstring(below)
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	switch fd, err := unix.Openat2(root, below, &how); err {
	case nil:
		unix.Close(fd)
	case unix.ENOSYS, unix.EPERM:
		return nil, release, nil
	default:
		release()
		return nil, nil, err
	}
	hosts := numbered(host + "/bare")
	var elems []*byte
	makeAll := repeatOver(nil, func(i int) error {
		fd, _, e := syscall.Syscall6(unix.SYS_OPENAT2, uintptr(root), uintptr(unsafe.Pointer(parent)), uintptr(unsafe.Pointer(&how)), unix.SizeofOpenHow, 0, 0)
		if e != 0 {
			return e
		}
		_, _, e = syscall.Syscall(unix.SYS_MKDIRAT, fd, uintptr(unsafe.Pointer(elems[i])), 0o755)
		syscall.Syscall(unix.SYS_CLOSE, fd, 0, 0)
		if e != 0 {
			return e
		}
		return nil
	}, func(i int) error { return os.Remove(hosts(i)) })
	return func(n int) (total time.Duration, err error) {
		for len(elems) < n { // before the clock starts
			elems = append(elems, cstring(path.Base(hosts(len(elems)))))
		}
		return makeAll(n)
	}, release, nil
}

// cstring returns s with a NUL behind it.
func cstring(s string) *byte { return &append([]byte(s), 0)[0] }
