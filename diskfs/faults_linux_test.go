package diskfs_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// failsWhole replaces f (and makes g) with content, expects want, and that
// nothing changed and nothing is left behind.
func failsWhole(t *testing.T, p opened, content []byte, want error) {
	t.Helper()
	before := openFDs(t)
	for _, name := range []string{"f", "g"} {
		for _, opts := range []provider.ReplaceOptions{{}, {If: provider.IfAbsent()}} {
			if opts.If.Absent() && name == "f" {
				continue
			}
			if _, err := p.Replace(t.Context(), path(name), bytes.NewReader(content), opts); !errors.Is(err, want) {
				t.Errorf("Replace(%s): %v, want %v", name, err, want)
			}
		}
	}
	if got := hostFile(t, p.dir, "f"); got != "old" {
		t.Errorf("the old content became %q", got[:min(len(got), 100)])
	}
	if got := names(t, p.dir); !slices.Equal(got, []string{"f"}) {
		t.Errorf("left behind: %v", got)
	}
	if after := openFDs(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestNoSpace(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", 0, "size=1m")
	lay(t, dir, "", "f: old")
	inModes(t, func(t *testing.T, m mode) {
		p := m.openDir(t, dir, diskfs.Options{})
		failsWhole(t, p, make([]byte, 4<<20), syscall.ENOSPC)
		f, err := p.Open(t.Context(), path("big"), provider.OpenOptions{Write: true, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		n, err := f.WriteAt(make([]byte, 4<<20), 0)
		// Package os does not say how much of a failed WriteAt was written.
		if !errors.Is(err, syscall.ENOSPC) || m.name != "portable" && n == 0 || n >= 1<<20 {
			t.Errorf("WriteAt: %d, %v", n, err)
		}
		if info, err := f.Stat(); err != nil || m.name != "portable" && info.Size() != int64(n) {
			t.Errorf("after a short write of %d: %v, %v", n, info, err)
		}
		f.Close()
		if err := p.Remove(t.Context(), path("big")); err != nil {
			t.Error(err)
		}
	})
}

func TestNoInodes(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", 0, "size=1m,nr_inodes=3")
	lay(t, dir, "", "f: old", "x: x")
	inModes(t, func(t *testing.T, m mode) {
		p := m.openDir(t, dir, diskfs.Options{})
		_, err := p.Open(t.Context(), path("new"), provider.OpenOptions{Write: true, Create: true})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Open with Create: %v", err)
		}
		if err := p.Mkdir(t.Context(), path("d"), 0o755); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Mkdir: %v", err)
		}
		if err := provider.WriteFile(t.Context(), p, path("f"), []byte("new"), 0); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Replace: %v", err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"f", "x"}) {
			t.Errorf("left behind: %v", got)
		}
	})
}

// TestRestrictedFaults runs what needs a process of its own.
func TestRestrictedFaults(t *testing.T) {
	for name, c := range map[string]child{
		"EIO-sync":  {restrictions: []string{"deny=fsync:EIO"}, run: "^TestSyncFails$"},
		"EIO-write": {restrictions: []string{"deny=pwrite64:EIO"}, run: "^TestWriteFails$"},
		"EFBIG":     {restrictions: []string{"fsize=100000"}, run: "^TestFileTooBig$"},
		"EMFILE":    {run: "^TestNoDescriptors$"},
	} {
		t.Run(name, func(t *testing.T) { c.mustPass(t) })
	}
}

func TestSyncFails(t *testing.T) {
	onlyInChild(t)
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		lay(t, dir, "", "f: old")
		failsWhole(t, m.openDir(t, dir, diskfs.Options{}), []byte("new"), syscall.EIO)
		p := m.openDir(t, dir, diskfs.Options{NoSync: true})
		if err := provider.WriteFile(t.Context(), p, path("f"), []byte("new"), 0); err != nil {
			t.Errorf("NoSync syncs: %v", err)
		}
	})
}

// TestWriteFails: storage that breaks while content is staged leaves the old
// content, and a write in place says that nothing was written.
func TestWriteFails(t *testing.T) {
	onlyInChild(t)
	inKernelModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		lay(t, dir, "", "f: old")
		p := m.openDir(t, dir, diskfs.Options{})
		failsWhole(t, p, []byte("new"), syscall.EIO)
		f, err := p.Open(t.Context(), path("f"), provider.OpenOptions{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n, err := f.WriteAt([]byte("x"), 0); n != 0 || err != syscall.EIO {
			t.Errorf("WriteAt: %d, %v", n, err)
		}
		if got := hostFile(t, dir, "f"); got != "old" {
			t.Errorf("content %q", got)
		}
	})
}

func TestFileTooBig(t *testing.T) {
	onlyInChild(t)
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		lay(t, dir, "", "f: old")
		p := m.openDir(t, dir, diskfs.Options{})
		failsWhole(t, p, make([]byte, 200_000), syscall.EFBIG)
		f, err := p.Open(t.Context(), path("f"), provider.OpenOptions{Write: true, Append: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if n, err := f.WriteAt(make([]byte, 200_000), 0); n != 100_000 && m.name != "portable" || !errors.Is(err, syscall.EFBIG) {
			t.Errorf("WriteAt: %d, %v", n, err)
		}
		if n, end, err := f.Append([]byte("x")); n != 0 || end != 100_000 || !errors.Is(err, syscall.EFBIG) {
			t.Errorf("Append: %d, %d, %v", n, end, err)
		}
		if err := f.Truncate(200_000); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("Truncate: %v", err)
		}
	})
}

