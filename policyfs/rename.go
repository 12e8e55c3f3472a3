package policyfs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// Rename moves oldname to newname, replacing a file or a link there. It asks for
// OpRemove on oldname, and OpCreate and OpWrite on newname (OpRemove too, when
// something is replaced). A directory moves only together with everything below
// it: each descendant needs the same at both ends, OpMoveTree is asked at both
// ends, and nothing may become readable or writable by moving. Over an existing
// directory it is syscall.EEXIST, across mounts syscall.EXDEV, at a mount point
// syscall.EBUSY.
func (f *FS) Rename(oldname, newname string) error {
	return linkErr("rename", oldname, newname, f.rename(oldname, newname, provider.RenameOptions{}))
}

// Move is Rename with options: with NoReplace anything at newname is fs.ErrExist,
// in the same step as the move.
func (f *FS) Move(oldname, newname string, opts provider.RenameOptions) error {
	return linkErr("rename", oldname, newname, f.rename(oldname, newname, opts))
}

// move is one rename: both ends within one snapshot.
type move struct {
	v        view
	from, to target
	opts     provider.RenameOptions
}

func (f *FS) rename(oldname, newname string, opts provider.RenameOptions) error {
	m := move{opts: opts}
	v := &m.v
	if err := f.view(v); err != nil {
		return f.refuseAll(OpRemove, oldname, err)
	}
	if err := f.resolve(v, &m.from, oldname, &needs{ops: [3]Op{OpRemove}, mount: syscall.EBUSY, blank: true}); err != nil {
		return err
	}
	if err := f.resolve(v, &m.to, newname, &needs{ops: [3]Op{OpCreate, OpWrite}, mount: syscall.EBUSY, blank: true}); err != nil {
		return err
	}
	if err := m.widens(&m.from.Target, &m.to.Target); err != nil {
		return v.refuse(Request{err.Op, err.Path}, Decision{Rule: err.Rule}, oldname, nil)
	}
	err := m.do()
	if v.fs.opts.Audit != nil {
		v.done(OpRemove, &m.from, err)
		v.outcome(OpCreate, &m.to, err)
	}
	return err
}

func (m *move) do() error {
	switch {
	case endsInDot(m.from.name), endsInDot(m.to.name):
		return syscall.EINVAL
	case m.from.Mount != m.to.Mount:
		return syscall.EXDEV
	}
	if err := m.v.requireDir(&m.from); err != nil {
		return err
	}
	err := m.moveFile()
	if !errors.Is(err, syscall.EISDIR) || m.opts.NotDir {
		return err
	}
	return m.moveTree()
}

// moveFile moves anything but a directory, which is syscall.EISDIR.
func (m *move) moveFile() error {
	opts := m.opts
	opts.NotDir = true
	overwrite := Decision{Allow: true}
	if !m.v.fs.pure { // else it was asked with OpCreate
		overwrite = m.v.allowed(OpRemove, &m.to.Target)
	}
	if !overwrite.Allow {
		opts.NoReplace = true
	}
	err := m.renameShared(opts)
	if err == nil || errors.Is(err, syscall.EISDIR) {
		return err
	}
	if !overwrite.Allow && !m.opts.NoReplace && errors.Is(err, fs.ErrExist) {
		return &DeniedError{Op: OpRemove, Path: m.to.Path, Rule: overwrite.Rule}
	}
	return err
}

// renameShared renames under the shared structure lock. A new name spelled as a
// directory fits a directory only.
func (m *move) renameShared(opts provider.RenameOptions) error {
	if m.to.mustDir {
		info, err := described(m.from.Provider.Stat(m.v.fs.context(), m.from.rel()))
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return syscall.ENOTDIR
		}
		return syscall.EISDIR // on to moveTree
	}
	lock, err := m.v.lockShared(&m.from, &m.to)
	if err != nil {
		return err
	}
	defer lock.unlock()
	err = m.from.Provider.Rename(m.v.fs.context(), m.from.rel(), m.to.rel(), opts)
	if m.v.fs.opts.CreateParents && isNotExist(err) {
		info, serr := described(m.from.Provider.Stat(m.v.fs.context(), m.from.rel()))
		switch {
		case isNotExist(serr):
			return err // it is the old name that is missing
		case serr != nil:
			return serr
		case info.IsDir():
			return syscall.EISDIR // on to moveTree, which makes no parents before it knows that it may move
		}
		if err := m.v.makeParents(&m.to, 0o777); err != nil {
			return err
		}
		err = m.from.Provider.Rename(m.v.fs.context(), m.from.rel(), m.to.rel(), opts)
	}
	return err
}

