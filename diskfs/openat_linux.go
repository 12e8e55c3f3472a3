package diskfs

import (
	"strings"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

const (
	// openFlags go with every open that is not O_PATH. O_NONBLOCK: a FIFO or
	// device must not block. O_NOCTTY: a terminal must not become ours.
	// O_LARGEFILE: openat2 does not add it on 32-bit systems.
	openFlags = unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_LARGEFILE
	// pathDir opens a directory as a base for other calls, without the right
	// to read it.
	pathDir = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	// pathAny opens whatever is there, a link itself too, for fstat and for
	// changes of attributes.
	pathAny = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC

	beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

	// movedTries bounds the retries of EXDEV, which openat2 answers although
	// no name here holds "..", when a directory moved out of the root during
	// the call.
	movedTries = 8
)

// openAt is the only function that turns a name into a descriptor. name is
// relative to the directory base and holds no "..", so nothing but a link can
// lead out, and the call that opens refuses links itself: in every element
// ([provider.ErrSymlink]), except that with O_PATH|O_NOFOLLOW and without
// O_DIRECTORY a link in the last element is opened itself. resolve is d.resolve,
// or that with RESOLVE_NO_XDEV.
//
// The caller owns the descriptor. Flags other than O_PATH must include
// openFlags, perm is 0 unless O_CREAT or O_TMPFILE is set, and O_TRUNC never is:
// the type of the object is only known afterwards.
func (d *FS) openAt(base int, name string, flags int, perm uint32, resolve uint64) (int, error) {
	if d.walk {
		return d.walkAt(base, name, flags, perm, resolve)
	}
	for moved := 0; ; moved++ {
		fd, e := openat2(base, name, flags, perm, resolve)
		if e == 0 {
			return fd, nil
		}
		if e != unix.EXDEV {
			return -1, mapErrno(e)
		}
		switch {
		case resolve&unix.RESOLVE_NO_XDEV != 0 && (!d.opts.OneFileSystem || moved >= movedTries):
			return -1, unix.EXDEV
		case moved >= movedTries:
			return -1, unix.EACCES
		}
	}
}

// walkAt is openAt for kernels without openat2: one openat per element, none of
// which follows a link. A directory that the walk has opened and that is then
// moved out of the root stays its base, which openat2 would notice at the end;
// it takes a process that can rename inside the root.
func (d *FS) walkAt(base int, name string, flags int, perm uint32, resolve uint64) (int, error) {
	dir := base
	for {
		elem, rest, more := strings.Cut(name, "/")
		f := pathDir | unix.O_NOFOLLOW
		var p uint32
		if !more {
			f, p = flags|unix.O_NOFOLLOW, perm
		}
		fd, e := openat(dir, elem, f, p)
		if e == unix.ENOTDIR && f&unix.O_DIRECTORY != 0 {
			// O_DIRECTORY|O_NOFOLLOW says ENOTDIR for a link too.
			var st unix.Stat_t
			if fstatat(dir, elem, &st) == 0 && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				e = unix.ELOOP
			}
		}
		if dir != base {
			closeFD(dir)
		}
		if e != 0 {
			return -1, mapErrno(e)
		}
		if resolve&unix.RESOLVE_NO_XDEV != 0 && !d.onRootMount(fd) {
			closeFD(fd)
			return -1, unix.EXDEV
		}
		if !more {
			return fd, nil
		}
		dir, name = fd, rest
	}
}

// onRootMount reports whether fd lies on the mount of the root. Kernels before
// 5.8 have no mount identity; there the device decides, and a bind mount of the
// same device goes unnoticed.
func (d *FS) onRootMount(fd int) bool {
	id, ok := mountOf(fd)
	return ok && id == d.mount
}

// mountID identifies a mount as far as the kernel tells.
type mountID struct {
	id, dev uint64
}

func mountOf(fd int) (mountID, bool) {
	var st unix.Stat_t
	if fstat(fd, &st) != 0 {
		return mountID{}, false
	}
	m := mountID{dev: uint64(st.Dev)}
	var sx unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &sx); err == nil && sx.Mask&unix.STATX_MNT_ID != 0 {
		m.id = sx.Mnt_id
	}
	return m, true
}

// parent opens the directory that holds name's last element; the root's own
// descriptor serves for names of one element. The caller must leave it.
func (d *FS) parent(root int, name provider.Path) (int, error) {
	p := name.Parent()
	if p.IsRoot() {
		return root, nil
	}
	return d.openAt(root, p.String(), pathDir, 0, d.resolve)
}

// leave closes what parent opened.
func leave(root, dir int) {
	if dir != root {
		closeFD(dir)
	}
}

// mapErrno puts the sentinels of the contract in the place of errnos that mean
// the same here.
func mapErrno(e unix.Errno) error {
	switch e {
	case 0:
		return nil
	case unix.ELOOP:
		return provider.ErrSymlink
	}
	return e
}
