package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestIOFS: the io/fs view passes testing/fstest, shows plain objects only, and
// keeps policy, directory and context.
func TestIOFS(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			b := newBox(t, kind)
			for name, content := range map[string]string{
				"W/a": "1", "W/d/b": "22", "W/d/e/c": "333", "W/.git/config": "S", "W/d/.env": "S", "W/secret/x": "S", "W/B": "", "W/empty.txt": "",
			} {
				b.file(name, content)
			}
			b.mkdir("W/emptydir")
			b.link("W/link", "a")
			b.link("W/d/dirlink", "..")
			if kind == "disk" && canSpecial {
				hostSpecial(t, "fifo", b.host("W/d/fifo"))
			}
			b.open()
			spec := readOnlySpec()
			spec.DenyRead = []string{"secret"}
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, spec)})
			i := f.IOFS()
			if err := fstest.TestFS(i, "a", "d/b", "d/e/c", "B", "empty.txt", "emptydir"); err != nil {
				t.Error(err)
			}
			var seen []string
			err := fs.WalkDir(i, ".", func(p string, _ fs.DirEntry, err error) error {
				seen = append(seen, p)
				return err
			})
			want := []string{".", "B", "a", "d", "d/b", "d/e", "d/e/c", "empty.txt", "emptydir"}
			if err != nil || !slices.Equal(seen, want) {
				t.Errorf("%q, %v, want %q", seen, err, want)
			}
			sub, err := fs.Sub(i, "d")
			if err != nil {
				t.Fatal(err)
			}
			if err := fstest.TestFS(sub, "b", "e/c"); err != nil {
				t.Errorf("Sub: %v", err)
			}
			if err := fstest.TestFS(f.WithDir(namespace.MustParse("/d/e")).IOFS(), "c"); err != nil {
				t.Errorf("WithDir: %v", err)
			}
			for name, want := range map[string]error{
				"link": fs.ErrNotExist, "d/dirlink": fs.ErrNotExist, "link/x": fs.ErrNotExist, ".git/config": fs.ErrPermission, "secret/x": fs.ErrPermission, "d/.env": fs.ErrPermission,
				"/a": fs.ErrInvalid, "../a": fs.ErrInvalid, "d/../a": fs.ErrInvalid, "d/": fs.ErrInvalid, "": fs.ErrInvalid, "./a": fs.ErrInvalid, "nope": fs.ErrNotExist,
			} {
				for label, err := range ioErrors(i, name) {
					if !errors.Is(err, want) {
						t.Errorf("%s(%q): %v, want %v", label, name, err, want)
					}
					var pe *fs.PathError
					if !errors.As(err, &pe) || pe.Path != name {
						t.Errorf("%s(%q): %#v", label, name, err)
					}
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for label, err := range ioErrors(f.WithContext(ctx).IOFS(), "a") {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", label, err)
				}
			}
		})
	}
}

// ioErrors is what every method of an fs.FS says of a name.
func ioErrors(i fs.FS, name string) map[string]error {
	h, open := i.Open(name)
	if open == nil {
		h.Close()
	}
	_, stat := fs.Stat(i, name)
	_, dir := fs.ReadDir(i, name)
	_, file := fs.ReadFile(i, name)
	return map[string]error{"Open": open, "Stat": stat, "ReadDir": dir, "ReadFile": file}
}

// TestIOFSMatrix: denied names tell nothing through io/fs either, and the provider
// is not asked.
func TestIOFSMatrix(t *testing.T) {
	s := newSpy(deniedTree(t))
	i := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, denyScopes("secret"))}).IOFS()
	for _, name := range []string{"secret", "secret/x", "secret/missing", "SECRET/x", "se\u200bcret/x"} {
		for label, err := range ioErrors(i, name) {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s(%q): %v", label, name, err)
			}
		}
		if sub, err := fs.Sub(i, name); err == nil {
			if _, err := fs.ReadDir(sub, "."); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("Sub(%q): %v", name, err)
			}
		}
	}
	if calls, _ := s.take(); len(calls) != 0 {
		t.Errorf("the provider was asked %q", calls)
	}
	for _, want := range []any{fs.ReadDirFS(nil), fs.ReadFileFS(nil), fs.StatFS(nil), fs.SubFS(nil)} {
		_ = want
	}
	for label, ok := range map[string]bool{
		"ReadDirFS": implements[fs.ReadDirFS](i), "ReadFileFS": implements[fs.ReadFileFS](i), "StatFS": implements[fs.StatFS](i), "SubFS": implements[fs.SubFS](i),
	} {
		if !ok {
			t.Errorf("IOFS is no %s", label)
		}
	}
	if h, err := i.Open("open/f"); err != nil {
		t.Error(err)
	} else {
		if _, ok := h.(interface{ Write([]byte) (int, error) }); ok {
			if _, err := h.(interface{ Write([]byte) (int, error) }).Write([]byte("x")); err == nil {
				t.Error("a file of IOFS can be written")
			}
		}
		h.Close()
	}
}

