package policyfs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
)

// TestCursorNames: a name that no Path can spell is invisible, to every kind of
// policy, and one that can be spelled is judged. Join is the oracle.
func TestCursorNames(t *testing.T) {
	sensitive, err := Compile(Spec{AllowRead: []string{"/"}, AllowSensitive: []string{"/"}})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{
		"", ".", "..", "a/b", "/", "a/", "a\\b", "\\", "a\x00b", "a\nb", "\x7f", "a\x7f", "\x1f", "a\u0080b", "a\u009fb", "a\xffb", "\xc0\x80", "\xed\xa0\x80",
		"a\u202eb", "\u2066", "a\u2069", "\u200b", "\u200ba", "\ufeff", "caf\u00e9", "cafe\u0301", "...", ". ", " ", "a ", "a.", "~", "%2e", "*", "C:", "workspace",
		strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("\u00e9", 127), strings.Repeat("\u00e9", 128), "\U0010ffff", "\ufffd",
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range rounds(20000) { // each byte at each place of short and long names
		b := []byte(strings.Repeat("n", 1+r.IntN(25)))
		b[r.IntN(len(b))] = byte(r.IntN(256))
		names = append(names, string(b))
	}
	shallow := namespace.MustParse("/d")
	deep := namespace.MustParse("/" + strings.Repeat(strings.Repeat("d", 254)+"/", 15) + strings.Repeat("e", namespace.MaxPath-len("/workspace/")-15*255-10))
	if room := namespace.MaxPath - len(deep.String()); room != 10 {
		t.Fatalf("room for %d bytes, want 10", room)
	}
	policies := map[string]Policy{"compiled": sensitive, "custom": allowEverything, "composed": Compose(sensitive, sensitive), "mixed": Compose(sensitive, allowEverything)}
	for what, p := range policies {
		for _, dir := range []namespace.Path{shallow, deep} {
			c := newCursor(p, dir)
			for _, name := range names {
				_, err := dir.Join(name)
				if c.entry(name, false) != (err == nil) || c.entry(name, true) != (err == nil) {
					t.Fatalf("%s: entry(%+q) below %.20s is %v, Join says %v", what, name, dir, c.entry(name, false), err)
				}
			}
		}
	}
}

// TestCursorOfNothing: the zero cursor, and the cursor of the unset Path, show
// nothing.
func TestCursorOfNothing(t *testing.T) {
	for name, c := range map[string]cursor{
		"zero": {}, "unset path": newCursor(ReadOnly(), namespace.Path{}), "unset path, custom": newCursor(allowEverything, namespace.Path{}),
	} {
		if c.entry("a", true) || c.entry("a", false) {
			t.Errorf("%s: something is visible", name)
		}
	}
}

// TestCursorCustom: a custom policy is asked about the entry's own path; what may
// be read is visible, a directory also when it may only be seen.
func TestCursorCustom(t *testing.T) {
	var asked []string
	p := policyFunc(func(r Request) Decision {
		asked = append(asked, r.Op.String()+" "+r.Path.String())
		switch r.Path.Base() {
		case "read":
			return Decision{Allow: r.Op == OpRead}
		case "stat":
			return Decision{Allow: r.Op == OpStat}
		}
		return Decision{}
	})
	c := newCursor(p, namespace.MustParse("/d/e"))
	for _, row := range []struct {
		name      string
		dir, want bool
	}{{"read", false, true}, {"read", true, true}, {"stat", false, false}, {"stat", true, true}, {"no", true, false}, {"no", false, false}} {
		if got := c.entry(row.name, row.dir); got != row.want {
			t.Errorf("entry(%q, %v) is %v", row.name, row.dir, got)
		}
	}
	for _, a := range asked {
		if !strings.Contains(a, " /workspace/d/e/") {
			t.Errorf("asked: %s", a)
		}
	}
}

// TestWalkWords: reading eight bytes at a time finds the elements that splitting at
// slashes finds, whatever their lengths, and neighbours of the slash in ASCII.
func TestWalkWords(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range rounds(5000) {
		var elems []string
		for range 1 + r.IntN(4) {
			b := make([]byte, 1+r.IntN(20))
			for i := range b {
				b[i] = ".-0Oo\x0e\x1f"[r.IntN(7)]
			}
			elems = append(elems, "n"+string(b)+"n")
		}
		if r.IntN(4) == 0 {
			elems[r.IntN(len(elems))] += "\u00e9"
		}
		// Each element alone, and none of its prefixes, is a denied component.
		which := r.IntN(len(elems))
		for _, c := range []struct {
			component string
			want      bool
		}{{elems[which], true}, {elems[which][:1], false}, {elems[which] + "n", false}, {strings.Join(elems, "/"), len(elems) == 1}} {
			m := newCompiled(false)
			m.name(foldElem(c.component)).component = ruleHidden
			m.finish()
			s := m.root
			m.walk(&s, strings.Join(elems, "/"))
			if got := s.cover[denyComponent] != 0; got != (c.want || slices.ContainsFunc(elems, func(e string) bool { return foldElem(e) == foldElem(c.component) })) {
				t.Fatalf("%q: component %q: %v", elems, c.component, got)
			}
		}
	}
}

// TestHashIgnoresCase: elements that differ in the case of ASCII letters have one
// hash of either kind, and one place in a table; others have their own.
func TestHashIgnoresCase(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	seen := map[uint64]string{}
	for range rounds(5000) {
		b := make([]byte, r.IntN(30))
		for i := range b {
			b[i] = byte('A' + r.IntN(26))
		}
		s := string(b)
		if hashElem(s) != hashElem(strings.ToLower(s)) || quickHash(s) != quickHash(strings.ToLower(s)) {
			t.Fatalf("%q has two hashes", s)
		}
		if other, ok := seen[hashElem(s)]; ok && other != s {
			t.Fatalf("%q and %q have one hash", s, other)
		}
		seen[hashElem(s)] = s
	}
	// A collision of hashes is resolved by the text.
	var tab table[string]
	for _, key := range []string{"A", "a", "@", "`", "", "[", "{"} {
		*tab.at(key) = key
	}
	for _, key := range []string{"A", "a", "@", "`", "", "[", "{"} {
		if got := tab.exact(hashElem(key), key); got == nil || *got != key {
			t.Errorf("%q leads to %v", key, got)
		}
	}
	if tab.exact(hashElem("b"), "b") != nil || tab.folded(hashElem("b"), "b") != nil {
		t.Error("b leads somewhere")
	}
	if got := tab.folded(hashElem("a"), "a"); got == nil || *got != "A" {
		t.Errorf("a, folded, leads to %v", got)
	}
	if got := tab.folded(hashElem("`"), "`"); got == nil || *got != "`" {
		t.Errorf("a grave accent, folded, leads to %v", got)
	}
}

// TestUpperWord compares eight bytes at a time with one at a time.
func TestUpperWord(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for i := range rounds(5000) {
		var b [8]byte
		for j := range b {
			b[j] = byte(r.IntN(256))
		}
		b[i%8] = byte(i) // each byte at each place
		want := b
		for j, c := range b {
			want[j] = upper(c)
		}
		if got := upperWord(word(string(b[:]))); got != word(string(want[:])) {
			t.Fatalf("%x becomes %x, want %x", b, got, want)
		}
	}
}
