package memfs

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

var seed = flag.Uint64("memfs.seed", 0, "seed of the random operation test; 0 for a new one")

// world runs the same operations on trees and on models of them.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	tick    int64
	trees   []*FS
	models  []*model
	handles []handle
	log     []string
	names   []string
}

type handle struct {
	tree int
	f    provider.File
	o    *object
	opts provider.OpenOptions
	name string
}

// TestRandomAgainstModel runs random operations, handles and clones included, on
// memfs and on the model. Results, attributes, listings, contents and the usage must
// be the same after each, the trees whole, and clones apart from each other.
func TestRandomAgainstModel(t *testing.T) {
	rounds, steps := 30, 600
	switch {
	case os.Getenv("WORKSPACEFS_LONG") != "":
		rounds = 1500
	case testing.Short():
		rounds = 8
	}
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	} else {
		rounds = 1
	}
	for i := range rounds {
		s := first + uint64(i)
		opts := []Options{
			{},
			{CaseInsensitive: true},
			{MaxBytes: 1 << 20, MaxFileBytes: 600 << 10, MaxFiles: 8, MaxDepth: 3},
			{MaxBytes: 400 << 10},
			{MaxBytes: 300, CaseInsensitive: true},
			{MaxDepth: 2, MaxFiles: 5},
		}[s%6]
		runWorld(t, s, opts, steps)
		if t.Failed() {
			return
		}
	}
}

func runWorld(t *testing.T, s uint64, opts Options, steps int) {
	w := &world{t: t, rand: rand.New(rand.NewPCG(s, 1)), names: []string{"a", "b", "c"}}
	if opts.CaseInsensitive {
		w.names = append(w.names, "A", "B")
	}
	opts.Now = func() time.Time { return time.Unix(0, w.tick) }
	w.trees = []*FS{New(opts)}
	w.models = []*model{newModel(opts, func() int64 { return w.tick })}
	if s%2 == 0 {
		w.trees[0].unremembered.Store(1 << 20) // the path cache is there from the start
	}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d (-memfs.seed), options %+v, last steps:\n%s", s, opts, strings.Join(w.log[max(0, len(w.log)-25):], "\n"))
		}
	}()
	for i := range steps {
		w.tick++
		w.step()
		if i%16 == 0 || i == steps-1 {
			w.check()
		}
	}
	for len(w.handles) > 0 {
		w.closeHandle(0)
	}
	w.check()
}

func (w *world) logf(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) same(got, want error) {
	w.t.Helper()
	if got != want {
		w.t.Fatalf("%s: got %v, want %v", w.log[len(w.log)-1], got, want)
	}
}

func (w *world) path() provider.Path {
	var p provider.Path
	for range 1 + w.rand.IntN(4)*w.rand.IntN(2) {
		p, _ = p.Join(w.names[w.rand.IntN(len(w.names))])
	}
	if w.rand.IntN(40) == 0 {
		return provider.Path{}
	}
	return p
}

// offset is mostly small, and at times around the borders of chunks.
func (w *world) offset() int64 {
	if w.rand.IntN(8) > 0 {
		return int64(w.rand.IntN(40))
	}
	return max(0, int64(w.rand.IntN(3))*chunkSize+int64(w.rand.IntN(7))-3)
}

func (w *world) data() []byte {
	n := w.rand.IntN(30)
	if w.rand.IntN(30) == 0 {
		n = w.rand.IntN(2*chunkSize + 10)
	}
	return bytes.Repeat([]byte{byte('a' + w.rand.IntN(26))}, n)
}

func (w *world) flip() bool { return w.rand.IntN(2) == 0 }

