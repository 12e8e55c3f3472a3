package policyfs

import (
	"slices"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

const (
	// ignoreName is the file that says what its directory leaves out.
	ignoreName = ".gitignore"
	// maxIgnoreFile is the largest .gitignore that is read; a larger one is taken
	// for absent, because it would cost more than it saves.
	maxIgnoreFile = 1 << 20
	// maxIgnoreRules is how many rules of one file count.
	maxIgnoreRules = 20_000
)

// ignoreScope is the rules that apply in one directory: its own, and those of the
// directories above it up to the mount point. It is immutable.
type ignoreScope struct {
	above *ignoreScope
	dir   namespace.Path // where the rules stand
	rules []ignoreRule
}

// ignored reports whether an entry is left out. path is its path; the last rule
// that matches decides, and rules further down come last. Rules come with the tree,
// from anybody: once stopped says so, the answer does not matter and comes at once.
func (s *ignoreScope) ignored(path namespace.Path, base string, dir bool, stopped func() bool) bool {
	for ; s != nil; s = s.above {
		if len(s.rules) == 0 {
			continue
		}
		rel := path.String()[len(s.dir.String())+1:]
		for i := len(s.rules) - 1; i >= 0; i-- {
			r := &s.rules[i]
			if !r.literal && stopped() {
				return true
			}
			if r.matches(rel, base, dir) {
				return !r.negated
			}
		}
	}
	return false
}

// ignoreFilter drops what is ignored and leaves the rest to another filter.
type ignoreFilter struct {
	v       *view
	next    walkFilter
	stopped func() bool // whether the walk is over
}

// ignoreDir is the scope that ignoreFilter gives a directory.
type ignoreDir struct {
	rules *ignoreScope
	next  any
}

// ignore makes a walk that begins at the directory t leave out what is ignored. It
// reads the .gitignore files above t, as far as its mount goes and the policy
// allows.
func (w *walker) ignore(t *target) {
	v := w.v
	var above []namespace.Path
	for p := t.Path; p != t.Mount && !p.IsRoot(); {
		p = p.Parent()
		above = append(above, p)
	}
	var rules *ignoreScope
	for _, p := range slices.Backward(above) {
		rules = v.readIgnore(p, rules)
	}
	w.filter, w.root.scope = ignoreFilter{v, w.filter, w.stopped}, ignoreDir{rules, w.root.scope}
}

// open reads the directory's own rules if it is known to have some.
func (f ignoreFilter) open(d *walkDir, scope any, entries []listedEntry) any {
	in, _ := scope.(ignoreDir)
	if at, err := f.v.ns.Lookup(d.path); err == nil && at.Path == at.Mount {
		in.rules = nil // another tree
	}
	if slices.ContainsFunc(entries, func(e listedEntry) bool { return e.name == ignoreName }) {
		in.rules = f.v.readIgnore(d.path, in.rules)
	}
	in.next = f.next.open(d, in.next, entries)
	return in
}

// judge drops what the rules exclude; an excluded directory is not entered, so
// that nothing below it can be included again, as in git.
func (f ignoreFilter) judge(d *walkDir, scope any, e *listedEntry) (keep, enter bool, child any) {
	in, _ := scope.(ignoreDir)
	if in.rules != nil {
		path, err := d.path.Join(e.name)
		if err != nil || in.rules.ignored(path, e.name, e.IsDir(), f.stopped) {
			return false, false, nil
		}
	}
	keep, enter, child = f.next.judge(d, in.next, e)
	if enter {
		child = ignoreDir{in.rules, child}
	}
	return keep, enter, child
}

// readIgnore returns above with the rules of the .gitignore file in dir, if there
// is a regular file of that name that the policy lets the caller read. It asks
// the policy before it asks the storage.
func (v *view) readIgnore(dir namespace.Path, above *ignoreScope) *ignoreScope {
	p, err := dir.Join(ignoreName)
	if err != nil || !check(v.pol, Request{OpRead, p}).Allow {
		return above
	}
	at, err := v.ns.Lookup(p)
	if err != nil || !v.allowed(OpRead, &at).Allow {
		return above
	}
	text, err := provider.ReadFileMax(v.fs.context(), at.Provider, at.Rel, maxIgnoreFile)
	if err != nil {
		return above
	}
	rules := parseIgnore(string(text))
	if len(rules) == 0 {
		return above
	}
	return &ignoreScope{above: above, dir: dir, rules: rules}
}
