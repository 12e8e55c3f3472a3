package policyfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestSync: O_SYNC syncs after every write that succeeded, nothing else does, and
// Sync succeeds where the storage has nothing to offer.
func TestSync(t *testing.T) {
	s := newSpy(newStorage(t, "memory"))
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, fullSpec()), MaxFileBytes: 100})
	syncs := func() int {
		calls, _ := s.take()
		n := 0
		for _, c := range calls {
			if strings.HasPrefix(c, "File.Sync") {
				n++
			}
		}
		return n
	}
	for _, c := range []struct{ flag, want int }{{os.O_RDWR | os.O_CREATE, 0}, {os.O_RDWR | os.O_CREATE | os.O_SYNC, 3}, {os.O_WRONLY | os.O_APPEND | os.O_SYNC, 2}} {
		h, err := f.OpenFile("/f", c.flag, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		syncs()
		h.Write([]byte("a"))
		h.WriteString("b")
		h.WriteAt([]byte("c"), 0)
		h.WriteAt([]byte("c"), 1000) // refused
		h.Write(nil)
		if got := syncs(); got != c.want {
			t.Errorf("%s: %d syncs, want %d", flagText(c.flag), got, c.want)
		}
		if err := h.Sync(); err != nil || syncs() != 1 {
			t.Errorf("Sync: %v", err)
		}
		s.fault = func(method string, _ provider.Path) error {
			if method == "File.Sync" {
				return errors.ErrUnsupported
			}
			return nil
		}
		if err := h.Sync(); err != nil {
			t.Errorf("nothing to do: %v", err)
		}
		s.fault = nil
		h.Close()
	}
}

// TestPaging: pages skip what is refused, never come back empty without an error,
// hold every entry once and in order; Seek starts anew and sees what is new.
func TestPaging(t *testing.T) {
	for _, kind := range boxKinds {
		b := newBox(t, kind)
		want := []string{}
		for i := range 30 {
			name := fmt.Sprintf("f%02d", i)
			if i%3 == 0 {
				name = "." + name
			} else {
				want = append(want, name)
			}
			b.file("W/d/"+name, "")
		}
		b.link("W/d/z", "f01")
		want = append(want, "z")
		b.open()
		f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: policyfs.ReadWrite()})
		for page := 1; page < 40; page++ {
			h, err := f.Open("/d")
			if err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				var got []string
				for {
					var names []string
					var err error
					switch page % 3 {
					case 0:
						names, err = h.Readdirnames(page)
					case 1:
						var list []fs.FileInfo
						list, err = h.Readdir(page)
						for _, i := range list {
							names = append(names, i.Name())
						}
					case 2:
						var list []fs.DirEntry
						list, err = h.(fs.ReadDirFile).ReadDir(page)
						for _, e := range list {
							names = append(names, e.Name())
						}
					}
					if err == io.EOF && len(names) == 0 {
						break
					}
					if err != nil || len(names) == 0 || len(names) > page {
						t.Fatalf("%s: page of %d: %q, %v", kind, page, names, err)
					}
					got = append(got, names...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: pages of %d, round %d: %q", kind, page, round, got)
				}
				if _, err := h.Seek(0, io.SeekStart); err != nil {
					t.Error(err)
				}
			}
			h.Close()
		}
		h, err := f.Open("/d")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if names, err := h.Readdirnames(-1); err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: %q, %v", kind, names, err)
		}
		if names, err := h.Readdirnames(-1); err != nil || len(names) != 0 {
			t.Errorf("%s: again: %q, %v", kind, names, err)
		}
		b.file("W/d/zz", "")
		h.Seek(0, io.SeekStart)
		if names, err := h.Readdirnames(-1); err != nil || len(names) != len(want)+1 {
			t.Errorf("%s: after Seek: %q, %v", kind, names, err)
		}
	}
}

// TestHandleSnapshots: Stat does not change behind the caller; a handle stays on
// its object; its access is that of its opening.
func TestHandleSnapshots(t *testing.T) {
	for _, kind := range boxKinds {
		f, b := face(t, kind, policyfs.Options{})
		b.file("W/a", "12345")
		h, err := f.OpenFile("/a", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		info, err := h.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Truncate(1); err != nil {
			t.Error(err)
		}
		if info.Size() != 5 {
			t.Errorf("%s: the snapshot changed: %d", kind, info.Size())
		}
		b.must(f.Rename("/a", "/b"))
		b.must(f.Mkdir("/a", 0o755))
		if _, err := h.WriteAt([]byte("xy"), 1); err != nil || h.Name() != "/a" {
			t.Errorf("%s: %v %q", kind, err, h.Name())
		}
		if got, _ := b.content("W/b"); got != "1xy" {
			t.Errorf("%s: %q", kind, got)
		}
		b.must(f.Remove("/b"))
		if n, err := h.WriteString("still"); n != 5 || err != nil {
			t.Errorf("%s: removed: %d, %v", kind, n, err)
		}
	}
}
