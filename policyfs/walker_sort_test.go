package policyfs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestSortListing(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var scratch listScratch
	for range engineRounds(500) {
		entries := make([]listedEntry, r.IntN(60+200*r.IntN(2)))
		prefix := strings.Repeat("same", r.IntN(4))
		seen := map[string]bool{}
		for i := range entries {
			name := ""
			for ok := true; ok; ok = seen[name] {
				name = prefix
				for range r.IntN(14) {
					name += string([]byte{"ab\u00e9z-/0A"[r.IntN(9)]})
				}
			}
			seen[name] = true
			entries[i] = listedEntry{name: name}
		}
		want := slices.Clone(entries)
		slices.SortFunc(want, func(a, b listedEntry) int { return strings.Compare(a.name, b.name) })
		switch r.IntN(4) { // as they came, in order, in reverse, some of them twice
		case 1:
			entries = slices.Clone(want)
		case 2:
			entries = slices.Clone(want)
			slices.Reverse(entries)
		case 3:
			entries = append(entries, entries[:len(entries)/2]...)
		}
		var got []listedEntry
		for _, at := range scratch.sort(entries) {
			got = append(got, entries[at])
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	}
}

func BenchmarkSortListing(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 8))
	from := make([]listedEntry, 1000)
	for i, j := range r.Perm(1000) {
		from[i].name = fmt.Sprintf("file%04d.txt", j)
	}
	entries := make([]listedEntry, len(from))
	var scratch listScratch
	b.Run("keys", func(b *testing.B) {
		for b.Loop() {
			scratch.sort(from)
		}
	})
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			copy(entries, from)
			slices.SortFunc(entries, func(a, b listedEntry) int { return strings.Compare(a.name, b.name) })
		}
	})
}

// TestWalkerSpare: a walk keeps lists of items for the next directories, no more and
// no longer ones than it may list ahead, and takes none that is much too long.
func TestWalkerSpare(t *testing.T) {
	w := &walker{spare: make(chan []walkItem, maxSpare)}
	w.recycle(make([]walkItem, maxSpareItems+1))
	if len(w.spare) != 0 {
		t.Error("kept a list that is too long")
	}
	for range maxSpare + 1 {
		w.recycle(make([]walkItem, 8, maxSpareItems))
	}
	if len(w.spare) != maxSpare {
		t.Errorf("kept %d lists, want %d", len(w.spare), maxSpare)
	}
	for n, want := range map[int]int{maxSpareItems: maxSpareItems, maxSpareItems/4 - 1: maxSpareItems/4 - 1, maxSpareItems + 1: maxSpareItems + 1} {
		if items := w.room(n); len(items) != 0 || cap(items) != want {
			t.Errorf("room for %d: %d of %d, want %d", n, len(items), cap(items), want)
		}
	}
}
