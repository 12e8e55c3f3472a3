package policyfs_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// fsBugOverride replaces one step where DESIGN.md decides otherwise. The step it
// replaces must not hold.
type fsBugOverride struct{ step, instead, reason string }

const (
	noLinks     = "sections 2 and 3: links are refused, and not offered"
	blankRemove = "attacks A20: a blank name must never pass for the root in a mutating call; it is ENOENT, as os.Remove says"
)

var fsBugOverrides = map[string][]fsBugOverride{
	"AF-M02": {{"Remove(/d)", "Remove(/d) -> ENOTEMPTY", "as AF-M01; the step says nothing"}},
	"AF-M48": {{"RemoveAll('') -> nil", "RemoveAll('') -> ENOENT", blankRemove}},
	"BV-02":  {{"RemoveAll('') -> nil", "RemoveAll('') -> ENOENT", blankRemove}},
	"AF-M55": {
		{"Stat(/d/f) -> EACCES", "Stat(/d/f) -> file", "section 5b: permission bits are kept and reported, not enforced by memory; on disk the kernel decides, and lets root in"},
		{"Create(/d/g) -> EACCES", "Create(/d/g) -> ok", "as above"},
	},
	"AF-B08": {{"ReadFile(/l/../x) -> 'phys'", "ReadFile(/l/../x) -> SYMLINK", noLinks}},
	"BL-21":  {{"WriteFile(/d1/x,'phys')", "MkdirAll(/d1/d2)", "the step takes the directory for granted"}, {"ReadFile(/l/../x) -> 'phys'", "ReadFile(/l/../x) -> SYMLINK", noLinks}},
	"BL-12":  {{"Open(/a) -> ELOOP", "Open(/a) -> SYMLINK", noLinks}},
}

