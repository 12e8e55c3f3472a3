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
	found       []listedEntry
	keys, other []entryKey
	order       []uint32
}

// maxScratch is how many entries are kept room for: after a large listing the
// memory is given back.
const maxScratch = 1 << 17

// room returns an empty list with room for n, in *kept unless that is too many.
func room[T any](kept *[]T, n int) []T {
	if n > maxScratch {
		*kept = nil
		return make([]T, 0, n)
	}
	if cap(*kept) < n {
		*kept = make([]T, 0, n)
	}
	return (*kept)[:0]
}

// sort returns where in entries they are by name. Of those with the same name,
// which storage may say that changes while it is listed, it takes one. The result
// is part of s.
func (s *listScratch) sort(entries []listedEntry) []uint32 {
	order := room(&s.order, len(entries))
	add := func(at uint32) {
		if n := len(order); n == 0 || entries[order[n-1]].name != entries[at].name {
			order = append(order, at)
		}
	}
	switch up, down := ordered(entries); {
	case up: // some storages list in order
		for i := range entries {
			add(uint32(i))
		}
		return order
	case down: // or the newest first
		for i := range entries {
			add(uint32(len(entries) - 1 - i))
		}
		return order
	}
	common := commonPrefix(entries)
	keys, other := room(&s.keys, len(entries)), room(&s.other, len(entries))
	for i := range entries {
		keys = append(keys, entryKey{keyOf(entries[i].name[common:]), uint32(i)})
	}
	keys = sortKeys(keys, other[:len(keys)])
	for len(keys) > 0 {
		// Names that differ only later are side by side now.
		n := 1
		for n < len(keys) && keys[n].text == keys[0].text {
			n++
		}
		if n > 1 {
			slices.SortFunc(keys[:n], func(a, b entryKey) int { return strings.Compare(entries[a.at].name, entries[b.at].name) })
		}
		for _, k := range keys[:n] {
			add(k.at)
		}
		keys = keys[n:]
	}
	return order
}

// ordered reports whether entries are in order already, and whether in reverse.
func ordered(entries []listedEntry) (up, down bool) {
	up, down = true, true
	for i := 1; i < len(entries) && (up || down); i++ {
		c := strings.Compare(entries[i-1].name, entries[i].name)
		up, down = up && c <= 0, down && c >= 0
	}
	return up, down
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
func commonPrefix(entries []listedEntry) int {
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
