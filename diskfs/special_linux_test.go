package diskfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// within fails when do takes longer: it was blocked then.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	const patience = 10 * time.Second
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s blocks", what)
	}
}

// TestSpecialFiles: whatever is neither file nor directory is reported, removed
// and renamed, and otherwise refused at once.
func TestSpecialFiles(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		keepsFDs(t)
		dir := tempDirIn(t, "")
		p, err := m.open(dir, diskfs.Options{})
		mustDo(t, err)
		defer p.Close()
		kinds := map[string]fs.FileMode{"fifo": fs.ModeNamedPipe, "socket": fs.ModeSocket}
		mustDo(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
		l, err := net.Listen("unix", filepath.Join(dir, "socket"))
		mustDo(t, err)
		defer l.Close()
		if unix.Mknod(filepath.Join(dir, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil {
			kinds["null"] = fs.ModeDevice | fs.ModeCharDevice
			mustDo(t, unix.Mknod(filepath.Join(dir, "dead"), unix.S_IFBLK|0o666, int(unix.Mkdev(240, 7))))
			kinds["dead"] = fs.ModeDevice
		}
		for name, typ := range kinds {
			for _, op := range operations {
				switch op.name {
				case "stat", "remove", "rename-from", "rename-to", "rename-to-free", "rename-directory-to", "mkdir":
					continue
				}
				within(t, op.name+" "+name, func() {
					err := op.do(t.Context(), p, path(name))
					want := provider.ErrIrregular
					switch op.name {
					case "open-exclusive":
						want = fs.ErrExist
					case "open-directory":
						want = syscall.ENOTDIR
					case "replace-absent":
						want = provider.ErrConflict
					}
					if !errors.Is(err, want) {
						t.Errorf("%s %s: %v, want %v", op.name, name, err, want)
					}
				})
			}
			fi, err := p.Stat(t.Context(), path(name))
			if err != nil || fi.Mode().Type() != typ {
				t.Errorf("Stat(%s): %v, %v", name, fi, err)
			}
			mustDo(t, p.Rename(t.Context(), path(name), path("moved"), provider.RenameOptions{NotDir: true}))
			mustDo(t, p.Remove(t.Context(), path("moved")))
		}
	})
}

// TestFIFOIsNotDisturbed: looking at a FIFO, listing it, changing the tree
// around it and being refused by calls that know its type release nobody who
// waits at its other end.
func TestFIFOIsNotDisturbed(t *testing.T) {
	inKernelModes(t, func(t *testing.T, m mode) {
		dir := tempDirIn(t, "")
		fifo := filepath.Join(dir, "fifo")
		mustDo(t, unix.Mkfifo(fifo, 0o666))
		p := m.openDir(t, dir, diskfs.Options{})
		released := make(chan error, 1)
		go func() {
			f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for a reader
			if err == nil {
				f.Close()
			}
			released <- err
		}()
		time.Sleep(20 * time.Millisecond) // let it wait; when it does not yet, nothing is missed
		for range 20 {
			_, err := p.Stat(t.Context(), path("fifo"))
			mustDo(t, err)
			f, err := p.Open(t.Context(), path("."), provider.OpenOptions{Read: true})
			mustDo(t, err)
			entries, err := f.ReadDir(0)
			mustDo(t, err)
			_, err = entries[0].Info()
			mustDo(t, err)
			f.Close()
			if _, err := p.Open(t.Context(), path("fifo"), provider.OpenOptions{Read: true, Directory: true}); err != syscall.ENOTDIR {
				t.Errorf("Open as a directory: %v", err)
			}
			for _, op := range operations {
				switch op.name {
				case "chmod", "chtimes", "replace", "replace-match":
					if err := op.do(t.Context(), p, path("fifo")); !errors.Is(err, provider.ErrIrregular) {
						t.Errorf("%s: %v", op.name, err)
					}
				}
			}
		}
		select {
		case err := <-released:
			t.Errorf("the waiting writer was released (%v)", err)
		case <-time.After(20 * time.Millisecond):
		}
		r, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0)
		mustDo(t, err)
		<-released
		r.Close()
	})
}

