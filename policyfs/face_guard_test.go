package policyfs_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

type guardInner struct {
	Out  string   `workspace:"write"`
	Many []string `workspace:"read"`
}

type guardInput struct {
	Plain   string    // not a path
	In      string    `json:"in" workspace:"read"`
	Ptr     *string   `workspace:"write"`
	Ptrs    []*string `workspace:"read"`
	Inner   guardInner
	Pointer *guardInner
	List    []guardInner
	ByName  map[string]int
	Number  int
	note    string
}

// TestGuard: every tagged path is authorized before the tool runs.
func TestGuard(t *testing.T) {
	pol := compile(t, policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"out"}, DenyRead: []string{"secret"}})
	for _, kind := range boxKinds {
		b := newBox(t, kind)
		b.file("W/a", "a")
		b.file("W/secret/x", "S")
		b.mkdir("W/out")
		b.link("W/ln", "a")
		b.open()
		f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: pol})
		ran := 0
		tool, err := policyfs.Guard(f, func(ctx context.Context, f *policyfs.FS, in guardInput) (string, error) {
			ran++
			data, _, err := f.ReadFile("/a")
			return string(data) + in.Plain, err
		})
		if err != nil {
			t.Fatal(err)
		}
		s := func(text string) *string { return &text }
		for label, c := range map[string]struct {
			in guardInput
			ok bool
		}{
			"zero":             {guardInput{}, true},
			"plain is no path": {guardInput{Plain: "/secret/x", note: "/secret/x"}, true},
			"read":             {guardInput{In: "/a"}, true},
			"read missing":     {guardInput{In: "/nope"}, true},
			"read denied":      {guardInput{In: "/secret/x"}, false},
			"dotdot":           {guardInput{In: "../x"}, false},
			"link":             {guardInput{In: "/ln"}, false},
			"below a file":     {guardInput{In: "/a/b"}, false},
			"pointer":          {guardInput{Ptr: s("/out/f")}, true},
			"pointer denied":   {guardInput{Ptr: s("/a")}, false},
			"pointer blank":    {guardInput{Ptr: s("")}, true},
			"pointers":         {guardInput{Ptrs: []*string{nil, s("/a")}}, true},
			"pointers denied":  {guardInput{Ptrs: []*string{s("/a"), s("/secret")}}, false},
			"inner":            {guardInput{Inner: guardInner{Out: "/out/x", Many: []string{"/a", ""}}}, true},
			"inner write":      {guardInput{Inner: guardInner{Out: "/a"}}, false},
			"inner many":       {guardInput{Inner: guardInner{Many: []string{"/a", "/secret/x"}}}, false},
			"pointed inner":    {guardInput{Pointer: &guardInner{Out: "/b"}}, false},
			"list":             {guardInput{List: []guardInner{{Out: "/out/x"}, {Out: "/out/y"}}}, true},
			"list denied":      {guardInput{List: []guardInner{{Out: "/out/x"}, {Out: "/y"}}}, false},
		} {
			before := ran
			out, err := tool(t.Context(), c.in)
			if (err == nil) != c.ok || (ran > before) != c.ok {
				t.Errorf("%s: %s: %q, %v; the tool ran: %v", kind, label, out, err, ran > before)
			}
			if !c.ok && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) && label != "below a file" {
				t.Errorf("%s: %s: %v", kind, label, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tool(ctx, guardInput{In: "/a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the context of the call does not reach the face: %v", kind, err)
		}
	}
}

