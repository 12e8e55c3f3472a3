package policyfs

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestIndexPair compares with one step at a time, at all lengths around those of
// the vector registers, and with what lies around the text poisoned.
func TestIndexPair(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range engineRounds(20_000) {
		room := make([]byte, 400)
		for i := range room {
			room[i] = "aAbBx"[r.IntN(3+r.IntN(3))]
		}
		before, n := r.IntN(40), r.IntN(300)
		text := room[before : before+n : before+n]
		p := pair{dist: 1 + r.IntN(20), b1: 'b', b2: 'x'}
		if r.IntN(2) == 0 {
			p.m1 = 0x20
		}
		end := n - p.dist
		if end <= 0 {
			continue
		}
		from := r.IntN(end)
		want := -1
		for i := from; i < end; i++ {
			if p.at(text, i) {
				want = i
				break
			}
		}
		if got := indexPair(text, from, end, &p); got != want {
			t.Fatalf("indexPair(%q, %d, %d, %+v) = %d, want %d", text, from, end, p, got, want)
		}
	}
}

func BenchmarkIndexPair(b *testing.B) {
	text := bytes.Repeat([]byte("a line of text that says little\n"), 8<<10)
	p, _ := newPair(fragment{text: "zqxj"})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if indexPair(text, 0, len(text)-p.dist, &p) >= 0 {
			b.Fatal("found")
		}
	}
}
