package memfs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// view returns a copy of what f shows, and whether it shows anything.
func view(t *testing.T, f provider.File, limit int) (text string, ok bool, err error) {
	t.Helper()
	calls := 0
	ok, err = f.(provider.ContentViewer).ViewContent(limit, func(content []byte) {
		calls++
		text = string(content)
		if cap(content) != len(content) {
			t.Errorf("%d bytes behind the content are within reach", cap(content)-len(content))
		}
	})
	if ok != (calls == 1) || calls > 1 || ok && err != nil {
		t.Errorf("%d calls of fn, and %v, %v", calls, ok, err)
	}
	return text, ok, err
}

func TestView(t *testing.T) {
	const chunk = 256 * kib
	m := memfs.New(memfs.Options{})
	for i, c := range []struct {
		what  string
		make  func(f provider.File)
		limit int
		ok    bool
	}{
		{"never written", func(f provider.File) {}, 0, true},
		{"never written, nothing wanted", func(f provider.File) {}, -1, false},
		{"small", func(f provider.File) { f.WriteAt([]byte("abc"), 0) }, 100, true},
		{"at the bound", func(f provider.File) { f.WriteAt([]byte("abc"), 0) }, 3, true},
		{"over the bound", func(f provider.File) { f.WriteAt([]byte("abc"), 0) }, 2, false},
		{"appended to", func(f provider.File) { f.Append([]byte("abc")); f.Append([]byte("def")) }, 100, true},
		{"zeros before what was written", func(f provider.File) { f.WriteAt([]byte("abc"), 100) }, 200, true},
		{"cut", func(f provider.File) { f.WriteAt([]byte("abc"), 0); f.Truncate(2) }, 100, true},
		{"cut to nothing", func(f provider.File) { f.WriteAt([]byte("abc"), 0); f.Truncate(0) }, 100, true},
		{"all of it a hole", func(f provider.File) { f.Truncate(3) }, 100, false},
		{"a hole behind what was written", func(f provider.File) { f.WriteAt([]byte("abc"), 0); f.Truncate(4) }, 100, false},
		{"a whole chunk", func(f provider.File) { f.WriteAt(bytes.Repeat([]byte("x"), chunk), 0) }, 2 * chunk, true},
		{"two chunks", func(f provider.File) { f.WriteAt(bytes.Repeat([]byte("x"), chunk+1), 0) }, 2 * chunk, false},
		{"two chunks, cut to one", func(f provider.File) { f.WriteAt(bytes.Repeat([]byte("x"), chunk+1), 0); f.Truncate(chunk) }, 2 * chunk, true},
		{"the second chunk alone", func(f provider.File) { f.WriteAt([]byte("x"), chunk) }, 2 * chunk, false},
	} {
		name := fmt.Sprintf("f%d", i)
		f := open(t, m, name, provider.OpenOptions{Read: true, Write: true, Append: true, Create: true})
		c.make(f)
		want, err := m.ReadFile(t.Context(), path(name), 0)
		if err != nil {
			t.Fatal(err)
		}
		if !c.ok {
			want = nil
		}
		if got, ok, err := view(t, f, c.limit); got != string(want) || ok != c.ok || err != nil {
			t.Errorf("%s: %d bytes, %v, %v; want %d, %v", c.what, len(got), ok, err, len(want), c.ok)
		}
	}
}

func TestViewOfNothing(t *testing.T) {
	m := layout(t, memfs.New(memfs.Options{}), "file", "dir/")
	closed := open(t, m, "file", read)
	closed.Close()
	for what, c := range map[string]struct {
		f    provider.File
		want error
	}{
		"closed":             {closed, fs.ErrClosed},
		"directory":          {open(t, m, "dir", read), syscall.EISDIR},
		"opened for writing": {open(t, m, "file", provider.OpenOptions{Write: true}), syscall.EBADF},
	} {
		if _, ok, err := view(t, c.f, 100); ok || err != c.want {
			t.Errorf("%s: %v, %v, want %v", what, ok, err, c.want)
		}
	}
}

