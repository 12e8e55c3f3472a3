package policyfs

import "syscall"

// errUnseen is what unseen says.
const errUnseen = syscall.ENOENT

// unseen makes the error of an operation that only looks say that nothing is
// there, where it would tell of a file or link that the caller may not read: one
// that bears the name of a directory on the way to something permitted. Without
// it "not a directory" and "symbolic link refused" would tell such an object from
// none. What changes something is told the truth: it could find out by trying.
func (v *view) unseen(t *target, err error) error {
	if !isTypeError(err) {
		return err
	}
	for at := t.Target; ; {
		if !v.readable(&target{Target: at}) {
			info, serr := at.Provider.Stat(v.fs.context(), at.Rel)
			if serr == nil && !info.IsDir() {
				return errUnseen
			}
		}
		if at.Rel.IsRoot() {
			return err
		}
		at.Path, at.Rel = at.Path.Parent(), at.Rel.Parent()
		at.Requested = at.Path
	}
}
