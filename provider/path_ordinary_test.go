package provider

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestOrdinary: what the quick look lets through, the full look lets through too.
// The names are made of the characters that decide, so that every position of
// every word meets them.
func TestOrdinary(t *testing.T) {
	const chars = "/.\\ab\x00\x1f\x20\x7e\x7f\x80\xe2/."
	r := rand.New(rand.NewPCG(1, 2))
	quick := 0
	for range 300_000 {
		b := []byte(strings.Repeat("a", 1+r.IntN(40)))
		for range r.IntN(4) {
			b[r.IntN(len(b))] = chars[r.IntN(len(chars))]
		}
		s := string(b)
		if one := ordinary(s, 0); one != (ordinary(s, slashes) && !strings.Contains(s, "/")) {
			t.Fatalf("%q is one ordinary element: %v", s, one)
		}
		if ordinary(s, slashes) {
			quick++
			if _, err := parseBytes(s); err != nil {
				t.Fatalf("%q passes the quick look: %v", s, err)
			}
		}
	}
	if quick < 50_000 {
		t.Errorf("only %d names passed the quick look", quick)
	}
	long := "aaaaaaaa/" + strings.Repeat("b", MaxElem)
	if ordinary(long, slashes) || ordinary(strings.Repeat("b", MaxElem+1), slashes) {
		t.Error("an element may be longer than MaxElem")
	}
	if s := "src/internal/server/handlers/api/v1/users/list.go"; !ordinary(s, slashes) {
		t.Errorf("%q needs the full look", s)
	}
}
