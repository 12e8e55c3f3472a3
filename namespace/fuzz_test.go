package namespace

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/provider"
)

// FuzzParse checks what Parse promises of every text, with and without a
// directory, and that Lookup and Quote cope with it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", ".", "/", "/workspace", "//workspace/./a", "/workspace/workspace", "a//b/", "../x", "a/..", "a\\b", "a\x00", "a\u202eb", "\xff", " a ", "/data/x", "é",
		strings.Repeat("a/", 3000), strings.Repeat("x", 256), "/mnt/Notes/x", "/mnt/no\u200dtes", "~", "C:/x", "/../workspace", "a\u0085"} {
		f.Add("", s)
		f.Add("/src", s)
	}
	n := layout(f, "/workspace rw", "/data", "/mnt/notes")
	f.Fuzz(func(t *testing.T, dirName, name string) {
		dir, err := Parse(Path{}, dirName)
		if err != nil && dir != (Path{}) {
			t.Fatalf("Parse(%q) = %v with an error", dirName, dir)
		}
		p, err := Parse(dir, name)
		checkQuoted(t, name, Quote(name))
		if err != nil {
			if p != (Path{}) || !errors.Is(err, provider.ErrPath) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("Parse(%q) = %v, %v", name, p, err)
			}
			return
		}
		checkCanonical(t, p)
		if again, err := Parse(dir, p.String()); again != p || err != nil {
			t.Fatalf("Parse(%q) = %v, %v: not idempotent", p, again, err)
		}
		if !strings.HasPrefix(name, "/") && !dir.Contains(p) {
			t.Fatalf("%q left %q: %q", name, dir, p)
		}
		if !p.IsRoot() {
			if q, err := p.Parent().Join(p.Base()); q != p || err != nil {
				t.Fatalf("Parent and Base of %q make %q, %v", p, q, err)
			}
		}
		target, err := n.Lookup(p)
		if err == nil && (target.Provider == nil || !target.Mount.Contains(p)) || err != nil && !errors.Is(err, ErrOutside) {
			t.Fatalf("Lookup(%q) = %+v, %v", p, target, err)
		}
		if back, err := n.Resolve(Path{}, n.Display(p)); err == nil && back.Path != p {
			t.Fatalf("Display(%q) = %q leads to %q", p, n.Display(p), back.Path)
		}
	})
}

// checkCanonical checks the text of a Path.
func checkCanonical(t *testing.T, p Path) {
	t.Helper()
	s := p.String()
	if s != rootText && !strings.HasPrefix(s, rootText+"/") || len(s) > MaxPath || !utf8.ValidString(s) {
		t.Fatalf("%q is not canonical", s)
	}
	for elem := range strings.SplitSeq(s[1:], "/") {
		if elem == "" || elem == "." || elem == ".." || len(elem) > 255 {
			t.Fatalf("%q holds the element %q", s, elem)
		}
	}
	for _, r := range s {
		if unicode.IsControl(r) || isBidi(r) || r == '\\' {
			t.Fatalf("%q holds %U", s, r)
		}
	}
	want := strings.TrimPrefix(s[len(rootText):], "/")
	if want == "" {
		want = "."
	}
	if p.tree.String() != want {
		t.Fatalf("%q has the tree path %q", s, p.tree)
	}
}

// FuzzSkeleton looks for names that a policy folds alike and skeletons tell
// apart.
func FuzzSkeleton(f *testing.F) {
	for _, s := range []string{"", "a", "Straße. ", "e\u0301\u0327", "\u1fb4\u034f\u0345", "\u1100\u1161\u11a8", "ﬃ\u200d", "\u0130\u0345x", "..", "\u3000.", "ß\v"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 1024 {
			return
		}
		if got, want := skeleton(s), skeleton(policyFold(s)); got != want {
			t.Fatalf("%+q: skeleton %+q, of the folded name %+q", s, got, want)
		}
	})
}
