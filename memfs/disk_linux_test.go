package memfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestSameAsDisk runs random operations on memfs and on a real directory through
// package diskfs: handles stay open over renames and removals, links are planted.
// Results, error classes and the trees must be the same.
func TestSameAsDisk(t *testing.T) {
	rounds := 6
	switch {
	case os.Getenv("WORKSPACEFS_LONG") != "":
		rounds = 400
	case testing.Short():
		rounds = 2
	}
	first := rand.Uint64()
	if s := os.Getenv("MEMFS_DISK_SEED"); s != "" {
		fmt.Sscan(s, &first)
		rounds = 1
	}
	for i := range rounds {
		runPair(t, first+uint64(i), 500)
		if t.Failed() {
			t.Logf("MEMFS_DISK_SEED=%d", first+uint64(i))
			return
		}
	}
}

type pair struct {
	t     *testing.T
	rand  *rand.Rand
	host  string
	both  [2]provider.Provider
	files [][2]provider.File
	opts  []provider.OpenOptions
	log   []string
}

func runPair(t *testing.T, seed uint64, steps int) {
	host := t.TempDir()
	disk, err := diskfs.Open(host, diskfs.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer disk.Close()
	w := &pair{t: t, rand: rand.New(rand.NewPCG(seed, 2)), host: host}
	w.both = [2]provider.Provider{memfs.New(memfs.Options{}), disk}
	defer func() {
		for _, f := range w.files {
			f[0].Close()
			f[1].Close()
		}
		if t.Failed() {
			t.Logf("last steps:\n%s", strings.Join(w.log[max(0, len(w.log)-20):], "\n"))
		}
	}()
	for i := range steps {
		w.step()
		if i%50 == 49 {
			if a, b := dump(w.both[0], provider.Path{}), dump(w.both[1], provider.Path{}); a != b {
				t.Errorf("trees differ:\n%s\n%s", a, b)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// class reduces an error to what a caller can tell.
func class(err error) string {
	if err == nil {
		return "ok"
	}
	for _, c := range []error{
		provider.ErrSymlink, provider.ErrConflict, provider.ErrTooMany, io.EOF, fs.ErrClosed, syscall.ENOTDIR, syscall.EISDIR,
		syscall.ENOTEMPTY, syscall.EBUSY, syscall.EINVAL, syscall.EBADF, syscall.EFBIG, fs.ErrExist, fs.ErrNotExist, fs.ErrPermission,
	} {
		if errors.Is(err, c) {
			return c.Error()
		}
	}
	return err.Error()
}

// same does one thing on both and compares what it gives.
func (w *pair) same(what string, do func(i int) (any, error)) bool {
	w.t.Helper()
	w.log = append(w.log, what)
	var got [2]string
	var err error
	for i := range w.both {
		var v any
		if v, err = do(i); err == nil || v != nil {
			got[i] = fmt.Sprint(v, " ", class(err))
		} else {
			got[i] = class(err)
		}
	}
	if got[0] != got[1] {
		w.t.Errorf("%s: memory %s, disk %s", what, got[0], got[1])
	}
	return err == nil
}

func (w *pair) path() provider.Path {
	var p provider.Path
	for range 1 + w.rand.IntN(4)*w.rand.IntN(2) {
		p, _ = p.Join([]string{"a", "b", "c"}[w.rand.IntN(3)])
	}
	if w.rand.IntN(40) == 0 {
		return provider.Path{}
	}
	return p
}

func (w *pair) step() {
	ctx := w.t.Context()
	p, q := w.path(), w.path()
	perm := fs.FileMode(0o700) // such that no umask matters
	data := bytes.Repeat([]byte{byte('a' + w.rand.IntN(26))}, w.rand.IntN(40))
	switch w.rand.IntN(20) {
	case 0, 1:
		w.same(fmt.Sprintf("mkdir %v %o", p, perm), func(i int) (any, error) { return nil, w.both[i].Mkdir(ctx, p, perm) })
	case 2:
		w.same(fmt.Sprintf("remove %v", p), func(i int) (any, error) { return nil, w.both[i].Remove(ctx, p) })
	case 3, 4, 5:
		opts := provider.RenameOptions{NoReplace: w.rand.IntN(4) == 0, NotDir: w.rand.IntN(4) == 0}
		w.same(fmt.Sprintf("rename %v %v %+v", p, q, opts), func(i int) (any, error) { return nil, w.both[i].Rename(ctx, p, q, opts) })
	case 6, 7:
		opts := provider.ReplaceOptions{Perm: perm}
		switch w.rand.IntN(3) {
		case 0:
			opts.If = provider.IfAbsent()
		case 1:
			old, _ := provider.ReadFile(ctx, w.both[0], p)
			opts.If = provider.IfMatch(digest(old))
		}
		w.same(fmt.Sprintf("replace %v %d %v", p, len(data), opts.If.Absent()), func(i int) (any, error) {
			return w.both[i].Replace(ctx, p, bytes.NewReader(data), opts)
		})
	case 8:
		perm := []fs.FileMode{0o755, 0o700, 0o711, 0o744}[w.rand.IntN(4)]
		w.same(fmt.Sprintf("chmod %v %o", p, perm), func(i int) (any, error) { return nil, w.both[i].Chmod(ctx, p, perm) })
	case 9:
		if w.rand.IntN(3) == 0 {
			w.same(fmt.Sprintf("link %v", p), func(i int) (any, error) {
				if i == 0 {
					return nil, w.both[0].(*memfs.FS).Symlink("target", p)
				}
				// A host link is made where the provider finds the parent.
				if _, err := w.both[1].Open(ctx, p.Parent(), provider.OpenOptions{Read: true, Directory: true}); err != nil {
					return nil, err
				}
				return nil, os.Symlink("target", filepath.Join(w.host, p.String()))
			})
		}
	case 10:
		w.same(fmt.Sprintf("readfile %v", p), func(i int) (any, error) { return provider.ReadFile(ctx, w.both[i], p) })
	case 11, 12, 13, 14:
		w.open(p, perm)
	default:
		if len(w.files) > 0 {
			w.handle(w.rand.IntN(len(w.files)), data)
		}
	}
}

func (w *pair) open(p provider.Path, perm fs.FileMode) {
	flip := func(n int) bool { return w.rand.IntN(n) == 0 }
	opts := provider.OpenOptions{Read: !flip(4), Write: flip(2), Append: flip(3), Create: flip(2), Exclusive: flip(5), Truncate: flip(5), Directory: flip(8), Perm: perm}
	if flip(4) {
		opts = provider.OpenOptions{Read: true, Directory: flip(2)}
	}
	var f [2]provider.File
	if w.same(fmt.Sprintf("open %v %+v", p, opts), func(i int) (v any, err error) {
		f[i], err = w.both[i].Open(w.t.Context(), p, opts)
		return nil, err
	}) {
		w.files, w.opts = append(w.files, f), append(w.opts, opts)
	}
	if len(w.files) > 10 {
		w.close(w.rand.IntN(len(w.files)))
	}
}

func (w *pair) close(k int) {
	for range 2 {
		w.same("close", func(i int) (any, error) { return nil, w.files[k][i].Close() })
	}
	w.files, w.opts = slices.Delete(w.files, k, k+1), slices.Delete(w.opts, k, k+1)
}

func (w *pair) handle(k int, data []byte) {
	f, opts := w.files[k], w.opts[k]
	info, err := f[0].Stat()
	if err != nil {
		w.t.Error(err)
		return
	}
	off := int64(w.rand.IntN(60) - 2)
	writable := opts.Write && !info.IsDir()
	switch w.rand.IntN(8) {
	case 0:
		w.close(k)
	case 1:
		if opts.Read {
			w.same(fmt.Sprintf("readat %d", off), func(i int) (any, error) {
				buf := make([]byte, 30)
				n, err := f[i].ReadAt(buf, off)
				return string(buf[:n]), err
			})
		}
	case 2:
		if writable && !opts.Append {
			w.same(fmt.Sprintf("writeat %d %d", off, len(data)), func(i int) (any, error) { return f[i].WriteAt(data, off) })
		}
	case 3:
		if writable && opts.Append {
			w.same(fmt.Sprintf("append %d", len(data)), func(i int) (any, error) { _, end, err := f[i].Append(data); return end, err })
		}
	case 4:
		if writable {
			w.same(fmt.Sprintf("truncate %d", off), func(i int) (any, error) { return nil, f[i].Truncate(off) })
		}
	case 5:
		w.same("list", func(i int) (any, error) {
			list, err := f[i].ReadDir(0)
			var names []string
			for _, e := range list {
				names = append(names, e.Type().String()+e.Name())
			}
			slices.Sort(names)
			return names, err
		})
	case 6:
		w.same("stat", func(i int) (any, error) {
			info, err := f[i].Stat()
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(info.Name(), info.Mode(), info.Size()), nil
		})
	case 7:
		elem, dir := []string{"a", "b", "c"}[w.rand.IntN(3)], w.rand.IntN(2) == 0
		if r, ok := f[1].(provider.EntryRemover); ok && info.IsDir() {
			w.same(fmt.Sprintf("removeentry %s %v", elem, dir), func(i int) (any, error) {
				if i == 0 {
					r = f[0].(provider.EntryRemover)
				} else {
					r = f[1].(provider.EntryRemover)
				}
				return nil, r.RemoveEntry(elem, dir)
			})
		}
	}
}

// dump renders a tree.
func dump(p provider.Provider, name provider.Path) string {
	ctx := context.Background()
	info, err := p.Stat(ctx, name)
	if err != nil {
		return class(err)
	}
	mode := info.Mode()
	if name.IsRoot() {
		mode = fs.ModeDir // that of the host's temporary directory is not ours
	}
	switch {
	case mode.IsRegular():
		data, err := provider.ReadFile(ctx, p, name)
		return fmt.Sprintf("%v %q %s;", mode, data, class(err))
	case !mode.IsDir():
		return "link;"
	}
	f, err := p.Open(ctx, name, provider.OpenOptions{Read: true})
	if err != nil {
		return class(err)
	}
	defer f.Close()
	list, err := f.ReadDir(0)
	if err != nil {
		return class(err)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var b strings.Builder
	fmt.Fprintf(&b, "%v{", mode)
	for _, e := range list {
		q, _ := name.Join(e.Name())
		b.WriteString(e.Name() + ": " + dump(p, q) + " ")
	}
	return b.String() + "}"
}
