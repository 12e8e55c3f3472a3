package namespace

import (
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/workspacefs/workspacefs/provider"
)

// aliasPair says that two places hold the same directory although different
// providers serve them.
type aliasPair struct{ a, b Path }

// markShared notes which providers are mounted more than once.
func (n *Namespace) markShared() {
	for i, m := range n.mounts {
		for _, o := range n.mounts[:i] {
			if o.sameStorage(m) {
				o.identical, m.identical, n.shared = true, true, true
			}
		}
	}
}

// storageOf returns p to compare mounts by, or otherwise if comparing p would
// panic.
func storageOf(p provider.Provider, otherwise any) any {
	if reflect.ValueOf(p).Comparable() {
		return p
	}
	return otherwise
}

// shareRoots gives the mounts of different providers that hold one directory of the
// host the same storage.
func shareRoots(mounts []*mount) error {
	type root struct {
		mount *mount
		info  os.FileInfo
	}
	var roots []root
	for _, m := range mounts {
		p, ok := m.provider.(rootFiler)
		if !ok {
			continue
		}
		info, err := rootInfo(p)
		if err != nil {
			return fmt.Errorf("mount %s: %w", Quote(m.at.s), bareError(err))
		}
		if i := slices.IndexFunc(roots, func(r root) bool { return os.SameFile(r.info, info) }); i >= 0 {
			first := roots[i].mount
			if first.storage == nil {
				first.storage = first
			}
			m.storage = first.storage
			continue
		}
		roots = append(roots, root{m, info})
	}
	return nil
}

// rootInfo identifies the directory that a provider holds.
func rootInfo(p rootFiler) (os.FileInfo, error) {
	f, err := p.RootFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// sameStorage reports whether two mounts are of one provider or hold one directory.
func (m *mount) sameStorage(o *mount) bool { return m.storage != nil && m.storage == o.storage }

// sameType reports whether two providers are of one type.
func sameType(p, q provider.Provider) bool { return reflect.TypeOf(p) == reflect.TypeOf(q) }

// Aliases returns the other paths of the object at p that the table knows of:
// the same provider or directory mounted at several places, as it is where one
// granted directory lies inside another. A policy must allow an operation at all of
// them. Hard links, and bind mounts that are invisible to the table, are not
// known. It returns nil, and does not allocate, when no provider is mounted
// twice.
func (n *Namespace) Aliases(p Path) []Path {
	if n == nil || p.s == "" || !n.shared && len(n.aliases) == 0 {
		return nil
	}
	return n.others(p)
}

// others is Aliases where there may be some.
func (n *Namespace) others(p Path) []Path {
	found := []Path{p}
	for i := 0; i < len(found); i++ {
		n.eachAlias(found[i], func(q Path) {
			if !slices.Contains(found, q) {
				found = append(found, q)
			}
		})
	}
	return slices.Clip(found[1:])
}

// eachAlias calls f with the aliases of p that one step finds.
func (n *Namespace) eachAlias(p Path, f func(Path)) {
	t, err := n.Lookup(p)
	if err != nil {
		return
	}
	if nd, _, _ := n.find(t.Mount); nd.mount != nil && nd.mount.identical {
		for _, m := range n.mounts {
			if m != nd.mount && m.identical && m.sameStorage(nd.mount) {
				n.alias(m.at, t.Mount, p, f)
			}
		}
	}
	for _, pair := range n.aliases {
		n.alias(pair.b, pair.a, p, f)
		n.alias(pair.a, pair.b, p, f)
	}
}

// alias calls f with p moved from the directory from to the directory to, when
// that is a path and no other mount covers it.
func (n *Namespace) alias(to, from, p Path, f func(Path)) {
	rest, ok := from.tree.Cut(p.tree)
	if !ok {
		return
	}
	q, err := to.joinRel(rest)
	if err != nil {
		return
	}
	at, err1 := n.Lookup(to)
	t, err2 := n.Lookup(q)
	if err1 == nil && err2 == nil && at.Mount == t.Mount {
		f(q)
	}
}
