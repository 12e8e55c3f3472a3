package policyfs

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// Stat describes the file or directory at name. It asks for OpStat, which a
// directory passes when it may be read or lies on the way to something readable;
// anything else also needs OpRead, else it does not exist. A link is
// provider.ErrSymlink.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	info, err := f.statName(name, true)
	return info, pathErr("stat", name, err)
}

// LstatIfPossible is Stat, except that a link is described itself: with
// fs.ModeSymlink and size 0. The second result is always true.
func (f *FS) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	info, err := f.statName(name, false)
	return info, true, pathErr("lstat", name, err)
}

func (f *FS) statName(name string, refuseLinks bool) (fs.FileInfo, error) {
	var v view
	if err := f.view(&v); err != nil {
		return nil, f.refuseAll(OpStat, name, err)
	}
	return f.stat(&v, name, refuseLinks)
}

// stat is Stat and Lstat within one snapshot.
func (f *FS) stat(v *view, name string, refuseLinks bool) (fs.FileInfo, error) {
	var t target
	if err := f.resolve(v, &t, name, &needs{ops: [3]Op{OpStat}}); err != nil {
		return nil, err
	}
	info, err := v.statTarget(&t, refuseLinks)
	v.done(OpStat, &t, err)
	return info, err
}

// statTarget describes what was authorized with OpStat.
func (v *view) statTarget(t *target, refuseLinks bool) (fs.FileInfo, error) {
	info, err := described(t.Provider.Stat(v.fs.context(), t.rel()))
	if (err != nil || !info.IsDir()) && v.isOverlay(t) {
		return overlayInfo(t.Path.Base()), nil
	}
	if err != nil {
		return nil, v.unseen(t, err)
	}
	if !info.IsDir() {
		if !v.readable(t) {
			return nil, fs.ErrNotExist
		}
		if info.Mode()&fs.ModeSymlink != 0 && (refuseLinks || t.mustDir) {
			return nil, provider.ErrSymlink
		}
		if t.mustDir {
			return nil, notDir(info)
		}
	}
	return publicInfo(info, t.Path.Base()), nil
}

// readable reports whether the object may be read, at every path it has.
func (v *view) readable(t *target) bool {
	if t.read {
		return true
	}
	if t.renamed() && !check(v.pol, Request{OpRead, t.Requested}).Allow {
		return false
	}
	return v.allowed(OpRead, &t.Target).Allow
}

// Chmod sets the permission bits of name, mode&0o777: setuid, setgid and sticky
// are dropped. It asks for OpWrite. A mount point is syscall.EBUSY.
func (f *FS) Chmod(name string, mode fs.FileMode) error {
	return pathErr("chmod", name, f.attribute(name, func(v *view, t *target) error {
		return t.Provider.Chmod(f.context(), t.rel(), mode&fs.ModePerm)
	}))
}

// Chtimes sets the access and modification times of name; a zero time leaves
// that one alone. It asks for OpWrite. A mount point is syscall.EBUSY.
func (f *FS) Chtimes(name string, atime, mtime time.Time) error {
	return pathErr("chtimes", name, f.attribute(name, func(v *view, t *target) error {
		return t.Provider.Chtimes(f.context(), t.rel(), atime, mtime)
	}))
}

// Chown is errors.ErrUnsupported for every name that the policy lets the caller
// write: a workspace has no owners.
func (f *FS) Chown(name string, uid, gid int) error {
	return pathErr("chown", name, f.attribute(name, func(*view, *target) error { return errors.ErrUnsupported }))
}

// attribute authorizes a change of attributes and does it.
func (f *FS) attribute(name string, change func(*view, *target) error) error {
	var v view
	if err := f.view(&v); err != nil {
		return f.refuseAll(OpWrite, name, err)
	}
	var t target
	if err := f.resolve(&v, &t, name, &needs{ops: [3]Op{OpWrite}, mount: syscall.EBUSY, blank: true}); err != nil {
		return err
	}
	err := v.requireDir(&t)
	if err == nil {
		err = change(&v, &t)
	}
	v.done(OpWrite, &t, err)
	return err
}

// requireDir refuses a name spelled as a directory that is something else. Only
// the spelling depends on it, so what changes in between does not matter.
func (v *view) requireDir(t *target) error {
	if !t.mustDir {
		return nil
	}
	info, err := described(t.Provider.Stat(v.fs.context(), t.rel()))
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return notDir(info)
	}
	return nil
}
