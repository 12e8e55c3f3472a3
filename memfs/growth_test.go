package memfs_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestGrowth pins row B6 of the goals in bytes, which are the same on every
// machine: appending allocates the content once, and not again as the file grows.
func TestGrowth(t *testing.T) {
	const size, step = 64 * mib, 32 * kib
	m := memfs.New(memfs.Options{})
	f := open(t, m, "f", provider.OpenOptions{Write: true, Append: true, Create: true})
	defer f.Close()
	data := make([]byte, step)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range size / step {
		if _, _, err := f.Append(data); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := float64(after.TotalAlloc-before.TotalAlloc) / size; got > 1.1 {
		t.Errorf("%.2f bytes were allocated for each that was appended", got)
	}
}

// TestEmptyFileSize pins row B8: an empty file takes at most three quarters of what
// it takes in afero.MemMapFs.
func TestEmptyFileSize(t *testing.T) {
	const n = 20_000
	base := heap()
	m := memfs.New(memfs.Options{})
	fill(t, m, nil, "dir", n)
	ours := heap() - base
	runtime.KeepAlive(m)
	base = heap()
	peer := afero.NewMemMapFs()
	fill(t, nil, peer, "dir", n)
	theirs := heap() - base
	runtime.KeepAlive(peer)
	if float64(ours) > 0.75*float64(theirs) && strconv.IntSize == 64 { // the goal is of 64-bit machines
		t.Errorf("an empty file takes %d bytes, in MemMapFs %d", ours/n, theirs/n)
	}
	t.Logf("an empty file takes %d bytes, in MemMapFs %d", ours/n, theirs/n)
}

// TestChangeAfterClone pins the second half of row B9 in bytes: the first change
// after Clone copies a path of the tree, however large the directory is.
func TestChangeAfterClone(t *testing.T) {
	const rounds = 50
	cost := func(entries int) uint64 {
		m := memfs.New(memfs.Options{})
		fill(t, m, nil, "dir", entries)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			m.Clone()
			must(t, m.Chmod(t.Context(), path("dir/file000050"), 0o600))
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	small, large := cost(100), cost(20_000)
	if large > 3*small {
		t.Errorf("the first change copies %d bytes in a directory of 20,000, %d in one of 100", large, small)
	}
	t.Logf("the first change copies %d bytes in a directory of 20,000, %d in one of 100", large, small)
}
