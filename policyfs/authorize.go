package policyfs

import (
	"errors"
	"slices"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
)

// changes reports whether op needs a mount with write access.
func changes(op Op) bool {
	switch op {
	case OpRead, OpStat, OpList:
		return false
	}
	return true
}

// writes reports whether op is one of those that compiled policies answer alike.
func writes(op Op) bool { return op == OpCreate || op == OpWrite || op == OpRemove }

// allCompiled reports whether this package compiled every part of p.
func allCompiled(p Policy) bool {
	switch p := p.(type) {
	case *compiled:
		return p != nil
	case *composed:
		return p != nil && !slices.ContainsFunc(p.layers, func(l layer) bool { return l.rules == nil })
	}
	return false
}

// judge asks the policy for one path of t: as the caller named it, or another one
// of the same object. It returns the decision that counts and the op it is about,
// the first refusal or the last permission, and notes in t what else it learned.
func (v *view) judge(t *target, p namespace.Path, n *needs) (op Op, d Decision) {
	if n.ops == [3]Op{OpStat} && v.fs.pure {
		// Most of what is statted may be read, and then nothing remains to ask.
		if d = decide(v.pol, OpRead, p); d.Allow {
			t.read = true
			return OpStat, d
		}
	}
	for i, next := range n.ops {
		if next == 0 && i > 0 {
			break
		}
		if op = next; i > 0 && n.instead == 0 && v.fs.pure && writes(op) && writes(n.ops[i-1]) {
			continue // that was the same question
		}
		d = decide(v.pol, op, p)
		if !d.Allow && n.instead != 0 && i == 0 && decide(v.pol, n.instead, p).Allow {
			op, d, t.traverse = n.instead, Decision{Allow: true}, true
			continue
		}
		if !d.Allow {
			break
		}
	}
	return op, d
}

// authorize finishes what judge began, once the mount table has said where the
// path leads: the other paths of the same object, starter files and the access of
// the mount. It announces the decision d about op to Audit.
func (v *view) authorize(t *target, n *needs, op Op, d Decision) error {
	if err := v.authorizeMore(t, n); err != nil {
		if denied, ok := err.(*DeniedError); ok {
			return v.refuse(Request{denied.Op, denied.Path}, Decision{Rule: denied.Rule}, t.name, nil)
		}
		return v.refuse(Request{op, t.Requested}, Decision{Rule: err.Error()}, t.name, err)
	}
	if n.blank && t.name == "" {
		return v.refuse(Request{op, t.Requested}, Decision{Rule: "blank name"}, t.name, errBlank)
	}
	if n.mount != 0 && v.ns.MountPoint(t.Path) {
		return v.refuse(Request{op, t.Requested}, Decision{Rule: "mount point"}, t.name, n.mount)
	}
	if v.fs.opts.Audit != nil {
		v.announce(Request{op, t.Requested}, d, t.name, nil)
	}
	return nil
}

// authorizeMore judges the other agent paths of the same object (the shorthand's
// result, overlapping grants), one refusal refuses; then what no policy decides.
func (v *view) authorizeMore(t *target, n *needs) error {
	if t.renamed() {
		if err := v.judgeAlias(t.Path, t, n); err != nil {
			return err
		}
	}
	for _, alias := range v.ns.Aliases(t.Path) {
		if err := v.judgeAlias(alias, t, n); err != nil {
			return err
		}
	}
	for i, op := range n.ops {
		if op == 0 || !changes(op) {
			continue
		}
		rule, ok := v.forbidden(t)
		switch {
		case !ok:
		case i == 0 && n.instead != 0 && v.allowed(n.instead, &t.Target).Allow:
			t.traverse = true
		default:
			return &DeniedError{Op: op, Path: t.Path, Rule: rule}
		}
	}
	return nil
}

// judgeAlias is judge for another path of the same object. Where the named path
// may only be traversed, so may the object; where only the alias may, the whole
// is no more than that.
func (v *view) judgeAlias(alias namespace.Path, t *target, n *needs) error {
	op, d := v.judge(t, alias, n)
	t.read = false // it was about one of the paths
	if !d.Allow {
		return &DeniedError{Op: op, Path: alias, Rule: d.Rule}
	}
	return nil
}

// forbidden says which rule outside the policy forbids changing t: a read-only
// starter file, or the access of the mount. Mount points and their ancestors are
// judged by needs.mount instead.
func (v *view) forbidden(t *target) (rule string, ok bool) {
	if v.seed.readOnly(t.Path) {
		return "read-only starter file", true
	}
	if t.Access != namespace.ReadWrite && !v.ns.MountPoint(t.Path) {
		return "mount " + v.ns.Display(t.Mount) + " is read-only", true
	}
	return "", false
}

// allowed is the decision for one more path that the operation touches and the
// caller did not name: a descendant, a parent to be made. It asks the policy for
// the path and for every other path of the same object.
func (v *view) allowed(op Op, t *namespace.Target) Decision {
	d := check(v.pol, Request{op, t.Path})
	if !d.Allow {
		return d
	}
	for _, alias := range v.ns.Aliases(t.Path) {
		if a := check(v.pol, Request{op, alias}); !a.Allow {
			return a
		}
	}
	if changes(op) {
		if rule, ok := v.forbidden(&target{Target: *t}); ok {
			return Decision{Rule: rule}
		}
	}
	return d
}

// refuse announces a refusal and returns its error: err itself where a condition
// outside the policy refused, else a DeniedError.
func (v *view) refuse(req Request, d Decision, name string, err error) error {
	v.announce(req, d, name, err)
	if err != nil {
		return err
	}
	return &DeniedError{Op: req.Op, Path: req.Path, Rule: d.Rule}
}

// refuseName is refuse for a name that leads to no path.
func (v *view) refuseName(n *needs, name string, err error) error {
	req := Request{Op: n.ops[0]}
	if denied, ok := err.(*DeniedError); ok {
		return v.refuse(Request{denied.Op, denied.Path}, Decision{Rule: denied.Rule}, name, nil)
	}
	return v.refuse(req, Decision{Rule: clean(err).Error()}, name, err)
}

// announce tells Audit of a decision.
func (v *view) announce(req Request, d Decision, name string, err error) {
	v.fs.audit(Event{Request: req, Decision: d, Name: name, Err: err})
}

// audit calls Options.Audit with the name made safe to log.
func (f *FS) audit(e Event) {
	if f.opts.Audit == nil {
		return
	}
	e.Name = namespace.Quote(e.Name)
	f.opts.Audit(f.context(), e)
}

// done tells Audit how an operation on t ended that was allowed. A refusal that it
// met on the way, of a parent or a descendant, is a decision of its own. It must
// not be called with a structure lock held: Audit may use the filesystem.
func (v *view) done(op Op, t *target, err error) {
	if v.fs.opts.Audit != nil {
		v.ended(op, t, err)
	}
}

func (v *view) ended(op Op, t *target, err error) {
	var denied *DeniedError
	if errors.As(err, &denied) {
		v.announce(Request{denied.Op, denied.Path}, Decision{Rule: denied.Rule}, t.name, denied.Cause)
	}
	v.outcome(op, t, err)
}

// outcome is done for the second name of an operation.
func (v *view) outcome(op Op, t *target, err error) {
	v.fs.audit(Event{Request: Request{op, t.Path}, Decision: Decision{Allow: true}, Name: t.name, Err: err, Done: true})
}

// errBlank is the answer of package os to a blank name.
const errBlank = syscall.ENOENT
