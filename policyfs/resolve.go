package policyfs

import (
	"errors"
	"runtime"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// needs is what an operation asks of the policy for one name.
type needs struct {
	// ops are all asked for, up to the first that is zero.
	ops [3]Op
	// instead, if set, does where ops[0] is refused: the operation goes on as
	// one on a directory that may be seen, no more (target.traverse).
	instead Op
	// mount, if set, is the answer for a mount point and the directories that
	// lead to one: they cannot be removed, renamed, replaced or changed.
	mount syscall.Errno
	// blank refuses the empty name, which package os never takes for a
	// directory to change.
	blank bool
}

// resolve is the one way from a name to an object. The order is fixed: the name
// is parsed, the policy judges it, and only then the mount table is asked, so
// that a refusal by policy says nothing about mounts or existence. No provider
// is asked, except by ResolveParents for the directories before a "..".
//
// It fills in t, which is the caller's and zero, field by field: to hand a target
// up by value from call to call costs more than what is decided about it. After an
// error t must not be used.
func (f *FS) resolve(v *view, t *target, name string, n *needs) error {
	t.name, t.mustDir = name, endsAsDir(name)
	text := name
	if f.opts.HostSeparators && runtime.GOOS == "windows" {
		text = strings.ReplaceAll(text, `\`, `/`)
		t.mustDir = endsAsDir(text)
	}
	if f.opts.ResolveParents && hasParent(text) {
		return f.resolveParents(v, t, text, n)
	}
	p, err := namespace.Parse(v.dir, text)
	if err != nil {
		return v.refuseName(n, name, &textError{err})
	}
	if f.opts.PortableNames {
		if err := portable(p); err != nil {
			return v.refuseName(n, name, &textError{err})
		}
	}
	op, d := v.judge(t, p, n)
	if !d.Allow {
		return v.refuse(Request{op, p}, d, name, nil)
	}
	if err := v.ns.ResolveParsed(&t.Target, &v.dir, p, text); err != nil {
		return v.refuse(Request{op, p}, Decision{Rule: "outside every mount"}, name, err)
	}
	return v.authorize(t, n, op, d)
}

// resolveParents is resolve for a name with "..": the namespace walks it, and
// asks before each ".." whether the caller may stat the directory it leaves.
func (f *FS) resolveParents(v *view, t *target, text string, n *needs) error {
	own := *v // v itself stays off the heap, for the callers that need no closure
	var err error
	var prefix target // the last that was left
	name := t.name    // nor may the closure hold t
	t.Target, err = v.ns.ResolveParents(f.context(), v.dir, text, func(at namespace.Target) error {
		prefix = target{Target: at, name: name}
		stat := needs{ops: [3]Op{OpStat}}
		if op, d := own.judge(&prefix, at.Path, &stat); !d.Allow {
			return &DeniedError{Op: op, Path: at.Path, Rule: d.Rule}
		}
		return own.authorizeMore(&prefix, &stat)
	})
	if errors.Is(err, provider.ErrPath) {
		err = provider.ErrPath // its text may be the provider's
	}
	if err != nil && prefix.Provider != nil {
		err = own.unseen(&prefix, err)
	}
	if err != nil {
		return v.refuseName(n, name, err)
	}
	if f.opts.PortableNames {
		if err := portable(t.Path); err != nil {
			return v.refuseName(n, name, &textError{err})
		}
	}
	op, d := v.judge(t, t.Requested, n)
	if !d.Allow {
		return v.refuse(Request{op, t.Requested}, d, name, nil)
	}
	return v.authorize(t, n, op, d)
}

// endsAsDir reports whether name is spelled so that only a directory fits.
func endsAsDir(name string) bool {
	return name == "." || strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.")
}

// endsInDot reports whether the last element of name is ".", which package os
// refuses to remove or rename.
func endsInDot(name string) bool { return name == "." || strings.HasSuffix(name, "/.") }

// hasParent reports whether some element of name is "..".
func hasParent(name string) bool {
	if !strings.Contains(name, "..") {
		return false
	}
	for elem := range strings.SplitSeq(name, "/") {
		if elem == ".." {
			return true
		}
	}
	return false
}

// portable refuses a path with an element that Windows cannot hold.
func portable(p namespace.Path) error {
	if p.IsRoot() {
		return nil
	}
	first := true // the leading "workspace", which no storage holds
	for elem := range strings.SplitSeq(p.String()[1:], "/") {
		if first {
			first = false
			continue
		}
		if err := provider.PortableElem(elem); err != nil {
			return err
		}
	}
	return nil
}