func (w *world) step() {
	ctx := w.t.Context()
	i := w.rand.IntN(len(w.trees))
	m, mod := w.trees[i], w.models[i]
	switch op := w.rand.IntN(24); op {
	case 0, 1:
		p, perm := w.path(), fs.FileMode(w.rand.IntN(0o1000))
		w.logf("%d mkdir %v %o", i, p, perm)
		w.same(m.Mkdir(ctx, p, perm), mod.mkdir(p, perm))
	case 2:
		p := w.path()
		w.logf("%d remove %v", i, p)
		w.same(m.Remove(ctx, p), mod.remove(p))
	case 3, 4, 5:
		p, q := w.path(), w.path()
		opts := provider.RenameOptions{NoReplace: w.rand.IntN(4) == 0, NotDir: w.rand.IntN(4) == 0}
		w.logf("%d rename %v %v %+v", i, p, q, opts)
		w.same(m.Rename(ctx, p, q, opts), mod.rename(p, q, opts))
	case 6, 7:
		p, data := w.path(), w.data()
		opts := provider.ReplaceOptions{Perm: fs.FileMode(w.rand.IntN(2) * 0o640)}
		switch w.rand.IntN(4) {
		case 0:
			opts.If = provider.IfAbsent()
		case 1:
			d, _, _ := w.digestOf(mod, w.path())
			opts.If = provider.IfMatch(d)
		case 2:
			d, _, _ := w.digestOf(mod, p)
			opts.If = provider.IfMatch(d)
		}
		w.logf("%d replace %v %d %+v", i, p, len(data), opts)
		got, err := m.Replace(ctx, p, bytes.NewReader(data), opts)
		want, wantErr := mod.replace(p, data, opts)
		w.same(err, wantErr)
		if got != want {
			w.t.Fatalf("%s: digest %v, want %v", w.log[len(w.log)-1], got, want)
		}
	case 8:
		p, perm := w.path(), fs.FileMode(w.rand.IntN(0o1000))
		w.logf("%d chmod %v %o", i, p, perm)
		o, want := mod.stat(p)
		if want == nil && o.mode.Type() == fs.ModeSymlink {
			want = provider.ErrSymlink
		}
		w.same(m.Chmod(ctx, p, perm|fs.ModeSetuid), want)
		if want == nil {
			o.mode = o.mode.Type() | perm
		}
	case 9:
		p, at := w.path(), int64(w.rand.IntN(1e9))
		w.logf("%d chtimes %v %d", i, p, at)
		o, want := mod.stat(p)
		if want == nil && o.mode.Type() == fs.ModeSymlink {
			want = provider.ErrSymlink
		}
		mtime := time.Unix(0, at)
		if w.flip() {
			mtime = time.Time{}
		}
		w.same(m.Chtimes(ctx, p, time.Unix(1, 2), mtime), want)
		if want == nil && !mtime.IsZero() {
			o.mtime = at
		}
	case 10:
		p := w.path()
		w.logf("%d symlink %v", i, p)
		w.same(m.Symlink("target", p), mod.symlink("target", p))
	case 11:
		w.clone(i)
	case 12, 13, 14, 15:
		w.open(i)
	default:
		if len(w.handles) > 0 {
			w.stepHandle(w.rand.IntN(len(w.handles)))
		}
	}
}

func (w *world) digestOf(mod *model, p provider.Path) (provider.Digest, *object, error) {
	o, err := mod.stat(p)
	if err != nil {
		return provider.Digest{}, nil, err
	}
	return digestOf(o.data), o, nil
}

func (w *world) clone(i int) {
	w.logf("%d clone", i)
	c, mc := w.trees[i].Clone(), w.models[i].clone()
	c.unremembered.Store(w.trees[i].unremembered.Load())
	if len(w.trees) < 4 {
		w.trees, w.models = append(w.trees, c), append(w.models, mc)
		return
	}
	// In the place of one that has no open files.
	for j := range w.trees {
		if !slices.ContainsFunc(w.handles, func(h handle) bool { return h.tree == j }) {
			w.trees[j], w.models[j] = c, mc
			return
		}
	}
}

func (w *world) open(i int) {
	opts := provider.OpenOptions{
		Read: w.rand.IntN(4) > 0, Write: w.flip(), Append: w.rand.IntN(3) == 0,
		Create: w.flip(), Exclusive: w.rand.IntN(5) == 0, Truncate: w.rand.IntN(5) == 0,
		Directory: w.rand.IntN(8) == 0, Perm: fs.FileMode(w.rand.IntN(2) * 0o600),
	}
	if w.rand.IntN(6) == 0 {
		opts = provider.OpenOptions{Read: true, Directory: w.flip()}
	}
	p := w.path()
	w.logf("%d open %v %+v", i, p, opts)
	f, err := w.trees[i].Open(w.t.Context(), p, opts)
	o, want := w.models[i].open(p, opts)
	w.same(err, want)
	if err != nil {
		return
	}
	w.handles = append(w.handles, handle{i, f, o, opts, p.Base()})
	if len(w.handles) > 12 {
		w.closeHandle(w.rand.IntN(len(w.handles)))
	}
}

func (w *world) closeHandle(k int) {
	h := w.handles[k]
	w.logf("%d close %s", h.tree, h.name)
	w.same(h.f.Close(), nil)
	w.same(h.f.Close(), fs.ErrClosed)
	_, err := h.f.ReadAt(nil, 0)
	w.same(err, fs.ErrClosed)
	w.models[h.tree].close(h.o)
	w.handles = slices.Delete(w.handles, k, k+1)
}

