//go:build unix

package diskfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// A directory of the host, contained: a link in it is refused by the call that
// opens.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "notes")); err != nil {
		fmt.Println(err)
	}
	disk, err := diskfs.Open(dir, diskfs.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer disk.Close()

	ctx := context.Background()
	fmt.Println(provider.WriteFile(ctx, disk, provider.MustPath("hello.txt"), []byte("hello"), 0))
	data, err := provider.ReadFile(ctx, disk, provider.MustPath("hello.txt"))
	fmt.Println(string(data), err)
	_, err = provider.ReadFile(ctx, disk, provider.MustPath("notes"))
	fmt.Println(errors.Is(err, provider.ErrSymlink), errors.Is(err, fs.ErrPermission))
	// Output:
	// <nil>
	// hello <nil>
	// true true
}