func implements[I any](v any) bool { _, ok := v.(I); return ok }

// TestNothingLeadsToTheProvider: no method or interface of the face, its files
// and its infos hands out what is below.
func TestNothingLeadsToTheProvider(t *testing.T) {
	f, b := face(t, "disk", policyfs.Options{})
	b.file("W/d/f", "x")
	h, err := f.Open("/d/f")
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	d, err := f.Open("/d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	infos, _ := d.Readdir(-1)
	hi, _ := h.Stat()
	for _, v := range []any{f, h, d, infos[0], hi, f.IOFS()} {
		for label, has := range map[string]bool{
			"Unwrap":            implements[interface{ Unwrap() afero.Fs }](v) || implements[interface{ Unwrap() provider.Provider }](v) || implements[interface{ Unwrap() any }](v),
			"UnwrapFilesystem":  implements[interface{ UnwrapFilesystem() afero.Fs }](v),
			"Fd":                implements[interface{ Fd() uintptr }](v),
			"SyscallConn":       implements[syscall.Conn](v),
			"Chmod of a handle": v != any(f) && implements[interface{ Chmod(fs.FileMode) error }](v),
			"Chdir":             implements[interface{ Chdir() error }](v),
			"*os.File":          implements[*os.File](v),
			"provider.Provider": implements[provider.Provider](v),
			"provider.File":     implements[provider.File](v),
			"afero.Linker":      implements[afero.Linker](v),
			"afero.LinkReader":  implements[afero.LinkReader](v),
			"ReadLinkFS":        implements[fs.ReadLinkFS](v),
		} {
			if has {
				t.Errorf("%T has %s", v, label)
			}
		}
	}
	if hi.Sys() != nil || infos[0].Sys() != nil {
		t.Error("Sys is not nil")
	}
	if h.Name() != "/d/f" || f.Name() != "policyfs" {
		t.Errorf("Name %q, %q", h.Name(), f.Name())
	}
}

// TestCreateParents: with the option what is created makes its missing parents,
// as far as the policy lets it; without, a missing parent is ENOENT.
func TestCreateParents(t *testing.T) {
	creators := map[string]func(f *policyfs.FS, name string) error{
		"Create":   func(f *policyfs.FS, name string) error { _, err := closed(f.Create(name)); return err },
		"OpenFile": func(f *policyfs.FS, name string) error { return appendFile(f, name, "x") },
		"Mkdir":    func(f *policyfs.FS, name string) error { return f.Mkdir(name, 0o755) },
		"WriteFile": func(f *policyfs.FS, name string) error {
			_, err := f.WriteFile(name, nil, provider.ReplaceOptions{})
			return err
		},
		"IfAbsent": func(f *policyfs.FS, name string) error {
			_, err := f.WriteFile(name, nil, provider.ReplaceOptions{If: provider.IfAbsent()})
			return err
		},
		"Rename":     func(f *policyfs.FS, name string) error { return f.Rename("/stage", name) },
		"Rename dir": func(f *policyfs.FS, name string) error { return f.Rename("/stagedir", name) },
	}
	spec := policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, DenyWrite: []string{"no"}}
	narrow := policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"a/b/c", "stage", "stagedir"}}
	for _, kind := range boxKinds {
		for label, create := range creators {
			stage := func(opts policyfs.Options) (*policyfs.FS, *box) {
				b := newBox(t, kind)
				b.file("W/stage", "s")
				b.file("W/stagedir/f", "s")
				b.open()
				return policyfs.New(namespace.Workspace(b.w), opts), b
			}
			f, b := stage(policyfs.Options{Policy: compile(t, spec)})
			if err := create(f, "/a/b/c/f"); !os.IsNotExist(err) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s %s: without the option: %v", kind, label, err)
			}
			if _, err := b.lstat("W/a"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s %s: parents were made", kind, label)
			}
			f, b = stage(policyfs.Options{Policy: compile(t, spec), CreateParents: true})
			if err := create(f, "/a/b/c/f"); err != nil {
				t.Errorf("%s %s: %v", kind, label, err)
			}
			if _, err := b.lstat("W/a/b/c/f"); err != nil {
				t.Errorf("%s %s: %v", kind, label, err)
			}
			f, b = stage(policyfs.Options{Policy: compile(t, spec), CreateParents: true})
			if err := create(f, "/no/x/f"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s %s: denied: %v", kind, label, err)
			}
			if _, err := b.lstat("W/no"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s %s: denied parents were made", kind, label)
			}
			// Parents that may not be made are not made for a child that may.
			f, b = stage(policyfs.Options{Policy: compile(t, narrow), CreateParents: true})
			if err := create(f, "/a/b/c/f"); err == nil {
				t.Errorf("%s %s: parents outside the write scope were made", kind, label)
			}
			if _, err := b.lstat("W/a"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s %s: a parent outside the write scope was made", kind, label)
			}
			b.mkdir("W/a/b")
			if err := create(f, "/a/b/c/d/f"); err != nil && !strings.HasPrefix(label, "Rename") {
				t.Errorf("%s %s: parents inside the write scope: %v", kind, label, err)
			}
			// A file in the way stays one.
			f, b = stage(policyfs.Options{Policy: compile(t, spec), CreateParents: true})
			b.file("W/a", "file")
			if err := create(f, "/a/b/f"); !errors.Is(err, syscall.ENOTDIR) {
				t.Errorf("%s %s: a file in the way: %v", kind, label, err)
			}
		}
		// A link in the way is refused.
		f, b := face(t, kind, policyfs.Options{CreateParents: true})
		b.link("W/ln", "O")
		if err := appendFile(f, "/ln/a/b", "x"); !errors.Is(err, provider.ErrSymlink) {
			t.Errorf("%s: a link in the way: %v", kind, err)
		}
	}
}

