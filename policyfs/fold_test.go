package policyfs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// asciiAliases are the code points that casefolding ext4 takes for ASCII text:
// found there by looking up every code point.
var asciiAliases = map[rune]string{
	0x00df: "ss", 0x017f: "s", 0x037e: ";", 0x1e9e: "ss", 0x1fef: "`", 0x212a: "k",
	0xfb00: "ff", 0xfb01: "fi", 0xfb02: "fl", 0xfb03: "ffi", 0xfb04: "ffl", 0xfb05: "st", 0xfb06: "st",
}

// TestFoldEveryCodePoint folds each code point there is, and finds exactly the
// measured aliases of ASCII and the measured ignored ones.
func TestFoldEveryCodePoint(t *testing.T) {
	ignored := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || r > 0xe0fff && !long() || 0x40000 <= r && r < 0xe0000 && !long() {
			continue // surrogates; planes without characters, or for private use
		}
		s := string(r)
		folded := foldElem(s)
		want, alias := asciiAliases[r]
		switch {
		case alias && folded != strings.ToUpper(want):
			t.Errorf("%U folds to %q, want %q", r, folded, strings.ToUpper(want))
		case isIgnorable(r):
			ignored++
			if folded != "" {
				t.Errorf("%U folds to %q, want nothing", r, folded)
			}
		case r >= utf8.RuneSelf && !alias && isASCII(folded):
			t.Errorf("%U folds to ASCII %q", r, folded)
		}
		if again := foldElem(folded); again != folded {
			t.Errorf("%U folds to %q, which folds to %q", r, folded, again)
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if other := foldElem(string(f)); other != folded {
				t.Errorf("%U folds to %q, its other case %U to %q", r, folded, f, other)
			}
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if other := foldElem(form.String(s)); other != folded {
				t.Errorf("%U folds to %q, its other form %+q to %q", r, folded, form.String(s), other)
			}
		}
		for _, other := range []string{strings.ToUpper(s), strings.ToLower(s), strings.ToTitle(s)} {
			// Package unicode has simple mappings only; the two exceptions of
			// Turkish (dotted and dotless i) are no aliases anywhere.
			if r != 0x130 && r != 0x131 && foldElem(other) != folded {
				t.Errorf("%U folds to %q, its other case %+q to %q", r, folded, other, foldElem(other))
			}
		}
	}
	if ignored != 4173 {
		t.Errorf("%d code points are ignored, casefolding ext4 ignores 4173", ignored)
	}
}

// TestFoldAliases holds names that some filesystem takes for the same file.
func TestFoldAliases(t *testing.T) {
	for folded, names := range map[string][]string{
		".SSH":       {".ssh", ".SSH", ".\u017f\u017fh", ".ssh.", ".ssh ", ".ssh. . ", ".s\u200bsh", "\u200d.ssh", ".ssh\ufeff."},
		"ID_RSA":     {"id_rsa", "id_r\u017fa", "ID_RSA", "\u2060id_rsa"},
		".GIT":       {".git", ".g\u200cit", "\u200d.git", ".git\u00ad", ".gi\U000e0041t", ".GIT.", "\U000e0001.git"},
		".ENV":       {".env", ".env.", ".env ", ".env. . ", ".e\u034fnv"},
		"KEYS":       {"keys", "\u212aeys", "key\u017f", "KEYS"},
		"STRASSE":    {"stra\u00dfe", "STRASSE", "stra\u1e9ee", "stra\u017fse"},
		"FILES":      {"\ufb01les", "files", "FILES", "f\u200di\u200bles"},
		"A;`":        {"a\u037e\u1fef", "A;`"},
		"CAFE\u0301": {"caf\u00e9", "cafe\u0301", "CAFE\u0301", "CAF\u00c9", "caf\u200be\u200d\u0301"},
		"":           {"...", ". .", " ", "\u200b", "\u200b.", ".\u200b"},
		" A":         {" a"},
		"A.B":        {"a.b", "a.b..", "a.\u200bb"},
	} {
		for _, name := range names {
			if got := foldElem(name); got != folded {
				t.Errorf("%+q folds to %+q, want %+q", name, got, folded)
			}
			if !foldsTo(name, folded) {
				t.Errorf("foldsTo(%+q, %+q) is false", name, folded)
			}
			if foldsTo(name, folded+"X") || foldsTo(name+"x", folded) {
				t.Errorf("foldsTo takes another name for %+q", folded)
			}
		}
	}
}

