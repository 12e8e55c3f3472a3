package policyfs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folding: what a deny, a denied component, a sensitive name and the hidden test
// compare, so that no second spelling of a name escapes them. Two names fold to
// the same text whenever some file system in use (ext4 and f2fs with casefold,
// APFS, NTFS, exfat, vfat) takes them for the same file. Allow verbs never fold:
// there a second spelling must not widen anything.
//
// The steps, each needed by a measured alias: NFD (caf + U+0301 on casefolding
// ext4), drop Default_Ignorable code points (".g" U+200C "it"), full case folding
// (U+FB01 is "fi"), the least rune of each unicode.SimpleFold orbit (so that the
// tables of x/text and of package unicode need not be of one version), NFD again
// (dropping a rune can bring two marks together), trim trailing dots and blanks
// (vfat and Win32 drop them).
//
// The least rune of an ASCII letter's orbit is the capital, so folded ASCII is
// upper case.

// foldElem returns the folded form of one element. It does not allocate when
// elem is pure ASCII and folded already.
func foldElem(elem string) string {
	if !isASCII(elem) {
		folded, _ := foldWide(elem)
		return folded
	}
	elem = trimASCII(elem)
	for i := 0; i < len(elem); i++ {
		if c := elem[i]; 'a' <= c && c <= 'z' {
			return strings.ToUpper(elem)
		}
	}
	return elem
}

// foldsTo reports whether elem folds to folded, which is a result of foldElem.
// It does not allocate when elem is pure ASCII.
func foldsTo(elem, folded string) bool {
	if !isASCII(elem) {
		wide, _ := foldWide(elem)
		return wide == folded
	}
	return sameFolded(trimASCII(elem), folded)
}

// foldWide folds an element that is not ASCII. dot reports whether it begins with
// a dot before the trailing dots are trimmed: that is what makes it hidden ("..."
// folds to nothing).
func foldWide(elem string) (folded string, dot bool) {
	runes := decompose([]rune(elem))
	kept := runes[:0]
	for _, r := range runes {
		if !isIgnorable(r) {
			kept = append(kept, r)
		}
	}
	// A Caser may not be shared between goroutines, hence one for each call.
	runes = []rune(cases.Fold().String(string(kept)))
	for i, r := range runes {
		runes[i] = leastFold(r)
	}
	folded = string(decompose(runes))
	return trimASCII(folded), strings.HasPrefix(folded, ".")
}

// leastFold returns the least rune of r's simple case folding orbit.
func leastFold(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// decompose returns the canonical decomposition (NFD) of text. It is not
// norm.NFD.String: that one follows the Stream-Safe Text Process, which puts a
// U+034F after thirty marks and sorts no further than there, so that a name of
// many marks would have two decompositions.
func decompose(text []rune) []rune {
	out := make([]rune, 0, len(text)+8)
	for _, r := range text {
		if r < utf8.RuneSelf {
			out = append(out, r)
			continue
		}
		var buf [utf8.UTFMax]byte
		one := buf[:utf8.EncodeRune(buf[:], r)]
		if norm.NFD.IsNormal(one) {
			out = append(out, r)
			continue
		}
		for _, d := range string(norm.NFD.Bytes(one)) {
			out = append(out, d)
		}
	}
	// Canonical ordering: each run of marks sorted by class, equal ones kept in
	// place. Insertion: an element has at most 255 bytes.
	for i := 1; i < len(out); i++ {
		class := markClass(out[i])
		if class == 0 {
			continue
		}
		r, j := out[i], i
		for ; j > 0 && markClass(out[j-1]) > class; j-- {
			out[j] = out[j-1]
		}
		out[j] = r
	}
	return out
}

// markClass returns the canonical combining class of r.
func markClass(r rune) uint8 {
	if r < utf8.RuneSelf {
		return 0
	}
	var buf [utf8.UTFMax]byte
	return norm.NFD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).CCC()
}

// isIgnorable reports whether r is a Default_Ignorable code point (Unicode,
// DerivedCoreProperties.txt): casefolding ext4 compares names without them.
func isIgnorable(r rune) bool {
	if r < 0xad {
		return false
	}
	for _, span := range ignorable {
		if r <= span.hi {
			return span.lo <= r
		}
	}
	return false
}

// ignorable lists the spans of isIgnorable in ascending order.
var ignorable = [...]struct{ lo, hi rune }{
	{0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c}, {0x115f, 0x1160},
	{0x17b4, 0x17b5}, {0x180b, 0x180e}, {0x200b, 0x200f}, {0x202a, 0x202e},
	{0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
	{0xffa0, 0xffa0}, {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
}

// trimASCII returns s without trailing dots and blanks.
func trimASCII(s string) string {
	n := len(s)
	for n > 0 && (s[n-1] == '.' || s[n-1] == ' ') {
		n--
	}
	return s[:n]
}

// upper returns the folded form of an ASCII byte.
func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// isASCII reports whether s holds no byte over 0x7f, eight bytes at a time.
func isASCII(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		if word(s)&highBits != 0 {
			return false
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// word loads the first eight bytes of s, which has as many. The compiler makes
// one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
