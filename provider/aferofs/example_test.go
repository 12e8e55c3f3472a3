package aferofs_test

import (
	"fmt"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider/aferofs"
)

// A backend that exists as an afero.Fs, under a policy.
func ExampleNew() {
	backend := afero.NewMemMapFs()
	if err := afero.WriteFile(backend, "/notes.txt", []byte("hello"), 0o644); err != nil {
		fmt.Println(err)
	}
	fsys := policyfs.New(namespace.Workspace(aferofs.New(backend)), policyfs.Options{Policy: policyfs.ReadOnly()})
	data, err := afero.ReadFile(fsys, "notes.txt")
	fmt.Println(string(data), err)
	fmt.Println(fsys.Remove("notes.txt"))
	// Output:
	// hello <nil>
	// remove notes.txt: not allowed to remove /workspace/notes.txt: no allow_write covers it
}
