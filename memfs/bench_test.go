package memfs_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// The rows of the speed table that memfs alone decides. Each compares memfs with
// afero.MemMapFs doing the same; run them with
//
//	go test -run '^$' -bench . ./memfs
//
// and compare the two sub-benchmarks of a row.

func must(b testing.TB, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func deep(depth int) string { return strings.Repeat("dir/", depth-1) + "file.txt" }

func newMem(b testing.TB, name string, size int) *memfs.FS {
	m := memfs.New(memfs.Options{})
	p := provider.MustPath(name).Parent()
	mkdirAll(b, m, p)
	must(b, provider.WriteFile(b.Context(), m, provider.MustPath(name), make([]byte, size), 0))
	return m
}

func mkdirAll(b testing.TB, m *memfs.FS, p provider.Path) {
	if p.IsRoot() {
		return
	}
	mkdirAll(b, m, p.Parent())
	if _, err := m.Stat(b.Context(), p); err != nil {
		must(b, m.Mkdir(b.Context(), p, 0o755))
	}
}

func newAfero(b testing.TB, name string, size int) afero.Fs {
	m := afero.NewMemMapFs()
	must(b, m.MkdirAll("/"+provider.MustPath(name).Parent().String(), 0o755))
	must(b, afero.WriteFile(m, "/"+name, make([]byte, size), 0o644))
	return m
}

var read = provider.OpenOptions{Read: true}

// BenchmarkB1 looks at what is there.
func BenchmarkB1(b *testing.B) {
	ctx := context.Background()
	for _, depth := range []int{1, 4, 8} {
		name := deep(depth)
		m, a, p, s := newMem(b, name, 4096), newAfero(b, name, 4096), provider.MustPath(name), "/"+name
		buf := make([]byte, 4096)
		row := func(op string, mem, peer func() error) {
			b.Run(fmt.Sprintf("%s/depth=%d/memfs", op, depth), func(b *testing.B) { loop(b, mem) })
			b.Run(fmt.Sprintf("%s/depth=%d/MemMapFs", op, depth), func(b *testing.B) { loop(b, peer) })
		}
		row("stat",
			func() error { _, err := m.Stat(ctx, p); return err },
			func() error { _, err := a.Stat(s); return err })
		row("open",
			func() error {
				f, err := m.Open(ctx, p, read)
				if err != nil {
					return err
				}
				return f.Close()
			},
			func() error {
				f, err := a.Open(s)
				if err != nil {
					return err
				}
				return f.Close()
			})
		row("read4k",
			func() error {
				f, err := m.Open(ctx, p, read)
				if err != nil {
					return err
				}
				if _, err := f.ReadAt(buf, 0); err != nil {
					return err
				}
				return f.Close()
			},
			func() error {
				f, err := a.Open(s)
				if err != nil {
					return err
				}
				if _, err := io.ReadFull(f, buf); err != nil {
					return err
				}
				return f.Close()
			})
	}
}

func loop(b *testing.B, op func() error) {
	b.ReportAllocs()
	for b.Loop() {
		if err := op(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkB3 creates and overwrites files of 4 KiB.
func BenchmarkB3(b *testing.B) {
	ctx := context.Background()
	data := make([]byte, 4096)
	write := provider.OpenOptions{Write: true, Create: true, Truncate: true}
	mem := func(m *memfs.FS, p provider.Path) error {
		f, err := m.Open(ctx, p, write)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(data, 0); err != nil {
			return err
		}
		return f.Close()
	}
	peer := func(a afero.Fs, s string) error {
		f, err := a.OpenFile(s, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Close()
	}
	const many = 4096 // files in one directory before starting over
	names := make([]string, many)
	paths := make([]provider.Path, many)
	for i := range names {
		names[i] = fmt.Sprintf("/dir/file%d", i)
		paths[i] = provider.MustPath(names[i][1:])
	}
	b.Run("create/memfs", func(b *testing.B) {
		var m *memfs.FS
		i := 0
		loop(b, func() error {
			if i%many == 0 {
				m = newMem(b, "dir/x", 0)
			}
			i++
			return mem(m, paths[i%many])
		})
	})
	b.Run("create/MemMapFs", func(b *testing.B) {
		var a afero.Fs
		i := 0
		loop(b, func() error {
			if i%many == 0 {
				a = newAfero(b, "dir/x", 0)
			}
			i++
			return peer(a, names[i%many])
		})
	})
	m, a := newMem(b, "dir/f", 4096), newAfero(b, "dir/f", 4096)
	b.Run("overwrite/memfs", func(b *testing.B) { loop(b, func() error { return mem(m, provider.MustPath("dir/f")) }) })
	b.Run("overwrite/MemMapFs", func(b *testing.B) { loop(b, func() error { return peer(a, "/dir/f") }) })
}

// fill puts n empty files into dir, the same on both sides.
func fill(b testing.TB, m *memfs.FS, a afero.Fs, dir string, n int) {
	ctx := b.Context()
	if m != nil {
		mkdirAll(b, m, provider.MustPath(dir))
	}
	if a != nil {
		must(b, a.MkdirAll("/"+dir, 0o755))
	}
	for i := range n {
		name := fmt.Sprintf("%s/file%06d", dir, i)
		if m != nil {
			f, err := m.Open(ctx, provider.MustPath(name), provider.OpenOptions{Write: true, Create: true})
			must(b, err)
			must(b, f.Close())
		}
		if a != nil {
			f, err := a.Create("/" + name)
			must(b, err)
			must(b, f.Close())
		}
	}
}

// BenchmarkB4 renames one file in a store of 2,000; B5 renames a directory with
// 10 and 10,000 descendants, and removes one.
func BenchmarkB4(b *testing.B) {
	m, a := memfs.New(memfs.Options{}), afero.NewMemMapFs()
	fill(b, m, a, "dir", 2000)
	benchRename(b, m, a, "dir/file000500", "dir/moved")
}

func benchRename(b *testing.B, m *memfs.FS, a afero.Fs, from, to string) {
	ctx := context.Background()
	p, q := provider.MustPath(from), provider.MustPath(to)
	b.Run("memfs", func(b *testing.B) {
		loop(b, func() error {
			if err := m.Rename(ctx, p, q, provider.RenameOptions{}); err != nil {
				return err
			}
			return m.Rename(ctx, q, p, provider.RenameOptions{})
		})
	})
	b.Run("MemMapFs", func(b *testing.B) {
		loop(b, func() error {
			if err := a.Rename("/"+from, "/"+to); err != nil {
				return err
			}
			return a.Rename("/"+to, "/"+from)
		})
	})
}

func BenchmarkB5(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		m, a := memfs.New(memfs.Options{}), afero.NewMemMapFs()
		fill(b, m, a, "tree/sub", n)
		b.Run(fmt.Sprintf("rename/%d", n), func(b *testing.B) { benchRename(b, m, a, "tree", "moved") })
	}
	b.Run("removeall/memfs", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			m := memfs.New(memfs.Options{})
			fill(b, m, nil, "tree", 10_000)
			b.StartTimer()
			removeAll(b, m, provider.MustPath("tree"))
		}
	})
	b.Run("removeall/MemMapFs", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			a := afero.NewMemMapFs()
			fill(b, nil, a, "tree", 10_000)
			b.StartTimer()
			must(b, a.RemoveAll("/tree"))
		}
	})
}

