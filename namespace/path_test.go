package namespace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
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

func TestParseRefusals(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, want := range map[string]string{
		"a/../b":                    `".." is refused`,
		"a\\b":                      "backslash",
		"a\x01":                     "control character",
		"a\u009f":                   "control character",
		"a\x7fb":                    "control character",
		"\xc3\x28":                  "invalid UTF-8",
		"a\u2067b":                  "bidirectional",
		long:                        "255 bytes",
		strings.Repeat("x/", 2048):  "4095 bytes",
		strings.Repeat("x", 65537):  "64 KiB",
		strings.Repeat("./", 32769): "64 KiB",
	} {
		_, err := Parse(root, name)
		if !errors.Is(err, provider.ErrPath) || !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.20q): %v, want %q", name, err, want)
		}
	}
	for _, r := range "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		if _, err := Parse(root, "a/"+string(r)+"b"); err == nil {
			t.Errorf("%U is let through", r)
		}
		if _, err := root.Join(string(r)); err == nil {
			t.Errorf("%U is let through by Join", r)
		}
	}
	for _, name := range []string{"a", "", "."} {
		if _, err := Parse(Path{}, name); !errors.Is(err, provider.ErrPath) {
			t.Errorf("Parse of %q without a directory: %v", name, err)
		}
	}
	if _, err := Parse(root, strings.Repeat("./", 32768)+""); err != nil {
		t.Errorf("64 KiB of dots: %v", err)
	}
}

func TestPathMethods(t *testing.T) {
	p := MustParse("/a/b/c")
	if p.Base() != "c" || p.Parent() != MustParse("/a/b") || p.Parent().Parent().Parent() != root || root.Parent() != root || root.Base() != "workspace" {
		t.Errorf("%v %v %v", p.Base(), p.Parent(), root.Base())
	}
	if !root.IsRoot() || p.IsRoot() || (Path{}).IsRoot() || MustParse("/") != root || MustParse("/workspace") != root {
		t.Error("IsRoot")
	}
	for _, c := range []struct {
		p, q string
		want bool
	}{{"/", "/a", true}, {"/a", "/a", true}, {"/a", "/a/b", true}, {"/a", "/ab", false}, {"/a/b", "/a", false}, {"/a", "/A", false}} {
		if got := MustParse(c.p).Contains(MustParse(c.q)); got != c.want {
			t.Errorf("%s contains %s: %v", c.p, c.q, got)
		}
	}
	if (Path{}).Contains(root) || root.Contains(Path{}) || (Path{}).Contains(Path{}) {
		t.Error("the unset Path contains or is contained")
	}
	if (Path{}).String() != "" || (Path{}).Base() != "" || (Path{}).Parent() != (Path{}) {
		t.Error("the unset Path")
	}
	for _, elem := range []string{"", ".", "..", "a/b", "/", "a\\b", "a\nb", "a\u202eb", "\xff", strings.Repeat("x", 256)} {
		if q, err := p.Join(elem); !errors.Is(err, provider.ErrPath) {
			t.Errorf("Join(%q) = %v, %v", elem, q, err)
		}
	}
	if q, err := p.Join("d e"); err != nil || q.String() != "/workspace/a/b/c/d e" {
		t.Errorf("%v, %v", q, err)
	}
	if q, err := root.Join("workspace"); err != nil || q.String() != "/workspace/workspace" {
		t.Errorf("%v, %v", q, err)
	}
	if _, err := (Path{}).Join("a"); !errors.Is(err, provider.ErrPath) {
		t.Errorf("Join to the unset Path: %v", err)
	}
	deep := MustParse(strings.Repeat("x/", 2042)) // 10 + 4084 bytes
	if _, err := deep.Join("y"); !errors.Is(err, provider.ErrPath) {
		t.Errorf("a path of %d bytes", len(deep.String())+2)
	}
	defer func() {
		if recover() == nil {
			t.Error("MustParse did not panic")
		}
	}()
	MustParse("../x")
}
