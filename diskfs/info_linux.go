package diskfs

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/workspacefs/workspacefs/provider"
)

func newInfo(name string, st *unix.Stat_t) *info {
	return provider.NewInfo(name, st.Size, fileMode(st.Mode), time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)))
}

// fillInfo is newInfo into present memory: NewInfo's own does not outlive the
// call, and the compiler leaves it on the stack (a test counts).
func fillInfo(i *info, name string, st *unix.Stat_t) {
	mode := fileMode(st.Mode)
	*i = *provider.NewInfo(name, st.Size, mode, time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec)))
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
