package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// policy20 is the policy of twenty scopes that every row of the whole stack runs
// under.
func policy20() policyfs.Policy { return policyOf(20) }

// policyOf returns a policy of that many scopes, none of which is about the files
// that the rows use.
func policyOf(scopes int) policyfs.Policy {
	spec := policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowHidden: []string{".agents"},
		DenyWriteComponent:   []string{"node_modules", "target", "dist", "build", ".venv"},
		AllowRecursiveDelete: true,
	}
	for i := 8; i < scopes; i += 2 {
		spec.DenyRead = append(spec.DenyRead, fmt.Sprintf("private%d/keys", i))
		spec.DenyWrite = append(spec.DenyWrite, fmt.Sprintf("generated/locked%d", i))
	}
	p, err := policyfs.Compile(spec)
	if err != nil {
		panic(err) // the scopes above are constants
	}
	return p
}

// stackOn is the whole stack over a provider.
func stackOn(p provider.Provider, policy policyfs.Policy) *policyfs.FS {
	return policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policy, MaxWalk: 1 << 22})
}

// disk is the whole stack over a directory; release closes it.
func disk(dir string) (f *policyfs.FS, release func(), err error) { return diskUnder(dir, policy20()) }

// diskWithFile is disk over a directory with a file of 4 KiB at depth 8, called name.
func diskWithFile(dir string) (f *policyfs.FS, name string, release func(), err error) {
	name = deep(8)
	if err = plant(dir, name, 4096); err == nil {
		f, release, err = disk(dir)
	}
	return f, name, release, err
}

// diskUnder is disk under a policy.
func diskUnder(dir string, policy policyfs.Policy) (f *policyfs.FS, release func(), err error) {
	d, err := diskfs.Open(dir, diskfs.Options{})
	if err != nil {
		return nil, nil, err
	}
	return stackOn(d, policy), func() { d.Close() }, nil
}

// memory is the whole stack over a memory provider.
func memory() (*policyfs.FS, *memfs.FS) {
	m := memfs.New(memfs.Options{})
	return stackOn(m, policy20()), m
}

// deep returns the name of a file at that depth, in the form of package io/fs.
func deep(depth int) string {
	var b strings.Builder
	for i := 1; i < depth; i++ {
		fmt.Fprintf(&b, "dir%d/", i)
	}
	return b.String() + "file.txt"
}

// numbered returns a function from i to a name that ends in i, each made once.
func numbered(prefix string) func(i int) string {
	var names []string
	return func(i int) string {
		for len(names) <= i {
			names = append(names, fmt.Sprintf("%s%06d", prefix, len(names)))
		}
		return names[i]
	}
}

// plant makes a file of that size at the name below a host directory.
func plant(dir, name string, size int) error {
	host := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(host), 0o755); err != nil {
		return err
	}
	return os.WriteFile(host, make([]byte, size), 0o644)
}

// plantIn makes a file of that size in any afero filesystem.
func plantIn(f afero.Fs, name string, size int) error {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		if err := f.MkdirAll(name[:i], 0o755); err != nil {
			return err
		}
	}
	return afero.WriteFile(f, name, make([]byte, size), 0o644)
}

// copyTree copies the files below a host directory into a memory provider.
func copyTree(m *memfs.FS, dir string) error {
	ctx := context.Background()
	return filepath.WalkDir(dir, func(host string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(dir, host)
		if err := errors.Join(err, rerr); err != nil || rel == "." {
			return err
		}
		name, err := provider.ParsePath(filepath.ToSlash(rel))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return m.Mkdir(ctx, name, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(host)
		if err != nil {
			return err
		}
		return provider.WriteFile(ctx, m, name, data, 0)
	})
}