// fsBugCustom are the cases whose steps are prose. Each is written out here; its
// steps are the comment.
var fsBugCustom = map[string]func(t *testing.T, r *bugRun){
	// "RemoveAll(/) -> error or empty tree with a live root", "Stat(/) -> dir"
	"AF-M49": func(t *testing.T, r *bugRun) {
		r.file("W/a/f", "x")
		if err := r.fs.RemoveAll("/"); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("RemoveAll(/): %v, want EBUSY", err)
		}
		if info, err := r.fs.Stat("/"); err != nil || !info.IsDir() {
			t.Errorf("Stat(/): %v, %v", info, err)
		}
		if got, err := r.content("W/a/f"); got != "x" {
			t.Errorf("%q, %v", got, err)
		}
	},
	// "Create(/a\x00b) -> EINVAL", "Create(/ + 256*'n') -> ENAMETOOLONG": Parse knows
	// both without asking the storage, so that both are ErrPath, which is fs.ErrInvalid.
	"AF-M62": func(t *testing.T, r *bugRun) {
		for _, name := range []string{"/a\x00b", "/" + strings.Repeat("n", 256)} {
			_, err := r.fs.Create(name)
			if !errors.Is(err, provider.ErrPath) || !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("Create(%.9q): %v", name, err)
			}
		}
	},
	// "host:WriteFile(/app-secret,'S')", "fs=BasePath(host,/app)", "ReadFile(../app-secret) -> refused"
	"AF-B01": func(t *testing.T, r *bugRun) {
		r.file("W/app-secret", "S")
		r.mkdir("W/app")
		app := r.face.WithDir(namespace.MustParse("/app"))
		strict := policyfs.New(namespace.Workspace(r.w), policyfs.Options{Policy: compile(t, policyfs.Spec{AllowRead: []string{"app"}})})
		for _, name := range []string{"../app-secret", "/app/../app-secret", "/app-secret"} {
			if data, err := afero.ReadFile(strict.WithDir(namespace.MustParse("/app")), name); err == nil {
				t.Errorf("ReadFile(%s): %q", name, data)
			}
		}
		if data, err := afero.ReadFile(app, "../app-secret"); err != nil || string(data) != "S" {
			t.Errorf("with ResolveParents and a policy that allows it: %q, %v", data, err)
		}
	},
	// Links: the face offers none, and refuses to follow planted ones.
	"AF-B03": func(t *testing.T, r *bugRun) {
		if _, ok := r.fs.(afero.Symlinker); ok {
			t.Error("the face is an afero.Symlinker")
		}
		if _, ok := r.fs.(afero.Linker); ok {
			t.Error("the face is an afero.Linker")
		}
		if _, ok := r.fs.(afero.LinkReader); ok {
			t.Error("the face is an afero.LinkReader")
		}
	},
	// "fs=BasePath(BasePath(mem,files),123)", "h=TempFile(.,t-*)", "Chmod(h.Name(),0644) -> ok"
	"AF-B04": func(t *testing.T, r *bugRun) {
		r.mkdir("W/files/123")
		// Two directories deep by the session directory, and one below a
		// BasePathFs: nesting BasePathFs loses a part of Name by itself.
		for _, f := range []afero.Fs{
			r.face.WithDir(namespace.MustParse("/files/123")),
			afero.NewBasePathFs(r.face.WithDir(namespace.MustParse("/files")), "123"),
		} {
			h, err := afero.TempFile(f, ".", "t-*")
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if err := f.Chmod(h.Name(), 0o644); err != nil {
				t.Errorf("Chmod(%q): %v", h.Name(), err)
			}
		}
	},
	// "Open(/nope) -> *PathError.Path == '/nope'"
	"AF-B06": func(t *testing.T, r *bugRun) {
		_, err := r.fs.Open("/nope")
		pe, ok := err.(*fs.PathError)
		if !ok || pe.Path != "/nope" || pe.Op != "open" || !os.IsNotExist(err) {
			t.Errorf("%#v", err)
		}
	},
	// "_, ok = i.(fs.ReadLinkFS)": true when the Fs has symlinks; it has none.
	"AF-I02": func(t *testing.T, r *bugRun) {
		if _, ok := r.face.IOFS().(fs.ReadLinkFS); ok {
			t.Error("IOFS is a ReadLinkFS and has no links")
		}
	},
	"AF-I03": func(t *testing.T, r *bugRun) {
		r.file("W/a.txt", "abc")
		ro := r.face.WithPolicy(policyfs.ReadOnly())
		for _, flag := range []int{os.O_RDWR | os.O_TRUNC, os.O_CREATE | os.O_EXCL} {
			if _, err := ro.OpenFile("a.txt", flag, 0); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("flag %#x: %v", flag, err)
			}
		}
		if got, _ := r.content("W/a.txt"); got != "abc" {
			t.Errorf("content %q", got)
		}
	},
	"AF-I04": func(t *testing.T, r *bugRun) {
		r.file("W/a.txt", "abc")
		h, err := r.fs.Open("a.txt")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if n, err := h.Write([]byte("q")); n != 0 || !errors.Is(err, syscall.EBADF) {
			t.Errorf("%d, %v", n, err)
		}
	},
	"AF-U01": func(t *testing.T, r *bugRun) {
		ro := r.face.WithPolicy(policyfs.ReadOnly())
		if err := ro.MkdirAll("d", 0o755); err == nil {
			t.Error("MkdirAll on a read-only face")
		}
		// afero.WriteReader swallows the create error itself; what reaches the
		// face is refused, and nothing appears.
		afero.WriteReader(ro, "f", strings.NewReader("x"))
		afero.SafeWriteReader(ro, "f", strings.NewReader("x"))
		if _, err := r.box.lstat("W/f"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("f: %v", err)
		}
	},
	// afero.Walk itself returns SkipAll as an error; a walk of the face is left
	// with break.
	"AF-U04": func(t *testing.T, r *bugRun) {
		r.file("W/a", "")
		r.file("W/b", "")
		seen := []string{}
		for e, err := range r.face.Walk("/") {
			if err != nil {
				t.Error(err)
			}
			seen = append(seen, e.Path.Base())
			if e.Path.Base() == "a" {
				break
			}
		}
		if slices.Contains(seen, "b") || len(seen) != 2 {
			t.Errorf("%q", seen)
		}
	},
	// "mem:TempFile('', 'x')": the temporary directory of the host is no name here,
	// unless the tree has one.
	"AF-U06": func(t *testing.T, r *bugRun) {
		r.mkdir("W/tmp")
		h, err := afero.TempFile(r.fs, "/tmp", "x")
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		if _, err := r.fs.Stat(h.Name()); err != nil {
			t.Error(err)
		}
	},
	"BL-10": func(t *testing.T, r *bugRun) {
		r.mkdir("W/d")
		var wg sync.WaitGroup
		rounds := scale(50, 300, 3000)
		for range 2 {
			for _, op := range []func(){
				func() {
					if h, err := r.fs.Create("/d/f"); err == nil {
						h.Close()
					}
				},
				func() { r.fs.Remove("/d/f") },
				func() { r.fs.Rename("/d/f", "/d/g") },
				func() { afero.ReadDir(r.fs, "/d") },
			} {
				wg.Go(func() {
					for range rounds {
						op()
					}
				})
			}
		}
		wg.Wait()
		if names, err := afero.ReadDir(r.fs, "/d"); err != nil || len(names) > 2 {
			t.Errorf("%v, %v", names, err)
		}
	},
	"BL-11": func(t *testing.T, r *bugRun) {
		r.file("W/t", "abc")
		r.link("W/l", "t")
		if err := r.fs.Remove("/l"); err != nil {
			t.Error(err)
		}
		if got, err := r.content("W/t"); got != "abc" {
			t.Errorf("%q, %v", got, err)
		}
		if _, _, err := r.face.LstatIfPossible("/l"); !os.IsNotExist(err) {
			t.Error(err)
		}
	},
	"BL-13": func(t *testing.T, r *bugRun) {
		r.mkdir("W/d")
		r.link("W/d/up", "..")
		for _, name := range []string{"../../etc/passwd", "/../etc/passwd", "d/../../etc/passwd", "d/up/../../etc/passwd", "/d/up/../x"} {
			if h, err := r.fs.Open(name); err == nil {
				h.Close()
				t.Errorf("Open(%s) succeeded", name)
			}
		}
	},
	"BL-16": func(t *testing.T, r *bugRun) {
		r.file("W/dir/f", "1")
		r.link("W/link", "dir")
		if _, err := afero.ReadFile(r.fs, "link/f"); !errors.Is(err, provider.ErrSymlink) {
			t.Errorf("ReadFile: %v", err)
		}
		if _, err := r.fs.Create("link/g"); !errors.Is(err, provider.ErrSymlink) {
			t.Errorf("Create: %v", err)
		}
		if _, err := r.box.lstat("W/dir/g"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("dir/g: %v", err)
		}
	},
	"HP-02": func(t *testing.T, r *bugRun) {
		r.file("W/f", "1")
		h, err := r.fs.OpenFile("/f", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		if _, err := h.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	},
	"HP-07": func(t *testing.T, r *bugRun) {
		for _, n := range []string{"a", "b", "c"} {
			r.file("W/d/"+n, "")
		}
		h, err := r.fs.Open("/d")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		d := h.(fs.ReadDirFile)
		for i, want := range []int{3, 0} {
			if list, err := d.ReadDir(-1); err != nil || len(list) != want {
				t.Errorf("call %d: %v, %v", i, list, err)
			}
		}
	},
	"AV-10": func(t *testing.T, r *bugRun) {
		r.file("W/r/a", "1")
		s, err := fs.Sub(r.face.IOFS(), "r")
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Open(".")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if info, err := h.Stat(); err != nil || !info.IsDir() || info.Name() != "." {
			t.Errorf("%v, %v", info, err)
		}
	},
	"GO-01": func(t *testing.T, r *bugRun) {
		for _, name := range []string{"../", "..", "/..", "/../"} {
			if h, err := r.fs.Open(name); err == nil {
				h.Close()
				t.Errorf("Open(%q) succeeded", name)
			}
		}
	},
	"GO-02": func(t *testing.T, r *bugRun) {
		r.link("W/l", "missing")
		if _, err := r.fs.OpenFile("l", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); !os.IsExist(err) {
			t.Error(err)
		}
	},
	"GO-03": func(t *testing.T, r *bugRun) {
		r.file("W/d/passwd", "mine")
		r.file("O/passwd", "not yours, and longer")
		h, err := r.fs.Open("d")
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		ents, err := h.(fs.ReadDirFile).ReadDir(-1)
		if err != nil || len(ents) != 1 {
			t.Fatal(ents, err)
		}
		if r.memory {
			if err := r.fs.Rename("d", "away"); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Rename(r.host("W/d"), r.host("W/away")); err != nil {
			t.Fatal(err)
		}
		r.link("W/d", "O")
		info, err := ents[0].Info()
		if err != nil || info.Size() != 4 {
			t.Errorf("%v, %v", info, err)
		}
	},
	"GO-04": func(t *testing.T, r *bugRun) {
		r.link("W/esc", "../out")
		for _, name := range []string{"esc/", "esc", "esc/."} {
			if _, err := r.fs.Open(name); !errors.Is(err, provider.ErrSymlink) {
				t.Errorf("Open(%s): %v", name, err)
			}
			if _, err := r.fs.Stat(name); !errors.Is(err, provider.ErrSymlink) {
				t.Errorf("Stat(%s): %v", name, err)
			}
		}
	},
	"GO-06": func(t *testing.T, r *bugRun) {
		if err := r.fs.MkdirAll("some/path/", 0o755); err != nil {
			t.Error(err)
		}
	},
	"GO-08": func(t *testing.T, r *bugRun) {
		r.link("W/dir/link", "..")
		if _, err := r.fs.Open("dir/link"); !errors.Is(err, provider.ErrSymlink) {
			t.Error(err)
		}
	},
	"GO-09": func(t *testing.T, r *bugRun) {
		r.file("W/f", "x")
		r.link("W/l", "W/f")
		if _, err := r.fs.Open("l"); !errors.Is(err, provider.ErrSymlink) {
			t.Error(err)
		}
	},
	// Hard links made outside are aliases that resolution cannot see (section 8);
	// RejectHardLinks refuses to write through them.
	"GO-13": func(t *testing.T, r *bugRun) {
		if r.memory {
			return // memory has no hard links
		}
		r.file("O/secret", "S")
		r.must(os.Link(r.host("O/secret"), r.host("W/hard")))
		if data, err := afero.ReadFile(r.fs, "hard"); err != nil || string(data) != "S" {
			t.Errorf("%q, %v", data, err)
		}
		d, err := diskfs.Open(r.host("W"), diskfs.Options{RejectHardLinks: true})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		f := policyfs.New(namespace.Workspace(d), policyfs.Options{Policy: compile(t, fullSpec())})
		if err := appendFile(f, "hard", "x"); !errors.Is(err, provider.ErrHardLink) {
			t.Errorf("append: %v", err)
		}
		if got, _ := r.content("O/secret"); got != "S" {
			t.Errorf("secret is %q", got)
		}
	},
	// "walk while a dir is swapped for a symlink -> stays inside"
	"GO-14": func(t *testing.T, r *bugRun) {
		if r.memory || !canExchange {
			return // nothing swaps in memory
		}
		r.file("W/d/in", "IN")
		r.file("O/secret", "SECRET")
		r.must(os.Symlink(r.host("O"), r.host("P/swap")))
		stop, done := make(chan struct{}), make(chan struct{})
		var swaps atomic.Int64
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					if hostExchange(r.host("W/d"), r.host("P/swap")) == nil {
						swaps.Add(1)
					}
				}
			}
		}()
		rounds := scale(100, 500, 20_000)
		deadline := time.Now().Add(time.Minute)
		for i := 0; i < rounds || swaps.Load() < enoughSwaps && time.Now().Before(deadline); i++ {
			for e := range r.face.Walk("/") {
				if strings.Contains(e.Name, "secret") {
					t.Fatal("the walk left the workspace")
				}
			}
			for m := range r.face.Grep("/", policyfs.Query{Pattern: "SECRET"}) {
				t.Fatalf("grep found %+v", m)
			}
		}
		close(stop)
		<-done
		if swaps.Load() < enoughSwaps {
			t.Errorf("%d swaps: the race did not happen", swaps.Load())
		}
	},
	// "openat(dirfd,link,O_DIRECTORY|O_NOFOLLOW) -> ENOTDIR": a link spelled as a
	// directory is told from a file.
	"GO-15": func(t *testing.T, r *bugRun) {
		r.file("W/f", "")
		r.mkdir("W/d")
		r.link("W/l", "d")
		if _, err := r.fs.Open("l/"); !errors.Is(err, provider.ErrSymlink) {
			t.Error(err)
		}
		if _, err := r.fs.Open("f/"); !errors.Is(err, syscall.ENOTDIR) {
			t.Error(err)
		}
	},
	"GO-16": func(t *testing.T, r *bugRun) {
		_, open := r.fs.Open("m")
		_, stat := r.fs.Stat("m")
		for want, err := range map[string]error{
			"open": open, "stat": stat, "mkdir": r.fs.Mkdir("m/n", 0), "remove": r.fs.Remove("m"),
			"chmod": r.fs.Chmod("m", 0), "chtimes": r.fs.Chtimes("m", fixedTime, fixedTime),
		} {
			var pe *fs.PathError
			if !errors.As(err, &pe) || pe.Op != want || !strings.HasPrefix(pe.Path, "m") || !os.IsNotExist(err) {
				t.Errorf("%s: %#v", want, err)
			}
		}
	},
	"GO-17": func(t *testing.T, r *bugRun) {
		// Open(""): section 4 says that "" is ".", the session directory.
		h, err := r.fs.Open("")
		if err != nil {
			t.Error(err)
		} else {
			h.Close()
		}
		h, err = r.fs.OpenFile("n", os.O_RDWR|os.O_CREATE, 0o644|fs.ModeSticky)
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		if info, err := r.fs.Stat("n"); err != nil || info.Mode() != 0o644 {
			t.Errorf("%v, %v", info, err)
		}
		if err := r.fs.MkdirAll("n", 0o755); !errors.Is(err, syscall.ENOTDIR) {
			t.Error(err)
		}
	},
	// Speed is the bench module's; here the depths only have to work.
	"GO-19": func(t *testing.T, r *bugRun) {
		for _, depth := range []int{7, 15} {
			name := strings.Repeat("d/", depth) + "f"
			r.file("W/"+name, "x")
			if data, err := afero.ReadFile(r.fs, name); err != nil || string(data) != "x" {
				t.Errorf("depth %d: %q, %v", depth, data, err)
			}
		}
	},
	"GO-20": func(t *testing.T, r *bugRun) {
		r.file("W/d/f", "x")
		r.link("W/d/l", "..")
		r.link("W/top", "d")
		if err := fstest.TestFS(r.face.IOFS(), "d/f"); err != nil {
			t.Error(err)
		}
	},
}