// TestMkdirAll: each directory on the way needs write, or read and to exist.
func TestMkdirAll(t *testing.T) {
	spec := policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"a/b"}, DenyWrite: []string{"a/b/no"}, DenyRead: []string{"a/b/no/secret"}}
	for _, kind := range boxKinds {
		b := newBox(t, kind)
		b.mkdir("W/exists/deep")
		b.file("W/file", "")
		b.link("W/ln", "exists")
		b.open()
		s := newSpy(b.w)
		f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, spec)})
		for _, c := range []struct {
			name string
			want error
		}{
			{"/a/b/c", fs.ErrPermission}, // a is missing and may not be made
			{"/exists/deep", nil}, {"/exists", nil}, {"/", nil}, {"/exists/new", fs.ErrPermission},
			{"/file", syscall.ENOTDIR}, {"/ln", provider.ErrSymlink}, {"/ln/x", fs.ErrPermission},
		} {
			if err := f.MkdirAll(c.name, 0o755); !errors.Is(err, c.want) {
				t.Errorf("%s: MkdirAll(%s): %v, want %v", kind, c.name, err, c.want)
			}
		}
		b.mkdir("W/a")
		for _, c := range []struct {
			name string
			want error
		}{
			{"/a/b/c/d", nil}, {"/a/b/c/d/", nil}, {"/a/b", nil}, {"/a", nil},
			{"/a/b/no/x", fs.ErrPermission}, {"/a/b/no", fs.ErrPermission}, {"/a/b/no/secret/x", fs.ErrPermission},
		} {
			if err := f.MkdirAll(c.name, 0o755); !errors.Is(err, c.want) {
				t.Errorf("%s: MkdirAll(%s): %v, want %v", kind, c.name, err, c.want)
			}
		}
		if _, err := b.lstat("W/a/b/no"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a denied directory was made", kind)
		}
	}
}

