package memfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

var path = provider.MustPath

// layout makes a tree from lines: "d/" a directory, "f" a file that holds its own
// name, "l => t" a link.
func layout(t testing.TB, m *memfs.FS, lines ...string) *memfs.FS {
	t.Helper()
	ctx := context.Background()
	for _, line := range lines {
		var err error
		if name, target, ok := strings.Cut(line, " => "); ok {
			err = m.Symlink(target, path(name))
		} else if name, ok := strings.CutSuffix(line, "/"); ok {
			err = m.Mkdir(ctx, path(name), 0o755)
		} else {
			err = provider.WriteFile(ctx, m, path(line), []byte(line), 0)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return m
}

func open(t testing.TB, m *memfs.FS, name string, opts provider.OpenOptions) provider.File {
	t.Helper()
	f, err := m.Open(context.Background(), path(name), opts)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	return f
}

var (
	rw     = provider.OpenOptions{Read: true, Write: true, Append: true}
	create = provider.OpenOptions{Read: true, Write: true, Append: true, Create: true}
)

// operations are all that take a name.
var operations = map[string]func(ctx context.Context, m *memfs.FS, name provider.Path) error{
	"open": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Open(ctx, name, read)
		return err
	},
	"open-directory": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Open(ctx, name, provider.OpenOptions{Read: true, Directory: true})
		return err
	},
	"open-write": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Open(ctx, name, rw)
		return err
	},
	"open-truncate": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Open(ctx, name, provider.OpenOptions{Read: true, Truncate: true})
		return err
	},
	"open-create": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Open(ctx, name, create)
		return err
	},
	"open-exclusive": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Open(ctx, name, provider.OpenOptions{Write: true, Create: true, Exclusive: true})
		return err
	},
	"stat": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Stat(ctx, name)
		return err
	},
	"mkdir":  func(ctx context.Context, m *memfs.FS, name provider.Path) error { return m.Mkdir(ctx, name, 0o700) },
	"remove": func(ctx context.Context, m *memfs.FS, name provider.Path) error { return m.Remove(ctx, name) },
	"rename": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		return m.Rename(ctx, name, path("new"), provider.RenameOptions{})
	},
	"rename-notdir": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		return m.Rename(ctx, name, path("new"), provider.RenameOptions{NotDir: true})
	},
	"rename-to": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		return m.Rename(ctx, path("src"), name, provider.RenameOptions{})
	},
	"rename-dir-to": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		return m.Rename(ctx, path("srcdir"), name, provider.RenameOptions{})
	},
	"rename-noreplace-to": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		return m.Rename(ctx, path("src"), name, provider.RenameOptions{NoReplace: true})
	},
	"replace": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Replace(ctx, name, strings.NewReader("new"), provider.ReplaceOptions{})
		return err
	},
	"replace-absent": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Replace(ctx, name, strings.NewReader("new"), provider.ReplaceOptions{If: provider.IfAbsent()})
		return err
	},
	"replace-match": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.Replace(ctx, name, strings.NewReader("new"), provider.ReplaceOptions{If: provider.IfMatch(digest(nil))})
		return err
	},
	"chmod": func(ctx context.Context, m *memfs.FS, name provider.Path) error { return m.Chmod(ctx, name, 0o700) },
	"chtimes": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		return m.Chtimes(ctx, name, time.Now(), time.Now())
	},
	"readfile": func(ctx context.Context, m *memfs.FS, name provider.Path) error {
		_, err := m.ReadFile(ctx, name, 0)
		return err
	},
}

