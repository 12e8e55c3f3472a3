//go:build js || wasip1

package diskfs

import (
	"io/fs"
	"os"
	"syscall"
)

// openNonblock: the runtimes offer nothing of the kind.
const openNonblock = 0

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

// isOwn is not asked: without locks nothing is stale.
func isOwn(fs.FileInfo) bool { return false }
