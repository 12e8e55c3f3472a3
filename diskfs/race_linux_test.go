package diskfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// The race: while one thread exchanges the directory root/a and the link
// root/b, which points to a directory outside, all operations go to names below
// "a". What they may reach is what was below "a" as a directory; the outside
// holds other content under the same names, so that every step out shows.

const (
	insideText  = "inside"
	outsideText = "OUTSIDE-SECRET"
)

// raceTree is the tree of one race.
type raceTree struct {
	root, out string
	before    string // snapshot of out
}

func newRaceTree(t testing.TB, base string) raceTree {
	t.Helper()
	dir := tempDirIn(t, base)
	r := raceTree{root: filepath.Join(dir, "root"), out: filepath.Join(dir, "out")}
	lay(t, dir, r.out, "root/", "out/")
	lay(t, r.root, r.out, "a/", "a/sub/", "a/f: "+insideText, "a/sub/f: "+insideText, "b => OUT", "src: "+insideText)
	lay(t, r.out, "", "sub/", "f: "+outsideText, "sub/f: "+outsideText, "only-outside: "+outsideText)
	r.before = snapshot(t, r.out)
	return r
}

// swap exchanges a and b until stop is set, on a thread of its own, and leaves
// the directory at a.
func (r raceTree) swap(t testing.TB, stop *atomic.Bool) (swaps int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a, b := filepath.Join(r.root, "a"), filepath.Join(r.root, "b")
	for ; !stop.Load() || swaps%2 == 1; swaps++ {
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			t.Errorf("exchange: %v", err)
			return swaps
		}
	}
	return swaps
}

// errEscaped is what an attempt answers that saw the outside.
var errEscaped = errors.New("reached the outside")

// attempt is one try of one operation: nil, a refusal, or errEscaped.
type attempt struct {
	name string
	do   func(ctx context.Context, p provider.Provider) error
}

func seen(b []byte) error {
	if bytes.Contains(b, []byte("OUTSIDE")) {
		return errEscaped
	}
	return nil
}

var attempts = []attempt{
	{"read-file", func(ctx context.Context, p provider.Provider) error {
		b, err := provider.ReadFile(ctx, unwrapped(p), path("a/f"))
		return errors.Join(err, seen(b))
	}},
	{"read-file-into", func(ctx context.Context, p provider.Provider) error {
		b, err := readInto(ctx, p, path("a/f"))
		return errors.Join(err, seen(b))
	}},
	{"open-read-deep", func(ctx context.Context, p provider.Provider) error {
		f, err := p.Open(ctx, path("a/sub/f"), provider.OpenOptions{Read: true})
		if err != nil {
			return err
		}
		defer f.Close()
		b := make([]byte, 64)
		n, _ := f.ReadAt(b, 0)
		return seen(b[:n])
	}},
	{"open-write", func(ctx context.Context, p provider.Provider) error {
		f, err := p.Open(ctx, path("a/f"), provider.OpenOptions{Write: true})
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteAt([]byte(insideText), 0)
		return err
	}},
	{"stat", func(ctx context.Context, p provider.Provider) error {
		fi, err := p.Stat(ctx, path("a/f"))
		if err == nil && fi.Size() == int64(len(outsideText)) {
			return errEscaped
		}
		return err
	}},
	{"create", func(ctx context.Context, p provider.Provider) error {
		f, err := p.Open(ctx, path("a/made"), provider.OpenOptions{Write: true, Create: true})
		if err != nil {
			return err
		}
		return f.Close()
	}},
	{"create-exclusive", func(ctx context.Context, p provider.Provider) error {
		f, err := p.Open(ctx, path("a/made"), provider.OpenOptions{Write: true, Create: true, Exclusive: true})
		if err != nil {
			return err
		}
		return f.Close()
	}},
	{"remove", func(ctx context.Context, p provider.Provider) error { return p.Remove(ctx, path("a/made")) }},
	{"mkdir", func(ctx context.Context, p provider.Provider) error { return p.Mkdir(ctx, path("a/newdir"), 0o755) }},
	{"rmdir", func(ctx context.Context, p provider.Provider) error { return p.Remove(ctx, path("a/newdir")) }},
	{"rename-within", func(ctx context.Context, p provider.Provider) error {
		if err := p.Rename(ctx, path("a/f"), path("a/g"), provider.RenameOptions{}); err != nil {
			return errors.Join(err, p.Rename(ctx, path("a/g"), path("a/f"), provider.RenameOptions{}))
		}
		return nil
	}},
	{"rename-in", func(ctx context.Context, p provider.Provider) error {
		return p.Rename(ctx, path("src"), path("a/src"), provider.RenameOptions{})
	}},
	{"rename-out", func(ctx context.Context, p provider.Provider) error {
		return p.Rename(ctx, path("a/src"), path("src"), provider.RenameOptions{})
	}},
	{"replace", func(ctx context.Context, p provider.Provider) error {
		_, err := p.Replace(ctx, path("a/f"), strings.NewReader(insideText), provider.ReplaceOptions{})
		return err
	}},
	{"replace-absent", func(ctx context.Context, p provider.Provider) error {
		_, err := p.Replace(ctx, path("a/made"), strings.NewReader(insideText), provider.ReplaceOptions{If: provider.IfAbsent()})
		return err
	}},
	{"list", func(ctx context.Context, p provider.Provider) error {
		f, err := p.Open(ctx, path("a"), provider.OpenOptions{Read: true, Directory: true})
		if err != nil {
			return err
		}
		defer f.Close()
		entries, err := f.ReadDir(0)
		for _, e := range entries {
			if e.Name() == "only-outside" {
				return errEscaped
			}
			if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() && fi.Size() == int64(len(outsideText)) {
				return errEscaped
			}
		}
		return err
	}},
	{"chmod", func(ctx context.Context, p provider.Provider) error { return p.Chmod(ctx, path("a/f"), 0o600) }},
	{"chmod-directory", func(ctx context.Context, p provider.Provider) error { return p.Chmod(ctx, path("a"), 0o700) }},
	{"chtimes", func(ctx context.Context, p provider.Provider) error {
		return p.Chtimes(ctx, path("a/f"), time.Unix(1, 0), time.Unix(1, 0))
	}},
}

