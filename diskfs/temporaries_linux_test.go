package diskfs_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

func TestReservedPattern(t *testing.T) {
	temp := diskfs.TempName()
	if !diskfs.IsReserved(temp) || !diskfs.FoldReserved(temp) {
		t.Fatalf("%q is not reserved", temp)
	}
	if temp == diskfs.TempName() {
		t.Error("the same name twice")
	}
	for _, name := range []string{"", ".uncommitted-", ".tmp", temp + "x", "x" + temp, temp[1:], strings.Replace(temp, "-", "_", 1),
		temp[:13] + "g" + temp[14:], strings.ToUpper(temp), temp + ".", ".uncommitted-1.tmp"} {
		if diskfs.IsReserved(name) {
			t.Errorf("%q is reserved", name)
		}
	}
	for _, name := range []string{strings.ToUpper(temp), temp + ".", temp + ". .", strings.Replace(temp, "u", "u\u200d", 1), "\ufeff" + temp, temp + "\u00ad"} {
		if !diskfs.FoldReserved(name) {
			t.Errorf("%q may reach a temporary where names fold", name)
		}
	}
	for _, name := range []string{"readme", temp[1:], temp + "x", strings.Repeat("a", 255), strings.Repeat("é", 120)} {
		if diskfs.FoldReserved(name) {
			t.Errorf("%q is reserved where names fold", name)
		}
	}
}

// TestReservedNamesAreHidden: a temporary is not listed, and its name is no
// name in any operation, wherever it stands in a path.
func TestReservedNamesAreHidden(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		temp := diskfs.TempName()
		lay(t, dir, "", temp+": half", "d/", "d/"+temp+": half", "d/f: x", "file: x", "dir/")
		p := m.openDir(t, dir, diskfs.Options{})
		for _, op := range operations {
			for _, name := range []string{temp, "d/" + temp, temp + "/x"} {
				if err := op.do(t.Context(), p, path(name)); !errors.Is(err, provider.ErrPath) {
					t.Errorf("%s %s: %v", op.name, name, err)
				}
			}
		}
		f, err := p.Open(t.Context(), path("d"), provider.OpenOptions{Read: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		entries, err := f.ReadDir(1)
		if err != nil || len(entries) != 1 || entries[0].Name() != "f" {
			t.Errorf("listing: %v, %v", entries, err)
		}
		if r, ok := f.(provider.EntryRemover); ok {
			if err := r.RemoveEntry(temp, false); !errors.Is(err, provider.ErrPath) {
				t.Errorf("RemoveEntry: %v", err)
			}
			if err := r.(provider.EntryReader).StatEntry(temp, new(provider.Info)); !errors.Is(err, provider.ErrPath) {
				t.Errorf("StatEntry: %v", err)
			}
		}
		if !slices.Contains(names(t, dir+"/d"), temp) {
			t.Error("the temporary is gone")
		}
	})
}

// TestStaleTemporaries: a Replace in the directory removes what a dead writer
// left, and nothing else: not a live one, not one elsewhere, not what only looks
// like one. Neither Open nor a read-only provider removes anything.
func TestStaleTemporaries(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		stale, elsewhere, live, linked, dirlike, link := diskfs.TempName(), diskfs.TempName(), diskfs.TempName(), diskfs.TempName(), diskfs.TempName(), diskfs.TempName()
		lay(t, base, "", "d/", "e/", "d/"+stale+": half", "e/"+elsewhere+": half", "d/"+live+": half", "d/"+linked+": two names",
			"d/"+dirlike+"/", "d/"+link+" => ../outside", "outside: x")
		if err := os.Link(filepath.Join(base, "d", linked), filepath.Join(base, "second")); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(filepath.Join(base, "d", live))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		left := func() []string {
			return slices.DeleteFunc(names(t, base+"/d"), func(name string) bool { return name == "f" })
		}
		all := left()
		ro := m.openDir(t, base, diskfs.Options{ReadOnly: true})
		provider.WriteFile(t.Context(), ro, path("d/f"), []byte("x"), 0)
		p := m.openDir(t, base, diskfs.Options{})
		if got := left(); !slices.Equal(got, all) {
			t.Fatalf("Open or a read-only provider removed something: %v", got)
		}
		for i := range 2 {
			if err := provider.WriteFile(t.Context(), p, path("d/f"), []byte("x"), 0); err != nil {
				t.Fatal(err)
			}
			want := []string{live, linked, dirlike, link}
			slices.Sort(want)
			if got := left(); !slices.Equal(got, want) {
				t.Errorf("round %d: left %v, want %v", i, got, want)
			}
			// The next round: another writer died meanwhile.
			lay(t, base, "", "d/"+stale+": half")
		}
		if got := names(t, base+"/e"); len(got) != 1 {
			t.Errorf("another directory was swept: %v", got)
		}
	})
}