// TestGuardRefusesTags: what Guard cannot honour it does not pass over.
func TestGuardRefusesTags(t *testing.T) {
	f := policyfs.New(nil, policyfs.Options{})
	wrong := map[string]error{
		"unknown tag": guardError[struct {
			A string `workspace:"raed"`
		}](f),
		"empty tag": guardError[struct {
			A string `workspace:""`
		}](f),
		"number": guardError[struct {
			A int `workspace:"read"`
		}](f),
		"bytes": guardError[struct {
			A []byte `workspace:"read"`
		}](f),
		"map": guardError[struct {
			A map[string]string `workspace:"read"`
		}](f),
		"struct": guardError[struct {
			A struct{ B string } `workspace:"write"`
		}](f),
		"any": guardError[struct {
			A any `workspace:"write"`
		}](f),
		"unexported": guardError[struct {
			a string `workspace:"read"`
		}](f),
		"nested": guardError[struct {
			A struct {
				B []struct {
					C int `workspace:"read"`
				}
			}
		}](f),
		"behind pointer": guardError[struct {
			A **struct {
				B int `workspace:"read"`
			}
		}](f),
		"in a map": guardError[struct {
			A map[string]struct {
				B string `workspace:"read"`
			}
		}](f),
		"no struct": guardError[string](f),
		"slice":     guardError[[]string](f),
	}
	for label, err := range wrong {
		if err == nil {
			t.Errorf("%s: accepted", label)
		} else if !errors.Is(err, fs.ErrInvalid) || !strings.HasPrefix(err.Error(), "guard: ") {
			t.Errorf("%s: %v", label, err)
		}
	}
	type cyclic struct {
		Path string `workspace:"read"`
		Next *cyclic
	}
	if err := guardError[cyclic](f); err != nil {
		t.Errorf("a recursive type: %v", err)
	}
	if err := guardError[*guardInput](f); err != nil {
		t.Errorf("a pointer to a struct: %v", err)
	}
	// A value that holds itself ends.
	g, _ := face(t, "memory", policyfs.Options{})
	loop := &cyclic{Path: "/x"}
	loop.Next = loop
	tool, err := policyfs.Guard(g, func(context.Context, *policyfs.FS, *cyclic) (int, error) { return 1, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool(t.Context(), loop); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a value that holds itself: %v", err)
	}
}

// guardError is the error of Guard for an input type.
func guardError[In any](f *policyfs.FS) error {
	_, err := policyfs.Guard(f, func(context.Context, *policyfs.FS, In) (int, error) { return 0, nil })
	return err
}

// TestSeed: starter files are there whatever the policy says, and later access is
// judged like any other.
func TestSeed(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			b := newBox(t, kind)
			b.file("O/secret", "S")
			b.link("W/ln", "O")
			b.open()
			n, err := namespace.New(namespace.Mount{At: "/workspace", Provider: b.w}) // read-only
			if err != nil {
				t.Fatal(err)
			}
			ro := policyfs.New(n, policyfs.Options{Policy: policyfs.ReadOnly()})
			if err := ro.Seed(policyfs.SeedFile{Name: "deep/er/.env", Data: []byte("E")}, policyfs.SeedFile{Name: "/a.txt", Data: []byte("A"), Perm: 0o600}); err != nil {
				t.Fatal(err)
			}
			if info, err := ro.Stat("/a.txt"); err != nil || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if _, _, err := ro.ReadFile("deep/er/.env"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("a seeded file is judged: %v", err)
			}
			for _, name := range []string{"../x", "ln/x", "/ln/../y", "", "/", "a\x00"} {
				if err := ro.Seed(policyfs.SeedFile{Name: name}); err == nil {
					t.Errorf("Seed(%q) succeeded", name)
				}
			}

			// ReadOnly: in this value and all of one New, before and after.
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, fullSpec())})
			earlier := f.WithDir(namespace.MustParse("/deep"))
			if err := f.Seed(policyfs.SeedFile{Name: "/docs/rules.md", Data: []byte("R"), ReadOnly: true}); err != nil {
				t.Fatal(err)
			}
			before := providerTree(t, b.w)
			later := f.WithPolicy(compile(t, fullSpec()))
			for label, g := range map[string]*policyfs.FS{"itself": f, "earlier": earlier, "later": later, "ctx": f.WithContext(t.Context())} {
				for _, c := range faceCalls() {
					if c.reads || c.method == "Explain" || c.method == "Authorize" || c.method == "HostPath" {
						continue
					}
					for _, name := range []string{"/docs/rules.md", "/DOCS/rules.md", "/docs/RULES.md", "/docs/rules.md."} {
						if c.method == "MkdirAll" || name != "/docs/rules.md" && strings.Contains(c.label, "EXCL") {
							continue // looks before it makes
						}
						names := []string{name, "/docs/other"}[:c.names]
						_, err := c.do(g, names...)
						if !errors.Is(err, fs.ErrPermission) {
							t.Errorf("%s: %s(%q): %v", label, c.label, names, err)
						}
						if c.names == 2 {
							if _, err := c.do(g, "/a.txt", name); !errors.Is(err, fs.ErrPermission) {
								t.Errorf("%s: %s onto %s: %v", label, c.label, name, err)
							}
						}
					}
				}
				for _, dir := range []string{"/docs", "/workspace/docs/"} {
					if err := g.RemoveAll(dir); !errors.Is(err, fs.ErrPermission) {
						t.Errorf("%s: RemoveAll(%s): %v", label, dir, err)
					}
					if err := g.Rename(dir, "/elsewhere"); !errors.Is(err, fs.ErrPermission) {
						t.Errorf("%s: Rename(%s): %v", label, dir, err)
					}
				}
				if err := g.Rename("/deep", "/docs"); err == nil {
					t.Errorf("%s: renamed onto the directory", label)
				}
			}
			if after := providerTree(t, b.w); after != before {
				t.Errorf("the tree changed:\n%s\nwas\n%s", after, before)
			}
			if d := f.Explain(policyfs.OpWrite, "/docs/rules.md"); d.Allow || d.Rule != "read-only starter file" {
				t.Errorf("Explain: %+v", d)
			}
			// The way to it is pinned, also when the file itself is gone.
			b.must(b.w.Remove(t.Context(), provider.MustPath("docs/rules.md")))
			if err := f.Rename("/docs", "/elsewhere"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("moving the way to a starter file: %v", err)
			}
			b.must(b.w.Remove(t.Context(), provider.MustPath("docs")))
			if err := f.Rename("/deep", "/docs"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("moving a directory onto the way to a starter file: %v", err)
			}
			b.mkdir("W/docs")
			// Not in a value of another New: it is not stored anywhere.
			other := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, fullSpec())})
			if _, err := other.WriteFile("/docs/rules.md", []byte("N"), provider.ReplaceOptions{}); err != nil {
				t.Errorf("another New: %v", err)
			}
		})
	}
}
