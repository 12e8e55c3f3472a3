package policyfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestEveryMethodIsInTheMatrix finds, by reflection, methods that no matrix calls.
func TestEveryMethodIsInTheMatrix(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range faceCalls() {
		covered[c.method] = true
	}
	typ := reflect.TypeFor[*policyfs.FS]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if !covered[name] && faceExempt[name] == "" {
			t.Errorf("method %s is neither in faceCalls nor exempt", name)
		}
	}
	afs := reflect.TypeFor[afero.Fs]()
	if afs.NumMethod() != 13 {
		t.Errorf("afero.Fs has %d methods", afs.NumMethod())
	}
	for i := range afs.NumMethod() {
		if name := afs.Method(i).Name; !covered[name] && name != "Name" {
			t.Errorf("afero.Fs method %s is not in faceCalls", name)
		}
	}
}

// denyScopes is a policy that allows everything but what it names.
func denyScopes(scopes ...string) policyfs.Spec {
	s := fullSpec()
	s.DenyRead, s.DenyWrite = scopes, scopes
	return s
}

// deniedTree is the storage that the denial matrices look at, fresh each time.
func deniedTree(t testing.TB) *memfs.FS {
	deniedOnce.Do(func() {
		deniedBase = memfs.New(memfs.Options{})
		b := &box{t: t, memory: true, w: deniedBase}
		for name, content := range map[string]string{
			"W/secret/x": "SECRET", "W/secret/d/y": "SECRET", "W/open/f": "f", "W/open/e/g": "g", "W/.git/config": "SECRET",
			"W/app/.env": "SECRET", "W/node_modules/m/i.js": "js",
		} {
			b.file(name, content)
		}
		b.mkdir("W/secret/empty")
	})
	return deniedBase.Clone()
}

var (
	deniedOnce sync.Once
	deniedBase *memfs.FS
)

// TestDeniedMatrix calls every method on denied paths: an error that names the
// reason, and the provider is not asked anything.
func TestDeniedMatrix(t *testing.T) {
	specs := map[string]struct {
		spec  policyfs.Spec
		names []string
	}{
		"deny":      {denyScopes("secret"), []string{"/secret", "/secret/x", "/secret/d", "/secret/empty", "/secret/missing", "secret/x/y/z"}},
		"hidden":    {policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowRecursiveDelete: true}, []string{"/.git", "/.git/config", "/.missing", "/open/.x"}},
		"sensitive": {policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowHidden: []string{"/"}, AllowRecursiveDelete: true}, []string{"/.git", "/.git/config", "/app/.env", "/credentials/x"}},
		"no allow":  {policyfs.Spec{AllowRead: []string{"open"}, AllowWrite: []string{"open"}, AllowRecursiveDelete: true}, []string{"/secret", "/secret/x", "/missing", "/openx"}},
	}
	n := 0
	for label, s := range specs {
		for _, c := range faceCalls() {
			t.Run(label+"/"+c.label, func(t *testing.T) {
				for _, name := range s.names {
					for pos := range c.names {
						n++
						deniedCall(t, c, compile(t, s.spec), name, pos)
					}
				}
			})
		}
	}
	t.Logf("%d calls on denied names", n)
}

// deniedCall does one call with a denied name at one position and allowed ones
// elsewhere.
func deniedCall(t *testing.T, c faceCall, pol policyfs.Policy, name string, pos int) {
	t.Helper()
	m := deniedTree(t)
	before := providerTree(t, m)
	s := newSpy(m)
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: pol})
	names := slices.Repeat([]string{"/open/f"}, c.names)
	names[pos] = name
	out, err := c.do(f, names...)
	calls, _ := s.take()
	if c.quiet {
		if out != "" {
			t.Errorf("%s(%q): %q", c.label, names, out)
		}
		for _, call := range calls {
			if strings.Contains(call, strings.TrimPrefix(name, "/")) {
				t.Errorf("%s(%q): the provider was asked %s", c.label, names, call)
			}
		}
		return
	}
	if err == nil {
		t.Errorf("%s(%q): no error, %q", c.label, names, out)
		return
	}
	var denied *policyfs.DeniedError
	if !errors.As(err, &denied) || !errors.Is(err, fs.ErrPermission) || denied.Rule == "" {
		t.Errorf("%s(%q): %v is no denial with a rule", c.label, names, err)
	}
	if len(calls) != 0 {
		t.Errorf("%s(%q): the provider was asked %q", c.label, names, calls)
	}
	if strings.Contains(err.Error(), "SECRET") || out != "" {
		t.Errorf("%s(%q): %q %v", c.label, names, out, err)
	}
	if after := providerTree(t, m); after != before {
		t.Errorf("%s(%q): the tree changed:\n%s\nwas\n%s", c.label, names, after, before)
	}
	shape(t, c, names, err)
}

