package provider_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/provider"
)

func TestPortableElem(t *testing.T) {
	refused := []string{
		"", ".", "..", "a/b", `a\b`, "a\x00", "a\xff", "a\u0085", strings.Repeat("n", provider.MaxElem+1),
		"a.", "a ", "...", ".env.", ".env ", ".. ", " .", ". .", "a. ", " ",
		"a<b", "a>b", "a:b", `a"b`, "a|b", "a?b", "a*b", "C:", ".env::$DATA", "nul:",
		"CONIN$", "CONOUT$", "conin$.txt",
	}
	refused = append(refused, "CON", "PRN", "AUX", "NUL")
	for _, port := range []string{"COM", "LPT"} {
		for _, digit := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3"} {
			refused = append(refused, port+digit)
		}
	}
	for _, elem := range slices.Clone(refused) {
		if len(elem) >= 3 && len(elem) <= 5 && elem == strings.ToUpper(elem) && utf8.ValidString(elem) && !strings.ContainsAny(elem, " .<>:\"|?*/\\\x00") {
			refused = append(refused, strings.ToLower(elem), elem+".txt", strings.ToLower(elem)+".tar.gz", elem+" .txt", elem[:1]+strings.ToLower(elem[1:]))
		}
	}
	for _, elem := range refused {
		if err := provider.PortableElem(elem); !errors.Is(err, provider.ErrPath) {
			t.Errorf("PortableElem(%q) = %v, want ErrPath", elem, err)
		}
	}
	for _, elem := range []string{
		"a", "README.md", ".git", ".env", "...a", " a", "foo.~1~", "GIT~1", "caf\u00e9", "\U0001f600",
		"CONSOLE", "COM", "COM10", "COM\u2074", "LPT", "LPTX", "NULL", "xCON", "aux_", "CLOCK$", "CONIN", "a.con", "com",
		strings.Repeat("n", provider.MaxElem),
	} {
		if err := provider.PortableElem(elem); err != nil {
			t.Errorf("PortableElem(%q) = %v, want nil", elem, err)
		}
	}
}

func FuzzPortableElem(f *testing.F) {
	for _, s := range []string{"a", "NUL.txt", "a.", "a:b", "COM\u00b9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		err := provider.PortableElem(s)
		if err != nil {
			if !errors.Is(err, provider.ErrPath) {
				t.Fatalf("PortableElem(%q) = %v", s, err)
			}
			return
		}
		if _, err := (provider.Path{}).Join(s); err != nil {
			t.Fatalf("%q is portable but no element: %v", s, err)
		}
		if strings.TrimRight(s, ". ") != s || strings.ContainsAny(s, `<>:"|?*`) {
			t.Fatalf("%q is portable", s)
		}
	})
}
