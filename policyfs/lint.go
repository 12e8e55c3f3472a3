package policyfs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/workspacefs/workspacefs/namespace"
)

// Lint looks for rules of s that do nothing, which a policy that is compiled
// without knowing the mounts cannot refuse: scopes that touch no mount of n, an
// allow_write that touches only read-only mounts, rules that another rule makes
// void or has said already, and patterns, which a scope is not. Each error names
// the verb, the index, the raw text and the reason; what [Compile] would refuse is
// reported too, and the rest is looked at all the same. With a nil n only s itself
// is looked at.
//
// Lint finds mistakes, it proves nothing: a policy without findings may still allow
// more or less than was meant.
func Lint(n *namespace.Namespace, s Spec) []error {
	l := linter{ns: n, policy: newCompiled(s.AllowRecursiveDelete)}
	var findings []finding
	for sc, err := range s.scopes {
		if err != nil {
			findings = append(findings, finding{sc, err})
			continue
		}
		l.rules = append(l.rules, lintRule{sc, l.policy.add(sc)})
	}
	l.policy.finish()
	for _, r := range l.rules {
		for _, reason := range []string{l.mounts(r), l.void(r), l.pattern(r)} {
			if reason != "" {
				err := fmt.Errorf("policyfs: %s[%d]: %s: %s", r.verb, r.index, quoteScope(r.raw), reason)
				findings = append(findings, finding{r.scope, err})
			}
		}
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return int(a.verb) - int(b.verb) })
	var errs []error
	for _, f := range findings {
		errs = append(errs, f.err)
	}
	if s.AllowRecursiveDelete && len(s.AllowWrite) == 0 {
		errs = append(errs, fmt.Errorf("policyfs: allow_recursive_delete: void without an allow_write"))
	}
	return errs
}

type finding struct {
	scope
	err error
}

type lintRule struct {
	scope
	rule rule
}

type linter struct {
	ns     *namespace.Namespace
	policy *compiled
	rules  []lintRule
}

// mounts says how a scope and the mounts do not fit, or "".
func (l *linter) mounts(r lintRule) string {
	if l.ns == nil || r.verb == denyComponent {
		return ""
	}
	touched, writable := false, false
	touch := func(a namespace.Access) {
		touched = true
		writable = writable || a == namespace.ReadWrite
	}
	folded := r.verb == denyRead || r.verb == denyWrite
	for _, m := range l.ns.Mounts() {
		if within(r.path, m.At, folded) {
			touch(m.Access)
		}
	}
	if t, err := l.ns.Resolve(namespace.Path{}, r.path.String()); err == nil && l.mounted(t.Mount) {
		touch(t.Access)
	} else if folded && !touched { // a second spelling of a mount point
		for _, m := range l.ns.Mounts() {
			if within(m.At, r.path, folded) {
				touch(m.Access)
			}
		}
	}
	switch {
	case !touched:
		return "touches no mount"
	case r.verb == allowWrite && !writable:
		return "touches only read-only mounts"
	}
	return ""
}

// mounted reports whether something is mounted at p; the namespace's own synthetic
// directories are not.
func (l *linter) mounted(p namespace.Path) bool {
	return slices.ContainsFunc(l.ns.Mounts(), func(m namespace.MountInfo) bool { return m.At == p })
}

// within reports whether outer contains p, by spelling or folded.
func within(outer, p namespace.Path, folded bool) bool {
	if !folded {
		return outer.Contains(p)
	}
	a, b := pathElems(outer), pathElems(p)
	for a != "" {
		if b == "" {
			return false
		}
		var x, y string
		x, a = cutElem(a)
		y, b = cutElem(b)
		if foldElem(x) != foldElem(y) {
			return false
		}
	}
	return true
}

// void says which other rule leaves this one without effect, or "".
func (l *linter) void(r lintRule) string {
	if r.verb == denyComponent {
		return l.voidComponent(r)
	}
	s := l.policy.root
	l.policy.walk(&s, pathElems(r.path))
	if first := s.cover[r.verb]; first != r.rule {
		return l.policy.texts[first] + " covers it already"
	}
	switch r.verb {
	case allowRead:
		return l.voidAllow(&s, s.cover[denyRead], 0)
	case allowWrite:
		return l.voidAllow(&s, s.cover[denyWrite], s.cover[denyComponent])
	case denyRead:
		return l.voidDeny(r, allowRead)
	case denyWrite:
		return l.voidDeny(r, allowWrite)
	}
	return l.voidOptIn(r, &s)
}

// voidAllow: a deny covers the scope, or it is protected and no opt-in lies below.
func (l *linter) voidAllow(s *state, denials ...rule) string {
	for _, d := range denials {
		if d != 0 {
			return "void, " + l.policy.texts[d] + " covers it"
		}
	}
	p := s.protected()
	if p == 0 || s.ahead().has(allowSensitive) || s.sensitive == 0 && s.ahead().has(allowHidden) {
		return ""
	}
	return "void without an opt-in, it is " + l.policy.texts[p]
}

// voidDeny: nothing is allowed that the deny could take away.
func (l *linter) voidDeny(r lintRule, allow verb) string {
	at, cover := l.policy.cover(pathElems(r.path))
	if cover[allow] != 0 || at != nil && at.verbs.has(allow) {
		return ""
	}
	return "void, no " + allow.String() + " touches it"
}

// voidComponent: as voidDeny; a component may stand anywhere.
func (l *linter) voidComponent(r lintRule) string {
	folded := foldElem(r.path.Base())
	if first := l.policy.names.exact(hashElem(folded), folded).component; first != r.rule {
		return l.policy.texts[first] + " covers it already"
	}
	if !slices.ContainsFunc(l.rules, func(o lintRule) bool { return o.verb == allowWrite }) {
		return "void, no allow_write touches it"
	}
	return ""
}

// voidOptIn: nothing there may be read or written for other reasons, or the opt-in
// is the wrong one.
func (l *linter) voidOptIn(r lintRule, s *state) string {
	if r.verb == allowHidden {
		switch {
		case s.cover[allowSensitive] != 0:
			return l.policy.texts[s.cover[allowSensitive]] + " covers it already"
		case s.sensitive != 0:
			return "void, it is " + l.policy.texts[s.sensitive]
		}
	}
	read := (s.cover[allowRead] != 0 || s.ahead().has(allowRead)) && s.cover[denyRead] == 0
	write := (s.cover[allowWrite] != 0 || s.ahead().has(allowWrite)) && s.cover[denyWrite] == 0 && s.cover[denyComponent] == 0
	if !read && !write {
		return "void, nothing there may be read or written"
	}
	return ""
}

// pattern says that a scope looks like a pattern, or "".
func (l *linter) pattern(r lintRule) string {
	if i := strings.IndexAny(r.raw, "*?"); i >= 0 {
		return fmt.Sprintf("%q is an ordinary character, a rule is no pattern", r.raw[i])
	}
	return ""
}
