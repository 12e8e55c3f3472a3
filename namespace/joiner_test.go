package namespace_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// TestJoinerIsJoin: whatever is joined to whatever else, before and after anything
// else, is what Join makes of it, and stays it.
func TestJoinerIsJoin(t *testing.T) {
	dirs := []namespace.Path{{}, namespace.MustParse("/"), namespace.MustParse("/a"), namespace.MustParse("/ä/b.c"), namespace.MustParse("/" + strings.Repeat("deep/", 700) + "end")}
	for n := 200; n < 4096; n += 200 {
		dirs = append(dirs, namespace.MustParse("/"+strings.Repeat("d/", n/2)+"e"))
	}
	elems := []string{"", ".", "..", "...", "a", "ab/c", "/", "a\\b", "a\x00", "tab\t", "\x7f", "\xff", "ü", "a\u202e", "\u0085", "workspace", "file0001.txt",
		strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("ü", 128)}
	var j namespace.Joiner
	type made struct{ got, want namespace.Path }
	var all []made
	for range 20 {
		for _, dir := range dirs {
			for _, elem := range elems {
				want, wantErr := dir.Join(elem)
				got, err := j.Join(dir, elem)
				if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) || errors.Is(err, provider.ErrPath) != (wantErr != nil) {
					t.Fatalf("%.40q and %.40q: %q, %v; Join says %q, %v", dir, elem, got, err, want, wantErr)
				}
				all = append(all, made{got, want})
			}
		}
	}
	for _, m := range all {
		if m.got != m.want {
			t.Fatalf("%q became %q", m.want, m.got)
		}
	}
}

func TestJoinerAllocations(t *testing.T) {
	dir := namespace.MustParse("/src/pkg")
	var j namespace.Joiner
	if n := testing.AllocsPerRun(100, func() {
		for range 25 {
			if _, err := j.Join(dir, "file0001.go"); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 1 {
		t.Errorf("%v allocations for 25 short paths, want 1", n)
	}
}

// TestJoinerCopy: a copy of a Joiner, which nothing forbids the compiler, does not
// write over what the other has made.
func TestJoinerCopy(t *testing.T) {
	dir := namespace.MustParse("/a")
	var j namespace.Joiner
	if _, err := j.Join(dir, "first"); err != nil {
		t.Fatal(err)
	}
	k := j
	p, err := j.Join(dir, "granted.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, elem := range []string{"secrets.txt", "x/../../.."} {
		k.Join(dir, elem)
		if p.String() != "/workspace/a/granted.txt" {
			t.Fatalf("the Path became %q when %q was joined", p, elem)
		}
	}
}
