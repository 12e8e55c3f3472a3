package diskfs_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// TestKernelsThatLack runs parts of the suite in children from which a filter
// takes system calls, as old kernels, containers and storages do.
func TestKernelsThatLack(t *testing.T) {
	publish := "^TestConformance$/^tmpfs$/^openat2$/^(RENAME|REPLACE|CONC-(i|r|N))"
	if everywhere() {
		publish = "^TestConformance$/^tmpfs$/^(openat2|walk)$/^(RENAME|REPLACE|CONC|REMOVE)"
	}
	for _, c := range []struct {
		name string
		deny string
		run  string
	}{
		{"openat2-ENOSYS", "openat2:ENOSYS", "^(TestProbeFindsNoOpenat2|TestLinkMatrix|TestSwapRace|TestBasics)$/^(openat2)?$"},
		{"openat2-EPERM", "openat2:EPERM", "^(TestProbeFindsNoOpenat2|TestBasics)$/^(openat2)?$"},
		{"fchmodat2", "fchmodat2:ENOSYS", "^TestConformance$/^tmpfs$/^openat2$/^ATTR"},
		{"fchmodat2-EPERM", "fchmodat2:EPERM", "^TestConformance$/^tmpfs$/^openat2$/^ATTR"},
		{"utimensat", "utimensat-empty:EINVAL", "^TestConformance$/^tmpfs$/^openat2$/^ATTR"},
		{"linkat-before-6.10", "linkat-empty:ENOSYS", publish},
		{"no-links", "linkat:EPERM", publish},
		{"no-rename-flags", "renameat2-flags:EINVAL", publish},
		{"no-renameat2", "renameat2:ENOSYS", publish},
		{"no-unnamed-files", "openat-tmpfile:EOPNOTSUPP", strings.Replace(publish, "openat2$", "walk$", 1)}, // a filter cannot see openat2's flags
		{"last-rung", "linkat:EPERM,deny=renameat2-flags:EINVAL", publish},
		{"no-locks", "flock:EOPNOTSUPP", publish},
		{"no-statx", "statx:ENOSYS", "^TestOneFileSystemByDevice$"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "no-statx" {
				needRoot(t) // it mounts
			}
			child{restrictions: []string{"deny=" + c.deny}, run: c.run,
				// That one makes a hard link itself.
				args: []string{"-test.skip=^TestConformance$/.*/.*/^REPLACE-not-through-a-hard-link$"}}.mustPass(t)
		})
	}
}

// TestProbeFindsNoOpenat2 runs where openat2 is filtered.
func TestProbeFindsNoOpenat2(t *testing.T) {
	onlyInChild(t)
	d, err := diskfs.Open(t.TempDir(), diskfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !d.Walks() {
		t.Error("openat2 answers an error, and Open did not choose the walk")
	}
	if !d.Features().RaceFree {
		t.Error("the walk is race-free")
	}
}

// TestLegitimateEPERM makes openat2 itself answer EPERM to an operation: that is
// the answer, and no reason to change the way of resolving.
func TestLegitimateEPERM(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	lay(t, dir, "", "f: content")
	f, err := os.Open(dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const immutable = 0x10
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, immutable); err != nil {
		lacking(t, "immutable files in "+os.TempDir())
	}
	defer unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, 0)
	d, err := diskfs.Open(dir, diskfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Walks() {
		lacking(t, "openat2, or Open does not find it")
	}
	if _, err := d.Open(t.Context(), path("f"), provider.OpenOptions{Write: true}); !errors.Is(err, syscall.EPERM) {
		t.Errorf("opening an immutable file for writing: %v", err)
	}
	if d.Walks() {
		t.Error("one EPERM switched to the walk")
	}
	if b, err := d.ReadFile(t.Context(), path("f"), 0); err != nil || string(b) != "content" {
		t.Errorf("ReadFile: %q, %v", b, err)
	}
}
