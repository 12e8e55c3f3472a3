package provider

import (
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"
)

const (
	// MaxElem is the longest element of a Path in bytes: NAME_MAX of Linux and
	// of APFS, and never more than the 255 UTF-16 units of NTFS.
	MaxElem = 255
	// MaxPath is the longest Path in bytes: PATH_MAX of Linux less the NUL.
	MaxPath = 4095
)

// Path names an object below a provider's root. The zero Path is the root.
//
// A Path holds only what [ParsePath] lets through, so code that receives one
// need not check it again: no element is empty, "." or "..", the text is valid
// UTF-8 without NUL, backslash or control characters, and the lengths are
// within [MaxElem] and [MaxPath]. Paths are comparable; equal Paths name the
// same object, and (on case-insensitive storage) unequal ones may too.
type Path struct{ s string }

// ParsePath checks a name in the form of package io/fs: "." is the root, any
// other name is elements joined by single slashes. It does not clean: "a//b",
// "a/", "/a" and "a/../b" are errors, as are NUL, backslash, control characters
// (C0, DEL, C1), invalid UTF-8, an element over [MaxElem] bytes and a name over
// [MaxPath] bytes. Errors are [ErrPath]. It does not allocate unless it fails.
func ParsePath(s string) (Path, error) {
	if s == "." {
		return Path{}, nil
	}
	if ordinary(s, slashes) {
		return Path{s}, nil
	}
	return parseBytes(s)
}

// parseBytes is ParsePath for a name that is not the root and not ordinary.
func parseBytes(s string) (Path, error) {
	if len(s) > MaxPath {
		return Path{}, pathError(fmt.Sprintf("longer than %d bytes", MaxPath))
	}
	start := 0
	ascii := true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '/':
			if err := checkShape(s[start:i]); err != nil {
				return Path{}, err
			}
			start = i + 1
		case c < 0x20, c == 0x7f:
			return Path{}, pathError("control character")
		case c == '\\':
			return Path{}, pathError("backslash")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if err := checkShape(s[start:]); err != nil {
		return Path{}, err
	}
	if !ascii {
		if err := checkText(s); err != nil {
			return Path{}, err
		}
	}
	return Path{s}, nil
}

// slashes is all the bits that mark a slash for ordinary.
const slashes = 0x8080808080808080

// ordinary reports that s is a path of which nothing remains to be checked: at
// most MaxElem bytes of printable ASCII without backslash, no slash at either end
// or beside another, no element that begins with a dot. Most names are; false
// means only that parseBytes has to look at each byte. It looks at eight at a time,
// which is what makes checking a name cheaper than looking it up. With slash 0
// instead of slashes, no slash is ordinary.
func ordinary(s string, slash uint64) bool {
	const (
		ones = 0x0101010101010101
		high = 0x80 * ones
		fill = 0x7f * ones // carries into the high bit of every byte but 0
	)
	n := len(s)
	if n < 8 || n > MaxElem || s[0] == '/' || s[0] == '.' || s[n-1] == '/' {
		return false
	}
	before := uint64(0) // 0x80 if the byte before the word is a slash
	for i := 0; ; i += 8 {
		if i+8 > n {
			if i == n {
				return true
			}
			i, before = n-8, 0 // bytes seen twice, and pairs with them
		}
		w := word(s[i : i+8])
		if w&high != 0 {
			return false
		}
		// With no high bit set in w, adding never carries from byte to byte.
		control := ^(w + 0x60*ones) | (w + ones) // under 0x20, or 0x7f
		found := ^((w ^ '/'*ones) + fill) & high // slashes
		dot := ^((w ^ '.'*ones) + fill)
		backslash := ^((w ^ '\\'*ones) + fill)
		after := found<<8 | before // where the byte before is a slash
		if (control|backslash|after&(found|dot)|found&^slash)&high != 0 {
			return false
		}
		before = found >> 56
		if i+8 == n {
			return true
		}
	}
}

// word returns the eight bytes of s as one load.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// MustPath is [ParsePath] for names in source code; it panics on an error.
func MustPath(s string) Path {
	p, err := ParsePath(s)
	if err != nil {
		panic("provider.MustPath(" + fmt.Sprintf("%q", s) + "): " + err.Error())
	}
	return p
}

