package diskfs_test

import (
	"os"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// mode is one of the ways in which a directory can be opened on Linux.
type mode struct {
	name string
	open func(dir string, opts diskfs.Options) (provider.Provider, error)
}

var modes = []mode{
	{"openat2", func(dir string, opts diskfs.Options) (provider.Provider, error) { return diskfs.Open(dir, opts) }},
	{"walk", func(dir string, opts diskfs.Options) (provider.Provider, error) { return diskfs.OpenWalk(dir, opts) }},
	{"portable", diskfs.OpenPortable},
}

// inModes runs test once per mode.
func inModes(t *testing.T, test func(t *testing.T, m mode)) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

// inKernelModes runs test in the two modes that Linux programs get.
func inKernelModes(t *testing.T, test func(t *testing.T, m mode)) {
	for _, m := range modes[:2] {
		t.Run(m.name, func(t *testing.T) { test(t, m) })
	}
}

// opened is a provider and the host directory below it.
type opened struct {
	provider.Provider
	dir string
}

// unwrapped returns p with its optional interfaces, which opened hides.
func unwrapped(p provider.Provider) provider.Provider {
	if o, ok := p.(opened); ok {
		return o.Provider
	}
	return p
}

// openDir opens dir and closes it with the test.
func (m mode) openDir(t testing.TB, dir string, opts diskfs.Options) opened {
	t.Helper()
	p, err := m.open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return opened{p, dir}
}

// tempDirIn is t.TempDir at another place, open to all users.
func tempDirIn(t testing.TB, base string) string {
	t.Helper()
	dir, err := os.MkdirTemp(base, "diskfs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// tmpfs returns a directory in memory, or skips.
func tmpfs(t testing.TB) string {
	t.Helper()
	const shm = "/dev/shm"
	var st unix.Statfs_t
	if err := unix.Statfs(shm, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		lacking(t, "a tmpfs at "+shm)
	}
	return tempDirIn(t, shm)
}

// lacking skips a test because the machine has no what; where everything is
// required it fails.
func lacking(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
		t.Fatalf("this machine lacks %s, and WORKSPACEFS_REQUIRE_ALL=1", what)
	}
	t.Skipf("this machine lacks %s", what)
}

// everywhere reports whether everything on every storage is asked for: it takes
// minutes.
func everywhere() bool {
	return long() || os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" && !testing.Short()
}

// whereAllIsRequired keeps what takes half a minute out of a quick run.
func whereAllIsRequired(t testing.TB) {
	t.Helper()
	if !long() && os.Getenv("WORKSPACEFS_REQUIRE_ALL") != "1" {
		t.Skip("takes its time: with WORKSPACEFS_REQUIRE_ALL=1 or WORKSPACEFS_LONG=1")
	}
}

// long reports whether the full sizes were asked for.
func long() bool { return os.Getenv("WORKSPACEFS_LONG") == "1" }

// size picks a test's size: for a short run, by default, and in full.
func size(short, normal, full int) int {
	switch {
	case long():
		return full
	case testing.Short():
		return short
	}
	return normal
}
