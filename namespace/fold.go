package namespace

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// skeletonBuffer holds the skeleton of any ordinary element.
const skeletonBuffer = 256

// skeleton maps a name so that names which some storage takes for the same one
// have the same skeleton: whatever package policyfs folds to equal text (NFD,
// without Default_Ignorable code points, case folded, without trailing dots and
// blanks) has equal skeletons, and some names that differ have too. It is coarse
// where being exact would need the tables of golang.org/x/text: combining marks
// are compared as a set, not in order.
func skeleton(elem string) string { return string(appendSkeleton(nil, elem)) }

// appendSkeleton appends the skeleton of elem; of ASCII without allocation when
// dst has room.
func appendSkeleton(dst []byte, elem string) []byte {
	elem = strings.TrimRight(elem, ". ")
	start := len(dst)
	for i := 0; i < len(elem); i++ {
		c := elem[i]
		if c >= utf8.RuneSelf {
			return appendFolded(dst[:start], elem)
		}
		dst = append(dst, upper(c))
	}
	return dst
}

// appendFolded is appendSkeleton for names that are not ASCII.
func appendFolded(dst []byte, elem string) []byte {
	table := foldTable()
	runes := make([]rune, 0, len(elem)+8)
	for _, r := range elem {
		switch {
		case ignorable(r):
		case hangulFirst <= r && r <= hangulLast:
			runes = appendHangul(runes, r)
		default:
			if seq, ok := table[r]; ok {
				for _, r := range seq {
					runes = append(runes, r)
				}
			} else {
				runes = append(runes, orbitMin(r))
			}
		}
	}
	for i := 0; i < len(runes); i++ {
		j := i
		for j < len(runes) && unicode.IsMark(runes[j]) {
			j++
		}
		slices.Sort(runes[i:j])
		i = max(i, j-1)
	}
	for len(runes) > 0 && (runes[len(runes)-1] == '.' || runes[len(runes)-1] == ' ') {
		runes = runes[:len(runes)-1]
	}
	for _, r := range runes {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// orbitMin returns the least of the characters that differ from r only in case.
func orbitMin(r rune) rune {
	least := r
	for s := unicode.SimpleFold(r); s != r; s = unicode.SimpleFold(s) {
		least = min(least, s)
	}
	return least
}

// Hangul syllables decompose by arithmetic (Unicode, section 3.12).
const (
	hangulFirst, hangulLast = 0xac00, 0xd7a3
	jamoL, jamoV, jamoT     = 0x1100, 0x1161, 0x11a7
	jamoVCount, jamoTCount  = 21, 28
)

// appendHangul appends the jamo of a syllable.
func appendHangul(runes []rune, r rune) []rune {
	i := r - hangulFirst
	runes = append(runes, jamoL+i/(jamoVCount*jamoTCount), jamoV+i/jamoTCount%jamoVCount)
	if t := i % jamoTCount; t != 0 {
		runes = append(runes, jamoT+t)
	}
	return runes
}

// foldTable returns what a character becomes, where that is neither the least
// of its case variants nor computed.
var foldTable = sync.OnceValue(func() map[rune]string {
	table := make(map[rune]string)
	for entry := range strings.SplitSeq(foldEntries, " ") {
		r, n := utf8.DecodeRuneInString(entry)
		table[r] = entry[n:]
	}
	return table
})