// moveTree moves a directory: everything below it is looked at and judged at both
// ends first, under the exclusive structure lock.
func (m *move) moveTree() error {
	v := &m.v
	if d := m.treeAllowed(); !d.Allow {
		return &DeniedError{Op: OpMoveTree, Path: m.from.Path, Rule: d.Rule}
	}
	if m.belowItself() {
		return m.intoItself()
	}
	lock, err := v.lockTree(&m.from, &m.to)
	if err != nil {
		return err
	}
	defer lock.unlock()
	_, err = v.planTree(m.from.Target, OpMoveTree, func(at *namespace.Target, _ bool) *DeniedError {
		return m.descendant(at)
	})
	if err != nil {
		return err
	}
	if v.fs.opts.CreateParents {
		if err := v.makeParents(&m.to, 0o777); err != nil {
			return err
		}
	}
	opts := m.opts
	return m.from.Provider.Rename(v.fs.context(), m.from.rel(), m.to.rel(), opts)
}

// belowItself reports whether the new name lies below the old one.
func (m *move) belowItself() bool {
	return m.from.Path != m.to.Path && m.from.Path.Contains(m.to.Path)
}

// intoItself is the error of moving a directory below itself, in the order of
// package os and rename(2): an existing directory there comes first.
func (m *move) intoItself() error {
	p, ctx := m.to.Provider, m.v.fs.context()
	info, err := described(p.Stat(ctx, m.to.rel()))
	switch {
	case err == nil && (info.IsDir() || m.opts.NoReplace):
		return syscall.EEXIST
	case isNotExist(err):
		_, err = described(p.Stat(ctx, m.to.rel().Parent()))
	}
	if err != nil {
		return err
	}
	return syscall.EINVAL
}

// treeAllowed is the static part of moving a directory: what the rules say about
// places below either end, existing or not, at every path that the ends have.
func (m *move) treeAllowed() Decision {
	v := &m.v
	d := checkMove(v.pol, m.from.Path, m.to.Path)
	if !d.Allow {
		return d
	}
	for _, end := range [...]*target{&m.from, &m.to} {
		for _, alias := range v.ns.Aliases(end.Path) {
			if d := checkMove(v.pol, alias, m.to.Path); !d.Allow {
				return d
			}
			if d := checkMove(v.pol, m.from.Path, alias); !d.Allow {
				return d
			}
		}
		if end.Requested != end.Path && end.Requested != (namespace.Path{}) {
			if d := check(v.pol, Request{OpMoveTree, end.Requested}); !d.Allow {
				return d
			}
		}
		if v.seed.below(end.Path) {
			return Decision{Rule: "read-only starter file below"}
		}
	}
	return d
}

// descendant judges one entry of a tree that moves.
func (m *move) descendant(at *namespace.Target) *DeniedError {
	to := m.to.Target
	var err error
	if to.Path, to.Rel, err = m.moved(at); err != nil {
		return &DeniedError{Op: OpCreate, Path: at.Path, Rule: "its path would be too long"}
	}
	to.Requested = to.Path
	for _, ask := range [...]struct {
		op Op
		at *namespace.Target
	}{{OpRemove, at}, {OpCreate, &to}, {OpWrite, &to}} {
		if d := m.v.allowed(ask.op, ask.at); !d.Allow {
			return &DeniedError{Op: ask.op, Path: ask.at.Path, Rule: d.Rule}
		}
	}
	return m.widens(at, &to)
}

// moved returns where an entry of the tree would be after the move.
func (m *move) moved(at *namespace.Target) (namespace.Path, provider.Path, error) {
	rest, ok := m.from.rel().Cut(at.Rel)
	if !ok {
		return namespace.Path{}, provider.Path{}, provider.ErrPath
	}
	p, rel := m.to.Path, m.to.rel()
	for elem := range rest.Elems() {
		var err error
		if p, err = p.Join(elem); err != nil {
			return p, rel, err
		}
		if rel, err = rel.Join(elem); err != nil {
			return p, rel, err
		}
	}
	return p, rel, nil
}

// widens refuses a move that would make something readable or writable. OpRemove
// has been allowed for from.
func (m *move) widens(from, to *namespace.Target) *DeniedError {
	for _, op := range [...]Op{OpRead, OpWrite} {
		if op == OpWrite && m.v.fs.pure {
			break // allowed for from, with OpRemove
		}
		// In this order, because what may be moved mostly may be read and written.
		if !m.v.allowed(op, from).Allow && m.v.allowed(op, to).Allow {
			return &DeniedError{Op: OpMoveTree, Path: from.Path, Rule: "moving would allow to " + op.String() + " it"}
		}
	}
	return nil
}
