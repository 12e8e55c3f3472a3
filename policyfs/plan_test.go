package policyfs_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// shuffled is a provider that lists in another order each time.
type shuffled struct{ provider.Provider }

func (p shuffled) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := p.Provider.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return shuffledFile{f}, nil
}

type shuffledFile struct{ provider.File }

func (f shuffledFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	list, err := f.File.ReadDir(limit)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, err
}

// TestRefusalOfATree: which refusal an operation on a tree reports depends on neither
// the order in which the storage lists nor, where a visible entry refuses, on what is
// hidden. Nothing that is refused is looked into, and nothing is changed.
func TestRefusalOfATree(t *testing.T) {
	policy := compile(t, policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"},
		DenyWriteComponent: []string{"node_modules"}, AllowRecursiveDelete: true,
	})
	visible := tree{"t/m/x/y": "", "t/m/node_modules/f": "", "t/z/node_modules": "", "t/n/node_modules/g/h": "", "other": ""}
	hidden := tree{"t/.env": "", "t/a/.git/config": "", "t/m/.hidden": ""}
	for what, c := range map[string]struct {
		with []tree
		path string
		rule string
	}{
		"visible":            {[]tree{visible}, "/m/node_modules", `deny_write_component "node_modules"`},
		"visible and hidden": {[]tree{visible, hidden}, "/m/node_modules", `deny_write_component "node_modules"`},
		"hidden":             {[]tree{hidden}, "", "protected descendant"},
	} {
		all := tree{}
		for _, part := range c.with {
			for name, text := range part {
				all[name] = text
			}
		}
		m := all.memory(t)
		before := providerTree(t, m)
		for op, do := range map[string]func(f *policyfs.FS) error{
			"removeall": func(f *policyfs.FS) error { return f.RemoveAll("/t") },
			"rename":    func(f *policyfs.FS) error { return f.Rename("/t", "/u") },
		} {
			for range 50 {
				s := newSpy(m)
				f := policyfs.New(namespace.Workspace(shuffled{s}), policyfs.Options{Policy: policy})
				var denied *policyfs.DeniedError
				if err := do(f); !errors.As(err, &denied) {
					t.Fatalf("%s, %s: %v", what, op, err)
				}
				// A rename is asked about both ends; the old one comes first.
				if denied.Path != namespace.MustParse("/t"+c.path) || denied.Rule != c.rule {
					t.Fatalf("%s, %s: %v", what, op, denied)
				}
				_, paths := s.take()
				for _, closed := range []string{"t/m/node_modules", "t/n/node_modules", "t/a/.git"} {
					if paths[provider.MustPath(closed)] {
						t.Fatalf("%s, %s: the provider was asked for %s", what, op, closed)
					}
				}
			}
		}
		if providerTree(t, m) != before {
			t.Fatalf("%s: something was changed", what)
		}
	}
}

// TestRefusalOfATreeAndItsSize: a tree that is too large is that, whatever in it
// refuses.
func TestRefusalOfATreeAndItsSize(t *testing.T) {
	m := tree{"t/.env": "", "t/a/b": "", "t/a/c": "", "t/d/e": ""}.memory(t)
	policy := compile(t, policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowRecursiveDelete: true})
	for range 50 {
		f := policyfs.New(namespace.Workspace(shuffled{m}), policyfs.Options{Policy: policy, MaxWalk: 5})
		if err := f.RemoveAll("/t"); !errors.Is(err, provider.ErrTooMany) {
			t.Fatal(err)
		}
		f = policyfs.New(namespace.Workspace(shuffled{m}), policyfs.Options{Policy: policy, MaxWalk: 6})
		if err := f.RemoveAll("/t"); !errors.Is(err, fs.ErrPermission) || errors.Is(err, provider.ErrTooMany) || errors.Is(err, syscall.ENOTEMPTY) {
			t.Fatal(err)
		}
	}
}
