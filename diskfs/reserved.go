package diskfs

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/provider"
)

// The names of staged content: tempPrefix, 40 decimal digits, tempSuffix. The
// letters are chosen so that no code point outside ASCII folds to one of them
// or to a pair of them (k, s and the ligatures of f do), and the digits carry
// 128 random bits; so foldReserved is exact on storage that folds fully.
const (
	tempPrefix = ".uncommitted-"
	tempDigits = 40
	tempSuffix = ".tmp"
	tempLen    = len(tempPrefix) + tempDigits + len(tempSuffix)
)

// tempName returns a fresh reserved name.
func tempName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return fmt.Sprintf("%s%020d%020d%s", tempPrefix, binary.NativeEndian.Uint64(b[:8]), binary.NativeEndian.Uint64(b[8:]), tempSuffix)
}

// isReserved reports whether elem is spelled like a reserved name.
func isReserved(elem string) bool {
	if len(elem) != tempLen || !strings.HasPrefix(elem, tempPrefix) || !strings.HasSuffix(elem, tempSuffix) {
		return false
	}
	for i := len(tempPrefix); i < len(tempPrefix)+tempDigits; i++ {
		if elem[i] < '0' || elem[i] > '9' {
			return false
		}
	}
	return true
}

// foldReserved is isReserved for storage that takes several spellings for one
// name: case is ignored, and so are code points outside ASCII (some storage
// drops ignorable ones) and trailing dots and blanks (vfat, NTFS).
func foldReserved(elem string) bool {
	if len(elem) < tempLen {
		return false
	}
	elem = strings.TrimRight(elem, ". ")
	if len(elem) == tempLen {
		return isReserved(asciiLower(elem))
	}
	b := make([]byte, 0, tempLen)
	for _, r := range elem {
		if r >= utf8.RuneSelf {
			continue
		}
		if len(b) == tempLen {
			return false
		}
		b = append(b, byte(r))
	}
	return isReserved(asciiLower(strings.TrimRight(string(b), ". ")))
}

// asciiLower lowers A to Z and leaves all else alone.
func asciiLower(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}

// checkReserved refuses a name that holds a reserved element with
// [provider.ErrPath]. It does not allocate for ordinary names.
func checkReserved(name provider.Path, caseSensitive bool) error {
	s := name.String()
	if len(s) < tempLen || caseSensitive && !strings.Contains(s, tempPrefix) {
		return nil
	}
	for elem := range name.Elems() {
		if isReserved(elem) || !caseSensitive && foldReserved(elem) {
			return provider.ErrPath
		}
	}
	return nil
}