func (w *world) stepHandle(k int) {
	h := w.handles[k]
	mod := w.models[h.tree]
	isDir := h.o.kids != nil
	switch w.rand.IntN(8) {
	case 0:
		w.closeHandle(k)
	case 1:
		n, off := w.rand.IntN(50), w.offset()-2
		w.logf("%d readat %s %d %d", h.tree, h.name, n, off)
		if isDir || !h.opts.Read {
			return
		}
		buf := bytes.Repeat([]byte{'#'}, n)
		got, err := h.f.ReadAt(buf, off)
		want, wantErr := mod.readAt(h.o, n, off)
		w.same(err, wantErr)
		if !bytes.Equal(buf[:got], want) {
			w.t.Fatalf("%s: got %q, want %q", w.log[len(w.log)-1], buf[:got], want)
		}
	case 2, 3:
		p, off := w.data(), w.offset()
		w.logf("%d writeat %s %d %d", h.tree, h.name, len(p), off)
		if !isDir && h.opts.Write {
			n, err := h.f.WriteAt(p, off)
			w.same(err, mod.write(h.o, p, off))
			if err == nil && n != len(p) || err != nil && n != 0 {
				w.t.Fatalf("%s: %d bytes", w.log[len(w.log)-1], n)
			}
			clear(p) // the buffer is the caller's
		}
	case 4:
		p := w.data()
		w.logf("%d append %s %d", h.tree, h.name, len(p))
		if !isDir && h.opts.Write && h.opts.Append {
			_, end, err := h.f.Append(p)
			w.same(err, mod.write(h.o, p, int64(len(h.o.data))))
			if end != int64(len(h.o.data)) {
				w.t.Fatalf("%s: end %d, want %d", w.log[len(w.log)-1], end, len(h.o.data))
			}
		}
	case 5:
		size := w.offset() - 1
		w.logf("%d truncate %s %d", h.tree, h.name, size)
		if !isDir && h.opts.Write {
			w.same(h.f.Truncate(size), mod.truncate(h.o, size))
		}
	case 6:
		w.logf("%d list %s", h.tree, h.name)
		w.list(h.f, h.o)
	case 7:
		elem, dir := w.names[w.rand.IntN(len(w.names))], w.flip()
		w.logf("%d removeentry %s %s %v", h.tree, h.name, elem, dir)
		if isDir {
			w.same(h.f.(provider.EntryRemover).RemoveEntry(elem, dir), mod.removeEntry(h.o, elem, dir))
		}
	}
}

// list compares a listing, and what its entries say, with the model.
func (w *world) list(f provider.File, o *object) {
	w.t.Helper()
	list, err := f.ReadDir(0)
	if o.kids == nil {
		if !errors.Is(err, errNotDir) {
			w.t.Fatalf("ReadDir of a file: %v", err)
		}
		return
	}
	if err != nil || len(list) != len(o.kids) {
		w.t.Fatalf("ReadDir: %v, %v, want %d entries", list, err, len(o.kids))
	}
	if len(list) > 1 {
		if _, err := f.ReadDir(len(list) - 1); err != provider.ErrTooMany {
			w.t.Fatalf("ReadDir over the bound: %v", err)
		}
	}
	for _, e := range list {
		var want *kid
		for _, k := range o.kids {
			if k.name == e.Name() {
				want = k
			}
		}
		if want == nil {
			w.t.Fatalf("unexpected entry %q", e.Name())
		}
		info, err := e.Info()
		if err != nil || e.Type() != want.obj.mode.Type() {
			w.t.Fatalf("entry %q: %v, %v", e.Name(), e.Type(), err)
		}
		w.sameInfo(info, want.name, want.obj)
	}
}

func (w *world) sameInfo(got fs.FileInfo, name string, o *object) {
	w.t.Helper()
	size := int64(len(o.data))
	if got.Name() != name || got.Mode() != o.mode || got.ModTime().UnixNano() != o.mtime || got.Size() != size || got.Sys() != nil {
		w.t.Fatalf("got %v mtime %d, want %s %v %d mtime %d", got, got.ModTime().UnixNano(), name, o.mode, size, o.mtime)
	}
}

// check compares everything.
func (w *world) check() {
	w.t.Helper()
	checkApart(w.t, w.trees...)
	for i, m := range w.trees {
		checkTree(w.t, m)
		if got, want := m.Usage(), w.models[i].usage(); got != want {
			w.t.Fatalf("tree %d: usage %+v, want %+v", i, got, want)
		}
		w.compare(m, provider.Path{}, w.models[i].root)
	}
	for _, h := range w.handles {
		info, err := h.f.Stat()
		w.same(err, nil)
		w.sameInfo(info, h.name, h.o)
		if h.o.kids == nil && h.opts.Read {
			buf := make([]byte, len(h.o.data))
			if n, err := h.f.ReadAt(buf, 0); n != len(buf) || err != nil || !bytes.Equal(buf, h.o.data) {
				w.t.Fatalf("handle %s: %d bytes, %v", h.name, n, err)
			}
		}
	}
}

func (w *world) compare(m *FS, p provider.Path, o *object) {
	w.t.Helper()
	ctx := context.Background()
	info, err := m.Stat(ctx, p)
	if err != nil {
		w.t.Fatalf("stat %v: %v", p, err)
	}
	w.sameInfo(info, p.Base(), o)
	switch o.mode.Type() {
	case 0:
		data, err := m.ReadFile(ctx, p, 0)
		if err != nil || !bytes.Equal(data, o.data) {
			w.t.Fatalf("%v: %d bytes, %v, want %d", p, len(data), err, len(o.data))
		}
	case fs.ModeDir:
		for _, k := range o.kids {
			q, err := p.Join(k.name)
			if err != nil {
				w.t.Fatal(err)
			}
			w.compare(m, q, k.obj)
		}
	}
}
