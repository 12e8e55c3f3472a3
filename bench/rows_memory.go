package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// errDenied: a row's own file was refused.
var errDenied = errors.New("denied")

// memOp is one operation of the bare provider.
type memOp func(m *memfs.FS, name provider.Path) error

func memStat(m *memfs.FS, name provider.Path) error {
	_, err := m.Stat(context.Background(), name)
	return err
}

func memOpen(m *memfs.FS, name provider.Path) error {
	f, err := m.Open(context.Background(), name, provider.OpenOptions{Read: true})
	if err != nil {
		return err
	}
	return f.Close()
}

func memRead(m *memfs.FS, name provider.Path) error {
	f, err := m.Open(context.Background(), name, provider.OpenOptions{Read: true})
	if err != nil {
		return err
	}
	_, err = f.ReadAt(into, 0)
	return errors.Join(err, f.Close())
}

// into is what the rows read into that compare memory with memory: to make a buffer
// for each read would take longer than the read.
var into = make([]byte, 4096)

// opReadInto is opRead with that buffer.
func opReadInto(f afero.Fs, name string) error {
	file, err := f.Open(name)
	if err != nil {
		return err
	}
	_, err = io.ReadFull(file, into)
	return errors.Join(err, file.Close())
}

func memOverwrite(m *memfs.FS, name provider.Path) error {
	f, err := m.Open(context.Background(), name, provider.OpenOptions{Read: true, Write: true, Create: true, Truncate: true})
	if err != nil {
		return err
	}
	_, err = f.WriteAt(block, 0)
	return errors.Join(err, f.Close())
}

// rowsMemory are the rows B of the goals. Where not said otherwise they compare
// the bare provider with afero.MemMapFs.
func rowsMemory() []row {
	return []row{
		memRow("B1s1", "memfs: stat, depth 1", 0.8, 1, opStat, memStat),
		memRow("B1o1", "memfs: open + close, depth 1", 0.8, 1, opOpen, memOpen),
		memRow("B1r1", "memfs: open + read 4 KiB + close, depth 1", 0.8, 1, opReadInto, memRead),
		memRow("B1s", "memfs: stat, depth 8", 0.8, 8, opStat, memStat),
		memRow("B1o", "memfs: open + close, depth 8", 0.8, 8, opOpen, memOpen),
		memRow("B1r", "memfs: open + read 4 KiB + close, depth 8", 0.8, 8, opReadInto, memRead),
		stackRow("B2", "policyfs over memfs: stat, depth 8", 1.2, opStat),
		memRow("B3", "memfs: create + write 4 KiB over a file", 0.85, 8, opOverwrite, memOverwrite),
		storeRow("B4", "memfs: rename one file in a store of 2,000", 0.01, 0, 2_000, "d0000/f0000.go"),
		storeRow("B5", "memfs: rename a directory with 10,000 descendants", 0.001, 1, 10_000, "d0000"),
		removeMemRow(), appendRow(), listMemRow(), cloneRow(), parallelRow(),
		mixedRow("B11", "memfs", 0.8, func(_ *policyfs.FS, m *memfs.FS) func() error { return mixedMem(m) }),
		// What the face adds to that, without a goal.
		mixedRow("B11s", "policyfs over memfs", 0, func(f *policyfs.FS, _ *memfs.FS) func() error { return mixedIn(f) }),
	}
}

// memRow compares an operation of the bare provider with afero.MemMapFs.
func memRow(id, what string, goal float64, depth int, peerOp fileOp, op memOp) row {
	return row{ID: id, What: what, Peer: "afero.MemMapFs", Goal: goal,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			peer := afero.NewMemMapFs()
			name := deep(depth)
			if err := errors.Join(plantIn(f, "/"+name, 4096), plantIn(peer, "/"+name, 4096)); err != nil {
				return nil, nil, nil, err
			}
			p := provider.MustPath(name)
			return repeat(func() error { return op(m, p) }), repeat(func() error { return peerOp(peer, "/"+name) }), func() {}, nil
		}}
}

