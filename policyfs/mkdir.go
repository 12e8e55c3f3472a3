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
	var v view
	if err := f.view(&v); err != nil {
		return f.refuseAll(OpCreate, name, err)
	}
	var t target
	if err := f.resolve(&v, &t, name, &needs{ops: [3]Op{OpCreate}, mount: syscall.EEXIST, blank: true}); err != nil {
		return err
	}
	err := v.mkdirTarget(&t, perm)
	v.done(OpCreate, &t, err)
	return err
}

func (v *view) mkdirTarget(t *target, perm fs.FileMode) error {
	lock, err := v.lockShared(t)
	if err != nil {
		return err
	}
	defer lock.unlock()
	err = t.Provider.Mkdir(v.fs.context(), t.rel(), perm&fs.ModePerm)
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
	var v view
	if err := f.view(&v); err != nil {
		return f.refuseAll(OpCreate, name, err)
	}
	var t target
	if err := f.resolve(&v, &t, name, &needs{ops: [3]Op{OpCreate}, instead: OpStat, blank: true}); err != nil {
		return err
	}
	err := v.mkdirAllTarget(&t, perm)
	v.done(OpCreate, &t, err)
	return err
}

func (v *view) mkdirAllTarget(t *target, perm fs.FileMode) error {
	if err := v.parentsAllowed(t); err != nil {
		return err
	}
	if v.ns.MountPoint(t.Path) {
		return nil
	}
	if t.traverse {
		return v.mustExist(t)
	}
	lock, err := v.lockShared(t)
	if err != nil {
		return err
	}
	defer lock.unlock()
	return v.makeAll(t.Target, perm)
}

// mustExist is MkdirAll of a directory that the caller may see and not make.
func (v *view) mustExist(t *target) error {
	info, err := v.statTarget(t, true)
	switch {
	case isNotExist(err):
		return &DeniedError{Op: OpCreate, Path: t.Path, Rule: v.allowed(OpCreate, &t.Target).Rule}
	case err == nil && !info.IsDir():
		return syscall.ENOTDIR
	}
	return err
}

// parentsAllowed judges the directories above t before any I/O.
func (v *view) parentsAllowed(t *target) error {
	if v.showsAbove(t.Path) {
		return nil // the caller may stat them all, so none is in the way
	}
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

// showsAbove reports that every directory above p may be statted, as far as can be
// seen at once; false means only that each must be judged.
func (v *view) showsAbove(p namespace.Path) bool {
	if !showsAbove(v.pol, p) {
		return false
	}
	for !p.IsRoot() {
		p = p.Parent()
		if len(v.ns.Aliases(p)) > 0 {
			return false
		}
	}
	return true
}

// showsAbove reports that p allows OpStat of every directory above at, as far as
// that can be seen by reading at once: an allow_read contains the root, and nothing
// in at is denied, hidden or sensitive, so that nothing above is. A policy of the
// caller's is not asked; for it, and for what it is part of, the answer is no.
func showsAbove(p Policy, at namespace.Path) bool {
	switch p := p.(type) {
	case *compiled:
		return p != nil && p.showsAbove(at)
	case *composed:
		if p == nil || len(p.layers) == 0 {
			return false
		}
		for i := range p.layers {
			if l := &p.layers[i]; l.rules == nil || !l.rules.showsAbove(at) {
				return false
			}
		}
		return true
	}
	return false
}

func (m *matcher) showsAbove(at namespace.Path) bool {
	s := m.root
	if s.cover[allowRead] == 0 {
		return false
	}
	m.walk(&s, pathElems(at)) // what a state has read of these stays
	return s.cover[denyRead] == 0 && s.sensitive == 0 && !s.hidden
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

// makeAll makes the directory at and those above it that are missing. It climbs
// until a directory is there, or can be made, and makes the rest on the way down;
// each is authorized on the way up, so that a refusal comes before anything is
// made.
func (v *view) makeAll(at namespace.Target, perm fs.FileMode) error {
	info, err := described(at.Provider.Stat(v.fs.context(), at.Rel))
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return notDir(info)
	case !isNotExist(err):
		return err
	}
	missing := make([]namespace.Target, 0, 8)
	for !v.ns.MountPoint(at.Path) { // a directory that leads to a mount point is there
		err := v.makeOne(at, perm)
		if err == nil {
			break
		}
		if !isNotExist(err) || at.Rel.IsRoot() {
			return err
		}
		missing = append(missing, at)
		at.Path, at.Rel = at.Path.Parent(), at.Rel.Parent()
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := v.makeOne(missing[i], perm); err != nil {
			return err
		}
	}
	return nil
}

// makeOne makes one directory if that is allowed; one that is there is nil.
func (v *view) makeOne(at namespace.Target, perm fs.FileMode) error {
	d := v.allowed(OpCreate, &at)
	if d.Allow {
		err := at.Provider.Mkdir(v.fs.context(), at.Rel, perm&fs.ModePerm)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	info, err := described(at.Provider.Stat(v.fs.context(), at.Rel))
	switch {
	case isNotExist(err) && !d.Allow:
		return &DeniedError{Op: OpCreate, Path: at.Path, Rule: d.Rule}
	case err == nil && !info.IsDir():
		return notDir(info)
	}
	return err
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
