package policyfs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/workspacefs/workspacefs/namespace"
)

// maxGlobElems is how many elements the patterns that one pattern stands for may
// have together. Each of them may have to be compared with each entry visited.
const maxGlobElems = 1024

// Glob returns the names of the permitted files, directories and links that match
// a doublestar pattern, sorted: '*', '?' and "[a-z]" match within an element,
// "**" as an element matches any number of directories, "{a,b}" either, and a
// backslash takes the next character for itself. Hidden files are matched like
// others, as far as the policy shows them. A pattern that ends in a slash matches
// directories only.
//
// A relative pattern starts at the session directory. Names come back in the
// pattern's own spelling: relative for a relative pattern, with the beginning that
// holds no special characters as it was written, less "." elements and doubled
// slashes. What may not be listed is as if it were empty, and is not an error.
// Nothing is opened that the policy refuses or that cannot hold a match, and no
// link is followed.
//
// Errors are *fs.PathError: [fs.ErrInvalid] for a pattern that is none (also
// doublestar.ErrBadPattern), that stands for more than 64 patterns by its braces,
// that is longer than 4,096 bytes or has a ".." that names would not be allowed;
// a *DeniedError when more than Options.MaxWalk entries were visited, and the
// error of a context that is done.
func (f *FS) Glob(pattern string) ([]string, error) {
	names, err := f.glob(pattern)
	return names, pathErr("glob", pattern, err)
}

