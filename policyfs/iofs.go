package policyfs

import (
	"io"
	"io/fs"
	"slices"

	"github.com/workspacefs/workspacefs/namespace"
)

// IOFS returns f as a read-only fs.FS rooted at the session directory, with
// ReadDirFS, ReadFileFS, StatFS and SubFS. Names are those of package io/fs. It
// holds what the policy permits, regular files and directories only: links and
// everything else are absent. It keeps f's policy and context.
func (f *FS) IOFS() fs.FS { return ioFS{f} }

// ioFS is an FS in the form of package io/fs.
type ioFS struct{ f *FS }

var (
	_ fs.ReadDirFS  = ioFS{}
	_ fs.ReadFileFS = ioFS{}
	_ fs.StatFS     = ioFS{}
	_ fs.SubFS      = ioFS{}
)

// plain reports whether a mode is one that IOFS shows.
func plain(mode fs.FileMode) bool { return mode.IsRegular() || mode.IsDir() }

// check refuses a name that package io/fs does not know.
func (i ioFS) check(op, name string) error {
	if !fs.ValidPath(name) {
		return pathErr(op, name, fs.ErrInvalid)
	}
	return nil
}

// hide makes an error of what IOFS does not show say that nothing is there.
func hide(op, name string, err error) error {
	if err != nil && isTypeError(err) {
		return pathErr(op, name, fs.ErrNotExist)
	}
	return err
}

// Open opens a file or directory for reading.
func (i ioFS) Open(name string) (fs.File, error) {
	if err := i.check("open", name); err != nil {
		return nil, err
	}
	file, err := i.f.open(name, 0, 0)
	if err != nil {
		return nil, hide("open", name, pathErr("open", name, err))
	}
	return &ioFile{file}, nil
}

// ReadDir lists a directory.
func (i ioFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := i.check("open", name); err != nil {
		return nil, err
	}
	file, err := i.f.open(name, 0, 0)
	if err != nil {
		return nil, hide("open", name, pathErr("open", name, err))
	}
	defer file.Close()
	return (&ioFile{file}).ReadDir(-1)
}

// ReadFile reads a whole file.
func (i ioFS) ReadFile(name string) ([]byte, error) {
	if err := i.check("open", name); err != nil {
		return nil, err
	}
	data, err := i.f.readFile(name)
	return data, hide("open", name, pathErr("open", name, err))
}

// Stat describes a file or directory.
func (i ioFS) Stat(name string) (fs.FileInfo, error) {
	if err := i.check("stat", name); err != nil {
		return nil, err
	}
	info, err := i.f.Stat(name)
	if err != nil {
		return nil, hide("stat", name, err)
	}
	if !plain(info.Mode()) {
		return nil, pathErr("stat", name, fs.ErrNotExist)
	}
	return rootInfo(info, name), nil
}

// rootInfo gives the root the name that package io/fs expects.
func rootInfo(info fs.FileInfo, name string) fs.FileInfo {
	if name != "." {
		return info
	}
	return &fileInfo{name: ".", mode: info.Mode(), mtime: info.ModTime()}
}

// Sub returns the tree below dir.
func (i ioFS) Sub(dir string) (fs.FS, error) {
	if err := i.check("sub", dir); err != nil {
		return nil, err
	}
	var v view
	if err := i.f.view(&v); err != nil {
		return nil, pathErr("sub", dir, i.f.refuseAll(OpList, dir, err))
	}
	p, err := namespace.Parse(v.dir, dir)
	if err != nil {
		return nil, pathErr("sub", dir, &textError{err})
	}
	return ioFS{i.f.WithDir(p)}, nil
}

// ioFile is a File whose listing holds regular files and directories only.
type ioFile struct{ *File }

var (
	_ fs.ReadDirFile = (*ioFile)(nil)
	_ io.ReaderAt    = (*ioFile)(nil)
	_ io.Seeker      = (*ioFile)(nil)
)

// ReadDir lists the next n entries that IOFS shows.
func (f *ioFile) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		list, err := f.File.ReadDir(n)
		list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !plain(e.Type()) })
		if err != nil || n <= 0 || len(list) > 0 {
			return list, err
		}
	}
}

// Stat describes the open file.
func (f *ioFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	return rootInfo(info, f.Name()), nil
}