// TestResolveParents: ".." is refused, or resolved physically and under the policy.
func TestResolveParents(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			b := newBox(t, kind)
			b.file("W/a/f", "F")
			b.file("W/a/b/g", "G")
			b.file("W/top", "T")
			b.file("W/secret/d/x", "S")
			b.link("W/ln", "a/b")
			b.open()
			pol := compile(t, denyScopes("secret"))
			strict := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: pol})
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: pol, ResolveParents: true})
			for name, want := range map[string]string{
				"/a/b/../f": "F", "a/../top": "T", "a/b/../../top": "T", "./a/./b/../b/g": "G", "/workspace/a/../top": "T", "a/b/..//f": "F",
			} {
				data, _, err := f.ReadFile(name)
				if err != nil || string(data) != want {
					t.Errorf("ReadFile(%s): %q, %v", name, data, err)
				}
				if _, _, err := strict.ReadFile(name); !errors.Is(err, provider.ErrPath) {
					t.Errorf("without the option: ReadFile(%s): %v", name, err)
				}
			}
			in := f.WithDir(namespace.MustParse("/a/b"))
			if data, _, err := in.ReadFile("../f"); err != nil || string(data) != "F" {
				t.Errorf("from a directory: %q, %v", data, err)
			}
			for name, want := range map[string]error{
				"../x": namespace.ErrOutside, "/..": namespace.ErrOutside, "a/../../x": namespace.ErrOutside,
				"missing/../top": fs.ErrNotExist, "top/../top": syscall.ENOTDIR, "ln/../f": provider.ErrSymlink,
				"secret/../top": fs.ErrPermission, "secret/d/../../top": fs.ErrPermission, "a/../secret/d/x": fs.ErrPermission, "a/../secret": fs.ErrPermission,
			} {
				if data, _, err := f.ReadFile(name); !errors.Is(err, want) {
					t.Errorf("ReadFile(%s): %q, %v, want %v", name, data, err, want)
				}
				if _, err := f.WriteFile(name, []byte("pwn"), provider.ReplaceOptions{}); !errors.Is(err, want) {
					t.Errorf("WriteFile(%s): %v, want %v", name, err, want)
				}
			}
			// What a ".." leaves may be anything in a denied place: one answer.
			_, _, e1 := f.ReadFile("secret/d/../x")
			_, _, e2 := f.ReadFile("secret/n/../x")
			if strings.ReplaceAll(e1.Error(), "/d", "/n") != e2.Error() {
				t.Errorf("%v and %v tell what exists", e1, e2)
			}
		})
	}
}

// TestPortableNames: names that Windows cannot hold are refused on every platform,
// to create and to reach.
func TestPortableNames(t *testing.T) {
	bad := []string{"/CON", "/nul", "/a/aux.txt", "/COM1", "/COM\u00b9", "/d/PRN.tar.gz", "/CONIN$", "/a:b", "/a<b", "/a|b", "/a?", "/a*", `/a"b`, "/a.", "/a ", "/a./b", "/d /x", "/NUL .txt"}
	for _, c := range faceCalls() {
		if c.quiet {
			continue
		}
		t.Run(c.label, func(t *testing.T) {
			for _, name := range bad {
				for pos := range c.names {
					s := newSpy(deniedTree(t))
					f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, fullSpec()), PortableNames: true, ResolveParents: pos == 1})
					names := slices.Repeat([]string{"/open/f"}, c.names)
					names[pos] = name
					if _, err := c.do(f, names...); err == nil {
						t.Errorf("%s(%q): accepted", c.label, names)
					}
					if calls, _ := s.take(); len(calls) != 0 {
						t.Errorf("%s(%q): the provider was asked %q", c.label, names, calls)
					}
				}
			}
		})
	}
	f, _ := face(t, "memory", policyfs.Options{PortableNames: true, ResolveParents: true})
	if err := appendFile(f, "/ordinary name.txt", "x"); err != nil {
		t.Error(err)
	}
	if err := f.Mkdir("/d", 0o755); err != nil {
		t.Error(err)
	}
	if err := appendFile(f, "/d/../nul", "x"); err == nil {
		t.Error("a name reached by .. is not looked at")
	}
}

// TestHostPath: the authorized translation refuses what is denied and links.
func TestHostPath(t *testing.T) {
	b := newBox(t, "disk")
	b.file("W/d/f", "x")
	b.file("W/secret/x", "S")
	b.link("W/ln", "O")
	b.link("W/d/leaf", "f")
	b.link("W/way", "O")
	b.file("O/down/x", "OUT")
	b.open()
	n, err := namespace.New(namespace.Mount{At: "/workspace", Access: namespace.ReadWrite, Provider: b.w, HostDir: b.host("W")})
	if err != nil {
		t.Fatal(err)
	}
	spec := denyScopes("secret")
	f := policyfs.New(n, policyfs.Options{Policy: compile(t, spec)})
	for name, want := range map[string]string{"/d/f": "/d/f", "d": "/d", "/": "", "/d/new/tail": "/d/new/tail", "/workspace/d/./f": "/d/f"} {
		host, err := f.HostPath(policyfs.OpRead, name)
		if err != nil || host != b.host("W")+want {
			t.Errorf("HostPath(%s): %q, %v", name, host, err)
		}
	}
	for name, want := range map[string]error{
		"/ln": provider.ErrSymlink, "/ln/x": provider.ErrSymlink, "/ln/down/x": provider.ErrSymlink, "/d/leaf": provider.ErrSymlink, "/secret/x": fs.ErrPermission, "/d/f/x": syscall.ENOTDIR, "../x": provider.ErrPath,
	} {
		for _, op := range []policyfs.Op{policyfs.OpRead, policyfs.OpWrite} {
			host, err := f.HostPath(op, name)
			if host != "" || !errors.Is(err, want) || strings.Contains(err.Error(), b.dir()) {
				t.Errorf("HostPath(%v, %s): %q, %v, want %v", op, name, host, err, want)
			}
		}
	}
	// A link on the way that the caller may not see is refused too.
	hidden := policyfs.New(n, policyfs.Options{Policy: compile(t, policyfs.Spec{AllowRead: []string{"way/down"}})})
	if host, err := hidden.HostPath(policyfs.OpRead, "/way/down/x"); host != "" || err == nil {
		t.Errorf("through a link that may not be seen: %q, %v", host, err)
	}
	m := policyfs.New(namespace.Workspace(memfs.New(memfs.Options{})), policyfs.Options{Policy: compile(t, fullSpec())})
	if host, err := m.HostPath(policyfs.OpRead, "/x"); host != "" || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("memory: %q, %v", host, err)
	}
}