// stackRow compares an operation of the whole stack over memfs with bare afero.MemMapFs.
func stackRow(id, what string, goal float64, op fileOp) row {
	return row{ID: id, What: what, Peer: "afero.MemMapFs", Goal: goal,
		Prepare: func(string) (side, side, func(), error) {
			f, _ := memory()
			peer := afero.NewMemMapFs()
			name := "/workspace/" + deep(8)
			if err := errors.Join(plantIn(f, name, 4096), plantIn(peer, name, 4096)); err != nil {
				return nil, nil, nil, err
			}
			return repeat(func() error { return op(f, name) }), repeat(func() error { return op(peer, name) }), func() {}, nil
		}}
}

// fill puts n empty files into directories of a hundred below top.
func fill(f afero.Fs, top string, n int) error {
	for i := range n {
		dir := fmt.Sprintf("%s/d%04d", top, i/100)
		if i%100 == 0 {
			if err := f.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := afero.WriteFile(f, fmt.Sprintf("%s/f%04d.go", dir, i%100), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// storeRow compares renaming name in a store of n files. With depth 1 the whole
// store is below the directory that moves.
func storeRow(id, what string, goal float64, depth, n int, name string) row {
	return row{ID: id, What: what, Peer: "afero.MemMapFs", Goal: goal,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			peer := afero.NewMemMapFs()
			top := ""
			if depth > 0 {
				top = "/" + name
			}
			if err := errors.Join(fill(f, top, n), fill(peer, top, n)); err != nil {
				return nil, nil, nil, err
			}
			from, to := provider.MustPath(name), provider.MustPath("moved")
			ctx := context.Background()
			ours := func() error {
				return errors.Join(m.Rename(ctx, from, to, provider.RenameOptions{}), m.Rename(ctx, to, from, provider.RenameOptions{}))
			}
			theirs := func() error {
				return errors.Join(peer.Rename("/"+name, "/moved"), peer.Rename("/moved", "/"+name))
			}
			return repeat(ours), repeat(theirs), func() {}, nil
		}}
}

// removeMemRow compares removing a tree of 10,000 files. It has no goal: 0.001 is
// the time of dropping a tree as one, and RemoveAll authorizes every entry first
// and then removes exactly those, one by one.
func removeMemRow() row {
	return row{ID: "B5r", What: "policyfs over memfs: RemoveAll of 10,000 files, all authorized first", Peer: "afero.MemMapFs",
		Prepare: func(string) (side, side, func(), error) {
			f, _ := memory()
			remove := func(f afero.Fs) side {
				return repeatAfter(func() error { return fill(f, "/tree", 10_000) }, func() error { return f.RemoveAll("/tree") })
			}
			return remove(f), remove(afero.NewMemMapFs()), func() {}, nil
		}}
}

const appendWhat = "policyfs over memfs: 256 MiB in 32 KiB appends"

// appendTo appends 256 MiB in pieces of 32 KiB to a new file, and removes it.
func appendTo(create func() (io.WriteCloser, error), remove func() error) func() error {
	const piece, total = 32 << 10, 256 << 20
	buf := make([]byte, piece)
	return func() error {
		defer runtime.GC() // or the other side pays for this one's garbage
		file, err := create()
		if err != nil {
			return err
		}
		for range total / piece {
			if _, err := file.Write(buf); err != nil {
				return err
			}
		}
		return errors.Join(file.Close(), remove())
	}
}

// appendRow compares appending: at least four times the throughput is at most a
// quarter of the time.
func appendRow() row {
	grow := func(f afero.Fs) func() error {
		return appendTo(func() (io.WriteCloser, error) { return f.Create("/big") }, func() error { return f.Remove("/big") })
	}
	return row{ID: "B6", What: appendWhat, Peer: "afero.MemMapFs", Goal: 0.25,
		Prepare: func(string) (side, side, func(), error) {
			f, _ := memory()
			return repeat(grow(f)), repeat(grow(afero.NewMemMapFs())), func() {}, nil
		}}
}

const (
	listMemWhat    = "memfs: sorted listing of 100,000 entries"
	listMemEntries = 100_000
)

// listMem reads the directory of listMemRow.
func listMem(m *memfs.FS) error {
	d, err := m.Open(context.Background(), provider.MustPath("list"), provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		return err
	}
	list, err := d.ReadDir(-1)
	if err == nil && len(list) != listMemEntries {
		err = fmt.Errorf("%d entries, want %d", len(list), listMemEntries)
	}
	return errors.Join(err, d.Close())
}

// listMemRow compares the sorted listing of a large directory.
func listMemRow() row {
	return row{ID: "B7", What: listMemWhat, Peer: "afero.MemMapFs", Goal: 0.2,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			peer := afero.NewMemMapFs()
			for _, g := range []afero.Fs{f, peer} {
				if err := g.Mkdir("/list", 0o755); err != nil {
					return nil, nil, nil, err
				}
				for i := range listMemEntries {
					if err := afero.WriteFile(g, fmt.Sprintf("/list/f%06d", i), nil, 0o644); err != nil {
						return nil, nil, nil, err
					}
				}
			}
			theirs := func() error { return wanted(listMemEntries)(afero.ReadDir(peer, "/list")) }
			return repeat(func() error { return listMem(m) }), repeat(theirs), func() {}, nil
		}}
}

// cloneRow compares Clone of 100,000 files with copying them file by file, of
// which 1 us is about a hundred-thousandth.
func cloneRow() row {
	const n = 100_000
	return row{ID: "B9", What: "memfs.Clone of 100,000 files", Peer: "copying them", Goal: 1e-4,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			if err := fill(f, "", n); err != nil {
				return nil, nil, nil, err
			}
			ours := func() error { m.Clone(); return nil }
			theirs := func() error { g, _ := memory(); return fill(g, "", n) }
			return repeat(ours), repeat(theirs), func() {}, nil
		}}
}

// inParallel runs op n times on each of the workers at once.
func inParallel(workers int, op func(worker, i int) error) func(n int) error {
	return func(n int) error {
		errs := make([]error, workers)
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for i := range n {
					if err := op(w, i); err != nil { // not errs[w]: two of them share a cache line
						errs[w] = err
						return
					}
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// parallelRow compares two goroutines that stat with one that does twice as much.
func parallelRow() row {
	const batch = 200_000 // some milliseconds: to wake the second goroutine's thread takes a tenth of one
	return row{ID: "B10", What: "memfs: stat by two goroutines", Peer: "by one, the same number", Goal: 1 / 1.6, Cores: 2,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			name := deep(8)
			if err := plantIn(f, "/"+name, 0); err != nil {
				return nil, nil, nil, err
			}
			p, ctx := provider.MustPath(name), context.Background()
			stat := func(int, int) error { _, err := m.Stat(ctx, p); return err }
			two, one := inParallel(2, stat), inParallel(1, stat)
			return repeat(func() error { return two(batch) }), repeat(func() error { return one(2 * batch) }), func() {}, nil
		}}
}

// mixed makes an operation of 64 goroutines of which every tenth call writes.
func mixed(read, write func(name string) error) func() error {
	const workers, batch = 64, 100
	run := inParallel(workers, func(w, i int) error {
		name := fmt.Sprintf("d%04d/f%04d.go", w%10, i%100)
		if i%10 == 0 {
			return write(name)
		}
		return read(name)
	})
	return func() error { return run(batch) }
}

// mixedIn is mixed in any afero filesystem.
func mixedIn(f afero.Fs) func() error {
	return mixed(func(name string) error { return readFile(f, "/"+name) },
		func(name string) error { return afero.WriteFile(f, "/"+name, block[:64], 0o644) })
}

// mixedMem is mixed in the bare provider.
func mixedMem(m *memfs.FS) func() error {
	ctx := context.Background()
	read := func(name string) error {
		_, err := provider.ReadFile(ctx, m, provider.MustPath(name))
		return err
	}
	return mixed(read, func(name string) error {
		f, err := m.Open(ctx, provider.MustPath(name), provider.OpenOptions{Write: true, Create: true, Truncate: true})
		if err != nil {
			return err
		}
		_, err = f.WriteAt(block[:64], 0)
		return errors.Join(err, f.Close())
	})
}

// mixedRow compares many goroutines that read and write with afero.MemMapFs.
func mixedRow(id, what string, goal float64, ours func(*policyfs.FS, *memfs.FS) func() error) row {
	return row{ID: id, What: what + ": 64 goroutines, 90 % reads", Peer: "afero.MemMapFs", Goal: goal, Cores: 2,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			peer := afero.NewMemMapFs()
			if err := errors.Join(fill(f, "", 1000), fill(peer, "", 1000)); err != nil {
				return nil, nil, nil, err
			}
			return repeat(ours(f, m)), repeat(mixedIn(peer)), func() {}, nil
		}}
}