// allowed reports whether err is an answer that the race may give.
func allowed(err error) bool {
	for _, is := range []error{fs.ErrNotExist, fs.ErrExist, provider.ErrSymlink, provider.ErrConflict, fs.ErrPermission,
		syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.EISDIR, syscall.EXDEV, syscall.ESTALE, syscall.EBUSY} {
		if errors.Is(err, is) {
			return true
		}
	}
	return err == nil
}

// run makes total attempts, all of them in turn, and reports what happened.
func (r raceTree) run(t *testing.T, p provider.Provider, attempts []attempt, total int) (escaped int) {
	t.Helper()
	var stop atomic.Bool
	var wg sync.WaitGroup
	swaps := 0
	wg.Go(func() { swaps = r.swap(t, &stop) })
	done, refused := 0, 0
	unexpected := make(map[string]int)
	for done < total {
		for _, a := range attempts {
			err := a.do(t.Context(), p)
			done++
			switch {
			case errors.Is(err, errEscaped):
				escaped++
				t.Errorf("%s escaped", a.name)
			case errors.Is(err, provider.ErrSymlink):
				refused++
			case !allowed(err):
				unexpected[fmt.Sprintf("%s: %v", a.name, err)]++
			}
			if escaped > 10 {
				break
			}
		}
		if escaped > 10 {
			break
		}
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("MEASURED %s: %d attempts, %d swaps, %d refused as links, %d escaped", t.Name(), done, swaps, refused, escaped)
	for what, n := range unexpected {
		t.Errorf("%d times %s", n, what)
	}
	if swaps < 2 || refused == 0 {
		t.Errorf("%d swaps, %d refusals: there was no race", swaps, refused)
	}
	if after := snapshot(t, r.out); after != r.before {
		escaped++
		t.Errorf("the outside changed:\n%s\nbefore:\n%s", after, r.before)
	}
	return escaped
}

// TestSwapRace runs the race in every mode: not one attempt in a million may
// reach the outside.
func TestSwapRace(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		keepsFDs(t)
		r := newRaceTree(t, scratch(t))
		p := m.openDir(t, r.root, diskfs.Options{NoSync: true})
		total := size(5_000, 20_000, 1_000_000)
		if m.name == "portable" {
			total /= 5
		}
		r.run(t, p, attempts, total)
	})
}

// TestSwapRaceControl runs the same race against "look at every element, then
// act by name", which must leak: else the race proves nothing.
func TestSwapRaceControl(t *testing.T) {
	r := newRaceTree(t, scratch(t))
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { r.swap(t, &stop) })
	leaked, tries := 0, 0
	for deadline := time.Now().Add(20 * time.Second); leaked == 0 && time.Now().Before(deadline); tries++ {
		dir := filepath.Join(r.root, "a")
		if fi, err := os.Lstat(dir); err != nil || fi.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		name := filepath.Join(dir, "f")
		if fi, err := os.Lstat(name); err != nil || fi.Mode()&fs.ModeSymlink != 0 {
			continue
		}
		if b, err := os.ReadFile(name); err == nil && seen(b) != nil {
			leaked++
		}
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("MEASURED %s: leaked %d of %d", t.Name(), leaked, tries)
	if leaked == 0 {
		t.Fatal("the control did not leak: the race is no race")
	}
}

// TestMovedOut keeps moving a directory out of the root and back while names
// below it are used: openat2 answers EXDEV then, which must not reach callers
// as if there were two filesystems.
func TestMovedOut(t *testing.T) {
	dir := tempDirIn(t, scratch(t))
	lay(t, dir, "", "root/", "out/", "root/a/", "root/a/b/", "root/a/b/f: x")
	p := modes[0].openDir(t, dir+"/root", diskfs.Options{})
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			os.Rename(dir+"/root/a", dir+"/out/a")
			os.Rename(dir+"/out/a", dir+"/root/a")
		}
	})
	for range size(30_000, 30_000, 500_000) {
		_, err := p.Stat(t.Context(), path("a/b/f"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Stat: %v", err)
			break
		}
	}
	stop.Store(true)
	wg.Wait()
}