// TestAuthorize judges every name and what exists on the way.
func TestAuthorize(t *testing.T) {
	for _, kind := range boxKinds {
		b := newBox(t, kind)
		b.file("W/d/f", "x")
		b.link("W/ln", "d")
		b.open()
		f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: policyfs.ReadWrite()})
		if err := f.Authorize(policyfs.OpWrite, "d/f", "/d/new/tail", "x"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := f.Authorize(policyfs.OpWrite); err != nil {
			t.Errorf("%s: no names: %v", kind, err)
		}
		for name, want := range map[string]error{
			".git/config": fs.ErrPermission, "ln/f": provider.ErrSymlink, "ln": provider.ErrSymlink, "d/f/x": syscall.ENOTDIR, "../x": provider.ErrPath, "node_modules/x": fs.ErrPermission,
		} {
			err := f.Authorize(policyfs.OpWrite, "d/f", name, "d")
			var pe *fs.PathError
			if !errors.Is(err, want) || !errors.As(err, &pe) || pe.Path != name || pe.Op != "write" {
				t.Errorf("%s: %s: %#v, want %v", kind, name, err, want)
			}
		}
		up := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: policyfs.ReadWrite(), ResolveParents: true})
		for _, op := range []policyfs.Op{policyfs.OpRead, policyfs.OpWrite} {
			if err := up.Authorize(op, "missing/../d"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: a name that leads nowhere: %v", kind, err)
			}
		}
		for _, op := range []policyfs.Op{0, 99} {
			if err := f.Authorize(op, "d/f"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v: %v", kind, op, err)
			}
			if d := f.Explain(op, "d/f"); d.Allow {
				t.Errorf("%s: Explain(%v): %+v", kind, op, d)
			}
		}
	}
}

