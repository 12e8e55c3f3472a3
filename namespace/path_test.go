package namespace

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

func TestPathVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/paths.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Input string
			Canonical   *string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 90 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		p, err := Parse(root, c.Input)
		switch {
		case c.Canonical == nil:
			if !errors.Is(err, provider.ErrPath) {
				t.Errorf("%s: Parse(%q) = %v, %v; want ErrPath", c.Name, c.Input, p, err)
			}
		case err != nil || p.String() != *c.Canonical:
			t.Errorf("%s: Parse(%q) = %q, %v; want %q", c.Name, c.Input, p, err, *c.Canonical)
		default:
			if again, err := Parse(Path{}, p.String()); again != p || err != nil {
				t.Errorf("%s: Parse(%q) = %q, %v; not idempotent", c.Name, p, again, err)
			}
		}
	}
}

func TestParseAllocs(t *testing.T) {
	n, err := New(Mount{At: "/workspace", Provider: newSynthetic(&node{})}, Mount{At: "/mnt/notes", Provider: newSynthetic(&node{})})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		dir   Path
		input string
		want  float64
	}{
		{"canonical", Path{}, "/workspace/internal/pkg/a/b/c/d/file.go", 0},
		{"canonical é", Path{}, "/workspace/internal/é/file.go", 0},
		{"bare", Path{}, "/internal/pkg/a/b/c/d/file.go", 1},
		{"relative", MustParse("/internal"), "pkg/a/b/c/d/file.go", 1},
		{"dot", MustParse("/internal"), ".", 0},
	} {
		got := testing.AllocsPerRun(100, func() {
			p, err := Parse(c.dir, c.input)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Lookup(p); err != nil {
				t.Fatal(err)
			}
			if n.Children(p) != nil || n.Aliases(p) != nil || n.MountPoint(p) || n.Display(p) == "" || p.Parent().s == "" {
				t.Fatal("unexpected")
			}
		})
		if got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.want)
		}
	}
}

func BenchmarkParseLookup(b *testing.B) {
	n := Workspace(newSynthetic(&node{}))
	for _, c := range []struct{ name, in string }{{"canonical", "/workspace/a1/b2/c3/d4/e5/f6/g7/file.go"}, {"bare", "/a1/b2/c3/d4/e5/f6/g7/file.go"}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p, err := Parse(root, c.in)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := n.Lookup(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
