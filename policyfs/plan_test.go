package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// planStorage is a provider that lists in another order each time, and has faults.
type planStorage struct {
	provider.Provider
	reader  bool                     // directories have an EntryReader
	extra   map[string][]fs.DirEntry // what a directory lists besides
	failing map[string]error         // what opening a directory fails with
}

func (p *planStorage) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := p.failing[name.String()]; err != nil {
		return nil, err
	}
	f, err := p.Provider.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	file := planFile{f, p.extra[name.String()]}
	if p.reader {
		return planReader{file}, nil
	}
	return file, nil
}

type planFile struct {
	provider.File
	extra []fs.DirEntry
}

func (f planFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	list, err := f.File.ReadDir(limit)
	list = append(list, f.extra...)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, err
}

type planReader struct{ planFile }

func (f planReader) ReadEntries(limit int, visit func(name string, typ fs.FileMode)) error {
	list, err := f.planFile.ReadDir(limit)
	for _, e := range list {
		visit(e.Name(), e.Type())
	}
	return err
}

func (f planReader) StatEntry(string, *provider.Info) error { return errors.ErrUnsupported }

// entry is one that no memory holds.
func entry(name string, typ fs.FileMode) []fs.DirEntry {
	return []fs.DirEntry{fs.FileInfoToDirEntry(provider.NewInfo(name, 0, typ|0o700, time.Time{}))}
}

