package memfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	tib = 1 << 40
)

// TestHoles: sizes of many tebibytes cost nothing and break nothing.
func TestHoles(t *testing.T) {
	ctx := t.Context()
	m := memfs.New(memfs.Options{MaxBytes: mib})
	f := open(t, m, "f", create)
	defer f.Close()
	must(t, f.Truncate(8*tib))
	if u := m.Usage(); u.Bytes != 0 {
		t.Errorf("a hole is charged %d", u.Bytes)
	}
	buf := bytes.Repeat([]byte{1}, 100)
	if n, err := f.ReadAt(buf, 5*tib); n != 100 || err != nil || !bytes.Equal(buf, make([]byte, 100)) {
		t.Errorf("in a hole: %d, %v, %v", n, err, buf)
	}
	if n, err := f.ReadAt(buf, 8*tib-10); n != 10 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if _, err := f.WriteAt([]byte("far"), 7*tib+3); err != nil {
		t.Fatal(err)
	}
	if n, err := f.ReadAt(buf[:6], 7*tib); n != 6 || err != nil || string(buf[:6]) != "\x00\x00\x00far" {
		t.Errorf("%q, %v", buf[:6], err)
	}
	if u := m.Usage(); u.Bytes != 6 {
		t.Errorf("three bytes, three into a chunk, are charged %d", u.Bytes)
	}
	if _, err := m.ReadFile(ctx, path("f"), 0); err != syscall.EFBIG {
		t.Errorf("reading all of it: %v", err)
	}
	if _, err := m.Replace(ctx, path("f"), strings.NewReader(""), provider.ReplaceOptions{If: provider.IfMatch(digest(nil))}); err != syscall.EFBIG {
		t.Errorf("comparing all of it: %v", err)
	}
	c := m.Clone()
	must(t, f.Truncate(math.MaxInt64))
	if _, _, err := f.Append([]byte("x")); err != syscall.EFBIG {
		t.Errorf("append at the end of all: %v", err)
	}
	// In the last chunk that there can be, whose end is no int64.
	const last = math.MaxInt64 - 256<<10 + 1
	for _, off := range []int64{last - 2, last, math.MaxInt64 - 3} {
		if n, err := f.WriteAt([]byte("end"), off); n != 3 || err != nil {
			t.Errorf("write at %d: %d, %v", off, n, err)
		}
		if n, err := f.ReadAt(buf[:3], off); n != 3 || err != nil || string(buf[:3]) != "end" {
			t.Errorf("read at %d: %q, %v", off, buf[:3], err)
		}
	}
	must(t, f.Truncate(7*tib+5))
	must(t, f.Truncate(7*tib+7))
	if n, err := f.ReadAt(buf[:7], 7*tib); n != 7 || err != nil || string(buf[:7]) != "\x00\x00\x00fa\x00\x00" {
		t.Errorf("what was cut off comes back: %q, %v", buf[:7], err)
	}
	must(t, f.Truncate(0))
	if u := m.Usage(); u.Bytes != 0 {
		t.Errorf("an empty file is charged %d", u.Bytes)
	}
	g := open(t, c, "f", rw)
	defer g.Close()
	if n, err := g.ReadAt(buf[:6], 7*tib); n != 6 || err != nil || string(buf[:6]) != "\x00\x00\x00far" {
		t.Errorf("the clone: %q, %v", buf[:6], err)
	}
}

