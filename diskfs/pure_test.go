package diskfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

func TestWindowsErrno(t *testing.T) {
	for from, want := range map[syscall.Errno]syscall.Errno{
		145: syscall.ENOTEMPTY, 80: syscall.EEXIST, 183: syscall.EEXIST, 17: syscall.EXDEV, 267: syscall.ENOTDIR,
		206: syscall.ENAMETOOLONG, 112: syscall.ENOSPC, 5: 5, 2: 2,
	} {
		if got := diskfs.WindowsErrno(from); got != want {
			t.Errorf("%d: %d, want %d", from, got, want)
		}
	}
}

// TestBare: whatever package os puts around a condition goes, and texts that
// nobody knows become EIO, so that no host path gets out.
func TestBare(t *testing.T) {
	for _, c := range []struct{ from, want error }{
		{nil, nil},
		{&fs.PathError{Op: "open", Path: "/host", Err: syscall.ENOENT}, syscall.ENOENT},
		{&os.LinkError{Op: "rename", Old: "/host", New: "/host", Err: &fs.PathError{Err: syscall.EXDEV}}, syscall.EXDEV},
		{os.NewSyscallError("read", syscall.EBADF), syscall.EBADF},
		{fmt.Errorf("/host: %w", fs.ErrPermission), fs.ErrPermission},
		{&fs.PathError{Path: "/host", Err: os.ErrClosed}, fs.ErrClosed},
		{errors.New("trouble with /host"), syscall.EIO},
		{errors.New("path escapes from parent"), provider.ErrSymlink},
		{&fs.PathError{Op: "chmodat", Path: "link", Err: syscall.ELOOP}, provider.ErrSymlink},
	} {
		if got := diskfs.Bare(c.from); got != c.want {
			t.Errorf("%v: %v, want %v", c.from, got, c.want)
		}
	}
}

// TestRootEscapes pins the words of os.Root that bare recognises.
func TestRootEscapes(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Symlink("..", "out"); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip("links cannot be made here: ", err)
	}
	if _, err := root.Open("out/x"); diskfs.Bare(err) != provider.ErrSymlink {
		t.Errorf("os.Root says %q", err)
	}
}

func TestMayBeAlias(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "~": false, "a~": false, "~a": false, "file~": false, "~/1": false,
		"LONGFI~1.TXT": true, "a/ENV~1/b": true, "~~2": true, "a~b~9": true,
	} {
		if got := diskfs.MayBeAlias(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestEverySystem is a life of a directory on whatever system runs the tests.
func TestEverySystem(t *testing.T) {
	d, err := diskfs.Open(t.TempDir(), diskfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	at := provider.MustPath
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.Mkdir(ctx, at("a"), 0o755))
	must(provider.WriteFile(ctx, d, at("a/f"), []byte("one"), 0))
	must(provider.WriteFile(ctx, d, at("a/f"), []byte("two"), 0))
	b, err := provider.ReadFile(ctx, d, at("a/f"))
	if must(err); string(b) != "two" {
		t.Errorf("content %q", b)
	}
	f, err := d.Open(ctx, at("a/f"), provider.OpenOptions{Read: true, Write: true, Append: true})
	must(err)
	_, end, err := f.Append([]byte("more"))
	if must(err); end != 7 {
		t.Errorf("end %d", end)
	}
	_, err = f.WriteAt([]byte("T"), 0)
	must(err)
	must(f.Close())
	if err := d.Mkdir(ctx, at("a"), 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir over a directory: %v", err)
	}
	if err := d.Remove(ctx, at("a")); err != syscall.ENOTEMPTY {
		t.Errorf("Remove of a full directory: %v", err)
	}
	if _, err := d.Stat(ctx, at("a/missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat: %v", err)
	}
	must(d.Rename(ctx, at("a/f"), at("g"), provider.RenameOptions{}))
	must(d.Rename(ctx, at("g"), at("h"), provider.RenameOptions{NoReplace: true}))
	dir, err := d.Open(ctx, at("."), provider.OpenOptions{Read: true, Directory: true})
	must(err)
	entries, err := dir.ReadDir(0)
	if must(err); len(entries) != 2 {
		t.Errorf("listing %v", entries)
	}
	for _, e := range entries {
		if _, err := e.Info(); err != nil {
			t.Errorf("Info of %s: %v", e.Name(), err)
		}
	}
	must(dir.Close())
	if b, err := provider.ReadFile(ctx, d, at("h")); err != nil || string(b) != "Twomore" {
		t.Errorf("content %q, %v", b, err)
	}
	must(d.Remove(ctx, at("h")))
	must(d.Remove(ctx, at("a")))
	must(d.Close())
}
