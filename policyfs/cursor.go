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
	// What follows answers for the many entries that no rule is about.
	bloom bloom // of what could matter to an entry
	left  int   // how many bytes a Path may yet have, a slash included
	room  int   // how many bytes an entry may have
	plain bool  // whether such entries are readable
	quick bool  // whether the fields above answer for them
}

// dirState is what the policy's parts know about the directory.
type dirState struct {
	path   namespace.Path // needed by custom policies only, and kept only for them
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
	v := dirView{c.matcher, c.start()}
	v.rules.walk(&v.at, pathElems(dir))
	return v
}

// cursor returns the cursor of d, whose path leaves left bytes to what is below.
func (d *dirState) cursor(left int) cursor {
	c := cursor{dir: d, left: left, room: min(left-1, provider.MaxElem), plain: true, quick: len(d.custom) == 0}
	if left <= 1 {
		return cursor{}
	}
	for i := range d.views {
		v := &d.views[i]
		// An entry that no rule is about leaves the tries and changes nothing
		// else, so that all such entries are judged alike; off the tries,
		// traverse is no more than read.
		s := v.at
		s.exact, s.deny = nil, nil
		_, ok := s.read()
		c.plain = c.plain && ok
		c.bloom |= v.rules.sensitive
		for _, n := range []*node{v.at.exact, v.at.deny} {
			if n != nil {
				c.bloom |= n.next.bloom
			}
		}
	}
	return c
}

// entry reports whether the entry name is visible: it may be read, or it is a
// directory and may be traversed.
func (c cursor) entry(name string, dir bool) bool {
	if c.quick && len(name) <= c.room && ordinary(name, c.bloom) {
		return c.plain
	}
	read, stat := c.ask(name)
	return read || dir && stat
}

// readable reports whether the entry name may be read.
func (c cursor) readable(name string) bool {
	if c.quick && len(name) <= c.room && ordinary(name, c.bloom) {
		return c.plain
	}
	read, _ := c.ask(name)
	return read
}

// ask returns whether OpRead and OpStat are allowed for the entry name.
func (c cursor) ask(name string) (read, stat bool) {
	if !c.spells(name) {
		return false, false
	}
	read, stat = true, true
	ascii := isASCII(name)
	for i := range c.dir.views {
		v := &c.dir.views[i]
		s := v.at
		v.rules.step(&s, name, ascii)
		_, r := s.read()
		if !r {
			_, t := s.traverse()
			stat = stat && t
		}
		read = read && r
	}
	if len(c.dir.custom) == 0 || !read && !stat {
		return read, stat
	}
	path, err := c.dir.path.Join(name)
	if err != nil {
		return false, false
	}
	for _, p := range c.dir.custom {
		read = read && checkCustom(p, Request{OpRead, path}).Allow
		stat = stat && checkCustom(p, Request{OpStat, path}).Allow
	}
	return read, stat
}

// child returns the cursor of the directory name.
func (c cursor) child(name string) cursor {
	if !c.spells(name) {
		return cursor{}
	}
	ascii := isASCII(name)
	d := &dirState{views: make([]dirView, len(c.dir.views)), custom: c.dir.custom}
	for i := range c.dir.views {
		d.views[i] = c.dir.views[i]
		d.views[i].rules.step(&d.views[i].at, name, ascii)
	}
	if len(d.custom) > 0 {
		path, err := c.dir.path.Join(name)
		if err != nil {
			return cursor{}
		}
		d.path = path
	}
	return d.cursor(c.left - 1 - len(name))
}

// spells reports whether name is an element of which a Path can be made here.
func (c cursor) spells(name string) bool {
	if c.dir == nil || len(name) > c.room || name == "." {
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

// ordinary reports that name is pure ASCII without characters that a Path refuses,
// that it is neither hidden nor trimmed by folding, and that no rule in b is about
// it. False may mean either.
func ordinary(name string, b bloom) bool {
	n := len(name)
	if n == 0 {
		return false
	}
	if last := name[n-1]; name[0] == '.' || last == '.' || last == ' ' {
		return false
	}
	// This is hashElem, with a look at each word on the way.
	h, bad := uint64(n)*golden, uint64(0)
	w := uint64(0)
	if n >= 8 {
		for i := 0; i+8 < n; i += 8 {
			w = word(name[i:])
			bad |= refused(w)
			h = mix(h, w)
		}
		w = word(name[n-8:])
		bad |= refused(w)
	} else {
		w = short(name)
		bad = refused(w | unused(n))
	}
	return bad == 0 && !b.has(mix(h, w))
}

// refused returns non-zero if one of eight bytes is not ASCII, a control character,
// a slash or a backslash.
func refused(w uint64) uint64 {
	slash, backslash := w^('/'*lowBits), w^('\\'*lowBits)
	bits := w                      // not ASCII
	bits |= w + lowBits            // 0x7f
	bits |= (w - ' '*lowBits) &^ w // a control character
	bits |= (slash - lowBits) &^ slash
	bits |= (backslash - lowBits) &^ backslash
	return bits & highBits
}

// unused returns blanks in the bytes that short leaves zero.
func unused(n int) uint64 {
	if n >= 4 {
		return 0
	}
	return 0x2020202020000000
}
