package namespace

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/provider"
)

const (
	// MaxName is the longest name that [Parse] looks at, in bytes. A longer one
	// is refused unread, so that a hostile argument costs nothing.
	MaxName = 64 << 10
	// MaxPath is the longest canonical text of a [Path] in bytes: PATH_MAX of
	// Linux less the NUL, so that a shell can use every Path too.
	MaxPath = 4095
)

// refusal is [provider.ErrPath] with the reason why a name is no path.
type refusal string

func (e refusal) Error() string { return provider.ErrPath.Error() + ": " + string(e) }

// Unwrap makes errors.Is(e, provider.ErrPath) hold, and fs.ErrInvalid with it.
func (e refusal) Unwrap() error { return provider.ErrPath }

// Parse turns a name as an agent spells it into a Path. Relative names, and ""
// which means ".", start at dir; with an unset dir they are refused. Absolute
// names start at the root, which "/workspace" names too and which may be left
// out: "/src/x" and "/workspace/src/x" are the same Path.
//
// In this order: a name over 64 KiB is refused; then invalid UTF-8, NUL, control
// characters (C0, DEL, C1), the nine bidirectional controls (U+202A to U+202E
// and U+2066 to U+2069) and backslash; then the name is split at "/", empty and
// "." elements are dropped, and one leading "workspace" element of an absolute
// name is dropped; then "..", an element over 255 bytes and a canonical text
// over 4,095 bytes are refused. Nothing is trimmed and nothing is expanded: "~",
// "%2e" and "$HOME" are ordinary text. A trailing slash is dropped; whoever must
// tell "f/" from "f" looks at the name.
//
// Every error is [provider.ErrPath] and says the reason. A name that is already
// canonical does not allocate, another clean one allocates its Path only, and
// Parse(Parse(x).String()) is Parse(x).
func Parse(dir Path, name string) (Path, error) {
	p, _, err := parse(dir, name)
	return p, err
}

// MustParse is [Parse] for names in source code, with the root as directory; it
// panics on an error.
func MustParse(name string) Path {
	p, err := Parse(root, name)
	if err != nil {
		panic("namespace.MustParse(" + strconv.Quote(name) + "): " + err.Error())
	}
	return p
}

// parse is [Parse]; spelled reports whether the name was absolute and began with
// the element "workspace".
func parse(dir Path, name string) (p Path, spelled bool, err error) {
	var ok bool
	switch {
	case len(name) > MaxName:
		return Path{}, false, refusal("name longer than 64 KiB")
	case strings.HasPrefix(name, rootText) && (len(name) == len(rootText) || name[len(rootText)] == '/'):
		spelled = true
		p, ok = canonical(name)
	case strings.HasPrefix(name, "/"):
		p, ok = canonical(rootText + name)
	case dir.s == "":
		return Path{}, false, refusal("relative name without a working directory")
	case name == "", name == ".":
		return dir, false, nil
	default:
		p, ok = canonical(dir.s + "/" + name)
	}
	if ok {
		return p, spelled, nil
	}
	return clean(dir, name)
}

// canonical accepts text that already is the canonical text of a Path, which
// all but odd names become by putting a prefix before them. It says no more than
// "no": clean finds the reason.
func canonical(s string) (Path, bool) {
	if s == rootText {
		return root, true
	}
	if len(s) > MaxPath {
		return Path{}, false
	}
	tree, err := provider.ParsePath(s[len(rootText)+1:])
	if err != nil || tree.IsRoot() || hasBidi(s) {
		return Path{}, false
	}
	return Path{s, tree}, true
}

// clean is the whole of Parse, for names that are not canonical yet or are none.
func clean(dir Path, name string) (p Path, spelled bool, err error) {
	if err := checkText(name); err != nil {
		return Path{}, false, err
	}
	start, abs := dir.s, strings.HasPrefix(name, "/")
	if abs {
		start = rootText
	}
	text := make([]byte, len(start), len(start)+1+min(len(name), MaxPath))
	copy(text, start)
	first := abs
	for elem := range strings.SplitSeq(name, "/") {
		switch {
		case elem == "", elem == ".":
			continue
		case first && elem == rootName:
			first, spelled = false, true
			continue
		case elem == "..":
			return Path{}, false, refusal(`".." is refused`)
		case len(elem) > provider.MaxElem:
			return Path{}, false, refusal("element longer than 255 bytes")
		case len(text)+1+len(elem) > MaxPath:
			return Path{}, false, refusal("path longer than 4095 bytes")
		}
		first = false
		text = append(append(text, '/'), elem...)
	}
	p, ok := canonical(string(text))
	if !ok {
		return Path{}, false, refusal("not a path") // unreachable: everything that canonical refuses is refused above
	}
	return p, spelled, nil
}

// reason says why elems cannot be appended to p.
func reason(p Path, elems string) error {
	if elems == "" || elems == "." {
		return refusal(`element "` + elems + `"`)
	}
	if _, _, err := clean(p, elems); err != nil {
		return err
	}
	return refusal("not an element")
}

// checkText refuses the characters that no name may hold.
func checkText(name string) error {
	for i, r := range name {
		switch {
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(name[i:]); n == 1 {
				return refusal("invalid UTF-8")
			}
		case r < 0x20, 0x7f <= r && r <= 0x9f:
			return refusal("control character")
		case r == '\\':
			return refusal("backslash")
		case isBidi(r):
			return refusal("bidirectional control character")
		}
	}
	return nil
}

// isBidi reports whether r is one of the nine characters that reorder the text
// around them, so that a name reads as another one.
func isBidi(r rune) bool { return 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 }

// hasBidi is isBidi for any rune of valid UTF-8. The nine all start with the
// byte E2, which ordinary names do not hold.
func hasBidi(s string) bool {
	for {
		i := strings.IndexByte(s, 0xe2)
		if i < 0 {
			return false
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if isBidi(r) {
			return true
		}
		s = s[i+n:]
	}
}
