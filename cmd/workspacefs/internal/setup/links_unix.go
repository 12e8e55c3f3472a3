//go:build unix

package setup

import (
	"os"
	"syscall"
)

// links counts the names of a file.
func links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
