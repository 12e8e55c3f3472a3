package diskfs

import (
	"io/fs"
	"time"
)

// info is a snapshot of one object. It holds no pointer to the system's own
// structure: Sys would show inode, device and owner.
type info struct {
	name string
	size int64
	sec  int64
	nsec int32
	mode fs.FileMode
}

var _ fs.FileInfo = (*info)(nil)

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return time.Unix(i.sec, int64(i.nsec)) }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }

// String formats i as package fs does, for test failures and debuggers.
func (i *info) String() string { return fs.FormatFileInfo(i) }
