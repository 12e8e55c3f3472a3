package policyfs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
)

// Mkdir makes one directory with the permission bits perm&0o777. It asks for
// OpCreate. Anything at name is fs.ErrExist; a missing parent is fs.ErrNotExist,
// unless Options.CreateParents is set.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return pathErr("mkdir", name, f.mkdir(name, perm))
}

func (f *FS) mkdir(name string, perm fs.FileMode) error {
	v, err := f.view()
	if err != nil {
		return f.refuseAll(OpCreate, name, err)
	}
	t, err := f.resolve(&v, name, needs{ops: [3]Op{OpCreate}, mount: syscall.EEXIST, blank: true})
	if err != nil {
		return err
	}
	err = v.mkdirTarget(&t, perm)
	v.done(OpCreate, &t, err)
	return err
}

func (v *view) mkdirTarget(t *target, perm fs.FileMode) error {
	defer lockShared(t.Provider).unlock()
	err := t.Provider.Mkdir(v.fs.context(), t.rel(), perm&fs.ModePerm)
	if v.fs.opts.CreateParents && errors.Is(err, fs.ErrNotExist) {
		if err := v.makeParents(t, perm); err != nil {
			return err
		}
		err = t.Provider.Mkdir(v.fs.context(), t.rel(), perm&fs.ModePerm)
	}
	return err
}

// MkdirAll makes a directory and its missing parents. It asks for OpCreate on
// every one that it may have to make: each directory on the way must be one that
// the policy lets the caller create, or one that the caller may stat (then it
// must exist), or lie above the first that the caller may create (then it must
// exist too). Otherwise it is refused before any I/O. A directory that exists is
// nil; anything else on the way is syscall.ENOTDIR, a link provider.ErrSymlink.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	return pathErr("mkdir", name, f.mkdirAll(name, perm))
}

func (f *FS) mkdirAll(name string, perm fs.FileMode) error {
	v, err := f.view()
	if err != nil {
		return f.refuseAll(OpCreate, name, err)
	}
	// What may be created is created; what may only be seen has to be there.
	t, err := f.resolve(&v, name, needs{ops: [3]Op{OpCreate}, blank: true})
	if err != nil {
		var denied *DeniedError
		if errors.As(err, &denied) && f.isDirectory(&v, name) {
			return nil
		}
		return err
	}
	err = v.mkdirAllTarget(&t, perm)
	v.done(OpCreate, &t, err)
	return err
}

// isDirectory reports whether name is a directory that the caller may stat.
func (f *FS) isDirectory(v *view, name string) bool {
	info, err := f.stat(v, name, true)
	return err == nil && info.IsDir()
}

func (v *view) mkdirAllTarget(t *target, perm fs.FileMode) error {
	if err := v.parentsAllowed(t); err != nil {
		return err
	}
	if v.ns.MountPoint(t.Path) {
		return nil
	}
	defer lockShared(t.Provider).unlock()
	return v.makeAll(t.Target, perm)
}

// parentsAllowed judges the directories above t before any I/O.
func (v *view) parentsAllowed(t *target) error {
	seenWritable := false
	for p := range prefixes(t.Path) {
		at, err := v.ns.Lookup(p)
		if err != nil || v.ns.MountPoint(p) {
			continue // it exists by the table, or the name itself was ErrOutside
		}
		d := v.allowed(OpCreate, &at)
		if d.Allow {
			seenWritable = true
			continue
		}
		if seenWritable && !v.allowed(OpStat, &at).Allow {
			return &DeniedError{Op: OpCreate, Path: p, Rule: d.Rule}
		}
	}
	return nil
}

// prefixes yields the directories above p, from the root down.
func prefixes(p namespace.Path) func(yield func(namespace.Path) bool) {
	return func(yield func(namespace.Path) bool) {
		chain := make([]namespace.Path, 0, 16)
		for q := p; !q.IsRoot(); {
			q = q.Parent()
			chain = append(chain, q)
		}
		for i := len(chain) - 1; i >= 0; i-- {
			if !yield(chain[i]) {
				return
			}
		}
	}
}

// makeAll makes the directory at and those above it that are missing, each of
// them authorized when it turns out to be missing. It climbs to the deepest that
// exists, then makes the rest on the way down.
func (v *view) makeAll(at namespace.Target, perm fs.FileMode) error {
	missing := []namespace.Target{}
	for {
		info, err := at.Provider.Stat(v.fs.context(), at.Rel)
		if err == nil && info.IsDir() {
			break
		}
		if err == nil {
			return notDir(info)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if v.ns.MountPoint(at.Path) {
			break // a directory that leads to a mount point
		}
		if d := v.allowed(OpCreate, &at); !d.Allow {
			return &DeniedError{Op: OpCreate, Path: at.Path, Rule: d.Rule}
		}
		missing = append(missing, at)
		if at.Rel.IsRoot() {
			return err
		}
		at.Path, at.Rel = at.Path.Parent(), at.Rel.Parent()
	}
	for i := len(missing) - 1; i >= 0; i-- {
		at := missing[i]
		err := at.Provider.Mkdir(v.fs.context(), at.Rel, perm&fs.ModePerm)
		if errors.Is(err, fs.ErrExist) {
			// Somebody else made it meanwhile: fine if it is a directory.
			info, serr := at.Provider.Stat(v.fs.context(), at.Rel)
			if serr == nil && !info.IsDir() {
				return notDir(info)
			}
			err = serr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeParents makes the missing directories above t for Options.CreateParents.
// The caller holds the structure lock.
func (v *view) makeParents(t *target, perm fs.FileMode) error {
	if t.rel().IsRoot() {
		return fs.ErrNotExist
	}
	at := t.Target
	at.Path, at.Rel = at.Path.Parent(), at.Rel.Parent()
	return v.makeAll(at, perm)
}
