package policyfs

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// plan is a tree as it was found: its directories in the order in which they were
// met, each with the entries it held. It is bounded by Options.MaxWalk.
type plan struct {
	op      Op
	root    namespace.Target
	dirs    []planDir
	entries int

	refused  *DeniedError // the refusal that counts, of those met so far
	named    bool         // it names what refused
	failed   error        // the failure that counts, of those met so far
	failedAt namespace.Path

	joiner namespace.Joiner
	found  []listedEntry // of one directory after the other
}

// planDir is one directory of a plan.
type planDir struct {
	path   namespace.Path
	rel    provider.Path
	parent int // index in plan.dirs; -1 for the root of the tree
	files  []string
}

// planJudge decides whether the entry at, found below the root of a plan, may be
// part of the operation.
type planJudge func(at *namespace.Target, dir bool) *DeniedError

// planTree looks at everything below root through the provider, hidden entries
// too, and lets judge decide each; below what judge refuses it does not look. It
// holds one descriptor at a time. It fails before anything is changed: at once when
// the context is done, the root is gone, or the tree is too large; else, once it has
// seen all, with what judge refused (see refuse), or with what could not be read.
func (v *view) planTree(root namespace.Target, op Op, judge planJudge) (*plan, error) {
	p := &plan{op: op, root: root, dirs: []planDir{{path: root.Path, rel: root.Rel, parent: -1}}}
	for i := 0; i < len(p.dirs); i++ {
		if err := v.fs.context().Err(); err != nil {
			return nil, err
		}
		err := v.planDir(p, i, judge)
		switch at := p.dirs[i].path; {
		case err == nil:
		case i == 0, errors.Is(err, provider.ErrTooMany):
			return nil, err
		case isNotExist(err): // it has vanished meanwhile
		case p.failed == nil || at.String() < p.failedAt.String():
			p.failed, p.failedAt = err, at
		}
	}
	switch {
	case p.refused != nil:
		return nil, p.refused
	case p.failed != nil:
		return nil, p.failed
	}
	p.found, p.joiner = nil, namespace.Joiner{}
	return p, nil
}

// planDir reads directory i of the plan and judges what it holds.
func (v *view) planDir(p *plan, i int, judge planJudge) error {
	d := &p.dirs[i]
	limit := v.fs.maxWalk()
	f, err := opened(p.root.Provider.Open(v.fs.context(), d.rel, provider.OpenOptions{Read: true, Directory: true}))
	if err != nil {
		return err
	}
	defer f.Close()
	p.found = p.found[:0]
	err = eachEntry(f, limit-p.entries+1, func(name string, typ fs.FileMode) {
		p.found = append(p.found, listedEntry{name: name, typ: typ})
	})
	if errors.Is(err, provider.ErrTooMany) || err == nil && len(p.found) > limit-p.entries {
		rule := fmt.Sprintf("the tree holds more than %d entries (MaxWalk)", limit)
		return &DeniedError{Op: p.op, Path: p.root.Path, Rule: rule, Cause: provider.ErrTooMany}
	}
	if err != nil {
		return err
	}
	p.entries += len(p.found)
	at := p.root
	for _, e := range p.found {
		path, err := p.joiner.Join(d.path, e.name)
		if err != nil || !at.At(path) {
			// Nobody can be asked about a name that has no path.
			shown := v.showsRespelled(d.path, e.name, e.IsDir())
			p.refuse(d.path, "a name that no path can spell", shown && v.names(d.path, true))
			continue
		}
		dir := e.typ&fs.ModeType == fs.ModeDir
		if e.IsDir() && !dir {
			p.refuse(path, "a directory that nobody can look into", v.names(path, true))
			continue
		}
		if denied := judge(&at, dir); denied != nil {
			named := v.names(path, dir) && (denied.Path == path || v.names(denied.Path, dir))
			p.refuse(denied.Path, denied.Rule, named)
			continue
		}
		if dir {
			path, _ = d.path.Join(e.name) // one that keeps nothing else
			at.At(path)
			p.dirs = append(p.dirs, planDir{path: at.Path, rel: at.Rel, parent: i})
			d = &p.dirs[i] // append may have moved it
		} else if p.refused == nil {
			d.files = append(d.files, e.name)
		}
	}
	return nil
}