// shape checks that a method's error is *fs.PathError or *os.LinkError with the
// caller's spelling.
func shape(t *testing.T, c faceCall, names []string, err error) {
	t.Helper()
	if c.method == "Walk" || c.method == "Grep" || c.method == "Glob" || c.method == "Explain" {
		return // joined by the table
	}
	if c.names == 2 {
		le, ok := err.(*os.LinkError)
		if !ok || le.Old != names[0] || le.New != names[1] {
			t.Errorf("%s(%q): %#v", c.label, names, err)
		}
		return
	}
	pe, ok := err.(*fs.PathError)
	if !ok || pe.Path != names[0] {
		t.Errorf("%s(%q): %#v", c.label, names, err)
	}
}

// TestReadOnlyMatrix calls every method that changes something under policies
// that allow reading only, and on a read-only mount: refused, nothing changes,
// and the provider is asked nothing.
func TestReadOnlyMatrix(t *testing.T) {
	for label, make := range map[string]func(p provider.Provider) *policyfs.FS{
		"policy": func(p provider.Provider) *policyfs.FS {
			return policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policyfs.ReadOnly()})
		},
		"WithPolicy": func(p provider.Provider) *policyfs.FS {
			return policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: compile(t, fullSpec())}).WithPolicy(policyfs.ReadOnly())
		},
		"mount": func(p provider.Provider) *policyfs.FS {
			n, err := namespace.New(namespace.Mount{At: "/workspace", Provider: p})
			if err != nil {
				t.Fatal(err)
			}
			return policyfs.New(n, policyfs.Options{Policy: compile(t, fullSpec())})
		},
	} {
		for _, c := range faceCalls() {
			if c.reads {
				continue
			}
			t.Run(label+"/"+c.label, func(t *testing.T) {
				for _, name := range []string{"/open/f", "/open", "/open/missing", "/open/e", "/secret/empty"} {
					m := deniedTree(t)
					before := providerTree(t, m)
					s := newSpy(m)
					names := slices.Repeat([]string{name}, c.names)
					_, err := c.do(make(s), names...)
					if c.method == "MkdirAll" && !strings.Contains(name, "missing") && (err == nil || errors.Is(err, syscall.ENOTDIR)) {
						continue // what is there may be seen
					}
					if !errors.Is(err, fs.ErrPermission) {
						t.Errorf("%s(%q): %v", c.label, names, err)
					}
					if calls, _ := s.take(); len(calls) != 0 && c.method != "MkdirAll" {
						t.Errorf("%s(%q): the provider was asked %q", c.label, names, calls)
					}
					if after := providerTree(t, m); after != before {
						t.Errorf("%s(%q): the tree changed", c.label, names)
					}
				}
			})
		}
	}
}

// TestZeroFSDenies calls every method of the zero FS, and of those whose source
// or policy is missing.
func TestZeroFSDenies(t *testing.T) {
	m := deniedTree(t)
	var nilNamespace *namespace.Namespace
	for label, f := range map[string]*policyfs.FS{
		"zero":          {},
		"nil source":    policyfs.New(nil, policyfs.Options{Policy: compile(t, fullSpec())}),
		"nil namespace": policyfs.New(nilNamespace, policyfs.Options{Policy: compile(t, fullSpec())}),
		"empty live":    policyfs.New(&namespace.Live{}, policyfs.Options{Policy: compile(t, fullSpec())}),
		"nil policy":    policyfs.New(namespace.Workspace(m), policyfs.Options{}),
		"panics":        policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: panicPolicy{}}),
		"composed nil":  policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policyfs.Compose(compile(t, fullSpec()), nil)}),
		"failing": policyfs.New(namespace.SourceFunc(func() (*namespace.Namespace, error) {
			return nil, errors.New("/home/me/table.json is gone")
		}), policyfs.Options{Policy: compile(t, fullSpec())}),
	} {
		for _, c := range faceCalls() {
			names := slices.Repeat([]string{"/open/f"}, c.names)
			out, err := c.do(f, names...)
			if c.quiet && out == "" {
				continue
			}
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %s: %q, %v", label, c.label, out, err)
				continue
			}
			if strings.Contains(err.Error(), "table.json") {
				t.Errorf("%s: %s: the text of the source's error is shown: %v", label, c.label, err)
			}
		}
		if err := f.Seed(policyfs.SeedFile{Name: "/seeded"}); err == nil && label != "nil policy" && label != "panics" && label != "composed nil" {
			t.Errorf("%s: Seed succeeded", label)
		}
		if list, err := fs.ReadDir(f.IOFS(), "."); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: IOFS: %v, %v", label, list, err)
		}
	}
	var zero policyfs.File
	if err := zero.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("zero File: %v", err)
	}
}

// handleKinds are the ways to hold a handle in TestHandleMatrix.
var handleKinds = []struct {
	name string
	flag int
	dir  bool
	open bool
}{
	{"read-only", os.O_RDONLY, false, true},
	{"write-only", os.O_WRONLY, false, true},
	{"read-write", os.O_RDWR, false, true},
	{"append", os.O_WRONLY | os.O_APPEND, false, true},
	{"read-append", os.O_RDONLY | os.O_APPEND, false, true},
	{"read-trunc", os.O_RDONLY | os.O_TRUNC, false, true},
	{"directory", os.O_RDONLY, true, true},
	{"closed file", os.O_RDWR, false, false},
	{"closed directory", os.O_RDONLY, true, false},
}