// TestErrors has each operation on each kind of name. The answers are those of
// package os on Linux, and of the contract where that decides otherwise.
func TestErrors(t *testing.T) {
	const (
		enoent, enotdir, eisdir, eexist = syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST
		enotempty, ebusy                = syscall.ENOTEMPTY, syscall.EBUSY
	)
	link, conflict := provider.ErrSymlink, provider.ErrConflict
	all := []string{".", "file", "dir", "full", "link", "none", "none/x", "file/x", "link/x", "dir/x"}
	want := map[string][]error{
		"open":                {nil, nil, nil, nil, link, enoent, enoent, enotdir, link, enoent},
		"open-directory":      {nil, enotdir, nil, nil, link, enoent, enoent, enotdir, link, enoent},
		"open-write":          {eisdir, nil, eisdir, eisdir, link, enoent, enoent, enotdir, link, enoent},
		"open-truncate":       {eisdir, nil, eisdir, eisdir, link, enoent, enoent, enotdir, link, enoent},
		"open-create":         {eisdir, nil, eisdir, eisdir, link, nil, enoent, enotdir, link, nil},
		"open-exclusive":      {eexist, eexist, eexist, eexist, eexist, nil, enoent, enotdir, link, nil},
		"stat":                {nil, nil, nil, nil, nil, enoent, enoent, enotdir, link, enoent},
		"mkdir":               {eexist, eexist, eexist, eexist, eexist, nil, enoent, enotdir, link, nil},
		"remove":              {ebusy, nil, nil, enotempty, nil, enoent, enoent, enotdir, link, enoent},
		"rename":              {ebusy, nil, nil, nil, nil, enoent, enoent, enotdir, link, enoent},
		"rename-notdir":       {ebusy, nil, eisdir, eisdir, nil, enoent, enoent, enotdir, link, enoent},
		"rename-to":           {ebusy, nil, eexist, eexist, nil, nil, enoent, enotdir, link, nil},
		"rename-dir-to":       {ebusy, enotdir, eexist, eexist, enotdir, nil, enoent, enotdir, link, nil},
		"rename-noreplace-to": {ebusy, eexist, eexist, eexist, eexist, nil, enoent, enotdir, link, nil},
		"replace":             {eisdir, nil, eisdir, eisdir, link, nil, enoent, enotdir, link, nil},
		"replace-absent":      {conflict, conflict, conflict, conflict, conflict, nil, enoent, enotdir, link, nil},
		"replace-match":       {eisdir, conflict, eisdir, eisdir, link, enoent, enoent, enotdir, link, enoent},
		"chmod":               {nil, nil, nil, nil, link, enoent, enoent, enotdir, link, enoent},
		"chtimes":             {nil, nil, nil, nil, link, enoent, enoent, enotdir, link, enoent},
		"readfile":            {eisdir, nil, eisdir, eisdir, link, enoent, enoent, enotdir, link, enoent},
	}
	ctx := context.Background()
	for op, do := range operations {
		if len(want[op]) != len(all) {
			t.Fatalf("%s has no row", op)
		}
		for i, name := range all {
			for _, cloned := range []bool{false, true} {
				m := layout(t, memfs.New(memfs.Options{}), "file", "src", "srcdir/", "dir/", "full/", "full/f", "link => dir")
				if cloned {
					m = m.Clone()
				}
				before := m.Usage()
				if err := do(ctx, m, path(name)); err != want[op][i] {
					t.Errorf("%s %s (clone %v): %v, want %v", op, name, cloned, err, want[op][i])
				} else if err != nil && m.Usage() != before {
					t.Errorf("%s %s: failed and changed %+v to %+v", op, name, before, m.Usage())
				}
			}
		}
	}
}