func (f *FS) glob(pattern string) ([]string, error) {
	bases, err := parseGlob(pattern)
	if err != nil {
		return nil, &textError{err}
	}
	var v view
	if err := f.view(&v); err != nil {
		return nil, f.refuseAll(OpList, pattern, err)
	}
	var names []string
	left := f.maxWalk()
	for _, b := range bases {
		visited, err := v.globBase(b, left, &names)
		if err != nil {
			return nil, err
		}
		left -= visited
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// globBase is the part of some patterns that has no special characters, and what
// follows it in each of them.
type globBase struct {
	name    string // as the caller spelled it, clean; "" is the session directory
	literal string // the name itself, without escapes
	dirOnly bool   // the base alone is a pattern, and has to be a directory
	alone   bool   // the base alone is a pattern
	elems   []globElem
	starts  []uint16 // where in elems the patterns begin
}

// globElem is an element of a pattern.
type globElem struct {
	pattern string
	literal bool // pattern is a name
	any     bool // "**"
	// The end of a pattern is an element of its own, which matches nothing.
	end, dirOnly bool
}

// parseGlob splits a pattern into bases and elements.
func parseGlob(pattern string) ([]*globBase, error) {
	flat, err := expandBraces(pattern)
	if err != nil {
		return nil, err
	}
	var bases []*globBase
	total := 0
	for _, p := range flat {
		if !doublestar.ValidatePattern(p) {
			return nil, &patternError{cause: doublestar.ErrBadPattern}
		}
		name, literal, rest, err := splitGlob(p)
		if err != nil {
			return nil, err
		}
		if total += len(rest); total > maxGlobElems {
			return nil, badPattern("pattern of more than %d elements", maxGlobElems)
		}
		i := slices.IndexFunc(bases, func(b *globBase) bool { return b.name == name })
		if i < 0 {
			i = len(bases)
			bases = append(bases, &globBase{name: name, literal: literal})
		}
		b := bases[i]
		if len(rest) == 1 { // the end alone
			b.dirOnly = rest[0].dirOnly && (b.dirOnly || !b.alone)
			b.alone = true
			continue
		}
		b.starts = append(b.starts, uint16(len(b.elems)))
		b.elems = append(b.elems, rest...)
	}
	return bases, nil
}

// splitGlob splits one pattern without braces into its base and its elements,
// the end last.
func splitGlob(p string) (name, literal string, elems []globElem, err error) {
	var spelled, plain []string
	absolute := strings.HasPrefix(p, "/")
	for elem := range strings.SplitSeq(p, "/") {
		if elem == "" || elem == "." {
			continue
		}
		if !doublestar.ValidatePattern(elem) { // a slash in brackets
			return "", "", nil, &patternError{cause: doublestar.ErrBadPattern}
		}
		text, ok := unescape(elem)
		if ok && len(elems) == 0 {
			spelled, plain = append(spelled, text), append(plain, text)
			continue
		}
		if !utf8.ValidString(elem) || strings.ContainsFunc(elem, unicode.IsControl) {
			return "", "", nil, badPattern("control character or invalid UTF-8 in a pattern")
		}
		if ok && text == ".." {
			return "", "", nil, badPattern(`".." after a special character`)
		}
		e := globElem{pattern: elem, literal: ok, any: elem == "**"}
		if ok {
			e.pattern = text
		}
		if e.any && len(elems) > 0 && elems[len(elems)-1].any {
			continue
		}
		elems = append(elems, e)
	}
	name, literal = strings.Join(spelled, "/"), strings.Join(plain, "/")
	if absolute {
		name, literal = "/"+name, "/"+literal
	}
	return name, literal, append(elems, globElem{end: true, dirOnly: strings.HasSuffix(p, "/")}), nil
}

// unescape returns the name that an element stands for, if it has no special
// characters.
func unescape(elem string) (name string, ok bool) {
	if strings.ContainsAny(elem, "*?[") {
		// One of them may be escaped.
		if !strings.Contains(elem, `\`) {
			return "", false
		}
	}
	if !strings.Contains(elem, `\`) {
		return elem, true
	}
	var b strings.Builder
	for i := 0; i < len(elem); i++ {
		switch elem[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			i++
		}
		if i < len(elem) {
			b.WriteByte(elem[i])
		}
	}
	return b.String(), true
}

// globBase adds what the patterns of b match to names. It returns how many entries
// it visited.
func (v *view) globBase(b *globBase, limit int, names *[]string) (visited int, err error) {
	var t target
	if err := v.fs.resolve(v, &t, b.literal, &needs{ops: [3]Op{OpRead}, instead: OpList}); err != nil {
		if errors.Is(err, fs.ErrInvalid) {
			return 0, err
		}
		return 0, v.fs.context().Err() // what is refused is as if it were empty
	}
	info, err := v.statTarget(&t, false)
	if err != nil {
		v.done(OpList, &t, err)
		return 0, v.fs.context().Err()
	}
	states := b.closure(b.starts)
	if b.alone && (info.IsDir() || !b.dirOnly) || info.IsDir() && b.accepts(states) {
		*names = append(*names, b.spell(""))
	}
	if info.IsDir() && b.goesOn(states) {
		visited, err = v.globWalk(b, &t, states, limit, names)
	}
	v.done(OpList, &t, err)
	return visited, err
}

// globWalk walks the directory of a base.
func (v *view) globWalk(b *globBase, t *target, states []uint16, limit int, names *[]string) (int, error) {
	w := newWalker(v.fs.context(), v, t, globFilter{b}, states)
	w.limit = limit
	defer w.close()
	root := len(t.Path.String()) + 1
	var joiner namespace.Joiner
	for {
		step, ok := w.next()
		if !ok {
			return w.visited, nil
		}
		if step.dir == nil {
			return w.visited, step.err
		}
		if step.item == nil {
			continue // what cannot be listed is as if it were empty
		}
		if p, err := step.path(&joiner); err == nil {
			*names = append(*names, b.spell(p.String()[root:]))
		}
	}
}

// spell returns the name of what lies at rel below the base.
func (b *globBase) spell(rel string) string {
	switch {
	case rel == "" && b.name == "":
		return "."
	case rel == "":
		return b.name
	case b.name == "" || b.name == "/":
		return b.name + rel
	}
	return b.name + "/" + rel
}

// closure returns the states with those that "**" reaches by matching nothing,
// sorted.
func (b *globBase) closure(states []uint16) []uint16 {
	out := slices.Clone(states)
	for i := 0; i < len(out); i++ {
		if b.elems[out[i]].any {
			out = append(out, out[i]+1)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// accepts reports whether a pattern ends in the states, for a directory.
func (b *globBase) accepts(states []uint16) bool {
	return slices.ContainsFunc(states, func(s uint16) bool { return b.elems[s].end })
}

// goesOn reports whether something below can match.
func (b *globBase) goesOn(states []uint16) bool {
	return slices.ContainsFunc(states, func(s uint16) bool { return !b.elems[s].end })
}

// step returns the states after an element of a name, and whether a file of that
// name is a match: "x/**" matches the directory x, and a file only below it.
func (b *globBase) step(states []uint16, name string) (next []uint16, file bool) {
	for _, s := range states {
		e := &b.elems[s]
		switch {
		case e.end:
			continue
		case e.any:
			next = append(next, s)
		case e.literal && e.pattern == name, !e.literal && doublestar.MatchUnvalidated(e.pattern, name):
			next = append(next, s+1)
		default:
			continue
		}
		after := &b.elems[s+1]
		file = file || after.end && !after.dirOnly
	}
	if next == nil {
		return nil, false
	}
	return b.closure(next), file
}

// globFilter keeps what matches, and enters what can hold a match.
type globFilter struct{ b *globBase }

func (f globFilter) open(_ *walkDir, scope any, _ []listedEntry) any { return scope }

func (f globFilter) judge(_ *walkDir, scope any, e *listedEntry) (keep, enter bool, child any) {
	states, _ := scope.([]uint16)
	next, file := f.b.step(states, e.name)
	if e.IsDir() {
		return f.b.accepts(next), f.b.goesOn(next), next
	}
	return file, false, nil
}
