package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestEntryInfoOfAnother: an entry was listed because it was a directory on the way
// to something permitted. Of a file that has taken its place meanwhile it must not
// tell, no more than Lstat does.
func TestEntryInfoOfAnother(t *testing.T) {
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"way/x", "open"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"way", "open"} {
		m := memfs.New(memfs.Options{})
		at := provider.MustPath(name)
		if err := m.Mkdir(t.Context(), at, 0o755); err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policy})
		listed := func() (fs.DirEntry, fs.ReadDirFile) {
			d, err := f.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			entries, err := d.(fs.ReadDirFile).ReadDir(-1)
			if err != nil || len(entries) != 1 {
				t.Fatalf("%v, %v", entries, err)
			}
			return entries[0], d.(fs.ReadDirFile)
		}
		entry, dir := listed()
		defer dir.Close()
		if info, err := entry.Info(); err != nil || !info.IsDir() {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		if err := errors.Join(m.Remove(t.Context(), at), provider.WriteFile(t.Context(), m, at, []byte("secret"), 0)); err != nil {
			t.Fatal(err)
		}
		info, err := entry.Info()
		switch name {
		case "way":
			if info != nil || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, %v, want that nothing is there", name, info, err)
			}
		case "open":
			if err != nil || info.Size() != 6 {
				t.Errorf("%s: %v, %v, want what is there now", name, info, err)
			}
		}
	}
}

// listingFS is a memory provider whose directories have an EntryReader; stat, if
// set, answers instead of StatEntry.
type listingFS struct {
	*memfs.FS
	mu    sync.Mutex
	asked map[string]int // StatEntry, by name
	stat  func(elem string, info *provider.Info) (handled bool, err error)
}

func (l *listingFS) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := l.FS.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return listingFile{f, l}, nil
}

type listingFile struct {
	provider.File
	fs *listingFS
}

func (f listingFile) ReadDir(int) ([]fs.DirEntry, error) { panic("it has an EntryReader") }

func (f listingFile) ReadEntries(limit int, visit func(name string, typ fs.FileMode)) error {
	entries, err := f.File.ReadDir(limit)
	for _, e := range entries {
		visit(e.Name(), e.Type())
	}
	return err
}

func (f listingFile) StatEntry(elem string, info *provider.Info) error {
	f.fs.mu.Lock()
	f.fs.asked[elem]++
	f.fs.mu.Unlock()
	if f.fs.stat != nil {
		if handled, err := f.fs.stat(elem, info); handled {
			return err
		}
	}
	entries, err := f.File.ReadDir(0)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == elem {
			*info = *provider.NewInfo(elem, int64(len(elem)), e.Type()|0o644, time.Unix(1, 0))
			return nil
		}
	}
	return fs.ErrNotExist
}

// TestReaddirByEntryReader: a large listing is described by several goroutines, and
// the caller sees nothing of that.
func TestReaddirByEntryReader(t *testing.T) {
	const n = 900
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, DenyRead: []string{"d/f0500"}})
	if err != nil {
		t.Fatal(err)
	}
	setUp := func() (*listingFS, fs.ReadDirFile, func() ([]fs.FileInfo, error)) {
		l := &listingFS{FS: memfs.New(memfs.Options{}), asked: map[string]int{}}
		if err := l.Mkdir(t.Context(), provider.MustPath("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := provider.WriteFile(t.Context(), l.FS, provider.MustPath(fmt.Sprintf("d/f%04d", i)), []byte("content"), 0); err != nil {
				t.Fatal(err)
			}
		}
		d, err := policyfs.New(namespace.Workspace(l), policyfs.Options{Policy: policy}).Open("d")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return l, d.(fs.ReadDirFile), func() ([]fs.FileInfo, error) { return d.Readdir(-1) }
	}
	// namesBut are those that are listed, without some.
	namesBut := func(without ...string) (want []string) {
		for i := range n {
			if name := fmt.Sprintf("f%04d", i); name != "f0500" && !slices.Contains(without, name) {
				want = append(want, name)
			}
		}
		return want
	}
	names := func(infos []fs.FileInfo) (got []string) {
		for _, info := range infos {
			got = append(got, info.Name())
		}
		return got
	}

	t.Run("whole", func(t *testing.T) {
		l, _, readdir := setUp()
		infos, err := readdir()
		if err != nil || !slices.Equal(names(infos), namesBut()) {
			t.Errorf("%q, %v", names(infos), err)
		}
		if l.asked["f0500"] != 0 {
			t.Error("an entry that the policy refuses was described")
		}
		for _, info := range infos {
			if info.Size() != 5 || l.asked[info.Name()] != 1 {
				t.Fatalf("%s: size %d, asked %d times", info.Name(), info.Size(), l.asked[info.Name()])
			}
		}
	})
	t.Run("vanished", func(t *testing.T) {
		l, _, readdir := setUp()
		l.stat = func(elem string, _ *provider.Info) (bool, error) { return elem == "f0400", fs.ErrNotExist }
		if infos, err := readdir(); err != nil || !slices.Equal(names(infos), namesBut("f0400")) {
			t.Errorf("%q, %v", names(infos), err)
		}
	})
	t.Run("fails", func(t *testing.T) {
		l, _, readdir := setUp()
		l.stat = func(elem string, _ *provider.Info) (bool, error) {
			return elem == "f0002" || elem == "f0800", syscall.EIO
		}
		if infos, err := readdir(); !errors.Is(err, syscall.EIO) || !slices.Equal(names(infos), []string{"f0000", "f0001"}) {
			t.Errorf("%q, %v, want what comes before the error", names(infos), err)
		}
	})
	t.Run("another type", func(t *testing.T) {
		l, _, readdir := setUp()
		l.stat = func(elem string, info *provider.Info) (bool, error) {
			*info = *provider.NewInfo(elem, 0, fs.ModeDir, time.Time{})
			return elem == "f0400", nil
		}
		infos, err := readdir()
		if err != nil || !slices.Equal(names(infos), namesBut()) {
			t.Fatalf("%q, %v", names(infos), err)
		}
		if info := infos[400]; info.IsDir() || info.Size() != 7 {
			t.Errorf("%v, want what Lstat says", fs.FormatFileInfo(info))
		}
	})
	t.Run("panics", func(t *testing.T) {
		l, _, readdir := setUp()
		l.stat = func(elem string, _ *provider.Info) (bool, error) {
			if elem == "f0700" {
				panic("on fire")
			}
			return false, nil
		}
		defer func() {
			if v := recover(); v != "on fire" {
				t.Errorf("the caller recovered %v", v)
			}
		}()
		readdir()
		t.Error("nothing panicked")
	})
	t.Run("closed", func(t *testing.T) {
		_, d, _ := setUp()
		entries, err := d.ReadDir(-1)
		if err != nil || len(entries) != n-1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		d.Close()
		if info, err := entries[3].Info(); err != nil || info.Name() != "f0003" || info.Size() != 7 {
			t.Errorf("%v, %v, want what Lstat says", info, err)
		}
	})
}
