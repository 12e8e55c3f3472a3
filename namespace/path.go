package namespace

import (
	"strings"

	"github.com/workspacefs/workspacefs/provider"
)

const (
	// rootText is the canonical text of the tree's root, and what every other
	// canonical text starts with.
	rootText = "/workspace"
	// rootName is the element that names the root in an absolute name.
	rootName = "workspace"
)

// Path is the canonical name of one place in the tree: "/workspace" for its
// root, "/workspace/src/x.go" for anything else. It is comparable; equal Paths
// name the same object, and, on case-insensitive storage and where one object
// is reachable at two places ([Namespace.Aliases]), unequal ones may too.
//
// A Path can only be made by [Parse], [MustParse], the methods of Path and
// those of [Namespace], so whoever receives one need not check its text again:
// no element is empty, "." or "..", the text is valid UTF-8 without backslash,
// control characters and bidirectional controls, and an element has at most 255
// bytes, the whole at most 4,095. The zero Path is unset: it names nothing,
// [Namespace.Lookup] refuses it, and the root is MustParse("/").
type Path struct {
	s string // canonical text; "" is the unset Path
	// tree is s relative to the root, kept so that Lookup can cut it into a
	// provider's path without checking or copying text again.
	tree provider.Path
}

// root is the Path of the tree's root.
var root = Path{s: rootText}

// String returns the canonical text, and "" for the unset Path. It does not
// allocate.
func (p Path) String() string { return p.s }

// IsRoot reports whether p is the root of the tree.
func (p Path) IsRoot() bool { return p.s == rootText }

// Base returns the last element of p: "workspace" for the root, "" for the
// unset Path.
func (p Path) Base() string {
	return p.s[strings.LastIndexByte(p.s, '/')+1:]
}

// Parent returns p without its last element. The parent of the root is the
// root, that of the unset Path is unset.
func (p Path) Parent() Path {
	if len(p.s) <= len(rootText) {
		return p
	}
	return Path{p.s[:strings.LastIndexByte(p.s, '/')], p.tree.Parent()}
}

// Contains reports whether q is p or lies below p, element by element:
// "/workspace/a" contains "/workspace/a/b" but not "/workspace/ab". The unset
// Path contains nothing and lies in nothing.
func (p Path) Contains(q Path) bool {
	return p.s != "" && q.s != "" && p.tree.Contains(q.tree)
}

// Join returns p with one element appended. An elem that [Parse] would refuse,
// that holds a slash, or that is empty, "." or "..", is [provider.ErrPath], as
// is a result over 4,095 bytes and any Join to the unset Path.
func (p Path) Join(elem string) (Path, error) {
	if p.s == "" {
		return Path{}, refusal("no directory to start from")
	}
	if strings.IndexByte(elem, '/') >= 0 {
		return Path{}, refusal("element with a slash")
	}
	return p.join(elem)
}

// join appends text that holds one clean element or several.
func (p Path) join(elems string) (Path, error) {
	q, ok := canonical(p.s + "/" + elems)
	if !ok {
		return Path{}, reason(p, elems)
	}
	return q, nil
}

// joinRel appends a provider's path; it fails only when the result is too long
// or holds a bidirectional control, which providers do not refuse.
func (p Path) joinRel(rel provider.Path) (Path, error) {
	if rel.IsRoot() {
		return p, nil
	}
	return p.join(rel.String())
}
