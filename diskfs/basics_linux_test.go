package diskfs_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// TestBasics is a short life of a directory, for children with restrictions.
func TestBasics(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		keepsFDs(t)
		p, err := m.open(t.TempDir(), diskfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(p.Mkdir(ctx, path("a"), 0o755))
		must(provider.WriteFile(ctx, p, path("a/f"), []byte("one"), 0o640))
		must(provider.WriteFile(ctx, p, path("a/f"), []byte("two"), 0))
		must(p.Chmod(ctx, path("a/f"), 0o600))
		b, err := provider.ReadFile(ctx, p, path("a/f"))
		if must(err); string(b) != "two" {
			t.Errorf("content %q", b)
		}
		must(p.Rename(ctx, path("a/f"), path("g"), provider.RenameOptions{NotDir: true}))
		must(p.Remove(ctx, path("a")))
		must(p.Remove(ctx, path("g")))
		must(p.Close())
		if err := p.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
}

// TestOpenErrors: Open answers bare conditions, without the path it was given.
func TestOpenErrors(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		lay(t, dir, "", "file", "loop => loop")
		for _, c := range []struct {
			name string
			want error
		}{
			{"", fs.ErrNotExist},
			{dir + "/missing", fs.ErrNotExist},
			{dir + "/file", syscall.ENOTDIR},
			{dir + "/loop", syscall.ELOOP},
		} {
			_, err := m.open(c.name, diskfs.Options{})
			if !errors.Is(err, c.want) {
				t.Errorf("Open(%q): %v, want %v", c.name, err, c.want)
			} else if strings.Contains(err.Error(), "/") {
				t.Errorf("Open(%q): %q holds a path", c.name, err)
			}
		}
	})
}

// TestRootIsPinned: the provider stays on its directory when that is renamed
// and something else takes the name.
func TestRootIsPinned(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, "", "root/", "root/f: mine", "other/", "other/f: other")
		p := m.openDir(t, base+"/root", diskfs.Options{})
		if err := os.Rename(base+"/root", base+"/away"); err != nil {
			t.Fatal(err)
		}
		lay(t, base, base, "root => OUT/other")
		b, err := provider.ReadFile(t.Context(), p, path("f"))
		if err != nil || string(b) != "mine" {
			t.Errorf("ReadFile: %q, %v", b, err)
		}
		if err := provider.WriteFile(t.Context(), p, path("d"), []byte("new"), 0); err != nil {
			t.Fatal(err)
		}
		if got := hostFile(t, base, "away", "d"); got != "new" {
			t.Errorf("written %q", got)
		}
		same := p.Provider.(interface{ SameDir(string) bool }).SameDir
		if same(base+"/root") || !same(base+"/away") || same(base+"/missing") {
			t.Error("SameDir does not follow the directory")
		}
		f, err := p.Provider.(interface{ RootFile() (*os.File, error) }).RootFile()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var st, want unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		if err := unix.Stat(base+"/away", &want); err != nil || st.Ino != want.Ino {
			t.Errorf("RootFile is another directory (%v)", err)
		}
	})
}

// TestLinkedRoot: links in the trusted path are followed, once.
func TestLinkedRoot(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, base, "real/", "real/f: x", "link => OUT/real")
		p := m.openDir(t, base+"/link", diskfs.Options{})
		if _, err := p.Stat(t.Context(), path("f")); err != nil {
			t.Error(err)
		}
	})
}

// TestReadOnly: every mutation is EROFS, whether the name exists or not.
func TestReadOnly(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		lay(t, dir, "", "file: content", "dir/")
		before := snapshot(t, dir)
		p := m.openDir(t, dir, diskfs.Options{ReadOnly: true})
		if p.Features().Write || p.Features().InPlace || p.Features().Chmod {
			t.Errorf("Features %+v", p.Features())
		}
		for _, op := range operations {
			for _, name := range []string{"file", "dir", "missing", "missing/x"} {
				err := op.do(t.Context(), p, path(name))
				switch op.name {
				case "open-read", "open-directory", "read-file", "read-file-into", "stat":
				default:
					if err != syscall.EROFS {
						t.Errorf("%s %s: %v", op.name, name, err)
					}
				}
			}
		}
		if snapshot(t, dir) != before {
			t.Error("something changed")
		}
	})
}

// TestRejectHardLinks: in-place writes to a file with several links are refused
// before anything happens to it; Replace gives the name a file of its own.
func TestRejectHardLinks(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, "", "out: OUTSIDE", "root/", "root/own: mine")
		if err := os.Link(base+"/out", base+"/root/f"); err != nil {
			t.Fatal(err)
		}
		p := m.openDir(t, base+"/root", diskfs.Options{RejectHardLinks: true})
		for _, opts := range []provider.OpenOptions{
			{Write: true}, {Read: true, Write: true}, {Write: true, Append: true}, {Read: true, Truncate: true},
			{Write: true, Truncate: true}, {Write: true, Create: true},
		} {
			if _, err := p.Open(t.Context(), path("f"), opts); !errors.Is(err, provider.ErrHardLink) {
				t.Errorf("%+v: %v", opts, err)
			}
			f, err := p.Open(t.Context(), path("own"), opts)
			if err != nil {
				t.Errorf("own file, %+v: %v", opts, err)
				continue
			}
			f.Close()
		}
		if b, err := provider.ReadFile(t.Context(), p, path("f")); err != nil || string(b) != "OUTSIDE" {
			t.Errorf("reading: %q, %v", b, err)
		}
		if err := provider.WriteFile(t.Context(), p, path("f"), []byte("new"), 0); err != nil {
			t.Errorf("Replace: %v", err)
		}
		if got := hostFile(t, base, "out"); got != "OUTSIDE" {
			t.Errorf("the other name now holds %q", got)
		}
	})
}

// TestCloseInUse: the descriptor of a file, and of the root, goes when the last
// operation that was using it ends, and not before.
func TestCloseInUse(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		keepsFDs(t)
		dir := tempDirIn(t, scratch(t))
		lay(t, dir, "", "f: "+strings.Repeat("x", 1<<16))
		for range size(40, 80, 5000) {
			p, err := m.open(dir, diskfs.Options{})
			mustDo(t, err)
			f, err := p.Open(t.Context(), path("f"), provider.OpenOptions{Read: true})
			mustDo(t, err)
			var wg sync.WaitGroup
			started := make(chan struct{}, 2)
			wg.Go(func() {
				b := make([]byte, 1<<16)
				for i := 0; ; i++ {
					if _, err := f.ReadAt(b, 0); err != nil {
						if !errors.Is(err, fs.ErrClosed) {
							t.Errorf("ReadAt: %v", err)
						}
						return
					}
					if i == 0 {
						started <- struct{}{}
					}
				}
			})
			wg.Go(func() {
				for i := 0; ; i++ {
					if _, err := p.Stat(t.Context(), path("f")); err != nil {
						if !errors.Is(err, fs.ErrClosed) {
							t.Errorf("Stat: %v", err)
						}
						return
					}
					if i == 0 {
						started <- struct{}{}
					}
				}
			})
			<-started
			<-started
			mustDo(t, f.Close())
			mustDo(t, p.Close())
			wg.Wait()
		}
	})
}
