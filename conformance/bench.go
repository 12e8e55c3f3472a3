package conformance

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// Bench measures a provider: each sub-benchmark is one use that agents make of
// it, so that two providers, or two versions of one, can be compared line by
// line. What a provider does not offer is skipped. The Harness needs New.
func Bench(b *testing.B, h Harness) {
	b.Helper()
	if h.New == nil {
		b.Fatal("conformance: Bench needs a Harness with New")
	}
	for _, bench := range benches {
		b.Run(bench.name, func(b *testing.B) {
			p := h.New(b)
			f := p.Features()
			if !f.Write || bench.needs&needInPlace != 0 && !f.InPlace {
				b.Skip("the provider does not offer it")
			}
			b.ReportAllocs()
			bench.run(bencher{b, p})
		})
	}
}

// bencher runs one benchmark.
type bencher struct {
	*testing.B
	p provider.Provider
}

// benches are the sub-benchmarks, in their order.
var benches = []struct {
	name  string
	needs need
	run   func(b bencher)
}{
	{"Stat/depth=1", 0, func(b bencher) { b.stat("f") }},
	{"Stat/depth=8", 0, func(b bencher) { b.stat("a/b/c/d/e/f/g/h") }},
	{"StatMissing", 0, func(b bencher) {
		name := b.file("d/f", "x").Parent()
		missing, _ := name.Join("missing")
		for b.Loop() {
			if _, err := b.p.Stat(b.Context(), missing); err == nil {
				b.Fatal("a missing name is there")
			}
		}
	}},
	{"Open/depth=8", 0, func(b bencher) {
		name := b.file("a/b/c/d/e/f/g/h", "x")
		for b.Loop() {
			f, err := b.p.Open(b.Context(), name, provider.OpenOptions{Read: true})
			b.check(err)
			b.check(f.Close())
		}
	}},
	{"ReadFile/4KiB", 0, func(b bencher) { b.readFile(4 << 10) }},
	{"ReadFile/1MiB", 0, func(b bencher) { b.readFile(1 << 20) }},
	{"ReadAt/4KiB", 0, func(b bencher) {
		f := b.open(b.file("f", strings.Repeat("x", 1<<20)), provider.OpenOptions{Read: true})
		buf := make([]byte, 4<<10)
		b.SetBytes(int64(len(buf)))
		for off := int64(0); b.Loop(); off = (off + 4<<10) % (1 << 19) {
			_, err := f.ReadAt(buf, off)
			b.check(err)
		}
	}},
	{"WriteAt/4KiB", needInPlace, func(b bencher) {
		f := b.open(b.file("f", ""), provider.OpenOptions{Write: true})
		buf := make([]byte, 4<<10)
		b.SetBytes(int64(len(buf)))
		for off := int64(0); b.Loop(); off = (off + 4<<10) % (1 << 20) {
			_, err := f.WriteAt(buf, off)
			b.check(err)
		}
	}},
	{"Append/4KiB", needInPlace, func(b bencher) {
		f := b.open(b.file("f", ""), provider.OpenOptions{Write: true, Append: true})
		buf := make([]byte, 4<<10)
		b.SetBytes(int64(len(buf)))
		for b.Loop() {
			_, end, err := f.Append(buf)
			b.check(err)
			if end > 1<<24 {
				b.check(f.Truncate(0))
			}
		}
	}},
	{"Replace/4KiB", 0, func(b bencher) {
		name, content := b.file("d/f", "x"), strings.Repeat("x", 4<<10)
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			_, err := b.p.Replace(b.Context(), name, strings.NewReader(content), provider.ReplaceOptions{})
			b.check(err)
		}
	}},
	{"CreateRemove", 0, func(b bencher) {
		name := b.file("d/f", "x")
		for b.Loop() {
			b.check(b.p.Remove(b.Context(), name))
			_, err := b.p.Replace(b.Context(), name, strings.NewReader("x"), provider.ReplaceOptions{})
			b.check(err)
		}
	}},
	{"Mkdir", 0, func(b bencher) {
		b.file("d/f", "x")
		name := provider.MustPath("d/e")
		for b.Loop() {
			b.check(b.p.Mkdir(b.Context(), name, 0o755))
			b.check(b.p.Remove(b.Context(), name))
		}
	}},
	{"Rename/file", 0, func(b bencher) { b.renames(b.file("d/f", "x")) }},
	{"Rename/directory", 0, func(b bencher) { b.renames(b.file("d/e/f", "x").Parent()) }},
	{"ReadDir/1000", 0, func(b bencher) { b.readDir(false) }},
	{"ReadDir+Info/1000", 0, func(b bencher) { b.readDir(true) }},
}

func (b bencher) check(err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// file makes a file and its parents.
func (b bencher) file(name, content string) provider.Path {
	p := provider.MustPath(name)
	var dir provider.Path
	for elem := range p.Parent().Elems() {
		dir, _ = dir.Join(elem)
		if _, err := b.p.Stat(b.Context(), dir); err != nil {
			b.check(b.p.Mkdir(b.Context(), dir, 0o755))
		}
	}
	b.check(provider.WriteFile(b.Context(), b.p, p, []byte(content), 0))
	return p
}

func (b bencher) open(name provider.Path, opts provider.OpenOptions) provider.File {
	f, err := b.p.Open(b.Context(), name, opts)
	b.check(err)
	b.Cleanup(func() { f.Close() })
	return f
}

func (b bencher) stat(name string) {
	p := b.file(name, "x")
	for b.Loop() {
		_, err := b.p.Stat(b.Context(), p)
		b.check(err)
	}
}

func (b bencher) readFile(n int) {
	name := b.file("a/b/c/f", strings.Repeat("x", n))
	b.SetBytes(int64(n))
	for b.Loop() {
		_, err := provider.ReadFile(b.Context(), b.p, name)
		b.check(err)
	}
}

// renames moves a name there and back.
func (b bencher) renames(name provider.Path) {
	other, err := name.Parent().Join("other")
	b.check(err)
	for b.Loop() {
		b.check(b.p.Rename(b.Context(), name, other, provider.RenameOptions{}))
		b.check(b.p.Rename(b.Context(), other, name, provider.RenameOptions{}))
	}
}

func (b bencher) readDir(info bool) {
	for i := range 1000 {
		b.file(fmt.Sprintf("d/f%d", i), "")
	}
	f := b.open(provider.MustPath("d"), provider.OpenOptions{Read: true, Directory: true})
	for b.Loop() {
		entries, err := f.ReadDir(0)
		b.check(err)
		if info {
			b.infos(entries)
		}
	}
}

func (b bencher) infos(entries []fs.DirEntry) {
	for _, e := range entries {
		_, err := e.Info()
		b.check(err)
	}
}