// removeAll is what a caller of the contract does: list and remove, leaf first.
func removeAll(b testing.TB, m *memfs.FS, p provider.Path) {
	f, err := m.Open(b.Context(), p, read)
	must(b, err)
	list, err := f.ReadDir(0)
	must(b, err)
	for _, e := range list {
		must(b, f.(provider.EntryRemover).RemoveEntry(e.Name(), e.IsDir()))
	}
	must(b, f.Close())
	must(b, m.Remove(b.Context(), p))
}

// BenchmarkB6 writes 256 MiB in appends of 32 KiB.
func BenchmarkB6(b *testing.B) {
	const size, step = 256 << 20, 32 << 10
	data := make([]byte, step)
	b.Run("memfs", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			m := memfs.New(memfs.Options{})
			f, err := m.Open(context.Background(), provider.MustPath("f"), provider.OpenOptions{Write: true, Append: true, Create: true})
			must(b, err)
			for range size / step {
				_, _, err := f.Append(data)
				must(b, err)
			}
			must(b, f.Close())
		}
	})
	b.Run("MemMapFs", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			f, err := afero.NewMemMapFs().Create("/f")
			must(b, err)
			for range size / step {
				_, err := f.Write(data)
				must(b, err)
			}
			must(b, f.Close())
		}
	})
}

