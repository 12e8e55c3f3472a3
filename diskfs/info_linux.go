package diskfs

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

func newInfo(name string, st *unix.Stat_t) *info {
	i := new(info)
	fillInfo(i, name, st)
	return i
}

func fillInfo(i *info, name string, st *unix.Stat_t) {
	i.name, i.size = name, st.Size
	i.sec, i.nsec = int64(st.Mtim.Sec), int32(st.Mtim.Nsec)
	i.mode = fileMode(st.Mode)
}

// fileMode translates st_mode.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode&0o777) | typeMode(mode)
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// typeMode translates the type bits of st_mode.
func typeMode(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		return fs.ModeDevice
	}
	return fs.ModeIrregular
}
