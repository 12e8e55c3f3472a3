package memfs

import (
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// ReadDir implements [provider.File]. The entries are sorted by name (by folded
// name in a case-insensitive FS) and show one moment.
func (f *file) ReadDir(max int) ([]fs.DirEntry, error) {
	shard := f.h.m.mu.rlock()
	defer f.h.m.mu.runlock(shard)
	d := f.h.n.dir
	switch {
	case f.closed.Load():
		return nil, fs.ErrClosed
	case d == nil:
		return nil, syscall.ENOTDIR
	case max > 0 && d.entries.len > max:
		return nil, provider.ErrTooMany
	}
	entries := make([]entry, d.entries.len)
	list := make([]fs.DirEntry, 0, len(entries))
	for key, n := range d.entries.all {
		e := &entries[len(list)]
		*e = entry{f: f, key: key, kind: n.kind()}
		list = append(list, e)
	}
	return list, nil
}

// entry is a directory entry as ReadDir saw it.
type entry struct {
	f    *file
	key  string
	kind fs.FileMode
}

func (e *entry) Name() string      { return spelling(e.key) }
func (e *entry) IsDir() bool       { return e.kind.IsDir() }
func (e *entry) Type() fs.FileMode { return e.kind }

// String formats the entry as a line of a listing.
func (e *entry) String() string { return fs.FormatDirEntry(e) }

// Info describes what has the name in the directory now.
func (e *entry) Info() (fs.FileInfo, error) {
	m := e.f.h.m
	shard := m.mu.rlock()
	defer m.mu.runlock(shard)
	if e.f.closed.Load() {
		return nil, fs.ErrClosed
	}
	n, ok := e.f.h.n.dir.entries.get(e.key)
	if !ok {
		return nil, syscall.ENOENT
	}
	return n.info(spelling(e.key)), nil
}
