package diskfs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

const (
	oldContent = "the old content, whole"
	crashEnv   = "DISKFS_TEST_CRASH" // directory, mode and name for TestReplaceAndDie
)

var newContent = strings.Repeat("the new content. ", 20_000) // several writes

// TestReplaceAndDie is the victim of TestKilledReplace.
func TestReplaceAndDie(t *testing.T) {
	dir, rest, ok := strings.Cut(os.Getenv(crashEnv), "|")
	if !ok {
		t.Skip("runs in a child process")
	}
	modeName, name, _ := strings.Cut(rest, "|")
	for _, m := range modes {
		if m.name == modeName {
			p := m.openDir(t, dir, diskfs.Options{})
			if err := provider.WriteFile(t.Context(), p, path(name), []byte(newContent), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wholeAfterCrash checks what a crash may leave of f, which held old before (""
// for nothing): old or new content, whole, and nothing else in sight.
func wholeAfterCrash(t *testing.T, p provider.Provider, name, old string) (isNew bool) {
	t.Helper()
	f, err := p.Open(t.Context(), path("."), provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(0)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 && old == "" {
		return false
	}
	if len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("visible after the crash: %v", entries)
	}
	b, err := provider.ReadFile(t.Context(), p, path(name))
	if err != nil {
		t.Fatal(err)
	}
	switch string(b) {
	case newContent:
		return true
	case old:
	default:
		t.Errorf("%s holds %d bytes that are neither the old content nor the new", name, len(b))
	}
	return false
}

// TestKilledReplace kills a process with SIGKILL at every system call of a
// Replace: of each kind the first, the second, and so on until it lives. Then
// the file is old or new, no temporary is visible, and the next Replace leaves
// none behind.
func TestKilledReplace(t *testing.T) {
	strace := needProgram(t, "strace")
	kinds := []string{"renameat2", "linkat", "renameat", "fsync", "pwrite64", "openat", "openat2", "flock", "fchmod", "newfstatat", "fstat", "close", "unlinkat", "getdents64"}
	if testing.Short() && !long() {
		kinds = kinds[:2]
	}
	killed := 0
	inModes(t, func(t *testing.T, m mode) {
		for _, old := range []string{oldContent, ""} {
			for _, kind := range kinds {
				// Kinds that the runtime uses too are met often before Replace.
				for n := 1; n <= 400; n++ {
					dir := tempDirIn(t, scratch(t))
					if old != "" {
						lay(t, dir, "", "f: "+old)
					}
					cmd := child{run: "^TestReplaceAndDie$", env: []string{crashEnv + "=" + dir + "|" + m.name + "|f"},
						wrap: []string{strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + kind, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", kind, n)},
					}.command(t)
					out, err := cmd.CombinedOutput()
					if strings.Contains(string(out), "PTRACE") {
						lacking(t, "the right to trace processes")
					}
					p := m.openDir(t, dir, diskfs.Options{})
					isNew := wholeAfterCrash(t, p, "f", old)
					if err == nil && !isNew {
						t.Fatalf("%s %d: the child lives and the content is old:\n%s", kind, n, out)
					}
					if err := provider.WriteFile(t.Context(), p, path("f"), []byte("again"), 0); err != nil {
						t.Errorf("after a crash at %s %d: %v", kind, n, err)
					}
					if got := names(t, dir); !slices.Equal(got, []string{"f"}) {
						t.Errorf("after a crash at %s %d: left behind %v", kind, n, got)
					}
					if err == nil {
						break
					}
					killed++
				}
			}
		}
	})
	t.Logf("MEASURED %s: %d kills", t.Name(), killed)
	if killed == 0 && !t.Skipped() {
		t.Error("nobody was killed")
	}
}

// TestPowerLoss takes the power from a filesystem right after Replace returned
// (FS_IOC_SHUTDOWN: everything that was not flushed is lost, or all but the
// journal): what Replace said is durable is there after the next mount.
func TestPowerLoss(t *testing.T) {
	for _, fstype := range []string{"ext4", "xfs"} {
		mkfs := []string{"mkfs." + fstype, "-q"}
		for _, lost := range []uint32{2, 1} { // NOLOGFLUSH, LOGFLUSH
			for _, old := range []string{oldContent, ""} {
				t.Run(fmt.Sprintf("%s/%d/%d", fstype, lost, len(old)), func(t *testing.T) {
					l := newLoop(t, fstype, mkfs...)
					if err := os.RemoveAll(filepath.Join(l.dir, "lost+found")); err != nil {
						t.Fatal(err)
					}
					if old != "" {
						lay(t, l.dir, "", "f: "+old)
						unix.Sync()
					}
					// A second instance is killed with its content half staged.
					d, err := diskfs.Open(l.dir, diskfs.Options{})
					if err != nil {
						t.Fatal(err)
					}
					if !d.Features().Durable {
						t.Error("not Durable")
					}
					lay(t, l.dir, "", diskfs.TempName()+": half")
					if err := provider.WriteFile(t.Context(), d, path("f"), []byte(newContent), 0); err != nil {
						t.Fatal(err)
					}
					d.Close()
					shutdown(t, l.dir, lost)
					l.unmount(t)
					l.mount(t)
					p, err := diskfs.Open(l.dir, diskfs.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer p.Close()
					if !wholeAfterCrash(t, p, "f", old) {
						t.Error("Replace reported success, and the content is not there")
					}
				})
			}
		}
	}
}

// TestPowerLossAnytime takes the power at a random moment from a filesystem on
// which files are replaced all the time. After the next mount each file holds
// one version, whole: the last that a Replace had reported, or a later one that
// was under way. Without syncs reported versions are lost, which shows that the
// test can tell.
func TestPowerLossAnytime(t *testing.T) {
	for _, fstype := range []string{"ext4", "xfs"} {
		t.Run(fstype, func(t *testing.T) {
			l := newLoop(t, fstype, "mkfs."+fstype, "-q")
			s := &stream{dir: l.dir}
			for round := range size(3, 15, 200) {
				for _, how := range []uint32{2, 1} { // NOLOGFLUSH, LOGFLUSH
					s.crash(t, l, diskfs.Options{}, how)
					if lost := s.check(t); lost > 0 {
						t.Errorf("round %d, %d: %d files do not hold what was reported", round, how, lost)
					}
				}
			}
			t.Logf("MEASURED %s: %d crashes, %d Replaces reported, %d under way, %d of those found", t.Name(), s.crashes, s.reported, s.underWay, s.found)
			if s.underWay == 0 {
				t.Error("no Replace was interrupted")
			}
			for range 20 {
				s.crash(t, l, diskfs.Options{NoSync: true}, 2)
				if s.check(t) > 0 {
					return
				}
			}
			t.Error("without syncs nothing was lost: the test proves nothing")
		})
	}
}

// stream replaces files again and again, and remembers what it was told.
type stream struct {
	dir                                string
	crashes, reported, underWay, found int
	files                              [3]struct{ begun, done int }
	off                                atomic.Bool // the power may be gone
}

// version is content that says what it is, in several writes.
func version(file, n int) string {
	return strings.Repeat(fmt.Sprintf("file %d, version %09d\n", file, n), 1000)
}

// crash replaces all files until the power goes, and mounts again.
func (s *stream) crash(t *testing.T, l loopImage, opts diskfs.Options, how uint32) {
	t.Helper()
	p, err := diskfs.Open(s.dir, opts)
	mustDo(t, err)
	s.off.Store(false)
	replace := func(i int) error {
		f := &s.files[i]
		f.begun++
		_, err := p.Replace(t.Context(), path(fmt.Sprint(i)), strings.NewReader(version(i, f.begun)), provider.ReplaceOptions{})
		// This process outlives the power: xfs answers 0 to the sync of a
		// directory when the shutdown came after the rename.
		if err == nil && !s.off.Load() {
			f.done = f.begun
		}
		return err
	}
	before := 0
	for i := range s.files {
		mustDo(t, replace(i))
		before += s.files[i].done
	}
	var wg sync.WaitGroup
	for i := range s.files {
		wg.Go(func() {
			for replace(i) == nil && !s.off.Load() {
			}
		})
	}
	time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
	s.off.Store(true)
	shutdown(t, s.dir, how)
	wg.Wait() // storage that is gone answers EIO
	mustDo(t, p.Close())
	l.unmount(t)
	l.mount(t)
	s.crashes++
	s.reported -= before
	for _, f := range s.files {
		s.reported += f.done
		s.underWay += f.begun - f.done
	}
}

// check returns how many files hold less than was reported, and starts anew from
// what is there.
func (s *stream) check(t *testing.T) (lost int) {
	t.Helper()
	p, err := diskfs.Open(s.dir, diskfs.Options{})
	mustDo(t, err)
	defer p.Close()
	for i := range s.files {
		f := &s.files[i]
		b, err := provider.ReadFile(t.Context(), p, path(fmt.Sprint(i)))
		n := 0
		if err == nil {
			fmt.Sscanf(string(b), fmt.Sprintf("file %d, version %%d", i), &n)
		}
		if err != nil || string(b) != version(i, n) || n < f.done || n > f.begun {
			lost++
		} else if n > f.done {
			s.found++
		}
		f.done = f.begun
	}
	// Temporaries stay unseen, and the next Replace removes them.
	d, err := p.Open(t.Context(), path("."), provider.OpenOptions{Read: true, Directory: true})
	mustDo(t, err)
	defer d.Close()
	entries, err := d.ReadDir(0)
	mustDo(t, err)
	for _, e := range entries {
		if n := e.Name(); n != "lost+found" && (len(n) != 1 || n[0] < '0' || n[0] > '2') {
			t.Errorf("visible after the crash: %s", n)
		}
	}
	mustDo(t, provider.WriteFile(t.Context(), p, path("0"), []byte(version(0, s.files[0].begun)), 0))
	for _, n := range names(t, s.dir) {
		if diskfs.IsReserved(n) {
			t.Errorf("%s is left behind", n)
		}
	}
	return lost
}

// shutdown ends all I/O of the filesystem at dir.
func shutdown(t *testing.T, dir string, how uint32) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const fsIocShutdown = 0x8004587d
	if err := unix.IoctlSetPointerInt(int(f.Fd()), fsIocShutdown, int(how)); err != nil {
		lacking(t, fmt.Sprintf("FS_IOC_SHUTDOWN (%v)", err))
	}
}