// names reports whether a refusal may name what lies at path: whether the caller may
// stat it, at every path that it has.
func (v *view) names(path namespace.Path, dir bool) bool {
	look := OpRead
	if dir {
		look = OpStat
	}
	return v.allowed(look, &namespace.Target{Path: path}).Allow
}

// refuse notes that what lies at path refuses the operation. Of several refusals one
// counts, in whatever order the storage lists: the first path of those that may be
// named, and one without a name only if there is no other, so that what is hidden does
// not change an answer that is a refusal anyway.
func (p *plan) refuse(path namespace.Path, rule string, named bool) {
	switch {
	case named && (!p.named || path.String() < p.refused.Path.String()):
		p.refused, p.named = &DeniedError{Op: p.op, Path: path, Rule: rule}, true
	case p.refused == nil:
		p.refused = &DeniedError{Op: p.op, Path: p.root.Path, Rule: "protected descendant"}
	}
}

// remove removes exactly what was planned, leaf first, and stops at the first
// failure. What vanished meanwhile is as good as removed; what appeared makes
// the removal of its directory fail with ENOTEMPTY.
func (v *view) remove(p *plan) error {
	done := 0
	children := make([][]int, len(p.dirs))
	for i := len(p.dirs) - 1; i > 0; i-- {
		children[p.dirs[i].parent] = append(children[p.dirs[i].parent], i)
	}
	// Directories were met breadth first, so in reverse order every directory
	// comes after all that lies below it.
	for i := len(p.dirs) - 1; i >= 0; i-- {
		left, err := v.empty(p, i, children[i], &done)
		if err != nil {
			return &PartialError{Done: done, Planned: p.entries + 1, Left: left, Err: err}
		}
	}
	if err := p.root.Provider.Remove(v.fs.context(), p.root.Rel); err != nil && !isNotExist(err) {
		return &PartialError{Done: done, Planned: p.entries + 1, Left: p.root.Path, Err: err}
	}
	return nil
}

// empty removes the planned entries of directory i, whose subdirectories are
// empty by now. On failure it returns the path that could not be removed.
func (v *view) empty(p *plan, i int, dirs []int, done *int) (left namespace.Path, err error) {
	d := &p.dirs[i]
	if len(dirs) == 0 && len(d.files) == 0 {
		return d.path, nil
	}
	if err := v.fs.context().Err(); err != nil {
		return d.path, err
	}
	f, err := opened(p.root.Provider.Open(v.fs.context(), d.rel, provider.OpenOptions{Read: true, Directory: true}))
	if isNotExist(err) {
		return d.path, nil
	}
	if err != nil {
		return d.path, err
	}
	defer f.Close()
	remover, _ := f.(provider.EntryRemover)
	remove := func(elem string, dir bool) error {
		if remover != nil {
			return remover.RemoveEntry(elem, dir)
		}
		rel, err := d.rel.Join(elem)
		if err != nil {
			return err
		}
		return v.removeAs(p.root.Provider, rel, dir)
	}
	one := func(elem string, dir bool) error {
		if err := remove(elem, dir); err != nil && !isNotExist(err) {
			if q, jerr := d.path.Join(elem); jerr == nil {
				left = q
			}
			return err
		}
		*done++
		return nil
	}
	left = d.path
	for n, elem := range d.files {
		if n%1024 == 1023 {
			if err := v.fs.context().Err(); err != nil {
				return left, err
			}
		}
		if err := one(elem, false); err != nil {
			return left, err
		}
	}
	for _, j := range dirs {
		if err := one(p.dirs[j].path.Base(), true); err != nil {
			return left, err
		}
	}
	return left, nil
}

// removeAs is RemoveEntry for a provider without it: it refuses what is no longer
// of the kind that was planned.
func (v *view) removeAs(p provider.Provider, rel provider.Path, dir bool) error {
	info, err := described(p.Stat(v.fs.context(), rel))
	if err != nil {
		return err
	}
	if info.IsDir() != dir {
		return typeChanged(dir)
	}
	return p.Remove(v.fs.context(), rel)
}
