package faults

import (
	"io/fs"

	"github.com/workspacefs/workspacefs/provider"
)

// file is an open File that fails as planned.
type file struct {
	fs *FS
	provider.File
	name string
}

// remover is a file of a File that has an EntryRemover.
type remover struct{ *file }

var _ provider.EntryRemover = remover{}

func (h *file) ReadAt(p []byte, off int64) (int, error) {
	if err := h.fs.begin("File.ReadAt", h.name); err != nil {
		return 0, err
	}
	return h.File.ReadAt(p, off)
}

func (h *file) WriteAt(p []byte, off int64) (int, error) {
	if err := h.fs.begin("File.WriteAt", h.name); err != nil {
		return 0, err
	}
	return h.File.WriteAt(p, off)
}

func (h *file) Append(p []byte) (int, int64, error) {
	if err := h.fs.begin("File.Append", h.name); err != nil {
		return 0, 0, err
	}
	return h.File.Append(p)
}

func (h *file) ReadDir(limit int) ([]fs.DirEntry, error) {
	injected := h.fs.begin("File.ReadDir", h.name)
	if err := unless(injected); err != nil {
		return nil, err
	}
	entries, err := h.File.ReadDir(limit)
	for i, e := range entries {
		entries[i] = entry{e, h}
	}
	if injected != nil && err == nil {
		entries = append(entries, nil)
	}
	return entries, err
}

func (h *file) Stat() (fs.FileInfo, error) {
	if err := h.fs.begin("File.Stat", h.name); err != nil {
		return nil, unless(err)
	}
	return h.File.Stat()
}

func (h *file) Truncate(size int64) error {
	if err := h.fs.begin("File.Truncate", h.name); err != nil {
		return err
	}
	return h.File.Truncate(size)
}

func (h *file) Sync() error {
	if err := h.fs.begin("File.Sync", h.name); err != nil {
		return err
	}
	return h.File.Sync()
}

func (h *file) Close() error {
	injected := h.fs.begin("File.Close", h.name)
	err := h.File.Close()
	h.fs.mu.Lock()
	delete(h.fs.open, h)
	h.fs.mu.Unlock()
	if err != nil {
		return err
	}
	return injected
}

// RemoveEntry implements [provider.EntryRemover].
func (h remover) RemoveEntry(elem string, dir bool) error {
	if err := h.fs.begin("File.RemoveEntry", h.name+"/"+elem); err != nil {
		return err
	}
	return h.File.(provider.EntryRemover).RemoveEntry(elem, dir)
}

// entry is a DirEntry whose Info fails as planned.
type entry struct {
	fs.DirEntry
	h *file
}

func (e entry) Info() (fs.FileInfo, error) {
	if err := e.h.fs.begin("Entry.Info", e.h.name+"/"+e.Name()); err != nil {
		return nil, unless(err)
	}
	return e.DirEntry.Info()
}
