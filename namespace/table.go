package namespace

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/provider"
)

// Namespace is an immutable tree of mounts. Its methods are safe for concurrent
// use, and those that no mount can serve fail: the zero Namespace has no mounts
// and refuses everything.
type Namespace struct {
	root    *node
	mounts  []*mount // sorted by mount point
	dir     Path     // default working directory, or unset
	synth   *synthetic
	aliases []aliasPair
	shared  bool // some provider is mounted more than once
	// shorthand: a name spelled /workspace/... that leads nowhere stands for
	// one in the working directory.
	shorthand bool

	closeOnce sync.Once
	opened    []provider.Provider // what Close closes
}

// mount is one compiled [Mount].
type mount struct {
	at       Path
	bare     bool // spelled without the leading /workspace
	access   Access
	provider provider.Provider
	// storage is what tells that two mounts are of one provider: the provider,
	// or another value where providers of that type cannot be compared. nil
	// stands for no other mount's.
	storage  any
	hostDir  string
	identity fs.FileInfo // of hostDir when it was granted, or nil
	label    string
	kind     Kind
	// compiled: not asked for, but follows from one granted directory lying
	// inside another.
	compiled bool
	// identical: this storage is mounted more than once.
	identical bool
	// exact: spelling decides in this storage, so that folded spellings of
	// mount points below it are other names.
	exact bool
}

// node is an element on the way to a mount point, or one.
type node struct {
	path     Path
	elem     string
	mount    *mount           // mounted here, or nil
	within   *mount           // the innermost mount at or above, or nil
	children map[string]*node // nil when nothing is mounted below
	names    []string         // the keys of children, sorted
	// folded has the children by skeleton. It is nil outside every mount, where
	// other spellings lead nowhere anyway.
	folded map[string][]*node
	// first has a bit for the first byte of every child's skeleton, if that is
	// ASCII: most names are no child, and this tells so without looking further.
	first [2]uint64
	bare  bool // every mount here and below is spelled without /workspace
}

// New mounts providers. The mount points may nest: the innermost mount wins, by
// whole elements and exact case. The Namespace has a working directory
// ([Namespace.Dir]), the root, only when something is mounted at "/workspace".
// It does not take ownership: Close closes nothing.
//
// One Provider mounted at several places is known to be one ([Namespace.Aliases]),
// and so are two that hold the same directory of the host, if they have a method
// RootFile() (*os.File, error), as those of diskfs have. New looks at nothing else
// that mounts may have in common: where two other Providers serve the same storage,
// or one a part of the other's, each object has two names, and rights and rules
// about one say nothing about the other. [FromGrants] sees to that for directories
// of the host.
//
// Errors are [provider.ErrPath] for a mount point that is not absolute or that
// [Parse] refuses, and [fs.ErrInvalid] for no mounts at all, a nil Provider, an
// unknown Access, two mounts at one place, two Providers of a type whose values
// cannot be compared (nothing would tell whether they are one, and a policy could
// be got around by the second name; pointers can be), or a HostDir that is not
// absolute and clean. Where RootFile fails, its error without a path is returned.
func New(mounts ...Mount) (*Namespace, error) {
	compiled := make([]*mount, len(mounts))
	for i, m := range mounts {
		c, err := newMount(m)
		if err != nil {
			return nil, fmt.Errorf("mount %d (%s): %w", i, Quote(m.At), err)
		}
		if c.storage == nil && slices.ContainsFunc(compiled[:i], func(o *mount) bool { return sameType(o.provider, c.provider) }) {
			return nil, fmt.Errorf("mount %d (%s): %w", i, Quote(m.At), invalid("a second provider of a type that cannot be compared"))
		}
		compiled[i] = c
	}
	if err := shareRoots(compiled); err != nil {
		return nil, err
	}
	n, err := build(compiled)
	if err != nil {
		return nil, err
	}
	if n.root.mount != nil {
		n.dir = root
	}
	return n, nil
}

// Workspace mounts p, read-write, at /workspace. It panics when p is nil.
func Workspace(p provider.Provider) *Namespace {
	n, err := New(Mount{At: rootText, Access: ReadWrite, Provider: p})
	if err != nil {
		panic("namespace.Workspace: " + err.Error())
	}
	return n
}

// newMount checks one mount.
func newMount(m Mount) (*mount, error) {
	if m.Provider == nil {
		return nil, invalid("no provider")
	}
	if m.Access > ReadWrite {
		return nil, invalid("unknown access")
	}
	at, bare, err := parseMountPoint(m.At)
	if err != nil {
		return nil, err
	}
	if m.HostDir != "" && (!filepath.IsAbs(m.HostDir) || filepath.Clean(m.HostDir) != m.HostDir) {
		return nil, invalid("the host directory is not absolute and clean")
	}
	return &mount{at: at, bare: bare, access: m.Access, provider: m.Provider, storage: storageOf(m.Provider, nil), hostDir: m.HostDir}, nil
}