// TestDirectoryOfStaleTemporaries: for removal, stale temporaries do not count;
// a live one does.
func TestDirectoryOfStaleTemporaries(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		ctx := t.Context()
		base := t.TempDir()
		live := filepath.Join(base, "live", diskfs.TempName())
		lay(t, base, "", "a/", "b/", "full/", "live/", "a/"+diskfs.TempName()+": half", "b/"+diskfs.TempName()+": half",
			"full/"+diskfs.TempName()+": half", "full/f: x")
		f, err := os.Create(live)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		p := m.openDir(t, base, diskfs.Options{})
		if err := p.Remove(ctx, path("a")); err != nil {
			t.Errorf("Remove: %v", err)
		}
		for _, name := range []string{"full", "live"} {
			before := len(names(t, base+"/"+name))
			if err := p.Remove(ctx, path(name)); err != syscall.ENOTEMPTY {
				t.Errorf("Remove(%s): %v", name, err)
			}
			if len(names(t, base+"/"+name)) != before {
				t.Errorf("Remove(%s) failed and removed something", name)
			}
		}
		root, err := p.Open(ctx, path("."), provider.OpenOptions{Read: true})
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if r, ok := root.(provider.EntryRemover); ok {
			if err := r.RemoveEntry("b", true); err != nil {
				t.Errorf("RemoveEntry: %v", err)
			}
			if err := r.RemoveEntry("full", true); err != syscall.ENOTEMPTY {
				t.Errorf("RemoveEntry(full): %v", err)
			}
		}
	})
}

// slowReader hands out content when told.
type slowReader struct {
	more <-chan string
}

func (r slowReader) Read(p []byte) (int, error) {
	s, ok := <-r.more
	if !ok {
		return 0, io.EOF
	}
	return copy(p, s), nil
}

// TestLiveTemporaryOfAnotherProcess: while one process stages content, Replaces
// of another do not take its temporary for a stale one. A second instance is
// as good as a second process: locks belong to open file descriptions.
func TestLiveTemporaryOfAnotherProcess(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, "", "f: old")
		p, q := m.openDir(t, base, diskfs.Options{}), m.openDir(t, base, diskfs.Options{})
		more := make(chan string)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := p.Replace(t.Context(), path("f"), slowReader{more}, provider.ReplaceOptions{}); err != nil {
				t.Errorf("the slow Replace: %v", err)
			}
		})
		more <- "slow "
		for range 3 {
			if err := provider.WriteFile(t.Context(), q, path("f"), []byte("quick"), 0); err != nil {
				t.Error(err)
			}
		}
		more <- "content"
		close(more)
		wg.Wait()
		if got := hostFile(t, base, "f"); got != "slow content" {
			t.Errorf("content %q", got)
		}
		if got := names(t, base); len(got) != 1 {
			t.Errorf("left behind: %v", got)
		}
	})
}

// TestSweptBeforeTheLock: a sweeper that meets a temporary between its creation
// and its lock removes it, and Replace begins anew, also where a removed file
// that is open keeps a link: NTFS and NFS only give it another name, which is
// what the sweeper of this test does.
func TestSweptBeforeTheLock(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := tempDirIn(t, scratch(t))
		lay(t, base, "", "root/", "root/f: old", "removed/")
		p := m.openDir(t, base+"/root", diskfs.Options{NoSync: true})
		var stop atomic.Bool
		var swept, tries atomic.Int32
		var wg sync.WaitGroup
		wg.Go(func() {
			const often = 4
			for last, met := int32(-1), 0; !stop.Load(); {
				for _, name := range names(t, base+"/root") {
					if try := tries.Load(); try != last {
						last, met = try, 0
					}
					if met == often || !diskfs.IsReserved(name) {
						continue
					}
					f, err := os.Open(filepath.Join(base, "root", name))
					if err != nil {
						continue
					}
					if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil &&
						os.Rename(filepath.Join(base, "root", name), filepath.Join(base, "removed", name)) == nil {
						swept.Add(1)
						met++
					}
					f.Close()
				}
			}
		})
		const enough = 20 // swept: one of a hundred tries
		for deadline := time.Now().Add(time.Minute); swept.Load() < enough && time.Now().Before(deadline); tries.Add(1) {
			if err := provider.WriteFile(t.Context(), p, path("f"), []byte("new"), 0); err != nil {
				t.Errorf("Replace: %v", err)
			}
		}
		stop.Store(true)
		wg.Wait()
		t.Logf("MEASURED %s: %d swept in %d Replaces", t.Name(), swept.Load(), tries.Load())
		if swept.Load() < enough {
			t.Error("too few temporaries were met before their lock")
		}
	})
}

