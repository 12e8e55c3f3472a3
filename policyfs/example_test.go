package policyfs_test

import (
	"fmt"
	"strings"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// In the place of afero.NewMemMapFs.
func ExampleNew() {
	fsys := policyfs.New(
		namespace.Workspace(memfs.New(memfs.Options{})),
		policyfs.Options{Policy: policyfs.ReadWrite(), CreateParents: true},
	)
	fmt.Println(afero.WriteFile(fsys, "src/main.go", []byte("package main"), 0o644))
	fmt.Println(afero.WriteFile(fsys, "node_modules/x.js", nil, 0o644))
	// Output:
	// <nil>
	// open node_modules/x.js: not allowed to create /workspace/node_modules/x.js: deny_write_component "node_modules"
}

// Scopes are prefixes of whole elements; deny wins over allow.
func ExampleCompile() {
	policy, err := policyfs.Compile(policyfs.Spec{
		AllowRead:  []string{"/"},
		AllowWrite: []string{"src"},
		DenyWrite:  []string{"src/generated"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"src/main.go", "src/generated/api.go", "docs/index.md"} {
		d := policy.Check(policyfs.Request{Op: policyfs.OpWrite, Path: namespace.MustParse("/" + name)})
		fmt.Println(name, d.Allow, d.Rule)
	}
	// Output:
	// src/main.go true allow_write "src"
	// src/generated/api.go false deny_write "src/generated"
	// docs/index.md false no allow_write covers it
}

// A policy file is the Spec as JSON; what is in it by mistake is an error.
func ExampleParseSpec() {
	spec, err := policyfs.ParseSpec(strings.NewReader(`{"allow_read": ["/"], "allow_write": ["/docs"]}`))
	fmt.Println(spec.AllowRead, spec.AllowWrite, err)
	_, err = policyfs.ParseSpec(strings.NewReader(`{"allow_raed": ["/"]}`))
	fmt.Println(err)
	// Output:
	// [/] [/docs] <nil>
	// policyfs: key "allow_raed": unknown
}

// A layer narrows what another one allows.
func ExampleCompose() {
	docsOnly, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"docs"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fsys := policyfs.New(
		namespace.Workspace(memfs.New(memfs.Options{})),
		policyfs.Options{Policy: policyfs.Compose(policyfs.ReadWrite(), docsOnly), CreateParents: true},
	)
	fmt.Println(fsys.Explain(policyfs.OpWrite, "docs/index.md").Allow)
	fmt.Println(fsys.Explain(policyfs.OpWrite, "docs/.env").Allow)
	fmt.Println(fsys.Explain(policyfs.OpWrite, "main.go").Allow)
	// Output:
	// true
	// false
	// false
}

// The digest of what was read makes the write conditional: nothing that came in
// between is lost.
func ExampleFS_WriteFile() {
	fsys := policyfs.New(
		namespace.Workspace(memfs.New(memfs.Options{})),
		policyfs.Options{Policy: policyfs.ReadWrite()},
	)
	read, err := fsys.WriteFile("plan.md", []byte("one\n"), provider.ReplaceOptions{If: provider.IfAbsent()})
	fmt.Println(err)
	_, err = fsys.WriteFile("plan.md", []byte("two\n"), provider.ReplaceOptions{})
	fmt.Println(err)
	_, err = fsys.WriteFile("plan.md", []byte("one and more\n"), provider.ReplaceOptions{If: provider.IfMatch(read)})
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// write plan.md: content changed since it was read
}
