package memfs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyEnd stands between the folded name and the spelling in a key of a
// case-insensitive directory. No path holds a NUL.
const keyEnd = "\x00"

// foldKey returns the beginning that the keys of all spellings of elem share.
func foldKey(elem string) string {
	var b strings.Builder
	b.Grow(len(elem) + len(keyEnd))
	for _, r := range elem {
		b.WriteRune(foldRune(r))
	}
	b.WriteString(keyEnd)
	return b.String()
}

// foldRune returns the least rune that differs from r by case only.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf && (r < 'A' || 'z' < r) {
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}

// spelling returns the name that is listed for a key.
func spelling(key string) string {
	if i := strings.IndexByte(key, keyEnd[0]); i >= 0 {
		return key[i+1:]
	}
	return key
}