// parseMountPoint parses the spelling of a mount point. bare says that it does
// without /workspace.
func parseMountPoint(name string) (at Path, bare bool, err error) {
	if !strings.HasPrefix(name, "/") {
		return Path{}, false, refusal("mount point is not absolute")
	}
	at, spelled, err := parse(Path{}, name)
	return at, !spelled && !at.IsRoot(), err
}

// build compiles the table.
func build(mounts []*mount) (*Namespace, error) {
	if len(mounts) == 0 {
		return nil, invalid("no mounts")
	}
	slices.SortFunc(mounts, func(a, b *mount) int { return strings.Compare(a.at.s, b.at.s) })
	n := &Namespace{root: &node{path: root, elem: rootName}, mounts: mounts}
	for _, m := range mounts {
		nd := n.root
		for elem := range m.at.tree.Elems() {
			nd = nd.child(elem)
		}
		if nd.mount != nil {
			return nil, invalid("two mounts at " + m.at.s)
		}
		nd.mount = m
		m.exact = m.provider.Features().CaseSensitive
	}
	n.markShared()
	n.root.compile(nil)
	n.synth = newSynthetic(n.root)
	return n, nil
}

// child returns the child of that name, made if missing.
func (nd *node) child(elem string) *node {
	if c := nd.children[elem]; c != nil {
		return c
	}
	path, err := nd.path.join(elem)
	if err != nil {
		panic("namespace: prefix of a Path is no Path") // a Path's prefixes are Paths
	}
	c := &node{path: path, elem: elem}
	if nd.children == nil {
		nd.children = make(map[string]*node)
	}
	nd.children[elem] = c
	return c
}

// compile fills in what follows from the mounts; within is the mount around nd.
func (nd *node) compile(within *mount) {
	nd.within, nd.bare = within, true
	if nd.mount != nil {
		nd.within, nd.bare = nd.mount, nd.mount.bare
	}
	for elem, c := range nd.children {
		c.compile(nd.within)
		nd.bare = nd.bare && c.bare
		nd.names = append(nd.names, elem)
		key := skeleton(elem)
		if key != "" && key[0] < utf8.RuneSelf {
			nd.first[key[0]>>6] |= 1 << (key[0] & 63)
		}
		if nd.within != nil {
			if nd.folded == nil {
				nd.folded = make(map[string][]*node)
			}
			nd.folded[key] = append(nd.folded[key], c)
		}
	}
	slices.Sort(nd.names)
}

// find descends along the text of p below the root. It returns the last node on
// the way and what of the text is left, "" when p is that node itself. shadowed
// reports that p spells a mount point nested in other storage in another way.
func (n *Namespace) find(p Path) (nd *node, rest string, shadowed bool) {
	nd, rest = n.root, p.s[len(rootText):]
	for nd.children != nil && rest != "" {
		elem, tail := cutElem(rest)
		if !nd.perhaps(elem) {
			break
		}
		if nd.folded != nil && nd.shadows(elem, tail) {
			return nd, rest, true
		}
		c := nd.children[elem]
		if c == nil {
			break
		}
		nd, rest = c, tail
	}
	return nd, rest, false
}

// perhaps reports whether elem may be, or fold like, the name of a child. An
// ASCII letter or sign at its beginning is in any skeleton's beginning too,
// except for the dots and blanks that may be trimmed away.
func (nd *node) perhaps(elem string) bool {
	b := upper(elem[0])
	return b >= utf8.RuneSelf || b == '.' || b == ' ' || nd.first[b>>6]&(1<<(b&63)) != 0
}

// upper is b in upper case, as skeletons have it.
func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - ('a' - 'A')
	}
	return b
}

// cutElem splits "/a/b" into "a" and "/b".
func cutElem(text string) (elem, tail string) {
	elem = text[1:]
	if i := strings.IndexByte(elem, '/'); i >= 0 {
		return elem[:i], elem[i:]
	}
	return elem, ""
}

// shadows reports whether elem and tail, by folding an element, reach a mount
// point below nd: in case-insensitive storage that spelling would open what the
// mount covers.
func (nd *node) shadows(elem, tail string) bool {
	for _, c := range nd.alike(elem) {
		if c.elem != elem && (c.mount != nil || c.leadsToMount(tail)) {
			return true
		}
	}
	return false
}

// leadsToMount reports whether text reaches a mount point below nd when every
// element is folded.
func (nd *node) leadsToMount(text string) bool {
	if nd.folded == nil || text == "" {
		return false
	}
	elem, tail := cutElem(text)
	for _, c := range nd.alike(elem) {
		if c.mount != nil || c.leadsToMount(tail) {
			return true
		}
	}
	return false
}

