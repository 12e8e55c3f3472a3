package policyfs

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// literal is a fragment prepared for searching. It is immutable.
type literal struct {
	text []byte
	fold bool
	// at is the position in text of the byte that is looked for, rare; other is
	// its other case, or rare itself.
	at          int
	rare, other byte
	// ascii says that every rune of a folded literal is ASCII and has no other
	// case beyond ASCII.
	ascii bool
	// pair, if paired is set, is looked for instead of rare.
	pair   pair
	paired bool
}

// newLiteral prepares a fragment, or returns nil if no byte of it can be looked
// for.
func newLiteral(f fragment) *literal {
	at := anchor(f)
	if at < 0 {
		return nil
	}
	l := &literal{text: []byte(f.text), fold: f.fold, at: at, rare: f.text[at], other: f.text[at]}
	if f.fold {
		l.other, _ = otherCase(l.rare)
		l.ascii = true
		for i := range len(f.text) {
			c := f.text[i]
			l.ascii = l.ascii && c < utf8.RuneSelf && c|0x20 != 'k' && c|0x20 != 's'
			if l.ascii {
				l.text[i] = lower(c)
			}
		}
	}
	if vectors {
		l.pair, l.paired = newPair(f)
	}
	return l
}

// lower returns the lower case of an ASCII letter, and c otherwise.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// A finder looks for one literal in one text, again and again from positions
// that never decrease. It remembers what lies ahead, so that a rare literal is
// not looked for again each time a common one beside it turns up.
type finder struct {
	*literal
	next       int // where the literal is next, if not before from; -1 unknown
	rareAt     int // where the bytes looked for are next, likewise
	otherAt    int
	stops, got int // stops at a byte that was no match, and bytes passed meanwhile
}

// reset prepares for another text.
func (f *finder) reset() { f.next, f.rareAt, f.otherAt, f.stops, f.got = -1, -1, -1, 0, 0 }

// index returns the position of the literal in text at or after from, or
// len(text).
func (f *finder) index(text []byte, from int) int {
	if f.next < from {
		switch {
		case f.paired:
			f.next = f.searchPair(text, from)
		case f.fold:
			f.next = f.searchFold(text, from)
		default:
			f.next = f.search(text, from)
		}
	}
	return f.next
}

// searchPair finds a literal by its pair.
func (f *finder) searchPair(text []byte, from int) int {
	p := &f.pair
	i, end := from, len(text)-p.dist
	if !f.fold || f.ascii {
		// The literal has a fixed length.
		i, end = from+p.first, len(text)-len(f.text)+p.first+1
	}
	for i < end {
		if i = indexPair(text, i, end, p); i < 0 {
			break
		}
		switch {
		case !f.fold:
			if start := i - p.first; string(text[start:start+len(f.text)]) == string(f.text) {
				return start
			}
		default:
			if start, ok := f.verify(text, i, p.first); ok && start >= from {
				return start
			}
		}
		i++
	}
	return len(text)
}

// search finds an exact literal.
func (f *finder) search(text []byte, from int) int {
	n := len(f.text)
	end := len(text) - (n - f.at) + 1 // beyond the last place for the rare byte
	i := from + f.at
	for i < end {
		j := bytes.IndexByte(text[i:end], f.rare)
		if j < 0 {
			break
		}
		i += j
		start := i - f.at
		if text[start] == f.text[0] && text[start+n-1] == f.text[n-1] && bytes.Equal(text[start:start+n], f.text) {
			return start
		}
		i++
		f.got += j + 1
		if f.stops++; f.stops > 16 && f.got < 24*f.stops {
			// The byte is not rare here. What follows is slower for each byte
			// but does not stop.
			if j := bytes.Index(text[start+1:], f.text); j >= 0 {
				return start + 1 + j
			}
			break
		}
	}
	return len(text)
}

// searchFold finds a literal in any case.
func (f *finder) searchFold(text []byte, from int) int {
	i := from
	for {
		if f.rareAt < i {
			f.rareAt = nextByte(text, i, f.rare)
		}
		at := f.rareAt
		if f.other != f.rare {
			if f.otherAt < i {
				f.otherAt = nextByte(text, i, f.other)
			}
			at = min(at, f.otherAt)
		}
		if at >= len(text) {
			return len(text)
		}
		if start, ok := f.verify(text, at, f.at); ok && start >= from {
			return start
		}
		i = at + 1
	}
}

// nextByte returns the position of c in text at or after from, or len(text).
func nextByte(text []byte, from int, c byte) int {
	if j := bytes.IndexByte(text[from:], c); j >= 0 {
		return from + j
	}
	return len(text)
}

// verify reports whether the literal, in any case, has its byte at, an ASCII one,
// at text[i], and where it begins then.
func (f *finder) verify(text []byte, i, at int) (start int, ok bool) {
	if f.ascii {
		start = i - at
		if start < 0 || start+len(f.text) > len(text) {
			return 0, false
		}
		for j, c := range f.text {
			if lower(text[start+j]) != c {
				return 0, false
			}
		}
		return start, true
	}
	end := i
	for want := f.text[at:]; len(want) > 0; {
		w, k := utf8.DecodeRune(want)
		r, n := utf8.DecodeRune(text[end:])
		if n == 0 || r == utf8.RuneError || !sameFold(r, w) {
			return 0, false
		}
		want, end = want[k:], end+n
	}
	start = i
	for want := f.text[:at]; len(want) > 0; {
		w, k := utf8.DecodeLastRune(want)
		r, n := utf8.DecodeLastRune(text[:start])
		if n == 0 || r == utf8.RuneError || !sameFold(r, w) {
			return 0, false
		}
		want, start = want[:len(want)-k], start-n
	}
	return start, true
}

// sameFold reports whether two runes are cases of one another.
func sameFold(a, b rune) bool {
	if a == b {
		return true
	}
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}
