package policyfs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// Explain says how an operation on name would be decided, and by which rule:
// what the policy says of it at every path that the object has, starter files and
// the access of the mount. It does no I/O (except that Options.ResolveParents
// reads the way to a ".."), tells Audit nothing, and says nothing about whether
// name exists. Trees are judged by their descendants too, which it does not see.
func (f *FS) Explain(op Op, name string) Decision {
	quiet := *f
	quiet.opts.Audit = nil
	var v view
	err := quiet.view(&v)
	n := needs{ops: [3]Op{op}}
	switch op {
	case OpRemove, OpRemoveTree, OpMoveTree:
		n.mount = syscall.EBUSY
	}
	if err == nil {
		var t target
		err = quiet.resolve(&v, &t, name, &n)
	}
	if err == nil {
		return Decision{Allow: true, Rule: check(v.pol, Request{op, v.mustParse(name)}).Rule}
	}
	var denied *DeniedError
	if errors.As(err, &denied) {
		return Decision{Rule: denied.Rule}
	}
	if n.mount != 0 && err == n.mount {
		return Decision{Rule: "mount point"}
	}
	return Decision{Rule: clean(err).Error()}
}

// mustParse returns the path of a name that resolve has accepted.
func (v *view) mustParse(name string) namespace.Path {
	p, _ := namespace.Parse(v.dir, name)
	return p
}

// Authorize judges op on every name, for the paths inside patches, archives and
// manifests: nil means that each is permitted. Besides the policy and the mount
// it looks at what exists: a link on the way, or at the end, is
// provider.ErrSymlink, and a file on the way is syscall.ENOTDIR; a missing tail
// is fine. It does not reserve anything: the operation itself is judged again.
func (f *FS) Authorize(op Op, names ...string) error {
	for _, name := range names {
		if _, _, unseen, err := f.authorized(op, name); err != nil && !unseen {
			return pathErr(op.String(), name, err)
		}
	}
	return nil
}

// authorized resolves name for op and checks the elements that exist. unseen says
// that the error is about something that the caller may not see.
func (f *FS) authorized(op Op, name string) (v view, t target, unseen bool, err error) {
	err = f.view(&v)
	if err != nil {
		return v, t, false, f.refuseAll(op, name, err)
	}
	err = f.resolve(&v, &t, name, &needs{ops: [3]Op{op}})
	if err != nil {
		return v, t, false, err
	}
	err = v.checkElements(&t)
	if err != nil && !changes(op) && v.hides(&t, err) {
		return v, t, true, errUnseen
	}
	return v, t, false, err
}

// checkElements looks at the deepest existing element of the path: the provider
// refuses a link on the way to it.
func (v *view) checkElements(t *target) error {
	rel := t.rel()
	for {
		info, err := described(t.Provider.Stat(v.fs.context(), rel))
		switch {
		case err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
			return provider.ErrSymlink
		case err == nil && rel != t.rel() && !info.IsDir():
			return notDir(info)
		case err == nil, !isNotExist(err):
			return err
		case rel.IsRoot():
			return err
		}
		rel = rel.Parent()
	}
}

// checkWay returns errUnseen where an element of the path may only be passed
// through and is no directory. A name that is missing there gets the same answer
// as a file or link that may not be seen: those can get no other, because the
// operating system would go through the link.
func (v *view) checkWay(t *target) error {
	for at := t.Target; !v.ns.MountPoint(at.Path); {
		info, err := described(at.Provider.Stat(v.fs.context(), at.Rel))
		if err == nil && info.IsDir() {
			return nil
		}
		if !v.readable(&target{Target: at}) {
			return errUnseen
		}
		if err != nil && !isNotExist(err) {
			return err
		}
		at.Path, at.Rel = at.Path.Parent(), at.Rel.Parent()
		at.Requested = at.Path
	}
	return nil
}

// HostPath returns the host path of name, for tools that have to call the
// operating system, after judging op and looking at every element that exists
// (a link is provider.ErrSymlink). Where the mount has no host directory it is
// errors.ErrUnsupported; where another directory has taken the place of the one
// that was mounted, fs.ErrPermission. A missing name has a host path too, except,
// for an op that only looks, where the way to it lies through a directory that
// is missing and of which the policy shows only a part.
//
// This is the weaker way: what is at the path can change between the check and
// the use, and nothing that the caller then does is judged. Prefer the methods of
// FS.
func (f *FS) HostPath(op Op, name string) (string, error) {
	host, err := f.hostPath(op, name)
	return host, pathErr(op.String(), name, err)
}

func (f *FS) hostPath(op Op, name string) (string, error) {
	v, t, _, err := f.authorized(op, name)
	if err == nil && !changes(op) {
		err = v.checkWay(&t)
	}
	if err != nil {
		return "", err
	}
	host, ok := v.ns.ToHost(t.Path)
	if !ok {
		return "", errors.ErrUnsupported
	}
	// Another directory may have taken the name of the granted one since.
	if err := v.ns.CheckHost(t.Path); err != nil {
		return "", fs.ErrPermission
	}
	return host, nil
}
