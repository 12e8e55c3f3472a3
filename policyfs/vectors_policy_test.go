package policyfs

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
)

// policyVector is one case of testdata/policy.json.
type policyVector struct {
	Name      string
	Policy    policyForm
	Op        string
	Path      string
	Expect    string
	Files     map[string]string
	Entries   []string
	Unchanged bool
}

// policyForm is a policy as the vectors write it.
type policyForm struct {
	Preset  string
	Spec    *Spec
	Compose []policyForm
}

// build makes the policy; an error is one of Compile.
func (f policyForm) build(t testing.TB) (Policy, error) {
	t.Helper()
	switch {
	case f.Preset == "read_only":
		return ReadOnly(), nil
	case f.Preset == "read_write":
		return ReadWrite(), nil
	case f.Spec != nil:
		return Compile(*f.Spec)
	case f.Compose != nil:
		var layers []Policy
		for _, part := range f.Compose {
			p, err := part.build(t)
			if err != nil {
				return nil, err
			}
			layers = append(layers, p)
		}
		return Compose(layers...), nil
	}
	t.Fatalf("no policy in %+v", f)
	return nil, nil
}

func policyVectors(t testing.TB) []policyVector {
	t.Helper()
	data, err := os.ReadFile("testdata/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []policyVector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// TestPolicyVectors answers every case of policy.json as far as the policy alone
// can: what a tree changes about it is tested through the FS.
func TestPolicyVectors(t *testing.T) {
	vectors := policyVectors(t)
	if len(vectors) != 410 {
		t.Fatalf("%d vectors, want 410", len(vectors))
	}
	ops := map[string]Op{"read": OpRead, "write": OpWrite, "list": OpList, "stat": OpStat, "mkdir": OpCreate, "remove": OpRemove, "removeall": OpRemoveTree}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			p, err := v.Policy.build(t)
			if v.Op == "compile" {
				if (err != nil) != (v.Expect == "error") {
					t.Fatalf("Compile: %v, want %s", err, v.Expect)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			path, err := namespace.Parse(namespace.MustParse("/"), v.Path)
			if v.Op == "parse" {
				if (err != nil) != (v.Expect == "error") {
					t.Fatalf("Parse: %v, want %s", err, v.Expect)
				}
				return
			}
			op, ok := ops[v.Op]
			if !ok {
				t.Fatalf("unknown op %q", v.Op)
			}
			if err != nil {
				if v.Expect != "deny" {
					t.Fatalf("Parse: %v, want %s", err, v.Expect)
				}
				return
			}
			d := check(p, Request{op, path})
			if !d.Allow && d.Rule == "" {
				t.Error("a denial without a rule")
			}
			switch {
			case v.Op == "removeall":
				// A file is removed as by Remove, and a tree needs its descendants:
				// the verdict is the FS's. The policy can only forbid.
				if v.Expect == "allow" && !check(p, Request{OpRemove, path}).Allow {
					t.Errorf("remove: %+v, want allow", d)
				}
				return
			case d.Allow != (v.Expect == "allow"):
				t.Fatalf("%s %s: %+v, want %s", op, path, d, v.Expect)
			}
			if v.Entries != nil {
				if got := visibleBelow(p, path, v.Files); !slices.Equal(got, v.Entries) {
					t.Errorf("entries %q, want %q", got, v.Entries)
				}
			}
		})
	}
}

// visibleBelow lists the directory dir of a tree that holds files, through the
// cursor.
func visibleBelow(p Policy, dir namespace.Path, files map[string]string) []string {
	prefix := "/"
	if elems := pathElems(dir); elems != "" {
		prefix = "/" + elems + "/"
	}
	c := newCursor(p, dir)
	entries := []string{}
	for file := range files {
		rest, ok := strings.CutPrefix(file, prefix)
		if !ok {
			continue
		}
		name, _, isDir := strings.Cut(rest, "/")
		if !c.entry(name, isDir) {
			continue
		}
		entry := prefix + name
		if isDir {
			entry += "/"
		}
		if !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	slices.Sort(entries)
	return entries
}
