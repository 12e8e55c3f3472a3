package provider

import (
	"io/fs"
	"time"
)

// Info is a plain fs.FileInfo. Providers are free to return their own; the face
// hands this type to agents as it is, where it has to copy any other, because it
// knows that nothing of the storage hangs on it.
//
// An Info that was handed out never changes and may be shared: memfs tells the same
// one again while nothing changed. Nobody may assign to it, except whoever made the
// variable, as for [EntryReader].
type Info struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

var _ fs.FileInfo = (*Info)(nil)

// NewInfo returns the Info of an object. size counts for regular files only:
// for any other mode Size is 0.
func NewInfo(name string, size int64, mode fs.FileMode, mtime time.Time) *Info {
	if !mode.IsRegular() {
		size = 0
	}
	return &Info{name, size, mode, mtime}
}

// Name returns the base name.
func (i *Info) Name() string { return i.name }

// Size returns the length in bytes of a regular file, else 0.
func (i *Info) Size() int64 { return i.size }

// Mode returns the type and permission bits.
func (i *Info) Mode() fs.FileMode { return i.mode }

// ModTime returns the time of the last modification.
func (i *Info) ModTime() time.Time { return i.mtime }

// IsDir reports whether the object is a directory.
func (i *Info) IsDir() bool { return i.mode.IsDir() }

// Sys returns nil.
func (i *Info) Sys() any { return nil }