// TestFragments: single bytes far apart cannot retain much more than they are
// charged.
func TestFragments(t *testing.T) {
	const most = 640 * kib
	m := memfs.New(memfs.Options{MaxBytes: most})
	before := heap()
	f := open(t, m, "f", create)
	n := int64(0)
	for ; ; n++ {
		if _, err := f.WriteAt([]byte{1}, n*tib/16); err != nil {
			if !errors.Is(err, provider.ErrQuota) {
				t.Fatal(err)
			}
			break
		}
	}
	if grown := heap() - before; grown > 4*most {
		t.Errorf("%d bytes far apart retain %d KiB of the %d allowed", n, grown/kib, most/kib)
	}
	runtime.KeepAlive(m)
	// In a file without holes nothing is charged but its bytes.
	must(t, f.Truncate(0))
	if _, err := f.WriteAt(make([]byte, most), 0); err != nil {
		t.Errorf("a dense file of the whole limit: %v", err)
	}
	if u := m.Usage(); u.Bytes != most {
		t.Errorf("%+v", u)
	}
	if _, _, err := f.Append([]byte{1}); err != provider.ErrQuota {
		t.Errorf("one byte more: %v", err)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestEmptiedFilesRetainNothing: the memory of what was cut off or removed goes,
// though the handle on it is kept.
func TestEmptiedFilesRetainNothing(t *testing.T) {
	m := memfs.New(memfs.Options{})
	before := heap()
	const n = 200
	handles := make([]provider.File, n)
	for i := range handles {
		name := fmt.Sprintf("f%d", i)
		handles[i] = open(t, m, name, create)
		_, err := handles[i].WriteAt(make([]byte, 250*kib), 0)
		must(t, err)
		if i%2 == 0 {
			must(t, handles[i].Truncate(10))
		} else {
			must(t, m.Remove(t.Context(), path(name)))
		}
		must(t, handles[i].Close())
	}
	if grown := heap() - before; grown > 200*kib {
		t.Errorf("%d files without content retain %d KiB", n, grown/kib)
	}
	runtime.KeepAlive(m)
	runtime.KeepAlive(handles)
}

// TestNamesAreCopied: a name that is a small part of something large does not
// keep that.
func TestNamesAreCopied(t *testing.T) {
	m := memfs.New(memfs.Options{})
	before := heap()
	for i := range 50 {
		large := fmt.Sprintf("%04d", i) + strings.Repeat("x", mib)
		name := large[:4]
		layout(t, m, name+"/", name+"/f")
		for range 100 { // the path cache too
			m.Stat(t.Context(), path(name))
		}
		must(t, m.Rename(t.Context(), path(name+"/f"), path(name+"/g"), provider.RenameOptions{}))
	}
	if grown := heap() - before; grown > 2*mib {
		t.Errorf("50 names of 4 bytes retain %d KiB", grown/kib)
	}
	runtime.KeepAlive(m)
}

// TestNoAliases: buffers of callers and of the tree stay apart.
func TestNoAliases(t *testing.T) {
	ctx := t.Context()
	m := memfs.New(memfs.Options{})
	data := bytes.Repeat([]byte("data"), 100*kib) // more than a chunk
	want := bytes.Clone(data)
	f := open(t, m, "f", create)
	f.WriteAt(data, 0)
	f.Append(data)
	m.Replace(ctx, path("g"), readerFunc(func(p []byte) (int, error) {
		n := copy(p, data)
		data = data[n:]
		if len(data) == 0 {
			return n, io.EOF
		}
		return n, nil
	}), provider.ReplaceOptions{})
	for i := range want {
		if i < len(data) {
			data[i] = 'X'
		}
	}
	for range 2 {
		got, err := m.ReadFile(ctx, path("f"), 0)
		if err != nil || !bytes.Equal(got, append(bytes.Clone(want), want...)) {
			t.Fatalf("file f changed: %d bytes, %v", len(got), err)
		}
		clear(got)
		got, err = m.ReadFile(ctx, path("g"), 0)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("file g changed: %d bytes, %v", len(got), err)
		}
		clear(got)
	}
	small := layout(t, m, "small")
	got, _ := small.ReadFile(ctx, path("small"), 0)
	clear(got)
	if got, _ := small.ReadFile(ctx, path("small"), 0); string(got) != "small" {
		t.Errorf("small file changed: %q", got)
	}
}

// TestLimits: each limit exactly, and nothing changed beyond it.
func TestLimits(t *testing.T) {
	ctx := t.Context()
	quota := func(what string, err error) {
		t.Helper()
		if err != provider.ErrQuota || !errors.Is(err, syscall.EDQUOT) {
			t.Errorf("%s: %v", what, err)
		}
	}
	t.Run("bytes", func(t *testing.T) {
		m := memfs.New(memfs.Options{MaxBytes: 10})
		must(t, provider.WriteFile(ctx, m, path("a"), make([]byte, 6), 0))
		f := open(t, m, "b", create)
		_, err := f.WriteAt(make([]byte, 4), 0)
		must(t, err)
		n, err := f.WriteAt([]byte("123"), 2)
		quota("growing write", err)
		if data, _ := m.ReadFile(ctx, path("b"), 0); n != 0 || !bytes.Equal(data, make([]byte, 4)) {
			t.Errorf("wrote %d: %q", n, data)
		}
		_, err = f.WriteAt([]byte("12"), 2)
		must(t, err)
		must(t, f.Truncate(1000))
		quota("replace", provider.WriteFile(ctx, m, path("a"), make([]byte, 7), 0))
		must(t, provider.WriteFile(ctx, m, path("a"), make([]byte, 6), 0))
		must(t, m.Remove(ctx, path("a")))
		must(t, provider.WriteFile(ctx, m, path("a"), make([]byte, 6), 0))
		must(t, m.Remove(ctx, path("b")))
		quota("removed but open", provider.WriteFile(ctx, m, path("c"), make([]byte, 1), 0))
		must(t, f.Close())
		must(t, provider.WriteFile(ctx, m, path("c"), make([]byte, 4), 0))
		must(t, m.Rename(ctx, path("c"), path("a"), provider.RenameOptions{}))
		if u := m.Usage(); u != (memfs.Usage{Bytes: 4, Files: 1}) {
			t.Errorf("%+v", u)
		}
	})
	t.Run("file", func(t *testing.T) {
		m := memfs.New(memfs.Options{MaxFileBytes: 5})
		f := open(t, m, "f", create)
		_, err := f.WriteAt([]byte("12345"), 0)
		must(t, err)
		_, _, err = f.Append([]byte("6"))
		quota("append", err)
		_, err = f.WriteAt([]byte("x"), 5)
		quota("write", err)
		quota("truncate", f.Truncate(6))
		must(t, f.Truncate(5))
		quota("replace", provider.WriteFile(ctx, m, path("f"), make([]byte, 6), 0))
		if data, _ := m.ReadFile(ctx, path("f"), 0); string(data) != "12345" {
			t.Errorf("%q", data)
		}
	})
	t.Run("files", func(t *testing.T) {
		m := layout(t, memfs.New(memfs.Options{MaxFiles: 3}), "d/", "d/f", "l => x")
		quota("mkdir", m.Mkdir(ctx, path("e"), 0o755))
		quota("link", m.Symlink("x", path("e")))
		quota("replace", provider.WriteFile(ctx, m, path("e"), nil, 0))
		_, err := m.Open(ctx, path("e"), create)
		quota("open", err)
		if _, err := m.Stat(ctx, path("e")); err != syscall.ENOENT {
			t.Errorf("something was made: %v", err)
		}
		must(t, provider.WriteFile(ctx, m, path("d/f"), []byte("y"), 0))
		f := open(t, m, "d/f", create)
		quota("replace of an open file", provider.WriteFile(ctx, m, path("d/f"), nil, 0))
		if data, _ := m.ReadFile(ctx, path("d/f"), 0); string(data) != "y" {
			t.Errorf("%q", data)
		}
		must(t, m.Remove(ctx, path("d/f")))
		quota("removed but open", m.Mkdir(ctx, path("e"), 0o755))
		must(t, f.Close())
		layout(t, m, "e/")
	})
	t.Run("depth", func(t *testing.T) {
		m := layout(t, memfs.New(memfs.Options{MaxDepth: 3}), "a/", "a/b/", "a/b/c", "x/", "x/y/")
		layout(t, m, "x/y/z/")
		quota("deeper", m.Mkdir(ctx, path("x/y/z/1"), 0o755))
		quota("file", provider.WriteFile(ctx, m, path("x/y/z/1"), nil, 0))
		quota("rename of a file", m.Rename(ctx, path("a/b/c"), path("x/y/z/c"), provider.RenameOptions{}))
		quota("rename of a tree", m.Rename(ctx, path("a"), path("x/a"), provider.RenameOptions{}))
		must(t, m.Rename(ctx, path("a/b"), path("x/b"), provider.RenameOptions{}))
		must(t, m.Rename(ctx, path("x/b"), path("b"), provider.RenameOptions{}))
		must(t, m.Rename(ctx, path("b"), path("a/b"), provider.RenameOptions{}))
	})
}

// TestCaseInsensitive: names are found in any case, kept as they were made, and
// changed by a rename.
func TestCaseInsensitive(t *testing.T) {
	ctx := t.Context()
	m := layout(t, memfs.New(memfs.Options{CaseInsensitive: true}), "Dir/", "Dir/Straße", "Dir/ΣΑΣ", "kelvin")
	for _, name := range []string{"dir/STRAßE", "DIR/σας", "dir/σασ", "\u212Aelvin", "KELVIN"} {
		info, err := m.Stat(ctx, path(name))
		if err != nil || info.Name() != path(name).Base() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if err := m.Mkdir(ctx, path(name), 0o755); !errors.Is(err, syscall.EEXIST) {
			t.Errorf("mkdir %s: %v", name, err)
		}
	}
	names := func(dir string) string {
		f := open(t, m, dir, read)
		defer f.Close()
		list, err := f.ReadDir(0)
		must(t, err)
		var all []string
		for _, e := range list {
			info, err := e.Info()
			must(t, err)
			all = append(all, info.Name())
		}
		return strings.Join(all, " ")
	}
	if got := names("DIR"); got != "Straße ΣΑΣ" {
		t.Errorf("%q", got)
	}
	if _, err := m.Stat(ctx, path("dir/strasse")); err != syscall.ENOENT {
		t.Errorf("full folding is not asked for: %v", err)
	}
	if err := m.Rename(ctx, path("kelvin"), path("Kelvin"), provider.RenameOptions{NoReplace: true}); !errors.Is(err, syscall.EEXIST) {
		t.Errorf("%v", err)
	}
	must(t, m.Rename(ctx, path("KELVIN"), path("Kelvin"), provider.RenameOptions{}))
	must(t, m.Rename(ctx, path("dir"), path("DIR"), provider.RenameOptions{}))
	must(t, provider.WriteFile(ctx, m, path("dir/STRAßE"), []byte("kept"), 0))
	if got := names(".") + " " + names("dir"); got != "DIR Kelvin Straße ΣΑΣ" {
		t.Errorf("%q", got)
	}
	if err := m.Rename(ctx, path("DIR"), path("dir/sub"), provider.RenameOptions{}); err != syscall.EINVAL {
		t.Errorf("below itself: %v", err)
	}
	f := open(t, m, "dir", read)
	must(t, f.(provider.EntryRemover).RemoveEntry("straße", false))
	layout(t, m, "new")
	must(t, m.Rename(ctx, path("new"), path("KELVIN"), provider.RenameOptions{}))
	if got := names("."); got != "DIR KELVIN" {
		t.Errorf("%q", got)
	}
}

// TestClone: both sides go their ways, files, directories, holes and handles.
func TestClone(t *testing.T) {
	ctx := t.Context()
	m := layout(t, memfs.New(memfs.Options{MaxFiles: 20}), "d/", "d/open", "d/shut", "d/sub/", "gone", "l => x")
	big := bytes.Repeat([]byte("0123456789abcdef"), 40*kib)
	must(t, provider.WriteFile(ctx, m, path("big"), big, 0o600))
	h, g, dh := open(t, m, "d/open", rw), open(t, m, "gone", rw), open(t, m, "d", read)
	must(t, m.Remove(ctx, path("gone")))
	c := m.Clone()
	if u, cu := m.Usage(), c.Usage(); cu.Files != u.Files-1 || cu.Bytes != u.Bytes-4 {
		t.Errorf("usage %+v, of the clone %+v: a removed file is not in it", u, cu)
	}
	text := func(m *memfs.FS, name string) string {
		data, err := m.ReadFile(ctx, path(name), 0)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}
	h.WriteAt([]byte("M"), 0)
	g.WriteAt([]byte("G"), 0)
	hc := open(t, c, "d/open", rw)
	hc.WriteAt([]byte("C"), 0)
	if a, b := text(m, "d/open"), text(c, "d/open"); a != "M/open" || b != "C/open" {
		t.Errorf("%q, %q", a, b)
	}
	for _, side := range []*memfs.FS{m, c} {
		f := open(t, side, "big", rw)
		_, err := f.WriteAt([]byte("#"), 300*kib)
		must(t, err)
		must(t, f.Close())
	}
	for _, side := range []*memfs.FS{m, c} {
		want := bytes.Clone(big)
		want[300*kib] = '#'
		if text(side, "big") != string(want) {
			t.Error("the big file is wrong")
		}
	}
	must(t, m.Rename(ctx, path("d"), path("e"), provider.RenameOptions{}))
	must(t, c.Remove(ctx, path("d/shut")))
	must(t, c.Chmod(ctx, path("d/sub"), 0o700))
	if text(m, "e/shut") != "d/shut" || text(c, "d/shut") != syscall.ENOENT.Error() {
		t.Errorf("%q, %q", text(m, "e/shut"), text(c, "d/shut"))
	}
	if list, err := dh.ReadDir(0); err != nil || len(list) != 3 {
		t.Errorf("an open directory stays with its tree: %v, %v", list, err)
	}
	if info, err := m.Stat(ctx, path("e/sub")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := c.Open(ctx, path("l"), read); err != provider.ErrSymlink {
		t.Errorf("a link in a clone: %v", err)
	}
	// Clones of clones, and the first one goes.
	for i := range 10 {
		c = c.Clone()
		layout(t, c, fmt.Sprintf("n%d", i))
	}
	if text(c, "n0") != "n0" || text(c, "n9") != "n9" || text(m, "n0") != syscall.ENOENT.Error() {
		t.Error("clones of clones")
	}
}

// TestCloneSharesMemory: a clone of a large file costs nothing, and changing it
// a little costs a little.
func TestCloneSharesMemory(t *testing.T) {
	m := memfs.New(memfs.Options{})
	must(t, provider.WriteFile(t.Context(), m, path("big"), make([]byte, 16*mib), 0))
	before := heap()
	clones := make([]*memfs.FS, 50)
	for i := range clones {
		clones[i] = m.Clone()
		f := open(t, clones[i], "big", rw)
		_, err := f.WriteAt([]byte("x"), int64(i)*300*kib)
		must(t, err)
		must(t, f.Close())
	}
	if grown := heap() - before; grown > 30*mib {
		t.Errorf("50 changed clones of 16 MiB take %d MiB more", grown/mib)
	}
	runtime.KeepAlive(clones)
	runtime.KeepAlive(m)
}

// TestAllocations pins what the common operations allocate.
func TestAllocations(t *testing.T) {
	ctx := t.Context()
	name := path("some/deep/directory/file")
	m := newMem(t, name.String(), 4*kib)
	f := open(t, m, name.String(), rw)
	list := open(t, m, "some/deep/directory", read)
	buf := make([]byte, 4*kib)
	for what, c := range map[string]struct {
		want float64
		do   func()
	}{
		"stat":       {1, func() { m.Stat(ctx, name) }},
		"stat none":  {0, func() { m.Stat(ctx, path("none")) }},
		"open close": {1, func() { f, _ := m.Open(ctx, name, rw); f.Close() }},
		"readat":     {0, func() { f.ReadAt(buf, 0) }},
		"view":       {0, func() { f.(provider.ContentViewer).ViewContent(4*kib, func([]byte) {}) }},
		"writeat":    {0, func() { f.WriteAt(buf, 0) }},
		"file stat":  {1, func() { f.Stat() }},
		"readfile":   {1, func() { m.ReadFile(ctx, name, 0) }},
		"readdir":    {2, func() { list.ReadDir(0) }},
		"chmod":      {1, func() { m.Chmod(ctx, name, 0o644) }},
		"mkdir":      {4, func() { m.Mkdir(ctx, path("some/d"), 0o755); m.Remove(ctx, path("some/d")) }},
	} {
		for range 200 {
			c.do() // past the warming of the path cache
		}
		if got := testing.AllocsPerRun(100, c.do); got > c.want {
			t.Errorf("%s: %v allocations, want %v", what, got, c.want)
		}
	}
}

// TestLargeDirectory: 20,000 entries in, listed sorted, and out again in
// another order.
func TestLargeDirectory(t *testing.T) {
	ctx := t.Context()
	m := memfs.New(memfs.Options{})
	const n = 20_000
	name := func(i int) provider.Path { return path(fmt.Sprintf("f%05d", i*7919%n)) }
	for i := range n {
		must(t, m.Mkdir(ctx, name(i), 0o755))
	}
	f := open(t, m, ".", read)
	list, err := f.ReadDir(n)
	must(t, err)
	for i, e := range list {
		if want := fmt.Sprintf("f%05d", i); e.Name() != want {
			t.Fatalf("entry %d is %s", i, e.Name())
		}
	}
	if _, err := f.ReadDir(n - 1); err != provider.ErrTooMany {
		t.Errorf("%v", err)
	}
	for i := range n {
		must(t, m.Remove(ctx, name(i*13)))
	}
	if list, err := f.ReadDir(0); err != nil || len(list) != 0 {
		t.Errorf("%d left, %v", len(list), err)
	}
}

// TestDeepTree: a tree as deep as renames can make it breaks nothing.
func TestDeepTree(t *testing.T) {
	ctx := t.Context()
	m := layout(t, memfs.New(memfs.Options{MaxDepth: 1 << 20}), "top/")
	// Each round makes the tree deeper by a long path.
	long := strings.TrimSuffix(strings.Repeat("d/", 500), "/")
	for range 20 {
		mkdirAll(t, m, path("new/"+long))
		must(t, m.Rename(ctx, path("top"), path("new/"+long+"/t"), provider.RenameOptions{}))
		must(t, m.Rename(ctx, path("new"), path("top"), provider.RenameOptions{}))
	}
	open(t, m, "top/"+long, read)
	c := m.Clone()
	if u := c.Usage(); u.Files != 20*501+1 {
		t.Errorf("%+v", u)
	}
	mkdirAll(t, c, path("below/"+long))
	must(t, c.Rename(ctx, path("top"), path("below/"+long+"/top"), provider.RenameOptions{}))
}
