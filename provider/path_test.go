package provider_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/provider"
)

// longest is a legal path of exactly provider.MaxPath bytes.
func longest() string {
	const elem = provider.MaxElem + 1
	var parts []string
	for n := provider.MaxPath + 1; n > 0; n -= elem {
		parts = append(parts, strings.Repeat("n", min(n, elem)-1))
	}
	return strings.Join(parts, "/")
}

var pathTable = []struct {
	name, in string
	ok       bool
}{
	{"root", ".", true},
	{"one element", "a", true},
	{"two elements", "a/b", true},
	{"hidden", ".git/config", true},
	{"three dots", "...", true},
	{"dots inside", "a..b/c.", true},
	{"blank", " ", true},
	{"colon", "a:b", true},
	{"tilde", "~", true},
	{"percent", "%2e%2e/a", true},
	{"glob characters", "*?[]", true},
	{"accents", "caf\u00e9", true},
	{"combining", "cafe\u0301", true},
	{"outside the BMP", "\U0001f600", true},
	{"replacement character", "a\ufffdb", true},
	{"bidi control", "a\u202eb", true},
	{"non-breaking space, first after C1", "a\u00a0b", true},
	{"longest element", strings.Repeat("n", provider.MaxElem), true},
	{"longest path", longest(), true},

	{"empty", "", false},
	{"slash", "/", false},
	{"absolute", "/a", false},
	{"trailing slash", "a/", false},
	{"double slash", "a//b", false},
	{"parent", "..", false},
	{"parent first", "../a", false},
	{"parent inside", "a/../b", false},
	{"parent last", "a/..", false},
	{"dot first", "./a", false},
	{"dot inside", "a/./b", false},
	{"dot last", "a/.", false},
	{"NUL", "a\x00b", false},
	{"NUL last", "a\x00", false},
	{"backslash", `a\b`, false},
	{"backslash parent", `..\a`, false},
	{"newline", "a\nb", false},
	{"escape", "a\x1bb", false},
	{"unit separator", "a\x1fb", false},
	{"DEL", "a\x7fb", false},
	{"C1 first", "a\u0080b", false},
	{"C1 last", "a\u009fb", false},
	{"invalid UTF-8", "a\xffb", false},
	{"overlong slash", "a\xc0\xafb", false},
	{"surrogate", "a\xed\xa0\x80b", false},
	{"truncated rune at an element's end", "a\xc3/b", false},
	{"element too long", strings.Repeat("n", provider.MaxElem+1), false},
	{"element too long in bytes, not in runes", strings.Repeat("\u00e9", 128), false},
	{"middle element too long", "a/" + strings.Repeat("n", provider.MaxElem+1) + "/b", false},
	{"path too long", longest() + "/n", false},
}

func TestParsePath(t *testing.T) {
	for _, tt := range pathTable {
		t.Run(tt.name, func(t *testing.T) {
			p, err := provider.ParsePath(tt.in)
			if tt.ok {
				if err != nil || p.String() != tt.in {
					t.Fatalf("ParsePath(%q) = %q, %v", tt.in, p, err)
				}
				return
			}
			if !errors.Is(err, provider.ErrPath) || !errors.Is(err, fs.ErrInvalid) {
				t.Fatalf("ParsePath(%q) = %q, %v; want ErrPath", tt.in, p, err)
			}
			if !p.IsRoot() {
				t.Errorf("ParsePath(%q) returned %q beside an error", tt.in, p)
			}
			if strings.ContainsAny(err.Error(), "\x00\n\x1b\\") {
				t.Errorf("the error repeats raw input: %q", err)
			}
		})
	}
}

func TestMustPathPanics(t *testing.T) {
	if p := provider.MustPath("a/b"); p.String() != "a/b" {
		t.Errorf("MustPath(a/b) = %q", p)
	}
	defer func() {
		if recover() == nil {
			t.Error("MustPath(..) did not panic")
		}
	}()
	provider.MustPath("..")
}

func TestPathParts(t *testing.T) {
	for _, tt := range []struct {
		in, base, parent string
		elems            []string
	}{
		{".", ".", ".", nil},
		{"a", "a", ".", []string{"a"}},
		{"a/b", "b", "a", []string{"a", "b"}},
		{"a/b/c.d", "c.d", "a/b", []string{"a", "b", "c.d"}},
	} {
		p := provider.MustPath(tt.in)
		if p.Base() != tt.base || p.Parent().String() != tt.parent {
			t.Errorf("%q: Base %q, Parent %q; want %q, %q", tt.in, p.Base(), p.Parent(), tt.base, tt.parent)
		}
		if got := slices.Collect(p.Elems()); !slices.Equal(got, tt.elems) {
			t.Errorf("%q: Elems %q, want %q", tt.in, got, tt.elems)
		}
		if p.IsRoot() != (tt.in == ".") {
			t.Errorf("%q: IsRoot %v", tt.in, p.IsRoot())
		}
	}
	if (provider.Path{}) != provider.MustPath(".") {
		t.Error("the zero Path is not the root")
	}
	for range provider.MustPath("a/b").Elems() {
		break // must not panic: an iterator whose consumer stops early
	}
}

