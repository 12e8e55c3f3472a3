package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

func ExampleParse() {
	dir := namespace.MustParse("/workspace/app")
	for _, name := range []string{"src/x.go", "/src/x.go", "/workspace/src//x.go", "a/../b", `a\b`} {
		p, err := namespace.Parse(dir, name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(p)
	}
	// Output:
	// /workspace/app/src/x.go
	// /workspace/src/x.go
	// /workspace/src/x.go
	// invalid path: ".." is refused
	// invalid path: backslash
}

func ExampleWorkspace() {
	ns := namespace.Workspace(memfs.New(memfs.Options{}))
	target, err := ns.Resolve(namespace.Path{}, "notes/today.md")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(target.Path, target.Rel, target.Access)
	// Output: /workspace/notes/today.md notes/today.md read-write
}

func ExampleNew() {
	ns, err := namespace.New(
		namespace.Mount{At: "/workspace", Access: namespace.ReadWrite, Provider: memfs.New(memfs.Options{})},
		namespace.Mount{At: "/data", Provider: memfs.New(memfs.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"src", "/data/set.csv", "/workspace/data/set.csv", "/Data/set.csv"} {
		target, err := ns.Resolve(namespace.Path{}, name)
		if errors.Is(err, namespace.ErrOutside) {
			fmt.Println(name, "is", err)
			continue
		}
		fmt.Println(ns.Display(target.Path), target.Access)
	}
	// Output:
	// /workspace/src read-write
	// /data/set.csv read-only
	// /data/set.csv read-only
	// /Data/set.csv is outside every mount of the workspace
}

// The rights of a directory are its own, by whatever path an agent comes.
func ExampleFromGrants() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	if err := os.MkdirAll(filepath.Join(home, "app", "vendor"), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	// A program opens directories with diskfs; this one keeps all in memory.
	open := func(dir string, access namespace.Access) (provider.Provider, error) {
		return memfs.New(memfs.Options{}), nil
	}
	ns, err := namespace.FromGrants(namespace.Portable, open,
		namespace.Grant{Dir: filepath.Join(home, "app"), Label: "My App", Access: namespace.ReadWrite, Default: true},
		namespace.Grant{Dir: filepath.Join(home, "app", "vendor"), Label: "Vendor", Kind: namespace.KindFolder})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ns.Close()
	for _, m := range ns.Mounts() {
		fmt.Println(ns.Display(m.At), m.Access)
	}
	target, err := ns.Resolve(namespace.Path{}, "main.go")
	fmt.Println(target.Path, err)
	// Output:
	// /mnt/vendor read-only
	// /workspace/my-app read-write
	// /workspace/my-app/vendor read-only
	// /workspace/my-app/main.go <nil>
}

func ExampleLive() {
	var live namespace.Live
	if _, err := live.Namespace(); errors.Is(err, fs.ErrPermission) {
		fmt.Println("denied:", err)
	}
	live.Store(namespace.Workspace(memfs.New(memfs.Options{})))
	ns, err := live.Namespace()
	fmt.Println(len(ns.Mounts()), err)
	// Output:
	// denied: no mounts
	// 1 <nil>
}

func ExampleNamespace_ResolveParents() {
	ctx := context.Background()
	m := memfs.New(memfs.Options{})
	if err := m.Mkdir(ctx, provider.MustPath("src"), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	ns := namespace.Workspace(m)
	mayStat := func(namespace.Target) error { return nil } // a policy's answer
	src := namespace.MustParse("/workspace/src")
	for _, name := range []string{"../README", "../src/../README", "../../etc"} {
		target, err := ns.ResolveParents(ctx, src, name, mayStat)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(target.Path)
	}
	// Output:
	// /workspace/README
	// /workspace/README
	// outside every mount of the workspace
}

// read is the tool of the package documentation.
func read(ctx context.Context, ns *namespace.Namespace, session namespace.Path, name string) (string, error) {
	target, err := ns.Resolve(session, name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", namespace.Quote(name), err)
	}
	data, err := provider.ReadFile(ctx, target.Provider, target.Rel)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ns.Display(target.Path), err)
	}
	return string(data), nil
}

func ExampleNamespace_Resolve() {
	ctx := context.Background()
	m := memfs.New(memfs.Options{})
	if err := provider.WriteFile(ctx, m, provider.MustPath("x.go"), []byte("package x"), 0); err != nil {
		fmt.Println(err)
		return
	}
	ns := namespace.Workspace(m)
	session, _ := ns.Dir()
	for _, name := range []string{"x.go", "/workspace/x.go", "../x.go", "x\ny"} {
		fmt.Println(read(ctx, ns, session, name))
	}
	// Output:
	// package x <nil>
	// package x <nil>
	//  read ../x.go: invalid path: ".." is refused
	//  read "x\ny": invalid path: control character
}
