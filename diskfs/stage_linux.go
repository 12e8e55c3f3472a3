package diskfs

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// stage is content that has no public name yet.
type stage struct {
	fd      int // -1: none
	dir     int
	temp    string // reserved name, "" when it has none
	unnamed bool   // made with O_TMPFILE
}

// newStage makes the stage: unnamed where a new name will be linked to it, else
// under a reserved name in the same directory.
func (r *replacing) newStage() error {
	if r.isNew && !r.d.noTmp.Load() {
		fd, err := r.d.openAt(r.dir, ".", unix.O_RDWR|unix.O_TMPFILE|openFlags, uint32(r.opts.FileMode()), r.d.resolve)
		switch {
		case err == nil:
			r.stage = stage{fd: fd, dir: r.dir, unnamed: true}
			return nil
		case isDead(r.dir):
			return unix.ENOENT // ext4 says EPERM
		case err == unix.EINVAL, err == unix.EOPNOTSUPP, err == unix.EISDIR, err == unix.ENOENT:
			r.d.noTmp.Store(true) // EISDIR, ENOENT: kernels that do not know the flag
		default:
			return err
		}
	}
	s, e := namedStage(r.dir)
	if e != 0 {
		return mapErrno(e)
	}
	r.stage = s
	return nil
}

// isDead reports whether the directory has been removed while it was open.
func isDead(dir int) bool {
	var st unix.Stat_t
	return fstat(dir, &st) == 0 && st.Nlink == 0
}

// namedStage makes a temporary that others recognise as live: its lock is held
// until the descriptor is closed.
func namedStage(dir int) (stage, unix.Errno) {
	// A sweeper that met the file before it was locked may have removed it;
	// more than a few times in a row there is something else wrong.
	const stageTries = 8
	for range stageTries {
		s := stage{dir: dir, temp: tempName()}
		var e unix.Errno
		s.fd, e = openat(dir, s.temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|openFlags, 0o600)
		if e == unix.EEXIST {
			continue
		}
		if e != 0 {
			return stage{fd: -1}, e
		}
		// Whether the name is still there, and not the number of links: a file
		// server that keeps a removed file under a name of its own while it is
		// open (NTFS and NFS do) goes on to count one.
		var st unix.Stat_t
		locked := flock(s.fd, unix.LOCK_EX|unix.LOCK_NB)
		switch e := fstatat(dir, s.temp, &st); {
		case e == 0 && locked != unix.EWOULDBLOCK:
			return s, 0 // storage without locks has no sweepers either
		case e != 0 && e != unix.ENOENT:
			s.discard()
			return stage{fd: -1}, e
		}
		s.discard()
	}
	return stage{fd: -1}, unix.EBUSY
}

func flock(fd, how int) unix.Errno {
	for {
		if e := errno(unix.Flock(fd, how)); e != unix.EINTR {
			return e
		}
	}
}

// discard closes the stage, and removes its reserved name if it still has one.
func (s *stage) discard() {
	if s.fd < 0 {
		return
	}
	if s.temp != "" {
		unlinkat(s.dir, s.temp, 0)
	}
	closeFD(s.fd)
	s.fd = -1
}

// chmod sets the mode. Storage without modes refuses its owner's fchmod.
func (s *stage) chmod(mode uint32) error {
	switch err := unix.Fchmod(s.fd, mode); err {
	case unix.EPERM, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL:
		return nil
	default:
		return err
	}
}

// owner tries to keep the owner of the replaced file, where it is another one.
func (s *stage) owner(uid, gid uint32) {
	var st unix.Stat_t
	if fstat(s.fd, &st) == 0 && (st.Uid != uid || st.Gid != gid) {
		if unix.Fchown(s.fd, int(uid), int(gid)) != nil {
			unix.Fchown(s.fd, -1, int(gid)) // a member of the group may do this much
		}
	}
}

// link gives an unnamed stage a reserved name.
func (s *stage) link(d *FS, dir int) unix.Errno {
	flock(s.fd, unix.LOCK_EX|unix.LOCK_NB)
	name := tempName()
	if e := s.linkAs(dir, name); e != 0 {
		return e
	}
	s.temp, s.unnamed = name, false
	return 0
}

// linkAs gives an unnamed stage a name, unless anything has it. Kernels before
// 6.10 want a capability for the direct form.
func (s *stage) linkAs(dir int, name string) unix.Errno {
	e := linkat(s.fd, "", dir, name, unix.AT_EMPTY_PATH)
	if e == 0 || e == unix.EEXIST || !lacksLinks(e) {
		return e
	}
	return linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(s.fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

// fdIO reads and writes a descriptor that its owner keeps open.
type fdIO int

// ReadAt is io.ReaderAt.
func (fd fdIO) ReadAt(p []byte, off int64) (int, error) { return preadFull(int(fd), p, off, -1) }

// WriteAt is io.WriterAt.
func (fd fdIO) WriteAt(p []byte, off int64) (int, error) { return pwriteFull(int(fd), p, off) }