// TestLiveTable: an operation sees the table as it is when it begins; handles
// keep theirs, iterators stop.
func TestLiveTable(t *testing.T) {
	b := newBox(t, "memory")
	b.file("W/a", "one")
	b.file("W/b", "one")
	b.file("W2/a", "two")
	var live namespace.Live
	f := policyfs.New(&live, policyfs.Options{Policy: compile(t, fullSpec())})
	if _, err := f.Stat("/a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("no table: %v", err)
	}
	live.Store(namespace.Workspace(b.w))
	h, err := f.OpenFile("/a", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	n := 0
	var last error
	for _, err := range f.Walk("/") {
		if n++; n == 1 {
			live.Store(namespace.Workspace(b.w2))
		}
		last = err
	}
	if last == nil {
		t.Errorf("the walk went on over a swapped table: %d entries", n)
	}
	if data, _, err := f.ReadFile("/a"); err != nil || string(data) != "two" {
		t.Errorf("after the swap: %q, %v", data, err)
	}
	buf := make([]byte, 3)
	if _, err := h.ReadAt(buf, 0); err != nil || string(buf) != "one" {
		t.Errorf("the handle: %q, %v", buf, err)
	}
	live.Store(nil)
	if _, err := f.Stat("/a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("table taken away: %v", err)
	}
}

// TestMounts: directories that lead to mount points exist, and nobody changes
// them; moves do not cross mounts.
func TestMounts(t *testing.T) {
	for _, kind := range boxKinds {
		b := newBox(t, kind)
		b.file("W/in", "in")
		b.file("W/data", "a file in the place of a mount point")
		b.mkdir("W/d")
		b.file("W2/x", "x")
		b.open()
		n, err := namespace.New(
			namespace.Mount{At: "/workspace", Access: namespace.ReadWrite, Provider: b.w},
			namespace.Mount{At: "/data", Provider: b.w2},
			namespace.Mount{At: "/mnt/deep/er", Access: namespace.ReadWrite, Provider: memfs.New(memfs.Options{})},
		)
		if err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(n, policyfs.Options{Policy: compile(t, fullSpec())})
		for dir, want := range map[string]string{"/": "d/ data/ in mnt/", "/mnt": "deep/", "/mnt/deep": "er/", "/data": "x", "/mnt/deep/er": "", "/d": ""} {
			list, err := afero.ReadDir(f, dir)
			if err != nil {
				t.Errorf("%s: %s: %v", kind, dir, err)
			}
			var names []string
			for _, i := range list {
				name := i.Name()
				if i.IsDir() {
					name += "/"
				}
				names = append(names, name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s: %s lists %q, want %q", kind, dir, got, want)
			}
		}
		before := providerTree(t, b.w)
		for _, dir := range []string{"/", "/workspace", "/data", "/mnt", "/mnt/deep", "/mnt/deep/er"} {
			for label, err := range map[string]error{
				"Remove": f.Remove(dir), "RemoveAll": f.RemoveAll(dir), "Rename": f.Rename(dir, "/y"), "Rename onto": f.Rename("/in", dir),
				"Chmod": f.Chmod(dir, 0o700), "Chtimes": f.Chtimes(dir, fixedTime, fixedTime),
			} {
				if !errors.Is(err, syscall.EBUSY) {
					t.Errorf("%s: %s(%s): %v, want EBUSY", kind, label, dir, err)
				}
			}
			if err := f.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: Mkdir(%s): %v", kind, dir, err)
			}
			if err := f.MkdirAll(dir, 0o755); err != nil {
				t.Errorf("%s: MkdirAll(%s): %v", kind, dir, err)
			}
			if err := appendFile(f, dir, "x"); !errors.Is(err, syscall.EISDIR) {
				t.Errorf("%s: writing %s: %v", kind, dir, err)
			}
			if i, err := f.Stat(dir); err != nil || !i.IsDir() {
				t.Errorf("%s: Stat(%s): %v, %v", kind, dir, i, err)
			}
		}
		if providerTree(t, b.w) != before {
			t.Errorf("%s: the outer storage changed", kind)
		}
		if err := f.Rename("/in", "/mnt/deep/er/in"); !errors.Is(err, syscall.EXDEV) {
			t.Errorf("%s: across mounts: %v", kind, err)
		}
		err = f.Remove("/data/x")
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "mount /data is read-only") {
			t.Errorf("%s: read-only mount: %v", kind, err)
		}
	}
}

