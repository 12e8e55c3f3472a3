package diskfs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// openNonblock: files of Windows do not block when they are opened.
const openNonblock = 0

// deviceOf: other volumes appear in a tree only behind reparse points, which
// are refused.
func deviceOf(fs.FileInfo) (uint64, bool) { return 0, false }

// linksOf returns the number of the object's hard links.
func linksOf(f *os.File, _ fs.FileInfo) (uint64, bool) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	var data windows.ByHandleFileInformation
	var got error
	if err := conn.Control(func(fd uintptr) {
		got = windows.GetFileInformationByHandle(windows.Handle(fd), &data)
	}); err != nil || got != nil {
		return 0, false
	}
	return uint64(data.NumberOfLinks), true
}

// isOwn is not asked: without locks nothing is stale.
func isOwn(fs.FileInfo) bool { return false }