// TestSwappedForFIFO: a file that somebody keeps exchanging with a FIFO never
// blocks an open.
func TestSwappedForFIFO(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		dir := tempDirIn(t, scratch(t))
		lay(t, dir, "", "f: x")
		mustDo(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o666))
		p := m.openDir(t, dir, diskfs.Options{})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					unix.Renameat2(unix.AT_FDCWD, dir+"/f", unix.AT_FDCWD, dir+"/p", unix.RENAME_EXCHANGE)
				}
			}
		})
		within(t, "an open", func() {
			for i := range size(200, 1000, 50_000) {
				opts := provider.OpenOptions{Read: i%2 == 0, Write: i%3 == 0 || i%2 == 1}
				f, err := p.Open(t.Context(), path("f"), opts)
				if err == nil {
					f.Close()
				} else if !errors.Is(err, provider.ErrIrregular) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, provider.ErrSymlink) && err != syscall.ENXIO {
					t.Errorf("Open: %v", err)
				}
			}
		})
		close(stop)
		wg.Wait()
	})
}

// TestDeepAndWide makes, lists and removes trees that are deeper than there are
// descriptors, and wider than one read of a directory.
func TestDeepAndWide(t *testing.T) {
	child{restrictions: []string{"nofile=64"}, run: "^TestDeepAndWideWith64$"}.mustPass(t)
}

func TestDeepAndWideWith64(t *testing.T) {
	onlyInChild(t)
	base := scratch(t)
	inModes(t, func(t *testing.T, m mode) {
		keepsFDs(t)
		dir := tempDirIn(t, base)
		p, err := m.open(dir, diskfs.Options{NoSync: true})
		mustDo(t, err)
		defer p.Close()
		ctx := t.Context()
		deep := size(100, 2000, 2000)
		switch { // those have calls per element, per operation
		case m.name == "portable":
			deep /= 5
		case m.name == "walk" && !long():
			deep /= 4
		}
		name := strings.TrimSuffix(strings.Repeat("d/", deep), "/")
		for i := 1; i <= len(name); i += 2 {
			mustDo(t, p.Mkdir(ctx, path(name[:i]), 0o755))
		}
		mustDo(t, provider.WriteFile(ctx, p, path(name+"/f"), []byte("x"), 0))
		// Removal leaf first, with one directory open at a time.
		mustDo(t, p.Remove(ctx, path(name+"/f")))
		for i := len(name); i > 0; i -= 2 {
			f, err := p.Open(ctx, path(name[:i]), provider.OpenOptions{Read: true, Directory: true})
			mustDo(t, err)
			entries, err := f.ReadDir(0)
			if mustDo(t, err); len(entries) != 0 {
				t.Fatalf("%v", entries)
			}
			mustDo(t, f.Close())
			mustDo(t, p.Remove(ctx, path(name[:i])))
		}

		wide := size(2_000, 200_000, 200_000)
		if m.name == "portable" {
			wide /= 10
		}
		mustDo(t, p.Mkdir(ctx, path("w"), 0o755))
		for i := range wide {
			f, err := p.Open(ctx, path(fmt.Sprintf("w/entry-%d", i)), provider.OpenOptions{Write: true, Create: true, Exclusive: true})
			mustDo(t, err)
			mustDo(t, f.Close())
		}
		f, err := p.Open(ctx, path("w"), provider.OpenOptions{Read: true, Directory: true})
		mustDo(t, err)
		if _, err := f.ReadDir(wide - 1); !errors.Is(err, provider.ErrTooMany) {
			t.Errorf("a bound below the size: %v", err)
		}
		entries, err := f.ReadDir(wide)
		if mustDo(t, err); len(entries) != wide {
			t.Errorf("%d entries of %d", len(entries), wide)
		}
		r, fast := f.(provider.EntryRemover)
		for _, e := range entries {
			fi, err := e.Info()
			if mustDo(t, err); !fi.Mode().IsRegular() {
				t.Fatalf("%v", fi)
			}
			if fast {
				mustDo(t, r.RemoveEntry(e.Name(), false))
			} else {
				mustDo(t, p.Remove(ctx, path("w/"+e.Name())))
			}
		}
		mustDo(t, f.Close())
		mustDo(t, p.Remove(ctx, path("w")))
	})
}