// TestFSBugVectors replays testdata/fs_bugs.json through the face on memory and disk.
func TestFSBugVectors(t *testing.T) {
	cases := loadFSBugs(t)
	kinds := map[string]int{}
	for _, c := range cases {
		kinds[c.Kind]++
		custom := fsBugCustom[c.Name]
		for _, kind := range boxKinds {
			t.Run(c.Name+"/"+kind, func(t *testing.T) {
				r := newBugRun(t, kind)
				if custom != nil {
					custom(t, r)
					return
				}
				if c.Name == "AF-M55" && kind == "disk" && os.Geteuid() > 0 {
					// The kernel enforces the bits for everyone but root: the case
					// holds as it stands, and what it closes has to be opened again.
					t.Cleanup(func() { r.face.Chmod("/d", 0o755) })
					replayBug(t, r, c, nil)
					return
				}
				replayBug(t, r, c, fsBugOverrides[c.Name])
			})
		}
	}
	n := 0
	for _, k := range kinds {
		n += k
	}
	t.Logf("%d cases, %d of them written out, on %d storages", n, len(fsBugCustom), len(boxKinds))
	if n != len(cases) || n < 80 {
		t.Errorf("%d cases", n)
	}
	for name := range fsBugOverrides {
		if fsBugCustom[name] != nil {
			t.Errorf("override of %s, which is written out", name)
		}
	}
	for name := range fsBugCustom {
		if !slices.ContainsFunc(cases, func(c fsBug) bool { return c.Name == name }) {
			t.Errorf("%s is no case", name)
		}
	}
}

func replayBug(t *testing.T, r *bugRun, c fsBug, overrides []fsBugOverride) {
	for _, step := range c.Steps {
		instead, not := step, ""
		for _, o := range overrides {
			if o.step == step {
				instead = o.instead
				_, not, _ = strings.Cut(step, " -> ")
			}
		}
		if err := r.step(instead, not); err != nil {
			t.Errorf("%v (right: %s)", err, c.RightAnswer)
		}
	}
	for _, o := range overrides {
		if !slices.Contains(c.Steps, o.step) {
			t.Errorf("override of %q, which is no step", o.step)
		}
	}
}