// checkShape reports whether elem may be an element as far as its shape goes.
func checkShape(elem string) error {
	switch {
	case elem == "":
		return pathError("empty element")
	case elem == ".", elem == "..":
		return pathError(`element "` + elem + `"`)
	case len(elem) > MaxElem:
		return pathError(fmt.Sprintf("element longer than %d bytes", MaxElem))
	}
	return nil
}

// checkText refuses what only decoding can see in text that is not ASCII.
func checkText(s string) error {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return pathError("invalid UTF-8")
			}
		}
		if 0x80 <= r && r <= 0x9f {
			return pathError("control character")
		}
	}
	return nil
}

// String returns the io/fs form of p: "." for the root, else "a/b".
func (p Path) String() string {
	if p.s == "" {
		return "."
	}
	return p.s
}

// IsRoot reports whether p is the provider's root.
func (p Path) IsRoot() bool { return p.s == "" }

// Base returns the last element of p, and "." for the root.
func (p Path) Base() string {
	if p.s == "" {
		return "."
	}
	return p.s[strings.LastIndexByte(p.s, '/')+1:]
}

// Parent returns p without its last element. The parent of the root is the root.
func (p Path) Parent() Path {
	i := strings.LastIndexByte(p.s, '/')
	if i < 0 {
		return Path{}
	}
	return Path{p.s[:i]}
}

// Join returns p with one element appended. An elem that is no element (empty,
// ".", "..", with a slash, or refused by [ParsePath]) is [ErrPath], as is a
// result over [MaxPath] bytes.
func (p Path) Join(elem string) (Path, error) {
	q, err := Path{}.Extend(elem)
	if err != nil || p.s == "" {
		return q, err
	}
	if len(p.s)+1+len(elem) > MaxPath {
		return Path{}, pathError(fmt.Sprintf("longer than %d bytes", MaxPath))
	}
	return Path{p.s + "/" + elem}, nil
}

// Extend is [Path.Join] for text that is joined already: it returns the Path with
// that text, which must be the text of p, a slash and one element, and for the
// root the element alone. What is no such text, and what Join refuses, is
// [ErrPath]. It does not allocate unless it fails, and looks at the bytes of the
// element only.
func (p Path) Extend(text string) (Path, error) {
	elem, n := text, len(p.s)
	if n > 0 {
		if len(text) <= n || text[n] != '/' || text[:n] != p.s {
			return Path{}, pathError("not below the directory")
		}
		elem = text[n+1:]
	}
	switch {
	case len(text) > MaxPath:
		return Path{}, pathError(fmt.Sprintf("longer than %d bytes", MaxPath))
	case ordinary(elem, 0):
		return Path{text}, nil
	case strings.IndexByte(elem, '/') >= 0:
		return Path{}, pathError("element with a slash")
	case elem == ".":
		return Path{}, pathError(`element "."`)
	}
	if _, err := parseBytes(elem); err != nil {
		return Path{}, err
	}
	return Path{text}, nil
}

// Elems yields the elements of p from the root down; none for the root.
func (p Path) Elems() iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := p.s; rest != ""; {
			elem := rest
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				elem, rest = rest[:i], rest[i+1:]
			} else {
				rest = ""
			}
			if !yield(elem) {
				return
			}
		}
	}
}

// Contains reports whether q is p or lies below p, element by element: "a"
// contains "a/b" but not "ab".
func (p Path) Contains(q Path) bool {
	_, ok := p.Cut(q)
	return ok
}

// Cut returns q relative to p: the root when they are equal. ok is false when p
// does not contain q. It does not allocate.
func (p Path) Cut(q Path) (rest Path, ok bool) {
	n := len(p.s)
	switch {
	case n == 0:
		return q, true
	case !strings.HasPrefix(q.s, p.s):
		return Path{}, false
	case len(q.s) == n:
		return Path{}, true
	case q.s[n] != '/':
		return Path{}, false
	}
	return Path{q.s[n+1:]}, true
}