// BenchmarkB7 lists 100,000 entries, sorted.
func BenchmarkB7(b *testing.B) {
	const n = 100_000
	m, a := memfs.New(memfs.Options{}), afero.NewMemMapFs()
	fill(b, m, a, "dir", n)
	b.Run("memfs", func(b *testing.B) {
		loop(b, func() error {
			f, err := m.Open(context.Background(), provider.MustPath("dir"), read)
			if err != nil {
				return err
			}
			list, err := f.ReadDir(0)
			if len(list) != n {
				b.Fatal(len(list))
			}
			return err
		})
	})
	b.Run("MemMapFs", func(b *testing.B) {
		loop(b, func() error {
			list, err := afero.ReadDir(a, "/dir")
			if len(list) != n {
				b.Fatal(len(list))
			}
			return err
		})
	})
}

// BenchmarkB8 reports the memory of an empty file.
func BenchmarkB8(b *testing.B) {
	const n = 100_000
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc)
	}
	b.Run("memfs", func(b *testing.B) {
		for b.Loop() {
			before, m := heap(), memfs.New(memfs.Options{})
			fill(b, m, nil, "dir", n)
			b.ReportMetric((heap()-before)/n, "bytes/file")
			runtime.KeepAlive(m)
		}
	})
	b.Run("MemMapFs", func(b *testing.B) {
		for b.Loop() {
			before, a := heap(), afero.NewMemMapFs()
			fill(b, nil, a, "dir", n)
			b.ReportMetric((heap()-before)/n, "bytes/file")
			runtime.KeepAlive(a)
		}
	})
}

// BenchmarkB9 clones 100,000 files, and writes after it in directories of many
// sizes.
func BenchmarkB9(b *testing.B) {
	m := memfs.New(memfs.Options{})
	for i := range 100 {
		fill(b, m, nil, fmt.Sprintf("dir%d", i), 1000)
	}
	b.Run("clone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Clone()
		}
	})
	for _, n := range []int{100, 1000, 100_000} {
		m := memfs.New(memfs.Options{})
		fill(b, m, nil, "dir", n)
		name := provider.MustPath("dir/file000050")
		b.Run(fmt.Sprintf("clone+chmod/%d", n), func(b *testing.B) {
			loop(b, func() error {
				m.Clone()
				return m.Chmod(context.Background(), name, 0o600)
			})
		})
	}
}

// BenchmarkB10 looks at one name and at many from all processors; compare -cpu
// 1,2.
func BenchmarkB10(b *testing.B) {
	ctx := context.Background()
	m, a := newMem(b, deep(8), 4096), newAfero(b, deep(8), 4096)
	p, s := provider.MustPath(deep(8)), "/"+deep(8)
	b.Run("memfs", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Stat(ctx, p)
			}
		})
	})
	b.Run("MemMapFs", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				a.Stat(s)
			}
		})
	})
}

// BenchmarkB11 reads 90 times and writes 10 times of 100, 64 goroutines a
// processor.
func BenchmarkB11(b *testing.B) {
	ctx := context.Background()
	const n = 512
	m, a := memfs.New(memfs.Options{}), afero.NewMemMapFs()
	fill(b, m, a, "dir", n)
	names := make([]string, n)
	paths := make([]provider.Path, n)
	data := make([]byte, 1024)
	for i := range names {
		names[i] = fmt.Sprintf("/dir/file%06d", i)
		paths[i] = provider.MustPath(names[i][1:])
		must(b, provider.WriteFile(ctx, m, paths[i], data, 0))
		must(b, afero.WriteFile(a, names[i], data, 0o644))
	}
	mix := func(b *testing.B, readOne, writeOne func(i int)) {
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if i%10 == 9 {
					writeOne(i * 7 % n)
				} else {
					readOne(i * 5 % n)
				}
			}
		})
	}
	b.Run("memfs", func(b *testing.B) {
		mix(b, func(i int) {
			buf := make([]byte, 1024)
			f, err := m.Open(ctx, paths[i], read)
			must(b, err)
			f.ReadAt(buf, 0)
			f.Close()
		}, func(i int) {
			f, err := m.Open(ctx, paths[i], provider.OpenOptions{Write: true, Create: true, Truncate: true})
			must(b, err)
			f.WriteAt(data, 0)
			f.Close()
		})
	})
	b.Run("MemMapFs", func(b *testing.B) {
		mix(b, func(i int) {
			buf := make([]byte, 1024)
			f, err := a.Open(names[i])
			must(b, err)
			f.Read(buf)
			f.Close()
		}, func(i int) {
			f, err := a.OpenFile(names[i], os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
			must(b, err)
			f.Write(data)
			f.Close()
		})
	})
}