// TestRefusalOfATree: which refusal an operation on a tree reports depends on neither
// the order in which the storage lists nor, where an entry refuses that may be named,
// on what is hidden or cannot be read. Nothing that is refused is looked into, and
// nothing is changed.
func TestRefusalOfATree(t *testing.T) {
	write := policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"},
		DenyWriteComponent: []string{"node_modules"}, AllowRecursiveDelete: true,
	}
	writeOnly := write
	writeOnly.DenyRead = []string{"t/wo"}
	passing := write // /t is on the way to something readable, and no more
	passing.AllowRead, passing.DenyWriteComponent = []string{"t/way/deep", "t/z"}, []string{"way"}
	visible := tree{"t/m/x/y": "", "t/m/node_modules/f": "", "t/z/node_modules": "", "t/n/node_modules/g/h": "", "other": ""}
	hidden := tree{"t/.env": "", "t/a/.git/config": "", "t/m/.hidden": "", "t/wo/f": ""}
	const component = `deny_write_component "node_modules"`
	for what, c := range map[string]struct {
		trees []tree
		spec  policyfs.Spec
		fault planStorage
		path  string
		rule  string
	}{
		"named":                     {[]tree{visible}, write, planStorage{}, "/m/node_modules", component},
		"named and hidden":          {[]tree{visible, hidden}, write, planStorage{}, "/m/node_modules", component},
		"hidden":                    {[]tree{hidden}, write, planStorage{}, "", "protected descendant"},
		"named and unreadable":      {[]tree{visible, hidden}, writeOnly, planStorage{failing: map[string]error{"t/wo": syscall.EACCES}}, "/m/node_modules", component},
		"hidden and vanished":       {[]tree{{"t/.env": "", "t/m/x": ""}}, write, planStorage{failing: map[string]error{"t/m": fs.ErrNotExist}}, "", "protected descendant"},
		"no path spells it":         {[]tree{{"t/a/b/c": ""}}, write, planStorage{extra: map[string][]fs.DirEntry{"t/a/b": entry("x\xff", 0)}}, "/a/b", "a name that no path can spell"},
		"no path spells it, hidden": {[]tree{{"t/a/b/c": ""}}, write, planStorage{extra: map[string][]fs.DirEntry{"t/a/b": entry(".x\xff", 0)}}, "", "protected descendant"},
		"named, and a hidden one that no path spells": {[]tree{visible, {"t/a/b/c": ""}}, write,
			planStorage{extra: map[string][]fs.DirEntry{"t/a/b": entry(".ssh\xff", fs.ModeDir)}}, "/m/node_modules", component},
		"the name of a directory on the way": {[]tree{{"t/way": "", "t/z/f": ""}}, passing, planStorage{}, "", "protected descendant"},
		"a directory on the way":             {[]tree{{"t/way/deep/f": "", "t/z/f": ""}}, passing, planStorage{}, "/way", `deny_write_component "way"`},
		"a directory of no kind":             {[]tree{{"t/a": ""}}, write, planStorage{extra: map[string][]fs.DirEntry{"t": entry("odd", fs.ModeDir|fs.ModeIrregular)}}, "/odd", "a directory that nobody can look into"},
	} {
		all := tree{}
		for _, part := range c.trees {
			maps.Copy(all, part)
		}
		m := all.memory(t)
		before := providerTree(t, m)
		policy := compile(t, c.spec)
		for op, do := range map[string]func(f *policyfs.FS) error{
			"removeall": func(f *policyfs.FS) error { return f.RemoveAll("/t") },
			"rename":    func(f *policyfs.FS) error { return f.Rename("/t", "/u") },
		} {
			if op == "rename" && (len(c.spec.AllowRead) > 1 || c.spec.DenyRead != nil) {
				continue // a scope below it forbids that by itself
			}
			for i := range 60 {
				s := newSpy(m)
				storage := c.fault
				storage.Provider, storage.reader = s, i%2 == 0
				f := policyfs.New(namespace.Workspace(&storage), policyfs.Options{Policy: policy})
				var denied *policyfs.DeniedError
				if err := do(f); !errors.As(err, &denied) {
					t.Fatalf("%s, %s: %v", what, op, err)
				}
				if denied.Path != namespace.MustParse("/t"+c.path) || denied.Rule != c.rule {
					t.Fatalf("%s, %s: %v", what, op, denied)
				}
				_, paths := s.take()
				for _, closed := range []string{"t/m/node_modules", "t/n/node_modules", "t/a/.git", "t/odd"} {
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

// TestRefusalOfATreeWithTwoNames: a refusal names what the caller may stat by each of
// its paths.
func TestRefusalOfATreeWithTwoNames(t *testing.T) {
	m := tree{"t/.token-8713": "", "t/node_modules/x": "", "t/plain": ""}.memory(t)
	for what, spec := range map[string]policyfs.Spec{
		"hidden by one path": {AllowHidden: []string{"/w"}, DenyWriteComponent: []string{".token-8713"}},
		"denied by one path": {DenyRead: []string{"/mnt/t/node_modules"}, DenyWriteComponent: []string{"node_modules"}, AllowHidden: []string{"/"}},
	} {
		spec.AllowRead, spec.AllowWrite, spec.AllowRecursiveDelete = []string{"/"}, []string{"/"}, true
		ns, err := namespace.New(namespace.Mount{At: "/w", Provider: m, Access: namespace.ReadWrite}, namespace.Mount{At: "/mnt", Provider: m, Access: namespace.ReadWrite})
		if err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(ns, policyfs.Options{Policy: compile(t, spec)})
		for _, at := range []string{"/w/t", "/mnt/t"} {
			var denied *policyfs.DeniedError
			if err := f.RemoveAll(at); !errors.As(err, &denied) || denied.Rule != "protected descendant" || denied.Path != namespace.MustParse(at) {
				t.Errorf("%s: removeall %s: %v", what, at, err)
			}
		}
	}
}

// sealed is a policy that shows nothing below /drop, and lets nothing be made below
// /pub.
type sealed struct{}

func (sealed) Check(r policyfs.Request) policyfs.Decision {
	drop, pub := namespace.MustParse("/drop"), namespace.MustParse("/pub")
	switch below := func(p namespace.Path) bool { return p != r.Path && p.Contains(r.Path) }; {
	case below(drop) && (r.Op == policyfs.OpRead || r.Op == policyfs.OpStat):
		return policyfs.Decision{Rule: "not for you"}
	case below(pub) && r.Op == policyfs.OpCreate:
		return policyfs.Decision{Rule: "pub is sealed"}
	}
	return policyfs.Decision{Allow: true}
}

// TestRefusalOfAMove: what may not be seen where it lies is not named where it would.
func TestRefusalOfAMove(t *testing.T) {
	f := policyfs.New(namespace.Workspace(tree{"drop/secretname": ""}.memory(t)), policyfs.Options{Policy: sealed{}})
	var denied *policyfs.DeniedError
	if err := f.Rename("/drop", "/pub"); !errors.As(err, &denied) || denied.Rule != "protected descendant" {
		t.Errorf("rename: %v", err)
	}
}

// TestPlanOfATreeThatShrinks: a directory that vanishes while a tree is planned is as
// good as removed, and nothing else is forgotten for it.
func TestPlanOfATreeThatShrinks(t *testing.T) {
	policy := compile(t, policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowRecursiveDelete: true})
	for op, c := range map[string]struct {
		do   func(f *policyfs.FS) error
		left string
	}{
		"removeall": {func(f *policyfs.FS) error { return f.RemoveAll("/t") }, "[]"},
		"rename":    {func(f *policyfs.FS) error { return f.Rename("/t", "/u") }, "[/u /u/f /u/z /u/z/y]"},
	} {
		storage := &vanishing{Provider: tree{"t/f": "", "t/m/x": "", "t/z/y": ""}.memory(t), name: provider.MustPath("t/m")}
		f := policyfs.New(namespace.Workspace(storage), policyfs.Options{Policy: policy})
		err := c.do(f)
		if err != nil || !storage.gone {
			t.Errorf("%s: %v, vanished: %v", op, err, storage.gone)
		}
		var names []string
		for e, err := range f.Walk("/", policyfs.WalkOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !e.Path.IsRoot() {
				names = append(names, e.Path.String()[len("/workspace"):])
			}
		}
		if got := fmt.Sprint(names); got != c.left {
			t.Errorf("%s left %s, want %s", op, got, c.left)
		}
	}
}

// TestPlanOfATreeThatVanishes: parents are not made for a directory that is gone.
func TestPlanOfATreeThatVanishes(t *testing.T) {
	policy := compile(t, policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowRecursiveDelete: true})
	m := tree{"t/f": ""}.memory(t)
	f := policyfs.New(namespace.Workspace(&vanishing{Provider: m, name: provider.MustPath("t")}), policyfs.Options{Policy: policy, CreateParents: true})
	if err := f.Rename("/t", "/new/u"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename: %v", err)
	}
	if got := providerTree(t, m); got != providerTree(t, tree{}.memory(t)) {
		t.Errorf("left %s", got)
	}
	if err := f.RemoveAll("/t"); err != nil {
		t.Errorf("removeall: %v", err)
	}
}

// vanishing is a provider that loses a directory when it is to be listed.
type vanishing struct {
	provider.Provider
	name provider.Path
	gone bool
}

func (p *vanishing) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if name == p.name && !p.gone {
		p.gone = true
		f, err := p.Provider.Open(ctx, name, opts)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		list, err := f.ReadDir(0)
		for _, e := range list {
			below, jerr := name.Join(e.Name())
			err = errors.Join(err, jerr, p.Provider.Remove(ctx, below))
		}
		if err := errors.Join(err, p.Provider.Remove(ctx, name)); err != nil {
			return nil, err
		}
	}
	return p.Provider.Open(ctx, name, opts)
}

// TestFailureOfAPlan: of several directories that cannot be read the first by path is
// told of, and a tree that is too large is that, whatever else there is in it.
func TestFailureOfAPlan(t *testing.T) {
	m := tree{"t/.env": "", "t/a/b": "", "t/a/c": "", "t/d/e": ""}.memory(t)
	spec := policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowRecursiveDelete: true}
	for range 60 {
		storage := &planStorage{Provider: m}
		f := policyfs.New(namespace.Workspace(storage), policyfs.Options{Policy: compile(t, spec), MaxWalk: 5})
		if err := f.RemoveAll("/t"); !errors.Is(err, provider.ErrTooMany) {
			t.Fatal(err)
		}
		f = policyfs.New(namespace.Workspace(storage), policyfs.Options{Policy: compile(t, spec), MaxWalk: 6})
		if err := f.RemoveAll("/t"); !errors.Is(err, fs.ErrPermission) || slices.ContainsFunc([]error{provider.ErrTooMany, syscall.ENOTEMPTY}, func(e error) bool { return errors.Is(err, e) }) {
			t.Fatal(err)
		}
		storage.failing = map[string]error{"t/a": syscall.EIO, "t/d": syscall.EACCES}
		open := spec
		open.AllowHidden, open.AllowSensitive = []string{"/"}, []string{"/"}
		f = policyfs.New(namespace.Workspace(storage), policyfs.Options{Policy: compile(t, open)})
		if err := f.RemoveAll("/t"); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	}
}