// TestNoDescriptors gives every operation fewer descriptors than it wants, down
// to none: it answers EMFILE or succeeds, and leaves none open.
func TestNoDescriptors(t *testing.T) {
	onlyInChild(t)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	ops := append(slices.Clone(operations), operation{"list", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		f, err := p.Open(ctx, name.Parent(), provider.OpenOptions{Read: true})
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.ReadDir(0)
		return err
	}, nil})
	inModes(t, func(t *testing.T, m mode) {
		for _, op := range ops {
			short := 0
			for spare := range 8 {
				dir := tempDirIn(t, scratch(t))
				lay(t, dir, "", "a/", "a/b/", "a/b/f: old", "file: x", "dir/")
				p := m.openDir(t, dir, diskfs.Options{})
				p.Stat(t.Context(), path("a/b/f")) // what is opened once and kept
				before := openFDs(t)
				// The lowest free number counts, not the number of open ones.
				highest := 0
				for _, n := range names(t, "/proc/self/fd") {
					i, _ := strconv.Atoi(n)
					highest = max(highest, i)
				}
				held := fill(t, highest)
				limit := unix.Rlimit{Cur: uint64(highest + 1 + spare), Max: old.Max}
				if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
					t.Fatal(err)
				}
				err := op.do(t.Context(), p, path("a/b/f"))
				if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); e != nil {
					t.Fatal(e)
				}
				for _, f := range held {
					f.Close()
				}
				if errors.Is(err, syscall.EMFILE) {
					short++
					if b := hostFile(t, dir, "a/b/f"); b != "old" {
						t.Errorf("%s with %d descriptors failed and left %q", op.name, spare, b)
					}
					if got := names(t, dir+"/a/b"); !slices.Equal(got, []string{"f"}) {
						t.Errorf("%s with %d descriptors left %v", op.name, spare, got)
					}
				}
				if after := openFDs(t); after != before {
					t.Errorf("%s with %d descriptors: %d open before, %d after (%v)", op.name, spare, before, after, err)
				}
			}
			if short == 0 && m.name == "openat2" && op.name != "stat" {
				t.Errorf("%s never lacked a descriptor", op.name)
			}
		}
	})
}

// fill opens descriptors until all numbers up to highest are taken.
func fill(t *testing.T, highest int) (held []*os.File) {
	t.Helper()
	for {
		f, err := os.Open("/")
		if err != nil {
			t.Fatal(err)
		}
		if int(f.Fd()) > highest {
			f.Close()
			return held
		}
		held = append(held, f)
	}
}

// TestUnprivileged runs what should hold for every user as nobody. The suite and
// the vectors do it themselves.
func TestUnprivileged(t *testing.T) {
	needRoot(t)
	child{uid: nobody, run: "^(TestUnreadableDirectories|TestBasics|TestLinkMatrix|TestSwapRace|TestStaleTemporaries|TestSweptBeforeTheLock)$"}.mustPass(t)
}

// TestUnreadableDirectories: a directory that may be passed but not read is a
// base for everything but listing, and Replace in it works.
func TestUnreadableDirectories(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	inKernelModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		lay(t, dir, "", "d/", "d/f: old", "shut/", "shut/f: x", "file: x", "dir/")
		chmod := func(name string, perm fs.FileMode) {
			if err := os.Chmod(filepath.Join(dir, name), perm); err != nil {
				t.Fatal(err)
			}
		}
		chmod("d", 0o300)
		chmod("shut", 0)
		defer chmod("d", 0o700)
		defer chmod("shut", 0o700)
		p := m.openDir(t, dir, diskfs.Options{})
		ctx := t.Context()
		if _, err := p.Stat(ctx, path("d/f")); err != nil {
			t.Errorf("Stat: %v", err)
		}
		for _, name := range []string{"d/f", "d/new"} {
			if err := provider.WriteFile(ctx, p, path(name), []byte("new"), 0); err != nil {
				t.Errorf("Replace(%s): %v", name, err)
			}
		}
		if _, err := p.Open(ctx, path("d"), provider.OpenOptions{Read: true, Directory: true}); err != syscall.EACCES {
			t.Errorf("listing: %v", err)
		}
		for _, op := range operations {
			if strings.HasPrefix(op.name, "open-exclusive") {
				continue
			}
			if err := op.do(ctx, p, path("shut/f")); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s below a shut directory: %v", op.name, err)
			}
		}
	})
}

// TestStrangersTemporary: another user's temporary is left alone.
func TestStrangersTemporary(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	temp := diskfs.TempName()
	lay(t, dir, "", temp+": half")
	if err := os.Chown(filepath.Join(dir, temp), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	inModes(t, func(t *testing.T, m mode) {
		p := m.openDir(t, dir, diskfs.Options{})
		if err := provider.WriteFile(t.Context(), p, path("f"), []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(names(t, dir), temp) {
			t.Error("another user's temporary was removed")
		}
	})
}
