package namespace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// nest mounts every granted directory also where it shows up inside another one.
func (b *grantTable) nest() error {
	table, err := readMountTable()
	if err != nil {
		return err
	}
	for _, outer := range b.grants {
		for _, inner := range b.grants {
			if inner.first != inner || outer.first == inner {
				continue
			}
			for _, rel := range outer.places(inner, table) {
				if err := b.nestAt(outer, inner, rel); err != nil {
					return err
				}
			}
		}
		if err := b.nestMounts(outer, table); err != nil {
			return err
		}
	}
	return nil
}

// places returns where, relative to outer, the directory of inner is.
func (outer *granted) places(inner *granted, table mountTable) []string {
	var rels []string
	// By identity of the parents: works on every system, and through bind
	// mounts of outer or of a directory around it.
	if i := indexOf(inner.chain, outer.identity()); i > 0 {
		rels = append(rels, lastElems(inner.dir, i))
	}
	// By the kernel's table: also where a bind mount begins between the two.
	in := table.locate(inner.dir)
	for _, v := range table.views(outer.dir) {
		if below, ok := v.place.cut(in); ok {
			if rel := filepath.Join(v.rel, below); rel != "" {
				rels = append(rels, rel)
			}
		}
	}
	return rels
}

// lastElems returns the last n elements of dir.
func lastElems(dir string, n int) string {
	cut := dir
	for range n {
		cut = filepath.Dir(cut)
	}
	return strings.TrimPrefix(dir[len(cut):], string(filepath.Separator))
}

// nestAt mounts inner at rel below outer, if it really is there and can be
// spelled. What agents cannot spell they cannot reach through outer either.
func (b *grantTable) nestAt(outer, inner *granted, rel string) error {
	dir := joinHost(outer.dir, rel)
	info, err := os.Lstat(dir)
	if err != nil || !os.SameFile(info, inner.identity()) {
		return nil // another mount of the host covers it
	}
	at, err := outer.at.join(filepath.ToSlash(rel))
	if err != nil {
		return nil
	}
	return b.attach(outer, inner.mount(at, outer.bare, dir))
}

// attach adds a mount that follows from an overlap, unless the place below outer
// is covered by another root or has that mount already.
func (b *grantTable) attach(outer *granted, m *mount) error {
	m.compiled = true
	for _, o := range b.mounts {
		switch {
		case o.at == m.at && o.sameStorage(m):
			return nil
		case o.at == m.at:
			return outer.fail(invalid("another grant has the root " + m.at.s + ", where a granted directory shows up"))
		case o.at != outer.at && outer.at.Contains(o.at) && o.at.Contains(m.at) && outer.covered(o):
			return nil
		}
	}
	b.mounts = append(b.mounts, m)
	return nil
}

// covered reports whether the mount o, below outer in the tree, holds something
// else than outer's directory does at that place.
func (outer *granted) covered(o *mount) bool {
	rel, _ := outer.at.tree.Cut(o.at.tree)
	info, err := os.Lstat(joinHost(outer.dir, filepath.FromSlash(rel.String())))
	return err != nil || !os.SameFile(info, o.identity)
}

// nestMounts looks at the host's own mounts below outer. Where one shows a part
// of a granted directory, the rights of that directory hold there.
func (b *grantTable) nestMounts(outer *granted, table mountTable) error {
	for _, v := range table.views(outer.dir) {
		inner, below := b.innermost(v.place, table)
		if v.rel == "" || inner == nil || below == "" {
			continue
		}
		dir := joinHost(outer.dir, v.rel)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		if own, err := os.Lstat(joinHost(inner.dir, below)); err != nil || !os.SameFile(own, info) {
			continue
		}
		at, err1 := outer.at.join(filepath.ToSlash(v.rel))
		same, err2 := inner.at.join(filepath.ToSlash(below))
		if err1 != nil || err2 != nil {
			continue
		}
		b.aliases = append(b.aliases, aliasPair{at, same})
		if inner.first == outer.first {
			continue // the same rights
		}
		if err := b.nestPart(outer, inner, at, dir, info); err != nil {
			return err
		}
	}
	return nil
}

// nestPart mounts a part of inner, which is not granted by itself, at a place
// below outer.
func (b *grantTable) nestPart(outer, inner *granted, at Path, dir string, identity fs.FileInfo) error {
	for _, m := range b.mounts {
		if m.at == at {
			return nil
		}
	}
	p, err := b.openDir(dir, identity, inner.access)
	if err != nil {
		return outer.fail(fmt.Errorf("mount inside its directory: %w", err))
	}
	m := inner.mount(at, outer.bare, dir)
	m.provider, m.identity, m.storage = p, identity, storageOf(p, m)
	return b.attach(outer, m)
}

// innermost returns the grant with the most specific directory that contains a
// place, and the way from there.
func (b *grantTable) innermost(p place, table mountTable) (inner *granted, below string) {
	for _, g := range b.grants {
		rel, ok := table.locate(g.dir).cut(p)
		if ok && (inner == nil || len(rel) < len(below)) {
			inner, below = g, rel
		}
	}
	return inner, below
}
