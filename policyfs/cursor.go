package policyfs

import (
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// cursor answers for the entries of one directory without joining their paths: a
// compiled policy has read the directory's elements once and goes on from there.
// It answers as check does for the entry's path, and refuses names of which
// namespace can make no Path. The zero cursor refuses everything. It is a value,
// immutable, and safe for concurrent use.
type cursor struct {
	dir *dirState // nil: nothing below can be named
}

// dirState is what the policy's parts know about the directory.
type dirState struct {
	// What comes first answers for the many entries that no rule is about.
	room  int   // how many bytes an entry may have
	bloom bloom // of what could matter to an entry
	plain bool  // whether such entries are readable
	quick bool  // whether all this is so: no custom policy has a say
	left  int   // how many bytes a Path may yet have here, the slash included

	path   namespace.Path // for custom policies
	views  []dirView
	custom []Policy
}

// dirView is one compiled policy that has read the directory's elements.
type dirView struct {
	rules *matcher
	at    state
}

// newCursor returns the cursor of dir.
func newCursor(p Policy, dir namespace.Path) cursor {
	if dir.String() == "" {
		return cursor{}
	}
	d := &dirState{path: dir}
	switch p := p.(type) {
	case *compiled:
		if p != nil {
			d.views = []dirView{p.view(dir)}
			break
		}
		d.custom = []Policy{p}
	case *composed:
		if p == nil || len(p.layers) == 0 {
			return cursor{}
		}
		for i := range p.layers {
			if l := &p.layers[i]; l.rules != nil {
				d.views = append(d.views, l.rules.view(dir))
			} else {
				d.custom = append(d.custom, l.policy)
			}
		}
	default:
		d.custom = []Policy{p}
	}
	return d.cursor(namespace.MaxPath - len(dir.String()))
}

// view returns c after reading the elements of dir.
func (c *compiled) view(dir namespace.Path) dirView {
	v := dirView{c.matcher, c.root}
	v.rules.walk(&v.at, pathElems(dir))
	return v
}

// cursor returns the cursor of d, whose path leaves left bytes to what is below.
func (d *dirState) cursor(left int) cursor {
	if left <= 1 {
		return cursor{}
	}
	d.left, d.room, d.plain, d.quick = left, min(left-1, provider.MaxElem), true, len(d.custom) == 0
	for i := range d.views {
		v := &d.views[i]
		// An entry that no rule is about leaves the tries and changes nothing
		// else, so that all such entries are judged alike; off the tries,
		// traverse is no more than read.
		s := v.at
		s.exact, s.deny = nil, nil
		_, ok := s.read()
		d.plain = d.plain && ok
		d.bloom |= v.rules.sensitive
		for _, n := range []*node{v.at.exact, v.at.deny} {
			if n != nil {
				d.bloom |= n.next.quick
			}
		}
	}
	return cursor{d}
}

// entry reports whether the entry name is visible: it may be read, or it is a
// directory and may be traversed.
//
// Most entries of most directories are pure ASCII that is neither hidden nor
// trimmed by folding, and no rule is about them; they are known by one look at
// their bytes.
func (c cursor) entry(name string, dir bool) bool {
	d, n := c.dir, len(name)
	if d == nil || n == 0 || n > d.room {
		return false
	}
	if odd(name) {
		return c.spells(name) && d.visible(name, dir)
	}
	// This is quickHash, with a look at each word.
	var first, last, bad uint64
	if n < 8 {
		first = short(name)
		bad = refused(first | blanks<<(n*8))
	} else {
		first, last = word(name), word(name[n-8:])
		bad = refused(first) | refused(last)
		for i := 8; i+8 < n; i += 8 {
			bad |= refused(word(name[i:]))
		}
	}
	switch {
	case bad != 0:
		return c.spells(name) && d.visible(name, dir)
	case !d.quick || d.bloom.has(quickMix(first, last, n)):
		return d.visible(name, dir)
	}
	return d.plain
}

// visible is entry for a name that a Path can be made of.
func (d *dirState) visible(name string, dir bool) bool {
	read, stat := true, dir
	for i := range d.views {
		v := &d.views[i]
		s := v.at
		v.rules.step(&s, name)
		_, r := s.read()
		if !r && stat {
			_, stat = s.traverse()
		}
		read = read && r
	}
	if len(d.custom) == 0 || !read && !stat {
		return read || stat
	}
	path, err := d.path.Join(name)
	if err != nil {
		return false
	}
	for _, p := range d.custom {
		read = read && checkCustom(p, Request{OpRead, path}).Allow
		stat = stat && checkCustom(p, Request{OpStat, path}).Allow
	}
	return read || stat
}

// spells reports whether name is an element of which a Path can be made here.
func (c cursor) spells(name string) bool {
	if c.dir == nil || len(name) > c.dir.room || name == "." {
		return false
	}
	for i := 0; i < len(name); i++ {
		if name[i] == '/' {
			return false
		}
	}
	if isASCII(name) {
		_, err := provider.ParsePath(name)
		return err == nil
	}
	_, err := namespace.MustParse("/").Join(name)
	return err == nil
}

// refused returns non-zero if one of eight bytes is not ASCII, a control character,
// a slash or a backslash.
func refused(w uint64) uint64 {
	slash, backslash := w^('/'*lowBits), w^('\\'*lowBits)
	bits := w                 // not ASCII
	bits |= w + lowBits       // 0x7f
	bits |= (w - blanks) &^ w // a control character
	bits |= (slash - lowBits) &^ slash
	bits |= (backslash - lowBits) &^ backslash
	return bits & highBits
}

const blanks = ' ' * lowBits