// alike returns the children whose names fold like elem, elem itself included.
func (nd *node) alike(elem string) []*node {
	var buf [skeletonBuffer]byte
	return nd.folded[string(appendSkeleton(buf[:0], elem))]
}

// Lookup returns where p leads: the innermost mount that contains it, or, for an
// ancestor of a mount point that lies in no mount, the namespace's own read-only
// provider of synthetic directories. Without I/O and, on success, without
// allocation.
//
// The unset Path is [provider.ErrPath]. A path that no mount contains is
// [ErrOutside], and so is one that spells a mount point nested in another mount
// in a way that case-insensitive storage could take for the same name.
func (n *Namespace) Lookup(p Path) (Target, error) {
	var t Target
	if err := n.locate(&t, p); err != nil {
		return Target{}, err
	}
	return t, nil
}

// locate is Lookup into t, which it sets only when it succeeds: field by field,
// because a copy of what was just written has to wait for the writes.
func (n *Namespace) locate(t *Target, p Path) error {
	if p.s == "" {
		return refusal("unset path")
	}
	if n == nil || n.root == nil {
		return ErrOutside
	}
	nd, rest, shadowed := n.find(p)
	switch m := nd.within; {
	case shadowed:
		return ErrOutside
	case m != nil:
		t.Requested, t.Path, t.Mount = p, p, m.at
		t.Provider, t.Access = m.provider, m.access
		t.Rel, _ = m.at.tree.Cut(p.tree)
		return nil
	case rest == "":
		*t = n.syntheticTarget(p)
		return nil
	}
	return ErrOutside
}

// syntheticTarget is p in the namespace's own provider.
func (n *Namespace) syntheticTarget(p Path) Target {
	return Target{Requested: p, Path: p, Mount: root, Provider: n.synth, Rel: p.tree, Access: ReadOnly}
}

// Ancestor returns p in the namespace's own read-only provider of synthetic
// directories. ok is false when p is not a strict ancestor of a mount point, or
// is a mount point itself. Where other storage around the mount point has no
// directory of that name, or has something else there, this is what agents see.
func (n *Namespace) Ancestor(p Path) (t Target, ok bool) {
	if !n.IsAncestor(p) {
		return Target{}, false
	}
	return n.syntheticTarget(p), true
}

// IsAncestor reports whether p is a strict ancestor of a mount point and is none
// itself.
func (n *Namespace) IsAncestor(p Path) bool {
	if n == nil || n.root == nil || n.root.children == nil {
		return false // nothing is mounted below anything
	}
	nd := n.node(p)
	return nd != nil && nd.mount == nil
}

// node returns the node that p is, or nil.
func (n *Namespace) node(p Path) *node {
	if n == nil || n.root == nil || p.s == "" {
		return nil
	}
	if nd, rest, shadowed := n.find(p); !shadowed && rest == "" {
		return nd
	}
	return nil
}

// Children returns the names directly below p that are mount points or lead to
// one, sorted. It returns nil, and does not allocate, when nothing is mounted
// below p.
func (n *Namespace) Children(p Path) []string {
	nd := n.node(p)
	if nd == nil {
		return nil
	}
	return slices.Clone(nd.names)
}

// MountPoint reports whether p is a mount point or an ancestor of one, so that
// it may not be removed, renamed or replaced: syscall.EBUSY. The root always is
// one. In storage that is not case-sensitive, other spellings of an ancestor
// are ancestors too.
func (n *Namespace) MountPoint(p Path) bool {
	if n == nil || n.root == nil || len(p.s) <= len(rootText) {
		return true
	}
	return n.root.reaches(p.s[len(rootText):])
}

// reaches reports whether text leads to a node below nd.
func (nd *node) reaches(text string) bool {
	if text == "" {
		return true
	}
	if nd.children == nil {
		return false
	}
	elem, tail := cutElem(text)
	if !nd.perhaps(elem) {
		return false
	}
	if c := nd.children[elem]; c != nil && c.reaches(tail) {
		return true
	}
	if nd.folded == nil || nd.within.exact {
		return false
	}
	return slices.ContainsFunc(nd.alike(elem), func(c *node) bool { return c.elem != elem && c.reaches(tail) })
}

// Mounts describes the mounts, sorted by mount point. Where one granted
// directory lies inside another, the places where the inner one shows up below
// the outer one are mounts too.
func (n *Namespace) Mounts() []MountInfo {
	if n == nil {
		return nil
	}
	infos := make([]MountInfo, len(n.mounts))
	for i, m := range n.mounts {
		infos[i] = MountInfo{At: m.at, Label: Quote(m.label), Kind: m.kind, Access: m.access}
	}
	return infos
}

// Dir returns the default working directory. ok is false when there is none;
// relative names are refused then, unless the caller has a directory.
func (n *Namespace) Dir() (dir Path, ok bool) {
	if n == nil {
		return Path{}, false
	}
	return n.dir, n.dir.s != ""
}
