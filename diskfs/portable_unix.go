//go:build unix

package diskfs

import (
	"io/fs"
	"os"
	"syscall"
)

// openNonblock keeps a FIFO that was swapped in from blocking.
const openNonblock = syscall.O_NONBLOCK

// deviceOf returns the number of the device that holds the object.
func deviceOf(fi fs.FileInfo) (uint64, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}

// linksOf returns the number of the object's hard links.
func linksOf(_ *os.File, fi fs.FileInfo) (uint64, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Nlink), true
}

// isOwn reports whether the object belongs to the process's user.
func isOwn(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
