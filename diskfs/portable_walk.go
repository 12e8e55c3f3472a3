package diskfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// swapTries bounds how often an element that changes while it is opened is
// looked at again.
const swapTries = 16

// walk opens the directory name, element by element; the caller leaves it. An
// element that is a link when it is looked at is refused; one that becomes a
// link is noticed by comparing what was opened with what is there after the
// open.
func (p *portable) walk(name provider.Path) (*os.Root, error) {
	dir := p.root
	for elem := range name.Elems() {
		next, err := p.step(dir, elem)
		p.leave(dir)
		if err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// leave closes what walk opened.
func (p *portable) leave(dir *os.Root) {
	if dir != p.root {
		dir.Close()
	}
}

// step opens one directory below dir.
func (p *portable) step(dir *os.Root, elem string) (*os.Root, error) {
	for range swapTries {
		before, err := dir.Lstat(elem)
		if err != nil {
			return nil, bare(err)
		}
		if isLink(before) {
			return nil, provider.ErrSymlink
		}
		if !before.IsDir() {
			return nil, syscall.ENOTDIR
		}
		next, err := dir.OpenRoot(elem)
		if err != nil {
			if err = bare(err); errors.Is(err, fs.ErrPermission) || err == syscall.EMFILE || err == syscall.ENFILE {
				return nil, err
			}
			continue // it changed; the next look says into what
		}
		opened, err := next.Stat(".")
		if err == nil && p.unchanged(dir, elem, opened) {
			if err := p.checkDevice(opened); err != nil {
				next.Close()
				return nil, err
			}
			return next, nil
		}
		next.Close()
	}
	return nil, provider.ErrSymlink
}

// unchanged reports whether elem, after it was opened, is that very object and
// no link. The look must be the later one: opening may change the identity (a
// copy-up of overlayfs does).
func (p *portable) unchanged(dir *os.Root, elem string, opened fs.FileInfo) bool {
	now, err := dir.Lstat(elem)
	return err == nil && !isLink(now) && os.SameFile(now, opened)
}

// isLink reports whether fi is a link or, on Windows, another reparse point: a
// junction is a directory elsewhere.
func isLink(fi fs.FileInfo) bool {
	return fi.Mode()&fs.ModeSymlink != 0 || onWindows && fi.Mode()&fs.ModeIrregular != 0
}

// refuseType lets regular files and directories pass.
func refuseType(fi fs.FileInfo) error {
	switch {
	case isLink(fi):
		return provider.ErrSymlink
	case !fi.Mode().IsRegular() && !fi.IsDir():
		return provider.ErrIrregular
	}
	return nil
}

// checkDevice keeps to the root's filesystem when Options say so.
func (p *portable) checkDevice(fi fs.FileInfo) error {
	if !p.opts.OneFileSystem {
		return nil
	}
	if dev, ok := deviceOf(fi); ok && dev != p.dev {
		return syscall.EXDEV
	}
	return nil
}

// openObject opens an existing regular file or directory. flag holds neither
// os.O_CREATE nor os.O_TRUNC.
func (p *portable) openObject(dir *os.Root, base string, flag int) (*os.File, fs.FileInfo, error) {
	var last error = provider.ErrSymlink
	for range swapTries {
		before, err := dir.Lstat(base)
		if err != nil {
			return nil, nil, bare(err)
		}
		if err := refuseType(before); err != nil {
			return nil, nil, err
		}
		if before.IsDir() && flag&(os.O_WRONLY|os.O_RDWR) != 0 {
			return nil, nil, syscall.EISDIR
		}
		f, err := dir.OpenFile(base, flag|openNonblock, 0)
		if err != nil {
			last = bare(err)
			continue // it changed; the next look says into what
		}
		opened, err := f.Stat()
		if err == nil && refuseType(opened) == nil && p.unchanged(dir, base, opened) {
			if err := p.checkDevice(opened); err != nil {
				f.Close()
				return nil, nil, err
			}
			return f, opened, nil
		}
		f.Close()
		last = provider.ErrSymlink
	}
	return nil, nil, last
}

// copyInfo returns fi without what the system attached to it, named name.
func copyInfo(name string, fi fs.FileInfo) *info {
	return provider.NewInfo(name, fi.Size(), fi.Mode(), fi.ModTime())
}

// windowsErrno gives the answers of Windows the numbers that other systems use.
// It is a pure function of numbers, tested everywhere.
func windowsErrno(e syscall.Errno) syscall.Errno {
	switch uintptr(e) {
	case 145: // ERROR_DIR_NOT_EMPTY
		return syscall.ENOTEMPTY
	case 80, 183: // ERROR_FILE_EXISTS, ERROR_ALREADY_EXISTS
		return syscall.EEXIST
	case 17: // ERROR_NOT_SAME_DEVICE
		return syscall.EXDEV
	case 267: // ERROR_DIRECTORY
		return syscall.ENOTDIR
	case 206: // ERROR_FILENAME_EXCED_RANGE
		return syscall.ENAMETOOLONG
	case 112, 39: // ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL
		return syscall.ENOSPC
	}
	return e
}
