package policyfs_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// treeCase is one case of testdata/policy.json.
type treeCase struct {
	Name      string
	Policy    treePolicy
	Op, Path  string
	Expect    string
	Files     map[string]string
	Entries   []string
	Unchanged bool
}

type treePolicy struct {
	Preset  string
	Spec    *policyfs.Spec
	Compose []treePolicy
}

func (p treePolicy) build() (policyfs.Policy, error) {
	switch {
	case p.Preset == "read_only":
		return policyfs.ReadOnly(), nil
	case p.Preset == "read_write":
		return policyfs.ReadWrite(), nil
	case p.Spec != nil:
		return policyfs.Compile(*p.Spec)
	}
	var layers []policyfs.Policy
	for _, part := range p.Compose {
		l, err := part.build()
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return policyfs.Compose(layers...), nil
}

// TestPolicyVectorsThroughFace answers every case of policy.json through the
// methods of FS, on a tree that holds the case's files (or, where it names none,
// what the operation needs to succeed).
func TestPolicyVectorsThroughFace(t *testing.T) {
	data, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []treeCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	withTree, ran := 0, 0
	for _, c := range file.Cases {
		if c.Op == "compile" || c.Op == "parse" {
			continue // no tree changes the answer: TestPolicyVectors has them
		}
		ran++
		tree := c.Files != nil || c.Entries != nil || c.Unchanged
		kinds := []string{"memory"}
		if tree {
			withTree++
			kinds = boxKinds
		}
		for _, kind := range kinds {
			t.Run(c.Name+"/"+kind, func(t *testing.T) { c.run(t, kind) })
		}
	}
	t.Logf("%d cases through the face, %d of them with a tree, on memory and disk", ran, withTree)
	if withTree < 18 || ran < 330 {
		t.Errorf("%d and %d cases", withTree, ran)
	}
}

func (c treeCase) run(t *testing.T, kind string) {
	pol, err := c.Policy.build()
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, kind)
	for name, content := range c.Files {
		if strings.HasSuffix(name, "/") {
			b.mkdir("W" + strings.TrimSuffix(name, "/"))
		} else {
			b.file("W"+name, content)
		}
	}
	b.open()
	if c.Files == nil && (c.Expect == "allow" || c.Op == "read") {
		c.prepare(t, b)
	}
	before := providerTree(t, b.w)
	f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: pol})
	err = c.do(t, f)
	switch {
	case c.Expect == "allow" && err != nil:
		t.Errorf("%s %s: %v, want allow", c.Op, c.Path, err)
	case c.Expect == "deny" && err == nil:
		t.Errorf("%s %s: allowed, want deny", c.Op, c.Path)
	case c.Expect == "deny" && c.Op == "read" && errors.Is(err, fs.ErrNotExist) && f.Explain(policyfs.OpList, c.Path).Allow:
		// A file that bears the name of a directory on the way stays invisible.
	case c.Expect == "deny" && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid):
		t.Errorf("%s %s: %v is no denial", c.Op, c.Path, err)
	}
	if after := providerTree(t, b.w); (c.Unchanged || c.Expect == "deny") && after != before {
		t.Errorf("the tree is now\n%s\nwas\n%s", after, before)
	}
	if c.Op == "removeall" && c.Expect == "allow" {
		p, err := namespace.Parse(namespace.MustParse("/"), c.Path)
		if err != nil {
			t.Fatal(err)
		}
		name := "W" + strings.TrimPrefix(p.String(), "/workspace")
		if _, err := b.lstat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// prepare makes what the operation needs in a case that names no files.
func (c treeCase) prepare(t *testing.T, b *box) {
	t.Helper()
	p, err := namespace.Parse(namespace.MustParse("/"), c.Path)
	if err != nil || p.IsRoot() {
		return
	}
	name := "W" + strings.TrimPrefix(p.String(), "/workspace")
	switch c.Op {
	case "read", "remove", "removeall":
		b.file(name, "x")
	case "list", "stat":
		b.mkdir(name)
	case "write", "mkdir":
		b.mkdir("W" + strings.TrimPrefix(p.Parent().String(), "/workspace"))
	}
}

func (c treeCase) do(t *testing.T, f *policyfs.FS) error {
	t.Helper()
	switch c.Op {
	case "read":
		if p, err := namespace.Parse(namespace.MustParse("/"), c.Path); err == nil && p.IsRoot() {
			return f.Authorize(policyfs.OpRead, c.Path)
		}
		_, err := afero.ReadFile(f, c.Path)
		if _, _, own := f.ReadFile(c.Path); (own == nil) != (err == nil) {
			t.Errorf("ReadFile: %v, Open: %v", own, err)
		}
		return err
	case "write":
		if p, err := namespace.Parse(namespace.MustParse("/"), c.Path); err == nil && p.IsRoot() {
			return f.Authorize(policyfs.OpWrite, c.Path)
		}
		err := afero.WriteFile(f, c.Path, []byte("x"), 0o644)
		if _, own := f.WriteFile(c.Path, []byte("x"), provider.ReplaceOptions{}); (own == nil) != (err == nil) {
			t.Errorf("WriteFile: %v, Create: %v", own, err)
		}
		return err
	case "list":
		list, err := afero.ReadDir(f, c.Path)
		if err != nil {
			return err
		}
		if c.Entries != nil {
			got := []string{}
			for _, info := range list {
				name := strings.TrimSuffix(c.Path, "/") + "/" + info.Name()
				if info.IsDir() {
					name += "/"
				}
				got = append(got, name)
			}
			slices.Sort(got)
			want := slices.Clone(c.Entries)
			if c.Files != nil {
				// What is listed has to be there.
				want = slices.DeleteFunc(want, func(e string) bool {
					for name := range c.Files {
						if strings.HasPrefix(name, e) {
							return false
						}
					}
					return true
				})
			}
			if !slices.Equal(got, want) {
				t.Errorf("entries %q, want %q", got, want)
			}
		}
		return nil
	case "stat":
		_, err := f.Stat(c.Path)
		return err
	case "mkdir":
		return f.Mkdir(c.Path, 0o755)
	case "remove":
		return f.Remove(c.Path)
	case "removeall":
		return f.RemoveAll(c.Path)
	}
	t.Fatalf("unknown op %q", c.Op)
	return nil
}
