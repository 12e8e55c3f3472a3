package diskfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	kinds := []string{"renameat2", "linkat", "fsync", "pwrite64", "openat", "openat2", "flock", "fchmod", "newfstatat", "fstat", "close", "unlinkat", "getdents64"}
	if !long() {
		kinds = kinds[:size(2, 4, 0)]
	}
	killed := 0
	inModes(t, func(t *testing.T, m mode) {
		if m.name == "portable" && !long() {
			t.Skip("in a long run")
		}
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
