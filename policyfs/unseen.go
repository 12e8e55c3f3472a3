package policyfs

import "syscall"

// errUnseen is what an operation that only looks says of what hides.
const errUnseen = syscall.ENOENT

// unseen is err, or errUnseen where err would tell of something that the caller
// may not see. What changes something is told the truth: it could find out by
// trying.
func (v *view) unseen(t *target, err error) error {
	if v.hides(t, err) {
		return errUnseen
	}
	return err
}

// hides reports whether err is about a file or link that the caller may not read:
// one that bears the name of a directory on the way to something permitted. "Not a
// directory" and "symbolic link refused" would tell such an object from none.
func (v *view) hides(t *target, err error) bool {
	if !isTypeError(err) {
		return false
	}
	for at := t.Target; ; {
		if !v.readable(&target{Target: at}) {
			info, err := described(at.Provider.Stat(v.fs.context(), at.Rel))
			if err == nil && !info.IsDir() {
				return true
			}
		}
		if at.Rel.IsRoot() {
			return false
		}
		at.Path, at.Rel = at.Path.Parent(), at.Rel.Parent()
		at.Requested = at.Path
	}
}
