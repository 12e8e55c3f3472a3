package policyfs_test

import (
	"fmt"
	"log"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

func workspace(p provider.Provider) afero.Fs {
	return policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policyfs.ReadWrite()})
}

func Example() {
	inMemory := workspace(memfs.New(memfs.Options{}))
	disk, err := diskfs.Open(".", diskfs.Options{})
	if err != nil {
		log.Fatal(err)
	}
	onDisk := workspace(disk)
	fmt.Println(afero.WriteFile(inMemory, "notes.txt", []byte("hello"), 0o644))
	_, err = onDisk.Open(".env") // it need not exist: a refusal says nothing about that
	fmt.Println(err)

	// Output:
	// <nil>
	// open .env: not allowed to read /workspace/.env: sensitive ".env"
}