// TestObjectsWithSeveralPaths: one object at two agent paths is judged at both.
func TestObjectsWithSeveralPaths(t *testing.T) {
	b := newBox(t, "memory")
	b.file("W/f", "f")
	b.file("W/d/g", "g")
	n, err := namespace.New(
		namespace.Mount{At: "/a", Access: namespace.ReadWrite, Provider: b.w},
		namespace.Mount{At: "/b", Access: namespace.ReadWrite, Provider: b.w},
	)
	if err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(n, policyfs.Options{Policy: compile(t, denyScopes("b/f", "b/d/g"))})
	for _, c := range faceCalls() {
		if c.quiet || c.method == "Walk" || c.method == "Grep" {
			continue
		}
		names := []string{"/a/f", "/a/new"}[:c.names]
		if _, err := c.do(f, names...); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: denied at the other path: %v", c.label, err)
		}
	}
	for dir, want := range map[string]int{"/a": 1, "/b": 1, "/a/d": 0, "/b/d": 0} {
		if list, err := afero.ReadDir(f, dir); err != nil || len(list) != want {
			t.Errorf("%s lists %d, %v, want %d", dir, len(list), err, want)
		}
	}
	if err := f.RemoveAll("/a/d"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("RemoveAll: %v", err)
	}
	if err := f.Rename("/a/d", "/a/e"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Rename: %v", err)
	}
	if got, err := b.content("W/d/g"); got != "g" {
		t.Errorf("%q, %v", got, err)
	}
	// Pins reach the other path too.
	g := policyfs.New(n, policyfs.Options{Policy: compile(t, fullSpec())})
	if err := g.Seed(policyfs.SeedFile{Name: "/a/pinned", ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove("/b/pinned"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a starter file through its other path: %v", err)
	}
}

// TestRemoveAllPlans: all or nothing, exactly what was planned, and a failure
// half-way says how far it came.
func TestRemoveAllPlans(t *testing.T) {
	spec := readWriteSpec()
	spec.AllowRecursiveDelete = true
	for _, kind := range boxKinds {
		for _, inside := range []string{"d/.env", "d/deep/.hidden", "d/node_modules/x", "d/z/.agents", "d/deep/er/.git/config"} {
			b := newBox(t, kind)
			b.file("W/d/a", "a")
			b.file("W/d/deep/b", "b")
			b.file("W/"+inside, "p")
			b.open()
			s := newSpy(b.w)
			f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, spec)})
			before := providerTree(t, b.w)
			err := f.RemoveAll("/d")
			var denied *policyfs.DeniedError
			if !errors.As(err, &denied) {
				t.Errorf("%s: %s: %v", kind, inside, err)
				continue
			}
			if strings.Contains(inside, "/.") && (strings.Contains(err.Error(), path.Base(inside)) || !strings.Contains(err.Error(), "protected descendant")) {
				t.Errorf("%s: %s: the refusal names what may not be seen: %v", kind, inside, err)
			}
			if strings.Contains(inside, "node_modules") && !strings.Contains(err.Error(), "node_modules") {
				t.Errorf("%s: the refusal does not name what may be seen: %v", kind, err)
			}
			if providerTree(t, b.w) != before {
				t.Errorf("%s: %s: something was removed", kind, inside)
			}
			calls, _ := s.take()
			for _, c := range calls {
				if strings.HasPrefix(c, "Remove") && c != "Remove[d]" {
					t.Errorf("%s: %s: %s before the plan was judged", kind, inside, c)
				}
			}
		}
		// Half-way.
		b := newBox(t, kind)
		for i := range 10 {
			b.file(fmt.Sprintf("W/d/f%d", i), "")
		}
		b.file("W/d/sub/g", "")
		b.open()
		s := newSpy(b.w)
		s.fault = func(method string, name provider.Path) error {
			if method == "Remove" && name.Base() == "f5" {
				return syscall.EIO
			}
			return nil
		}
		f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, spec)})
		err := f.RemoveAll("/d")
		var partial *policyfs.PartialError
		if !errors.As(err, &partial) || !errors.Is(err, syscall.EIO) || partial.Left.Base() != "f5" || partial.Planned != 13 || partial.Done < 1 {
			t.Errorf("%s: %v %+v", kind, err, partial)
		}
		left := strings.Count(providerTree(t, b.w), "\n") + 1
		if partial != nil && left != partial.Planned-partial.Done {
			t.Errorf("%s: %d left, %d of %d done", kind, left, partial.Done, partial.Planned)
		}
		// What appears meanwhile stays, and its directory with it.
		b = newBox(t, kind)
		b.file("W/d/sub/g", "")
		b.open()
		s = newSpy(b.w)
		var once sync.Once
		s.fault = func(method string, name provider.Path) error {
			if method == "Remove" && name.Base() == "g" {
				once.Do(func() { b.file("W/d/sub/late", "late") })
			}
			return nil
		}
		f = policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, spec)})
		if err := f.RemoveAll("/d"); !errors.Is(err, syscall.ENOTEMPTY) {
			t.Errorf("%s: something new: %v", kind, err)
		}
		if got, err := b.content("W/d/sub/late"); got != "late" {
			t.Errorf("%s: something new was removed: %v", kind, err)
		}
		// What is no longer of the kind that was planned stays.
		b = newBox(t, kind)
		b.file("W/d/sub/g", "")
		b.open()
		s = newSpy(b.w)
		opened := 0
		s.fault = func(method string, name provider.Path) error {
			if method == "Open" && name.String() == "d/sub" {
				if opened++; opened == 2 { // the plan is made, its act begins
					b.must(b.w.Remove(t.Context(), provider.MustPath("d/sub/g")))
					b.must(b.w.Mkdir(t.Context(), provider.MustPath("d/sub/g"), 0o755))
				}
			}
			return nil
		}
		f = policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, spec)})
		if err := f.RemoveAll("/d"); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("%s: a file that has become a directory: %v (opened %d times)", kind, err, opened)
		}
		// A directory that has become a link is not gone through.
		b = newBox(t, kind)
		b.file("W/d/sub/g", "")
		b.file("W/keep/g", "K")
		b.open()
		s = newSpy(b.w)
		var swap sync.Once
		s.fault = func(method string, name provider.Path) error {
			if method == "Open" && name.String() == "d/sub" {
				swap.Do(func() {
					b.w.Rename(context.Background(), provider.MustPath("d/sub"), provider.MustPath("away"), provider.RenameOptions{})
					b.link("W/d/sub", "../keep")
				})
			}
			return nil
		}
		f = policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, spec)})
		if err := f.RemoveAll("/d"); err == nil {
			t.Errorf("%s: removed through a link", kind)
		}
		if got, err := b.content("W/keep/g"); got != "K" {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestErrorTexts: what a model reads, and what programs test.
func TestErrorTexts(t *testing.T) {
	b := newBox(t, "memory")
	b.file("W/generated/locked/x", "")
	b.mkdir("W/d")
	b.file("W/f", "")
	f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"generated", "d"}, DenyWrite: []string{"generated/locked"}, DenyWriteComponent: []string{"target"},
	})})
	for want, err := range map[string]error{
		`open generated/locked/x: not allowed to create /workspace/generated/locked/x: deny_write "generated/locked"`: func() error { _, err := f.OpenFile("generated/locked/x", os.O_WRONLY|os.O_CREATE, 0); return err }(),
		`stat /.env: not allowed to stat /workspace/.env: sensitive ".env"`:                                           func() error { _, err := f.Stat("/.env"); return err }(),
		`mkdir other: not allowed to create /workspace/other: no allow_write covers it`:                               f.Mkdir("other", 0),
		`remove /f: not allowed to remove /workspace/f: no allow_write covers it`:                                     f.Remove("/f"),
		`rename d generated/target: not allowed to create /workspace/generated/target: deny_write_component "target"`: f.Rename("d", "generated/target"),
		`open missing: no such file or directory`:                                                                     func() error { _, err := f.Open("missing"); return err }(),
		`open "a\nb": invalid path: control character`:                                                                func() error { _, err := f.Open("a\nb"); return err }(),
		`open ../x: invalid path: ".." is refused`:                                                                    func() error { _, err := f.Open("../x"); return err }(),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	_, denied := f.Stat("/.env")
	_, missing := f.Open("missing")
	_, exists := f.OpenFile("d", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0)
	switch {
	case !errors.Is(denied, fs.ErrPermission) || os.IsNotExist(denied) || os.IsExist(denied):
		t.Errorf("denied: %v", denied)
	case !os.IsNotExist(missing) || !errors.Is(missing, fs.ErrNotExist) || os.IsExist(missing) || errors.Is(missing, fs.ErrPermission):
		t.Errorf("missing: %v", missing)
	case !os.IsExist(exists) || !errors.Is(exists, fs.ErrExist):
		t.Errorf("exists: %v", exists)
	}
	rename := f.Rename("d/nope", "generated/x")
	var le *os.LinkError
	if !errors.As(rename, &le) || le.Op != "rename" || le.Old != "d/nope" || le.New != "generated/x" || !os.IsNotExist(rename) {
		t.Errorf("%#v", rename)
	}
}