// handleCall calls one method of a handle by reflection, with arguments that make
// it do something.
func handleCall(h afero.File, method reflect.Method) (string, error) {
	v := reflect.ValueOf(h).MethodByName(method.Name)
	args := []reflect.Value{}
	for i := range v.Type().NumIn() {
		switch v.Type().In(i).Kind() {
		case reflect.Slice:
			args = append(args, reflect.ValueOf([]byte("xy")))
		case reflect.String:
			args = append(args, reflect.ValueOf("xy"))
		case reflect.Int:
			n := -1
			if method.Name == "Seek" {
				n = 0
			}
			args = append(args, reflect.ValueOf(n))
		default:
			args = append(args, reflect.Zero(v.Type().In(i)))
		}
	}
	out := v.Call(args)
	last := out[len(out)-1]
	if method.Name == "Name" {
		return last.String(), nil
	}
	err, _ := last.Interface().(error)
	return fmt.Sprint(out[0]), err
}

// TestHandleMatrix calls every method of afero.File and ReadDir on handles of
// every mode: what the mode does not allow is an error and does not reach the
// provider.
func TestHandleMatrix(t *testing.T) {
	methods := []reflect.Method{}
	typ := reflect.TypeFor[afero.File]()
	for i := range typ.NumMethod() {
		methods = append(methods, typ.Method(i))
	}
	if len(methods) != 13 {
		t.Errorf("afero.File has %d methods", len(methods))
	}
	rd, _ := reflect.TypeFor[fs.ReadDirFile]().MethodByName("ReadDir")
	methods = append(methods, rd)
	refuses := func(kind, method string, flag int, dir bool) bool {
		switch method {
		case "Read", "ReadAt":
			return dir || flag&3 == os.O_WRONLY
		case "Write", "WriteString", "Truncate":
			return dir || flag&3 == os.O_RDONLY
		case "WriteAt":
			return dir || flag&3 == os.O_RDONLY || flag&os.O_APPEND != 0
		case "Readdir", "Readdirnames", "ReadDir":
			return !dir
		}
		return false
	}
	for _, storage := range boxKinds {
		for _, k := range handleKinds {
			for _, method := range methods {
				t.Run(storage+"/"+k.name+"/"+method.Name, func(t *testing.T) {
					b := newBox(t, storage)
					b.file("W/d/f", "content")
					b.open()
					s := newSpy(b.w)
					f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, fullSpec())})
					name := "/d/f"
					if k.dir {
						name = "/d"
					}
					h, err := f.OpenFile(name, k.flag, 0)
					if err != nil {
						t.Fatal(err)
					}
					defer h.Close()
					if !k.open {
						h.Close()
					}
					before := providerTree(t, b.w)
					s.take()
					out, err := handleCall(h, method)
					calls, _ := s.take()
					switch {
					case method.Name == "Name":
						if out != name {
							t.Errorf("Name is %q", out)
						}
					case !k.open:
						if !errors.Is(err, fs.ErrClosed) {
							t.Errorf("%v, want fs.ErrClosed", err)
						}
					case refuses(k.name, method.Name, k.flag, k.dir):
						if err == nil {
							t.Errorf("no error, %s", out)
						}
						for _, call := range calls {
							if !k.dir && !strings.HasPrefix(call, "File.ReadDir") {
								t.Errorf("the provider was asked %s", call)
							}
						}
						if after := providerTree(t, b.w); after != before {
							t.Errorf("changed: %s, was %s", after, before)
						}
					case err != nil && !(k.name == "read-trunc" && strings.Contains(err.Error(), "EOF")):
						t.Errorf("refused: %v", err)
					}
				})
			}
		}
	}
}

// TestMkdirAllJudgesParentsFirst: a directory on the way that the caller may neither
// make nor stat, at its own path or another one, is refused before the storage hears
// of anything.
func TestMkdirAllJudgesParentsFirst(t *testing.T) {
	for at, mounts := range map[string][]string{"/data": {"/data", "/mnt/same"}, "/mnt/same": {"/mnt/same"}} {
		s := newSpy(tree{"w/x": ""}.memory(t))
		var table []namespace.Mount
		for _, m := range mounts {
			table = append(table, namespace.Mount{At: m, Provider: s, Access: namespace.ReadWrite})
		}
		ns, err := namespace.New(table...)
		if err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(ns, policyfs.Options{Policy: compile(t, policyfs.Spec{
			AllowRead: []string{"/data"}, AllowWrite: []string{"/data", "/mnt/same"},
			AllowHidden: []string{"/data/w/.h", "/mnt/same/w/.h/y"},
		})})
		for _, name := range []string{"/w/.h/y", "/w/.h/y/z"} {
			err := f.MkdirAll(at+name, 0o755)
			var denied *policyfs.DeniedError
			if !errors.As(err, &denied) || denied.Op != policyfs.OpCreate || !strings.HasSuffix(denied.Path.String(), "/w/.h") {
				t.Errorf("%s: %v, want a refusal of w/.h", at+name, err)
			}
			if calls, _ := s.take(); len(calls) != 0 {
				t.Errorf("%s: the provider was asked: %q", at+name, calls)
			}
		}
	}
}
