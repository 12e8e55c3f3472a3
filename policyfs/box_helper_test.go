package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// box is one storage under test and what lies around it on the host: the host
// directory P holds the workspace W, a second one W2, and O, which is outside.
// In a memory box W and W2 are trees of memfs, and P holds the rest.
type box struct {
	t      testing.TB
	memory bool
	p      string // "" until dir is called
	root   string // what "W" stands for on the host, "" for memory
	w, w2  provider.Provider
}

// boxKinds are the storages that every replay runs on.
var boxKinds = []string{"memory", "disk"}

func newBox(t testing.TB, kind string) *box {
	t.Helper()
	b := &box{t: t, memory: kind == "memory"}
	if b.memory {
		b.w, b.w2 = memfs.New(memfs.Options{}), memfs.New(memfs.Options{})
		return b
	}
	for _, name := range []string{"W", "W2"} {
		b.must(os.Mkdir(filepath.Join(b.dir(), name), 0o755))
	}
	b.root = filepath.Join(b.dir(), "W")
	return b
}

// dir returns the host directory P, with O in it, made when first asked for.
func (b *box) dir() string {
	b.t.Helper()
	if b.p == "" {
		// The temporary directory may be spelled with links; host paths that are
		// compared must be the real ones.
		dir, err := filepath.EvalSymlinks(b.t.TempDir())
		b.must(err)
		b.must(os.Mkdir(filepath.Join(dir, "O"), 0o755))
		b.p = dir
	}
	return b.p
}

// open opens the providers of a disk box; a memory box has them from the start.
func (b *box) open() {
	b.t.Helper()
	if b.memory || b.w != nil {
		return
	}
	b.w = openDisk(b.t, b.root)
	b.w2 = openDisk(b.t, filepath.Join(b.dir(), "W2"))
}