func TestPathJoin(t *testing.T) {
	for _, tt := range []struct {
		dir, elem, want string
	}{
		{".", "a", "a"},
		{"a", "b", "a/b"},
		{"a/b", "...", "a/b/..."},
		{".", ".", ""},
		{"a", ".", ""},
		{"a", "..", ""},
		{"a", "", ""},
		{".", "", ""},
		{"a", "b/c", ""},
		{"a", "/", ""},
		{"a", "b\x00", ""},
		{"a", `b\c`, ""},
		{"a", "b\xff", ""},
		{"a", strings.Repeat("n", provider.MaxElem+1), ""},
		{longest(), "n", ""},
	} {
		p, err := provider.MustPath(tt.dir).Join(tt.elem)
		switch {
		case tt.want == "" && (!errors.Is(err, provider.ErrPath) || !p.IsRoot()):
			t.Errorf("%.20q.Join(%.20q) = %.40q, %v; want ErrPath", tt.dir, tt.elem, p, err)
		case tt.want != "" && (err != nil || p.String() != tt.want):
			t.Errorf("%q.Join(%q) = %q, %v; want %q", tt.dir, tt.elem, p, err, tt.want)
		}
		text := tt.elem
		if dir := provider.MustPath(tt.dir); !dir.IsRoot() {
			text = dir.String() + "/" + tt.elem
		}
		if q, qerr := provider.MustPath(tt.dir).Extend(text); q != p || fmt.Sprint(qerr) != fmt.Sprint(err) {
			t.Errorf("%.20q.Extend(%.40q) = %.40q, %v; Join says %.40q, %v", tt.dir, text, q, qerr, p, err)
		}
	}
}

// TestPathExtendBelow: text that does not begin with the directory is no text below
// it, however well it is formed.
func TestPathExtendBelow(t *testing.T) {
	dir := provider.MustPath("a/b")
	for _, text := range []string{"", "a", "a/b", "a/bc", "a/bc/d", "a/c/d", "x", "b", "A/b/c", "a/b0c", "/a/b/c", "a/b/", "a/b/c/d", "a/b//c", "."} {
		if p, err := dir.Extend(text); !errors.Is(err, provider.ErrPath) || !p.IsRoot() {
			t.Errorf("%q.Extend(%q) = %q, %v; want ErrPath", dir, text, p, err)
		}
	}
}

func TestPathCut(t *testing.T) {
	for _, tt := range []struct {
		p, q, rest string
		ok         bool
	}{
		{".", ".", ".", true},
		{".", "a/b", "a/b", true},
		{"a", "a", ".", true},
		{"a", "a/b/c", "b/c", true},
		{"a", "ab", "", false},
		{"a/b", "a", "", false},
		{"a/b", "a/bc", "", false},
		{"a", ".", "", false},
		{"A", "a/b", "", false},
	} {
		rest, ok := provider.MustPath(tt.p).Cut(provider.MustPath(tt.q))
		if ok != tt.ok || ok && rest.String() != tt.rest {
			t.Errorf("%q.Cut(%q) = %q, %v; want %q, %v", tt.p, tt.q, rest, ok, tt.rest, tt.ok)
		}
		if got := provider.MustPath(tt.p).Contains(provider.MustPath(tt.q)); got != tt.ok {
			t.Errorf("%q.Contains(%q) = %v", tt.p, tt.q, got)
		}
	}
}

func TestPathAllocations(t *testing.T) {
	const name = "src/internal/caf\u00e9/deep/er/file.go"
	p, dir := provider.MustPath(name), provider.MustPath("src/internal")
	for what, f := range map[string]func(){
		"ParsePath": func() { provider.ParsePath(name) },
		"Parent":    func() { _ = p.Parent() },
		"Base":      func() { _ = p.Base() },
		"Cut":       func() { dir.Cut(p) },
		"Extend":    func() { dir.Extend("src/internal/caf\u00e9") },
		"String":    func() { _ = p.String() },
		"Elems": func() {
			for range p.Elems() {
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// FuzzParsePath holds ParsePath against io/fs.ValidPath and checks that every
// part of an accepted path is accepted.
func FuzzParsePath(f *testing.F) {
	for _, tt := range pathTable {
		f.Add(tt.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := provider.ParsePath(s)
		if err != nil {
			if !errors.Is(err, provider.ErrPath) || !p.IsRoot() || !utf8.ValidString(err.Error()) {
				t.Fatalf("ParsePath(%q) = %q, %v", s, p, err)
			}
			return
		}
		if !fs.ValidPath(s) {
			t.Fatalf("ParsePath accepts %q, io/fs does not", s)
		}
		if p.String() != s {
			t.Fatalf("ParsePath(%q).String() = %q", s, p)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == '\\' || 0x7f <= r && r <= 0x9f }) {
			t.Fatalf("ParsePath accepts %q", s)
		}
		rebuilt := provider.Path{}
		for elem := range p.Elems() {
			next, err := rebuilt.Join(elem)
			if err != nil {
				t.Fatalf("%q.Join(%q): %v", rebuilt, elem, err)
			}
			if same, err := rebuilt.Extend(next.String()); same != next || err != nil {
				t.Fatalf("%q.Extend(%q) = %q, %v", rebuilt, next, same, err)
			}
			if next.Parent() != rebuilt || next.Base() != elem || !rebuilt.Contains(next) || next.Contains(rebuilt) {
				t.Fatalf("%q and %q disagree", rebuilt, next)
			}
			rebuilt = next
		}
		if rebuilt != p {
			t.Fatalf("%q rebuilt from its elements is %q", p, rebuilt)
		}
		if rest, ok := p.Cut(p); !ok || !rest.IsRoot() {
			t.Fatalf("%q.Cut(itself) = %q, %v", p, rest, ok)
		}
	})
}