// TestViewStays: whatever is done to a file while it is looked at takes effect at
// once, without waiting, and not in what is looked at.
func TestViewStays(t *testing.T) {
	ctx := t.Context()
	const text = "some content"
	var m *memfs.FS
	var f provider.File
	for what, c := range map[string]struct {
		do   func() error
		want string
	}{
		"write":            {func() error { return second(f.WriteAt([]byte("SOME"), 0)) }, "SOME content"},
		"two writes":       {func() error { f.WriteAt([]byte("x"), 0); return second(f.WriteAt([]byte("y"), 1)) }, "xyme content"},
		"append":           {func() error { return third(f.Append([]byte("!"))) }, "some content!"},
		"cut":              {func() error { return f.Truncate(4) }, "some"},
		"cut and write":    {func() error { f.Truncate(4); return second(f.WriteAt([]byte("!!!!"), 4)) }, "some!!!!"},
		"empty":            {func() error { return f.Truncate(0) }, ""},
		"empty and write":  {func() error { f.Truncate(0); return second(f.WriteAt([]byte("new"), 0)) }, "new"},
		"grow":             {func() error { return f.Truncate(13) }, "some content\x00"},
		"open truncating":  {func() error { return second(m.Open(ctx, path("f"), provider.OpenOptions{Write: true, Truncate: true})) }, ""},
		"another chunk":    {func() error { f.WriteAt([]byte("x"), 1<<20); return f.Truncate(3) }, "som"},
		"clone":            {func() error { c := m.Clone(); write(t, c, "f", "in the clone"); return nil }, "some content"},
		"write in a clone": {func() error { m = m.Clone(); write(t, m, "f", "SOME"); return nil }, "SOME content"},
		"write after a clone": {func() error {
			c := m.Clone()
			write(t, m, "f", "SOME")
			if data, err := c.ReadFile(ctx, path("f"), 0); string(data) != text {
				return fmt.Errorf("the clone has %q, %v", data, err)
			}
			return nil
		}, "SOME content"},
		"replace": {func() error { return provider.WriteFile(ctx, m, path("f"), []byte("new"), 0) }, "new"},
		"chmod":   {func() error { return m.Chmod(ctx, path("f"), 0o600) }, "some content"},
		"rename": {func() error {
			m.Rename(ctx, path("f"), path("g"), provider.RenameOptions{})
			return m.Rename(ctx, path("g"), path("f"), provider.RenameOptions{})
		}, "some content"},
		"close": {func() error { return f.Close() }, "some content"},
		"remove": {func() error {
			m.Remove(ctx, path("f"))
			f.Close()
			return provider.WriteFile(ctx, m, path("f"), []byte("x"), 0)
		}, "x"},
		"view again": {func() error { return second(f.(provider.ContentViewer).ViewContent(100, func([]byte) {})) }, "some content"},
	} {
		m = memfs.New(memfs.Options{MaxBytes: 4 << 20})
		provider.WriteFile(ctx, m, path("f"), []byte(text), 0)
		f = open(t, m, "f", provider.OpenOptions{Read: true, Write: true, Append: true})
		done := make(chan bool)
		go func() {
			defer close(done)
			ok, err := f.(provider.ContentViewer).ViewContent(100, func(content []byte) {
				if err := c.do(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if string(content) != text {
					t.Errorf("%s: what is looked at has become %q", what, content)
				}
				if data, err := m.ReadFile(ctx, path("f"), 0); string(data) != c.want || err != nil {
					t.Errorf("%s: the file holds %q, %v; want %q", what, data, err, c.want)
				}
			})
			if !ok || err != nil {
				t.Errorf("%s: %v, %v", what, ok, err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: waits for who looks at the file", what)
		}
		if data, err := m.ReadFile(ctx, path("f"), 0); string(data) != c.want || err != nil {
			t.Errorf("%s: afterwards the file holds %q, %v; want %q", what, data, err, c.want)
		}
		f.Close()
		if u := m.Usage(); u.Bytes != int64(len(strings.TrimRight(c.want, "\x00"))) {
			t.Errorf("%s: %d bytes are charged for %q", what, u.Bytes, c.want)
		}
	}
}

// write writes to the beginning of a file.
func write(t *testing.T, m *memfs.FS, name, text string) {
	t.Helper()
	f := open(t, m, name, rw)
	defer f.Close()
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		t.Error(err)
	}
}

// TestViewIsOneMoment: those who look see some write whole, as it was, for as long
// as they look.
func TestViewIsOneMoment(t *testing.T) {
	m := crowded(t, memfs.Options{})
	provider.WriteFile(t.Context(), m, path("f"), bytes.Repeat([]byte{1}, 5000), 0)
	crowd(func(i int) {
		f := open(t, m, "f", rw)
		defer f.Close()
		for j := range 300 {
			switch {
			case i%4 == 0:
				f.WriteAt(bytes.Repeat([]byte{byte(i + j)}, 5000), 0)
			case i == 1 && j%20 == 0:
				m.Clone()
			default:
				f.(provider.ContentViewer).ViewContent(5000, func(content []byte) {
					first := content[0]
					for range 3 {
						if bytes.Count(content, []byte{first}) != 5000 {
							t.Error("a mixture of two writes, or another one than before")
						}
					}
				})
			}
		}
	})
}