func openDisk(t testing.TB, dir string) provider.Provider {
	t.Helper()
	d, err := diskfs.Open(dir, diskfs.Options{NoSync: true})
	if err != nil {
		t.Fatalf("diskfs.Open: %v", err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// newStorage returns an empty storage of a kind.
func newStorage(t testing.TB, kind string) provider.Provider {
	t.Helper()
	b := newBox(t, kind)
	b.open()
	return b.w
}

// place splits a vector's name into a memory tree and a path there, or a host path.
func (b *box) place(name string) (*memfs.FS, provider.Path, string) {
	b.t.Helper()
	head, rest, _ := strings.Cut(name, "/")
	if b.memory && (head == "W" || head == "W2" || head == "L") {
		m := b.w.(*memfs.FS)
		if head == "W2" {
			m = b.w2.(*memfs.FS)
		}
		if rest == "" {
			return m, provider.Path{}, ""
		}
		p, err := provider.ParsePath(strings.TrimSuffix(rest, "/"))
		if err != nil {
			b.t.Fatalf("place %q: %v", name, err)
		}
		return m, p, ""
	}
	return nil, provider.Path{}, b.host(name)
}

// host returns the host path of a vector's name.
func (b *box) host(name string) string {
	head, rest, _ := strings.Cut(name, "/")
	switch head {
	case "P":
		return b.dir() + "/" + rest // not cleaned: a rootpath may hold link/..
	case "L":
		head = "W"
	}
	if rest == "" {
		return b.dir() + "/" + head
	}
	return b.dir() + "/" + head + "/" + rest
}

// storageEnv says that the temporary directory lies on storage that cannot hold
// the setup of every case: exFAT has no links, NTFS no names that are not UTF-8.
// Package diskfs sets it, and pins how many cases that leaves out.
const storageEnv = "WORKSPACEFS_TEST_STORAGE_LACKS"

// must fails the test on err. Where the storage is known to lack something, a
// setup that it refuses ends the test instead.
func (b *box) must(err error) {
	b.t.Helper()
	if err == nil {
		return
	}
	if os.Getenv(storageEnv) != "" {
		b.t.Skipf("STORAGE LACKS what the setup needs: %v", err)
	}
	b.t.Fatal(err)
}

// mkdir makes a directory and its parents.
func (b *box) mkdir(name string) {
	b.t.Helper()
	m, p, host := b.place(name)
	if m == nil {
		b.must(os.MkdirAll(host, 0o755))
		return
	}
	var at provider.Path
	for elem := range p.Elems() {
		at, _ = at.Join(elem)
		if err := m.Mkdir(context.Background(), at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			b.t.Fatal(err)
		}
	}
}

// file makes a file and its parents.
func (b *box) file(name, content string) {
	b.t.Helper()
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		b.mkdir(name[:i])
	}
	m, p, host := b.place(name)
	if m == nil {
		b.must(os.WriteFile(host, []byte(content), 0o644))
		return
	}
	b.must(provider.WriteFile(context.Background(), m, p, []byte(content), 0o644))
}

// big makes a file of size zero bytes that costs nothing.
func (b *box) big(name string, size int64) {
	b.t.Helper()
	m, p, host := b.place(name)
	if m == nil {
		b.must(os.WriteFile(host, nil, 0o644))
		b.must(os.Truncate(host, size))
		return
	}
	f, err := m.Open(context.Background(), p, provider.OpenOptions{Write: true, Create: true})
	b.must(err)
	b.must(f.Truncate(size))
	b.must(f.Close())
}

// link plants a link. A target that starts with W, O or P is absolute.
func (b *box) link(name, target string) {
	b.t.Helper()
	if head, _, _ := strings.Cut(target, "/"); head == "W" || head == "O" || head == "P" {
		target = b.host(target)
	}
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		b.mkdir(name[:i])
	}
	m, p, host := b.place(name)
	if m == nil {
		b.must(os.Symlink(target, host))
		return
	}
	b.must(m.Symlink(target, p))
}

func (b *box) chmod(name string, mode fs.FileMode) {
	b.t.Helper()
	m, p, host := b.place(name)
	if m == nil {
		b.must(os.Chmod(host, mode))
		return
	}
	b.must(m.Chmod(context.Background(), p, mode))
}

// content returns the content of a file, read behind the back of the face.
func (b *box) content(name string) (string, error) {
	m, p, host := b.place(name)
	if m == nil {
		data, err := os.ReadFile(host)
		return string(data), err
	}
	data, err := provider.ReadFile(context.Background(), m, p)
	return string(data), err
}

// lstat describes what is at name, without following a link.
func (b *box) lstat(name string) (fs.FileInfo, error) {
	m, p, host := b.place(name)
	if m == nil {
		return os.Lstat(host)
	}
	return m.Stat(context.Background(), p)
}

// snapshot describes the host tree at name: one line an entry.
func (b *box) snapshot(name string) string {
	b.t.Helper()
	return hostTree(b.t, b.host(name))
}

// hostTree describes a host tree: type, mode, content, link target.
func hostTree(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", rel, info.Mode())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += " -> " + target
		case info.Mode().IsRegular():
			data, _ := os.ReadFile(path)
			line += fmt.Sprintf(" %q", data)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// providerTree describes a whole provider: one line an entry.
func providerTree(t testing.TB, p provider.Provider) string {
	t.Helper()
	var lines []string
	var walk func(dir provider.Path)
	walk = func(dir provider.Path) {
		f, err := p.Open(context.Background(), dir, provider.OpenOptions{Read: true, Directory: true})
		if err != nil {
			t.Fatalf("open %v: %v", dir, err)
		}
		entries, err := f.ReadDir(0)
		if err != nil {
			t.Fatalf("list %v: %v", dir, err)
		}
		for _, e := range entries {
			name, err := dir.Join(e.Name())
			if err != nil {
				lines = append(lines, dir.String()+"/?"+e.Name())
				continue
			}
			switch {
			case e.Type()&fs.ModeSymlink != 0:
				lines = append(lines, name.String()+" link")
			case e.IsDir():
				lines = append(lines, name.String()+"/")
				walk(name)
			case e.Type().IsRegular():
				data, err := provider.ReadFile(context.Background(), p, name)
				if err != nil {
					t.Fatalf("read %v: %v", name, err)
				}
				lines = append(lines, fmt.Sprintf("%s %q", name, data))
			default:
				lines = append(lines, name.String()+" "+e.Type().String())
			}
		}
		f.Close()
	}
	walk(provider.Path{})
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}
