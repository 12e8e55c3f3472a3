package policyfs

import (
	"io/fs"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// fileInfo is what agents see of an object: nothing of the storage behind it.
type fileInfo struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

var _ fs.FileInfo = (*fileInfo)(nil)

func (i *fileInfo) Name() string       { return i.name }
func (i *fileInfo) Size() int64        { return i.size }
func (i *fileInfo) Mode() fs.FileMode  { return i.mode }
func (i *fileInfo) ModTime() time.Time { return i.mtime }
func (i *fileInfo) IsDir() bool        { return i.mode.IsDir() }
func (i *fileInfo) Sys() any           { return nil }

// publicInfo returns info as agents may see it, under name: a directory and a
// link have size 0 (theirs counts hidden entries, or the bytes of a target that
// may be a host path), and nothing leads to the storage. A *provider.Info that is
// already so is returned as it is.
func publicInfo(info fs.FileInfo, name string) fs.FileInfo {
	if i, ok := info.(*provider.Info); ok && i.Name() == name && (i.Mode().IsRegular() || i.Size() == 0) {
		return i
	}
	i := &fileInfo{name: name, mode: info.Mode(), mtime: info.ModTime()}
	if i.mode.IsRegular() {
		i.size = info.Size()
	}
	return i
}

// overlayInfo describes a directory that exists because a mount point lies below.
func overlayInfo(name string) fs.FileInfo {
	return &fileInfo{name: name, mode: fs.ModeDir | 0o555}
}
