package policyfs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
)

// Remove removes a file, a link or an empty directory. It asks for OpRemove. A
// link is unlinked, never followed. A directory that holds anything, hidden
// entries included, is syscall.ENOTEMPTY; the root, a mount point and what leads
// to one syscall.EBUSY.
func (f *FS) Remove(name string) error {
	return pathErr("remove", name, f.remove(name))
}

func (f *FS) remove(name string) error {
	var v view
	var t target
	if err := f.resolveRemoval(&v, &t, name); err != nil {
		return err
	}
	err := v.requireDir(&t)
	if err == nil {
		err = v.removeOne(&t)
	}
	v.done(OpRemove, &t, err)
	return err
}

// resolveRemoval authorizes the removal of one name.
func (f *FS) resolveRemoval(v *view, t *target, name string) error {
	if err := f.view(v); err != nil {
		return f.refuseAll(OpRemove, name, err)
	}
	if err := f.resolve(v, t, name, &needs{ops: [3]Op{OpRemove}, mount: syscall.EBUSY, blank: true}); err != nil {
		return err
	}
	if endsInDot(name) {
		return syscall.EINVAL
	}
	return nil
}

// removeOne removes one object under the structure lock.
func (v *view) removeOne(t *target) error {
	lock, err := v.lockShared(t)
	if err != nil {
		return err
	}
	defer lock.unlock()
	return t.Provider.Remove(v.fs.context(), t.rel())
}

// RemoveAll removes name and, if it is a directory, everything below it. A
// missing name is nil. A file, a link and an empty directory are removed as
// [FS.Remove] does. For anything more it also asks for OpRemoveTree on name and
// OpRemove on every descendant, hidden ones too: all are authorized before
// anything is removed, and exactly what was planned is removed, leaf first. What
// appears meanwhile makes it fail with syscall.ENOTEMPTY; a failure half-way is a
// [*PartialError]. A tree of more than Options.MaxWalk entries is refused. Of several
// refusals below name the first by path is reported that the caller may know of, and
// a "protected descendant" of name when it may know of none.
func (f *FS) RemoveAll(name string) error {
	return pathErr("removeall", name, f.removeAll(name))
}

func (f *FS) removeAll(name string) error {
	var v view
	var t target
	if err := f.resolveRemoval(&v, &t, name); err != nil {
		return err
	}
	err := v.removeTree(&t)
	v.done(OpRemoveTree, &t, err)
	return err
}

func (v *view) removeTree(t *target) error {
	switch err := v.requireDir(t); {
	case isNotExist(err):
		return nil
	case err != nil:
		return err
	}
	err := v.removeOne(t)
	switch {
	case err == nil, isNotExist(err):
		return nil
	case !errors.Is(err, syscall.ENOTEMPTY):
		return err
	}
	if err := v.treeAllowed(t); err != nil {
		return err
	}
	lock, err := v.lockTree(t)
	if err != nil {
		return err
	}
	defer lock.unlock()
	p, err := v.planTree(t.Target, OpRemoveTree, func(at *namespace.Target, _ bool) *DeniedError {
		if d := v.allowed(OpRemove, at); !d.Allow {
			return &DeniedError{Op: OpRemove, Path: at.Path, Rule: d.Rule}
		}
		return nil
	})
	if isNotExist(err) {
		return nil // gone since it was found to be full
	}
	if err != nil {
		return err
	}
	return v.remove(p)
}

// treeAllowed asks for OpRemoveTree at every path of the directory.
func (v *view) treeAllowed(t *target) error {
	d := v.allowed(OpRemoveTree, &t.Target)
	if d.Allow && t.Requested != t.Path && t.Requested != (namespace.Path{}) {
		d = check(v.pol, Request{OpRemoveTree, t.Requested})
	}
	if d.Allow {
		return nil
	}
	return &DeniedError{Op: OpRemoveTree, Path: t.Path, Rule: d.Rule}
}

// isNotExist reports whether err says that there is no such name.
func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// typeChanged is the error for an entry that is no longer what was planned.
func typeChanged(dir bool) error {
	if dir {
		return syscall.ENOTDIR
	}
	return syscall.EISDIR
}
