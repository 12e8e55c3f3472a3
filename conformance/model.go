package conformance

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// model is a tree in memory that does what the contract says, in the simplest
// way: one goroutine, no links, no limits. Where a call breaks several rules at
// once the contract does not order them, so the model returns every error that
// would be right; no error means that the call must succeed.
type model struct{ root *node }

// node is a file or a directory. Open Files hold it.
type node struct {
	kids    map[string]*node // nil for a file
	data    []byte
	mode    fs.FileMode
	hasMode bool // mode was set by Chmod; before, a umask may have had a part in it
}

func newModel() *model { return &model{root: &node{kids: map[string]*node{}}} }

func (n *node) isDir() bool { return n.kids != nil }

// find returns what is at name.
func (m *model) find(name provider.Path) (*node, error) {
	n := m.root
	for elem := range name.Elems() {
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		next, ok := n.kids[elem]
		if !ok {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// parent returns the directory that name is in.
func (m *model) parent(name provider.Path) (*node, error) {
	dir, err := m.find(name.Parent())
	if err == nil && !dir.isDir() {
		return nil, syscall.ENOTDIR
	}
	return dir, err
}

// open returns the file and whether it was made.
func (m *model) open(name provider.Path, o provider.OpenOptions) (*node, []error) {
	if err := o.Check(); err != nil {
		return nil, []error{err}
	}
	n, err := m.find(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Create:
		dir, err := m.parent(name)
		if err != nil {
			return nil, []error{err}
		}
		n = &node{}
		dir.kids[name.Base()] = n
		return n, nil
	case err != nil:
		return nil, []error{err}
	case o.Create && o.Exclusive:
		return nil, []error{fs.ErrExist}
	case n.isDir() && o.Mutates():
		return nil, []error{syscall.EISDIR}
	case !n.isDir() && o.Directory:
		return nil, []error{syscall.ENOTDIR}
	}
	if o.Truncate {
		n.data = nil
	}
	return n, nil
}

func (m *model) mkdir(name provider.Path) []error {
	if _, err := m.find(name); err == nil {
		return []error{fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return []error{err}
	}
	dir, err := m.parent(name)
	if err != nil {
		return []error{err}
	}
	dir.kids[name.Base()] = &node{kids: map[string]*node{}}
	return nil
}

func (m *model) remove(name provider.Path) []error {
	if name.IsRoot() {
		return []error{syscall.EBUSY}
	}
	n, err := m.find(name)
	if err != nil {
		return []error{err}
	}
	if len(n.kids) > 0 {
		return []error{syscall.ENOTEMPTY}
	}
	dir, _ := m.parent(name)
	delete(dir.kids, name.Base())
	return nil
}

func (m *model) rename(oldname, newname provider.Path, o provider.RenameOptions) (errs []error) {
	from, err := m.find(oldname)
	if err != nil {
		errs = append(errs, err)
	}
	dir, err := m.parent(newname)
	if err != nil {
		errs = append(errs, err)
	}
	if oldname.IsRoot() || newname.IsRoot() {
		return append(errs, syscall.EBUSY)
	}
	to, err := m.find(newname)
	if errors.Is(err, syscall.ENOTDIR) {
		errs = append(errs, err)
	}
	if from != nil && from.isDir() && o.NotDir {
		errs = append(errs, syscall.EISDIR)
	}
	if oldname == newname {
		if o.NoReplace {
			errs = append(errs, fs.ErrExist)
		}
		return errs
	}
	if from != nil && from.isDir() && oldname.Contains(newname) {
		errs = append(errs, syscall.EINVAL)
	}
	if to != nil {
		switch {
		case o.NoReplace, to.isDir():
			errs = append(errs, fs.ErrExist)
		case from != nil && from.isDir():
			errs = append(errs, syscall.ENOTDIR)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	olddir, _ := m.parent(oldname)
	delete(olddir.kids, oldname.Base())
	dir.kids[newname.Base()] = from
	return nil
}

func (m *model) replace(name provider.Path, content string, o provider.ReplaceOptions) []error {
	n, err := m.find(name)
	want, match := o.If.Match()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir, err := m.parent(name)
		if err != nil {
			return []error{err}
		}
		if match {
			return []error{fs.ErrNotExist}
		}
		dir.kids[name.Base()] = &node{data: []byte(content)}
		return nil
	case err != nil:
		return []error{err}
	case o.If.Absent():
		return []error{provider.ErrConflict}
	case n.isDir() && match:
		return []error{syscall.EISDIR, provider.ErrConflict}
	case n.isDir():
		return []error{syscall.EISDIR}
	case match && sha256.Sum256(n.data) != want:
		return []error{provider.ErrConflict}
	}
	dir, _ := m.parent(name)
	// Another file takes the name: who has the old one open keeps it.
	dir.kids[name.Base()] = &node{data: []byte(content), mode: n.mode, hasMode: n.hasMode}
	return nil
}

func (m *model) chmod(name provider.Path, perm fs.FileMode) []error {
	n, err := m.find(name)
	if err != nil {
		return []error{err}
	}
	n.mode, n.hasMode = perm&fs.ModePerm, true
	return nil
}

// writeAt writes to a file.
func (n *node) writeAt(p string, off int64) {
	n.data = writeModel(n.data, []byte(p), int(off))
}

// truncate sets the size of a file.
func (n *node) truncate(size int64) {
	if size <= int64(len(n.data)) {
		n.data = slices.Clip(n.data[:size])
		return
	}
	n.data = append(n.data, make([]byte, size-int64(len(n.data)))...)
}

// layout writes the tree as [probe.observe] does.
func (m *model) layout() []string {
	lines := m.root.lines("")
	slices.Sort(lines)
	return lines
}

func (n *node) lines(prefix string) (lines []string) {
	for name, kid := range n.kids {
		if kid.isDir() {
			lines = append(lines, prefix+name+"/")
			lines = append(lines, kid.lines(prefix+name+"/")...)
			continue
		}
		var b strings.Builder
		b.WriteString(prefix + name + "=")
		b.Write(kid.data)
		lines = append(lines, b.String())
	}
	return lines
}

// entries writes the names in a directory as a listing does.
func (n *node) entries() []string {
	var names []string
	for name := range n.kids {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
