package policyfs

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// entryKey is eight bytes of a name, behind what all names have in common, and
// where the entry is. Sorting keys moves no pointers, and seldom looks at a name.
type entryKey struct {
	text uint64
	at   uint32
}

// listScratch is memory for making one listing after the other. The zero value is
// ready to use.
type listScratch struct {
	entries     []dirEntry
	keys, other []entryKey
}

// maxScratch is how many entries are kept room for: after a large listing the
// memory is given back.
const maxScratch = 4096

// room returns an empty listing for n entries.
func (s *listScratch) room(n int) []dirEntry {
	if n > maxScratch {
		s.entries = nil
		return make([]dirEntry, 0, n)
	}
	if cap(s.entries) < n {
		s.entries = make([]dirEntry, 0, n)
	}
	return s.entries[:0]
}

// keyRoom returns two lists of n keys.
func (s *listScratch) keyRoom(n int) (keys, other []entryKey) {
	if n > maxScratch {
		return make([]entryKey, n), make([]entryKey, n)
	}
	if cap(s.keys) < n {
		s.keys, s.other = make([]entryKey, n), make([]entryKey, n)
	}
	return s.keys[:n], s.other[:n]
}

// sort sorts a listing by name.
func (s *listScratch) sort(entries []dirEntry) {
	if slices.IsSortedFunc(entries, func(a, b dirEntry) int { return strings.Compare(a.name, b.name) }) {
		return // some storages list in order
	}
	common := commonPrefix(entries)
	keys, other := s.keyRoom(len(entries))
	for i := range entries {
		keys[i] = entryKey{keyOf(entries[i].name[common:]), uint32(i)}
	}
	keys = sortKeys(keys, other)
	// Names that differ only later are side by side now.
	for i := 0; i+1 < len(keys); i++ {
		j := i + 1
		for j < len(keys) && keys[j].text == keys[i].text {
			j++
		}
		if j > i+1 {
			slices.SortFunc(keys[i:j], func(a, b entryKey) int { return strings.Compare(entries[a.at].name, entries[b.at].name) })
			i = j - 1
		}
	}
	// Move each entry once: along the cycles of the permutation.
	for i := range keys {
		if int(keys[i].at) == i {
			continue
		}
		first := entries[i]
		to := i
		for {
			from := int(keys[to].at)
			keys[to].at = uint32(to)
			if from == i {
				break
			}
			entries[to] = entries[from]
			to = from
		}
		entries[to] = first
	}
}

// sortKeys sorts by text, byte by byte from the last one, and leaves out the bytes
// in which no two differ. The result is one of the two lists.
func sortKeys(keys, other []entryKey) []entryKey {
	const few = 64 // for fewer, counting bytes costs more than comparing
	if len(keys) < few {
		slices.SortFunc(keys, func(a, b entryKey) int { return cmp.Compare(a.text, b.text) })
		return keys
	}
	var differ uint64
	for i := range keys {
		differ |= keys[i].text ^ keys[0].text
	}
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var next [256]uint32 // where the next key with that byte goes
		for i := range keys {
			next[byte(keys[i].text>>shift)]++
		}
		sum := uint32(0)
		for b, n := range next {
			next[b] = sum
			sum += n
		}
		for i := range keys {
			b := byte(keys[i].text >> shift)
			other[next[b]] = keys[i]
			next[b]++
		}
		keys, other = other, keys
	}
	return keys
}

// keyOf returns the first eight bytes of text as a number in the order of the
// bytes. The zeros behind a shorter text stand before every byte of a name.
func keyOf(text string) uint64 {
	if len(text) >= 8 {
		return binary.BigEndian.Uint64([]byte(text[:8]))
	}
	var b [8]byte
	copy(b[:], text)
	return binary.BigEndian.Uint64(b[:])
}

// commonPrefix returns the length of what all names begin with.
func commonPrefix(entries []dirEntry) int {
	if len(entries) == 0 {
		return 0
	}
	first := entries[0].name
	n := len(first)
	for i := range entries {
		name := entries[i].name
		n = min(n, len(name))
		j := 0
		for j < n && name[j] == first[j] {
			j++
		}
		n = j
	}
	return n
}