// TestReplaceIntoMovedDirectory: content staged in a directory that was moved
// meanwhile is published nowhere.
func TestReplaceIntoMovedDirectory(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		for _, successor := range []string{"", "directory", "link"} {
			base := t.TempDir()
			lay(t, base, "", "root/", "root/d/", "out/")
			p := m.openDir(t, base+"/root", diskfs.Options{})
			more := make(chan string)
			var wg sync.WaitGroup
			var err error
			wg.Go(func() {
				_, err = p.Replace(t.Context(), path("d/f"), slowReader{more}, provider.ReplaceOptions{})
			})
			more <- "content"
			if err := p.Rename(t.Context(), path("d"), path("moved"), provider.RenameOptions{}); err != nil {
				t.Fatal(err)
			}
			switch successor {
			case "directory":
				lay(t, base, "", "root/d/")
			case "link":
				lay(t, base, base, "root/d => OUT/out")
			}
			close(more)
			wg.Wait()
			want := map[string]error{"": fs.ErrNotExist, "directory": syscall.ESTALE, "link": provider.ErrSymlink}[successor]
			if !errors.Is(err, want) {
				t.Errorf("successor %q: %v, want %v", successor, err, want)
			}
			for _, dir := range []string{"root/moved", "out"} {
				if got := names(t, filepath.Join(base, dir)); len(got) != 0 {
					t.Errorf("successor %q: %s holds %v", successor, dir, got)
				}
			}
		}
	})
}

// TestReplaceStagesPrivately: before it is published, content is nobody else's.
func TestReplaceStagesPrivately(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, "", "old: x")
		if err := os.Chmod(base+"/old", 0o666); err != nil {
			t.Fatal(err)
		}
		p := m.openDir(t, base, diskfs.Options{})
		for _, name := range []string{"old", "new"} {
			more := make(chan string)
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := p.Replace(t.Context(), path(name), slowReader{more}, provider.ReplaceOptions{Perm: 0o644}); err != nil {
					t.Error(err)
				}
			})
			more <- "secret so far"
			for _, host := range names(t, base) {
				if !diskfs.IsReserved(host) {
					continue
				}
				if info, err := os.Stat(filepath.Join(base, host)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("staged with mode %v (%v)", info.Mode(), err)
				}
			}
			close(more)
			wg.Wait()
		}
		for name, want := range map[string]fs.FileMode{"old": 0o666, "new": 0o644} {
			if info, err := os.Stat(filepath.Join(base, name)); err != nil || info.Mode() != want {
				t.Errorf("%s has mode %v (%v)", name, info.Mode(), err)
			}
		}
	})
}

// TestReplaceKeepsOwner: root replacing somebody's file leaves it theirs.
func TestReplaceKeepsOwner(t *testing.T) {
	needRoot(t)
	inKernelModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, "", "f: x")
		if err := os.Chown(base+"/f", 65534, 65534); err != nil {
			t.Fatal(err)
		}
		p := m.openDir(t, base, diskfs.Options{})
		if err := provider.WriteFile(t.Context(), p, path("f"), []byte("new"), 0); err != nil {
			t.Fatal(err)
		}
		var st syscall.Stat_t
		if err := syscall.Stat(base+"/f", &st); err != nil || st.Uid != 65534 || st.Gid != 65534 {
			t.Errorf("owner %d:%d (%v)", st.Uid, st.Gid, err)
		}
	})
}

// TestConditionsAcrossInstances: two instances of one root, opened through
// different names and in different modes, lose no update.
func TestConditionsAcrossInstances(t *testing.T) {
	base := tempDirIn(t, scratch(t))
	lay(t, base, base, "root/", "root/n: ", "link => OUT/root")
	var wg sync.WaitGroup
	rounds := size(150, 300, 2000)
	for i, m := range modes {
		dir := []string{base + "/root", base + "/link", base + "/root/."}[i]
		p := m.openDir(t, dir, diskfs.Options{NoSync: true})
		wg.Go(func() {
			for range rounds {
				for {
					b, err := provider.ReadFile(t.Context(), p, path("n"))
					if err != nil {
						t.Error(err)
						return
					}
					_, err = p.Replace(t.Context(), path("n"), strings.NewReader(string(b)+"x"), provider.ReplaceOptions{If: provider.IfMatch(digest(b))})
					if err == nil {
						break
					}
					if !errors.Is(err, provider.ErrConflict) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if got := len(hostFile(t, base, "root", "n")); got != rounds*len(modes) {
		t.Errorf("%d updates arrived of %d", got, rounds*len(modes))
	}
}

// TestReplaceHonoursContext: a context that ends while content is read leaves
// everything as it was.
func TestReplaceHonoursContext(t *testing.T) {
	inModes(t, func(t *testing.T, m mode) {
		base := t.TempDir()
		lay(t, base, "", "f: old")
		p := m.openDir(t, base, diskfs.Options{})
		for _, name := range []string{"f", "g"} {
			ctx, cancel := context.WithCancel(t.Context())
			more := make(chan string, 1)
			more <- "new"
			time.AfterFunc(time.Millisecond, func() { cancel(); close(more) })
			if _, err := p.Replace(ctx, path(name), slowReader{more}, provider.ReplaceOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		if got := names(t, base); len(got) != 1 || hostFile(t, base, "f") != "old" {
			t.Errorf("left %v", got)
		}
	})
}