// TestDoneAndClosed: a context that is done, and a provider that is closed,
// refuse every operation and change nothing.
func TestDoneAndClosed(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	m := layout(t, memfs.New(memfs.Options{}), "file", "src", "dir/")
	f := open(t, m, "file", rw)
	for op, do := range operations {
		if err := do(done, m, path("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a done context: %v", op, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != fs.ErrClosed {
		t.Errorf("second close: %v", err)
	}
	zero := new(memfs.FS)
	for op, do := range operations {
		for _, m := range []*memfs.FS{m, zero} {
			if err := do(context.Background(), m, path("file")); err != fs.ErrClosed {
				t.Errorf("%s after Close: %v", op, err)
			}
		}
	}
	for _, m := range []*memfs.FS{m, zero} {
		if err := m.Symlink("x", path("l")); err != fs.ErrClosed {
			t.Errorf("symlink after Close: %v", err)
		}
	}
	if err := zero.Close(); err != fs.ErrClosed {
		t.Errorf("close of the zero FS: %v", err)
	}
	// Open files and clones are not affected.
	if _, end, err := f.Append([]byte("!")); err != nil || end != 5 {
		t.Errorf("append after Close: %d, %v", end, err)
	}
	c := m.Clone()
	if data, err := c.ReadFile(context.Background(), path("file"), 0); string(data) != "file!" || err != nil {
		t.Errorf("clone of a closed FS: %q, %v", data, err)
	}
	if _, err := zero.Clone().Stat(context.Background(), path(".")); err != nil {
		t.Errorf("clone of the zero FS: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	checkClosed(t, f)
}

func checkClosed(t *testing.T, f provider.File) {
	t.Helper()
	var errs [9]error
	_, errs[0] = f.ReadAt(make([]byte, 1), 0)
	_, errs[1] = f.WriteAt([]byte("x"), 0)
	_, _, errs[2] = f.Append([]byte("x"))
	_, errs[3] = f.Stat()
	errs[4] = f.Truncate(0)
	errs[5] = f.Sync()
	errs[6] = f.Close()
	_, errs[7] = f.ReadDir(0)
	_, errs[8] = f.(provider.ContentViewer).ViewContent(1<<20, func([]byte) { t.Error("a closed file is shown") })
	for i, err := range errs {
		if err != fs.ErrClosed {
			t.Errorf("operation %d on a closed file: %v", i, err)
		}
	}
}

// TestFiles: what a handle answers that opened the wrong thing, or asks for the
// impossible.
func TestFiles(t *testing.T) {
	m := layout(t, memfs.New(memfs.Options{}), "file", "dir/", "dir/x", "dir/sub/")
	d, f := open(t, m, "dir", read), open(t, m, "file", rw)
	ro := open(t, m, "file", read)
	buf := make([]byte, 9)
	for what, got := range map[string]struct{ err, want error }{
		"dir ReadAt":        {second(d.ReadAt(buf, 0)), syscall.EISDIR},
		"dir WriteAt":       {second(d.WriteAt(buf, 0)), syscall.EISDIR},
		"dir Truncate":      {d.Truncate(0), syscall.EISDIR},
		"dir Append":        {third(d.Append(buf)), syscall.EISDIR},
		"dir Sync":          {d.Sync(), nil},
		"file ReadDir":      {second(f.ReadDir(0)), syscall.ENOTDIR},
		"file RemoveEntry":  {f.(provider.EntryRemover).RemoveEntry("x", false), syscall.ENOTDIR},
		"file Sync":         {f.Sync(), nil},
		"negative ReadAt":   {second(f.ReadAt(buf, -1)), syscall.EINVAL},
		"negative WriteAt":  {second(f.WriteAt(buf, -1)), syscall.EINVAL},
		"negative Truncate": {f.Truncate(-1), syscall.EINVAL},
		"beyond the end":    {second(f.ReadAt(buf, 100)), io.EOF},
		"nothing beyond":    {second(f.ReadAt(nil, 100)), nil},
		"short":             {second(f.ReadAt(buf, 2)), io.EOF},
		"exact":             {second(f.ReadAt(buf[:4], 0)), nil},
		"over int64":        {second(f.WriteAt(buf, 1<<63-1)), syscall.EFBIG},
		"read-only write":   {second(ro.WriteAt(buf, 0)), syscall.EBADF},
		"read-only cut":     {ro.Truncate(0), syscall.EBADF},
		"too many":          {second(d.ReadDir(1)), provider.ErrTooMany},
		"entry is no dir":   {d.(provider.EntryRemover).RemoveEntry("x", true), syscall.ENOTDIR},
		"entry is a dir":    {d.(provider.EntryRemover).RemoveEntry("sub", false), syscall.EISDIR},
		"no entry":          {d.(provider.EntryRemover).RemoveEntry("y", false), syscall.ENOENT},
	} {
		if got.err != got.want {
			t.Errorf("%s: %v, want %v", what, got.err, got.want)
		}
	}
	for _, elem := range []string{"", ".", "..", "a/b", "/", "sub/", "x\x00"} {
		if err := d.(provider.EntryRemover).RemoveEntry(elem, false); !errors.Is(err, provider.ErrPath) {
			t.Errorf("RemoveEntry(%q): %v", elem, err)
		}
	}
	for _, opts := range []provider.OpenOptions{{}, {Create: true}, {Directory: true}, {Read: true, Write: true, Directory: true}, {Read: true, Create: true, Directory: true}} {
		if _, err := m.Open(t.Context(), path("file"), opts); err != syscall.EINVAL {
			t.Errorf("open %+v: %v", opts, err)
		}
	}
	if data, err := m.ReadFile(t.Context(), path("file"), 0); string(data) != "file" || err != nil {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if _, err := m.ReadFile(t.Context(), path("file"), 3); err != syscall.EFBIG {
		t.Errorf("over the bound: %v", err)
	}
	if data, err := m.ReadFile(t.Context(), path("file"), 4); len(data) != 4 || err != nil {
		t.Errorf("at the bound: %q, %v", data, err)
	}
}

func second[A any](_ A, err error) error        { return err }
func third[A, B any](_ A, _ B, err error) error { return err }

// TestHandlesStay: a handle stays on its object, whatever happens to the name.
func TestHandlesStay(t *testing.T) {
	ctx := t.Context()
	m := layout(t, memfs.New(memfs.Options{}), "a", "b", "d/", "d/x")
	a, b, d := open(t, m, "a", rw), open(t, m, "b", rw), open(t, m, "d", read)
	content := func(f provider.File) string {
		buf := make([]byte, 100)
		n, _ := f.ReadAt(buf, 0)
		return string(buf[:n])
	}
	must(t, m.Rename(ctx, path("a"), path("b"), provider.RenameOptions{}))
	a.WriteAt([]byte("A"), 0)
	b.WriteAt([]byte("B"), 0)
	if got, _ := m.ReadFile(ctx, path("b"), 0); string(got) != "A" || content(b) != "B" {
		t.Errorf("after a rename: %q, %q", got, content(b))
	}
	must(t, provider.WriteFile(ctx, m, path("b"), []byte("new"), 0))
	if a.Append([]byte("+")); content(a) != "A+" {
		t.Errorf("after a replace: %q", content(a))
	}
	must(t, m.Remove(ctx, path("b")))
	must(t, m.Rename(ctx, path("d"), path("e"), provider.RenameOptions{}))
	if info, err := d.Stat(); err != nil || info.Name() != "d" {
		t.Errorf("the name of a moved directory: %v, %v", info, err)
	}
	list, err := d.ReadDir(0)
	if err != nil || len(list) != 1 || list[0].Name() != "x" {
		t.Errorf("a moved directory: %v, %v", list, err)
	}
	must(t, m.Remove(ctx, path("e/x")))
	if _, err := list[0].Info(); err != syscall.ENOENT {
		t.Errorf("an entry that vanished: %v", err)
	}
	must(t, m.Remove(ctx, path("e")))
	if list, err := d.ReadDir(0); err != nil || len(list) != 0 {
		t.Errorf("a removed directory: %v, %v", list, err)
	}
	if u := m.Usage(); u != (memfs.Usage{Bytes: 3, Files: 3}) {
		t.Errorf("three removed and open objects: %+v", u)
	}
	for _, f := range []provider.File{a, b, d} {
		must(t, f.Close())
	}
	if u := m.Usage(); u != (memfs.Usage{}) {
		t.Errorf("after closing: %+v", u)
	}
	if _, err := list[0].Info(); err != fs.ErrClosed {
		t.Errorf("an entry of a closed directory: %v", err)
	}
}

// TestTimes: which modification times change is what POSIX says.
func TestTimes(t *testing.T) {
	ctx := t.Context()
	now := int64(1000)
	m := memfs.New(memfs.Options{Now: func() time.Time { return time.Unix(now, 0) }})
	layout(t, m, "d/", "d/f", "d/g", "e/", "e/sub/")
	h := open(t, m, "d/f", rw)
	all := []string{".", "d", "d/f", "d/g", "e", "e/sub", "e/g", "d/new", "d/sub"}
	steps := []struct {
		do   func() error
		want string // of all, those that changed
	}{
		{func() error { _, err := h.WriteAt([]byte("x"), 0); return err }, "d/f"},
		{func() error { _, err := h.WriteAt(nil, 99); return err }, ""},
		{func() error { _, _, err := h.Append([]byte("x")); return err }, "d/f"},
		{func() error { _, _, err := h.Append(nil); return err }, ""},
		{func() error { return h.Truncate(1) }, "d/f"},
		{func() error { return h.Truncate(1) }, "d/f"},
		{func() error { _, err := h.ReadAt(make([]byte, 1), 0); return err }, ""},
		{func() error { return m.Chmod(ctx, path("d/f"), 0o600) }, ""},
		{func() error { return m.Chtimes(ctx, path("d/f"), time.Unix(5, 0), time.Time{}) }, ""},
		{func() error { return open(t, m, "d/f", provider.OpenOptions{Read: true, Truncate: true}).Close() }, "d/f"},
		{func() error { return open(t, m, "d/f", create).Close() }, ""},
		{func() error { return open(t, m, "d/new", create).Close() }, "d d/new"},
		{func() error { return provider.WriteFile(ctx, m, path("d/new"), nil, 0) }, "d d/new"},
		{func() error { return m.Rename(ctx, path("d/g"), path("e/g"), provider.RenameOptions{}) }, "d e"},
		{func() error { return m.Rename(ctx, path("e/g"), path("e/g"), provider.RenameOptions{}) }, ""},
		{func() error { return m.Rename(ctx, path("e/sub"), path("d/sub"), provider.RenameOptions{}) }, "d e"},
		{func() error { return m.Remove(ctx, path("e/g")) }, "e"},
		{func() error { return m.Remove(ctx, path("d/sub")) }, "d"},
		{func() error { return m.Mkdir(ctx, path("sub"), 0o755) }, "."},
		{func() error { return m.Symlink("x", path("d/sub")) }, "d d/sub"},
		{func() error { return m.Remove(ctx, path("none")) }, ""},
	}
	for i, s := range steps {
		now += 10
		if err := s.do(); err != nil && i != len(steps)-1 {
			t.Fatal(i, err)
		}
		var got []string
		for _, name := range all {
			if info, err := m.Stat(ctx, path(name)); err == nil && info.ModTime().Equal(time.Unix(now, 0)) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != s.want {
			t.Errorf("step %d changed %q, want %q", i, got, s.want)
		}
	}
	for _, far := range []int{1, 9999} {
		must(t, m.Chtimes(ctx, path("d"), time.Now(), time.Date(far, 1, 2, 3, 4, 5, 6, time.UTC)))
		info, err := m.Stat(ctx, path("d"))
		if err != nil || info.ModTime().Year() < 1677 || info.ModTime().Year() > 2262 {
			t.Errorf("year %d: %v, %v", far, info.ModTime(), err)
		}
	}
	fine := time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)
	must(t, m.Chtimes(ctx, path("d"), time.Time{}, fine))
	if info, _ := m.Stat(ctx, path("d")); !info.ModTime().Equal(fine) {
		t.Errorf("%v, want %v", info.ModTime(), fine)
	}
}

// TestClock: without Options.Now times follow the wall clock.
func TestClock(t *testing.T) {
	m := memfs.New(memfs.Options{})
	before := time.Now()
	for i := range 100 {
		layout(t, m, fmt.Sprintf("f%d", i))
		info, err := m.Stat(t.Context(), path(fmt.Sprintf("f%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		if d := info.ModTime().Sub(before); d < -20*time.Millisecond || time.Since(info.ModTime()) < -20*time.Millisecond {
			t.Fatalf("%v after the start, %v ago", d, time.Since(info.ModTime()))
		}
		if i%50 == 0 {
			time.Sleep(15 * time.Millisecond) // past the next look at the wall clock
		}
	}
}

// TestReplaceSource: what a source can do wrong changes nothing and blocks nobody.
func TestReplaceSource(t *testing.T) {
	ctx := t.Context()
	m := layout(t, memfs.New(memfs.Options{MaxBytes: 1000}), "f")
	broken := errors.New("broken")
	for what, c := range map[string]struct {
		source io.Reader
		want   error
	}{
		"error":         {io.MultiReader(strings.NewReader("data"), iotest.ErrReader(broken)), broken},
		"data + error":  {iotest.DataErrReader(io.MultiReader(strings.NewReader("data"), iotest.ErrReader(broken))), broken},
		"endless":       {readerFunc(func(p []byte) (int, error) { return len(p), nil }), provider.ErrQuota},
		"nothing ever":  {readerFunc(func(p []byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		"negative":      {readerFunc(func(p []byte) (int, error) { return -1, nil }), io.ErrNoProgress},
		"more than all": {readerFunc(func(p []byte) (int, error) { return len(p) + 1, nil }), io.ErrNoProgress},
		"lying length":  {lying{strings.NewReader(strings.Repeat("x", 1001))}, provider.ErrQuota},
	} {
		if _, err := m.Replace(ctx, path("f"), c.source, provider.ReplaceOptions{}); err != c.want {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if data, err := m.ReadFile(ctx, path("f"), 0); string(data) != "f" || err != nil {
			t.Errorf("%s: the file holds %q, %v", what, data, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	_, err := m.Replace(cancelled, path("f"), readerFunc(func(p []byte) (int, error) { cancel(); return copy(p, "x"), nil }), provider.ReplaceOptions{})
	if err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	// A source may use the same tree.
	f := open(t, m, "f", rw)
	d, err := m.Replace(ctx, path("f"), io.MultiReader(io.NewSectionReader(f, 0, 10), strings.NewReader("+")), provider.ReplaceOptions{})
	if err != nil || d != digest([]byte("f+")) {
		t.Errorf("copy of itself: %v, %v", d, err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type lying struct{ io.Reader }

func (lying) Len() int { return -5 }

// TestReplaceKeepsMode: an existing file keeps its permission bits, a new one
// gets those asked for; the digest is that of the content.
func TestReplaceKeepsMode(t *testing.T) {
	ctx := t.Context()
	m := memfs.New(memfs.Options{})
	for i, c := range []struct{ perm, want fs.FileMode }{{0, 0o644}, {0o600, 0o644}} {
		data := strings.Repeat("x", i*300_000)
		d, err := m.Replace(ctx, path("f"), strings.NewReader(data), provider.ReplaceOptions{Perm: c.perm})
		if err != nil || d != digest([]byte(data)) {
			t.Errorf("%v, %v", d, err)
		}
		if info, err := m.Stat(ctx, path("f")); err != nil || info.Mode() != c.want || info.Size() != int64(len(data)) {
			t.Errorf("%v, %v, want %v", info, err, c.want)
		}
		if _, err := m.Replace(ctx, path("f"), strings.NewReader(data), provider.ReplaceOptions{If: provider.IfMatch(d)}); err != nil {
			t.Errorf("if match: %v", err)
		}
	}
	if _, err := m.Replace(ctx, path("g"), strings.NewReader(""), provider.ReplaceOptions{Perm: 0o4751}); err != nil {
		t.Fatal(err)
	}
	if info, err := m.Stat(ctx, path("g")); err != nil || info.Mode() != 0o751 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestFeatures: the claims, and that they follow the options.
func TestFeatures(t *testing.T) {
	want := provider.Features{
		Write: true, InPlace: true, CaseSensitive: true, LinkFree: true, RaceFree: true,
		Chmod: true, Chtimes: true, AtomicRename: true,
	}
	if got := memfs.New(memfs.Options{}).Features(); got != want {
		t.Errorf("%+v", got)
	}
	want.CaseSensitive = false
	if got := memfs.New(memfs.Options{CaseInsensitive: true}).Features(); got != want {
		t.Errorf("%+v", got)
	}
	for _, o := range []memfs.Options{{MaxBytes: 1}, {MaxFileBytes: 1}, {MaxFiles: 1}, {MaxDepth: 1}} {
		if !memfs.New(o).Features().Quota {
			t.Errorf("%+v has no quota", o)
		}
	}
}