// hostileError is what a careless provider or source returns: its text holds a
// host path.
type hostileError struct{ text string }

func (e *hostileError) Error() string { return e.text }

// TestForeignErrors: an error from outside the list prints as EIO, stays reachable
// and goes whole to Audit only.
func TestForeignErrors(t *testing.T) {
	cause := &hostileError{"/home/me/secret: broken"}
	for label, err := range map[string]error{
		"bare": cause, "path error": &fs.PathError{Op: "open", Path: "/home/me/secret", Err: cause}, "link error": &os.LinkError{Op: "rename", Old: "/home/me", New: "/home/you", Err: cause},
		"wrapped": fmt.Errorf("/home/me: %w", cause), "around a sentinel": fmt.Errorf("/home/me: %w", fs.ErrNotExist),
		"path error with errno": &fs.PathError{Op: "open", Path: "/home/me/secret", Err: syscall.ENOSPC}, "joined": errors.Join(cause, fs.ErrExist),
	} {
		t.Run(label, func(t *testing.T) {
			for _, c := range faceCalls() {
				if c.method == "Explain" || c.method == "Chown" || c.quiet {
					continue
				}
				if c.method == "RemoveAll" && errors.Is(err, fs.ErrNotExist) {
					continue // a missing name is what it wants
				}
				var log auditLog
				s := newSpy(deniedTree(t))
				s.fault = func(string, provider.Path) error { return err }
				f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, fullSpec()), Audit: log.add})
				_, got := c.do(f, []string{"/open/f", "/open/g"}[:c.names]...)
				if calls, _ := s.take(); len(calls) == 0 {
					t.Errorf("%s: the provider was not asked", c.label)
					continue
				}
				if got == nil || strings.Contains(got.Error(), "/home") || !errors.Is(got, errors.Unwrap(errorCore(err))) && !errors.Is(got, errorCore(err)) {
					t.Errorf("%s: %v", c.label, got)
				}
				_, outcomes := log.take()
				for _, e := range outcomes {
					if !errors.Is(e.Err, errorCore(err)) {
						t.Errorf("%s: Audit is told %v", c.label, e.Err)
					}
				}
			}
		})
	}
}

// errorCore is the condition inside the layers.
func errorCore(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
