package memfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// A tree with a limit: what would exceed it is refused, and changes nothing.
func ExampleNew() {
	ctx := context.Background()
	m := memfs.New(memfs.Options{MaxBytes: 1 << 10})
	name := provider.MustPath("notes.txt")
	fmt.Println(provider.WriteFile(ctx, m, name, []byte("hello"), 0))
	err := provider.WriteFile(ctx, m, name, make([]byte, 1<<11), 0)
	fmt.Println(errors.Is(err, provider.ErrQuota))
	data, err := provider.ReadFile(ctx, m, name)
	fmt.Println(string(data), err)
	// Output:
	// <nil>
	// true
	// hello <nil>
}

// A tree that is expensive to build is built once; each test changes a clone.
func ExampleFS_Clone() {
	ctx := context.Background()
	name := provider.MustPath("config.json")
	base := memfs.New(memfs.Options{})
	if err := provider.WriteFile(ctx, base, name, []byte("{}"), 0); err != nil {
		fmt.Println(err)
	}
	test := base.Clone()
	if err := provider.WriteFile(ctx, test, name, []byte(`{"debug":true}`), 0); err != nil {
		fmt.Println(err)
	}
	for _, m := range []*memfs.FS{base, test} {
		data, err := provider.ReadFile(ctx, m, name)
		fmt.Println(string(data), err)
	}
	// Output:
	// {} <nil>
	// {"debug":true} <nil>
}

// A planted link shows how code meets what it may find on a disk.
func ExampleFS_Symlink() {
	ctx := context.Background()
	m := memfs.New(memfs.Options{})
	if err := m.Symlink("/etc/passwd", provider.MustPath("notes")); err != nil {
		fmt.Println(err)
	}
	_, err := provider.ReadFile(ctx, m, provider.MustPath("notes"))
	fmt.Println(err, errors.Is(err, fs.ErrPermission))
	// Output: symbolic link refused true
}