// TestFoldMarks sorts more marks than the Stream-Safe Text Process looks at.
func TestFoldMarks(t *testing.T) {
	marks := slices.Repeat([]rune{0x0301, 0x0323, 0x0345, 0x0334, 0x05b0}, 9)
	want := foldElem("a" + string(marks))
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		// Marks of one class keep their order, so equal ones may be shuffled.
		r.Shuffle(len(marks), func(i, j int) { marks[i], marks[j] = marks[j], marks[i] })
		if got := foldElem("A" + string(marks)); got != want {
			t.Fatalf("%+q folds to %+q, want %+q", string(marks), got, want)
		}
	}
}

// TestFoldASCIIPath compares the path for ASCII with the one for everything.
func TestFoldASCIIPath(t *testing.T) {
	same := func(s string) {
		t.Helper()
		wide, dot := foldWide(s)
		if got := foldElem(s); got != wide {
			t.Errorf("%q folds to %q as ASCII, to %q as anything", s, got, wide)
		}
		if dot != strings.HasPrefix(s, ".") {
			t.Errorf("%q: dot is %v", s, dot)
		}
	}
	for a := range byte(utf8.RuneSelf) {
		for b := range byte(utf8.RuneSelf) {
			same(string([]byte{a, b}))
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := make([]byte, r.IntN(30))
		for i := range b {
			b[i] = byte(r.IntN(utf8.RuneSelf))
		}
		same(string(b))
	}
}

// TestFoldWideDot tells hidden names before their dots are trimmed.
func TestFoldWideDot(t *testing.T) {
	for name, want := range map[string]bool{
		"\u200b.x": true, ".\u200b": true, "\u00e9.x": false, ".\u00e9": true, "\u200b\ufeff...": true, "\u2024x": false,
	} {
		if _, dot := foldWide(name); dot != want {
			t.Errorf("%+q: dot is %v", name, dot)
		}
	}
}

func TestFoldAllocations(t *testing.T) {
	folded := foldElem("node_modules")
	for name, f := range map[string]func(){
		"foldElem of folded text": func() { foldElem(folded) },
		"foldsTo":                 func() { foldsTo("Node_Modules.", folded) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzFold checks what folding promises: it is idempotent, blind to case, form,
// ignorable code points and trailing dots and blanks, and its three ways agree.
func FuzzFold(f *testing.F) {
	for _, s := range []string{".ssh", "stra\u00dfe", "caf\u00e9 .", "\u1f80\u0301\u0323", "\ud55c\uae00", ".g\u200cit", "\u0390\u0345", "..."} {
		f.Add(s, uint8(1), uint16(3))
	}
	f.Fuzz(func(t *testing.T, s string, at uint8, which uint16) {
		if !utf8.ValidString(s) || len(s) > 255 {
			return
		}
		folded := foldElem(s)
		same := func(what, other string) {
			t.Helper()
			if got := foldElem(other); got != folded {
				t.Errorf("%s: %+q folds to %+q, but %+q to %+q", what, s, folded, other, got)
			}
		}
		same("idempotence", folded)
		same("NFC", norm.NFC.String(s))
		same("NFD", norm.NFD.String(s))
		same("trailing dots", s+". .")
		same("least of orbit", strings.Map(leastFold, s))
		same("next of orbit", strings.Map(unicode.SimpleFold, s))
		runes := []rune(s)
		span := ignorable[int(which)%len(ignorable)]
		i := int(at) % (len(runes) + 1)
		same("ignorable", string(slices.Insert(slices.Clone(runes), i, span.lo)))
		same("ignorable", string(slices.Insert(slices.Clone(runes), i, span.hi)))
		if !foldsTo(s, folded) {
			t.Errorf("foldsTo(%+q, %+q) is false", s, folded)
		}
	})
}
