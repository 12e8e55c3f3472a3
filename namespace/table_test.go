package namespace

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

func mem() provider.Provider { return memfs.New(memfs.Options{}) }

func mustNew(t testing.TB, mounts ...Mount) *Namespace {
	t.Helper()
	n, err := New(mounts...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// layout makes a Namespace of mounts spelled "/at" or "/at rw".
func layout(t testing.TB, mounts ...string) *Namespace {
	t.Helper()
	var list []Mount
	for _, m := range mounts {
		at, rw := strings.CutSuffix(m, " rw")
		mount := Mount{At: at, Provider: mem()}
		if rw {
			mount.Access = ReadWrite
		}
		list = append(list, mount)
	}
	return mustNew(t, list...)
}

func TestLookup(t *testing.T) {
	for _, c := range []struct {
		mounts []string
		path   string
		want   string // "mount rel", "synthetic rel" or "outside"
	}{
		{[]string{"/workspace"}, "/", "/workspace ."},
		{[]string{"/workspace"}, "/a/b", "/workspace a/b"},
		{[]string{"/"}, "/a/b", "/workspace a/b"},
		{[]string{"/workspace", "/data"}, "/data", "/workspace/data ."},
		{[]string{"/workspace", "/data"}, "/workspace/data/x/y", "/workspace/data x/y"},
		{[]string{"/workspace", "/data"}, "/database/x", "/workspace database/x"},
		{[]string{"/workspace", "/a", "/a/b/c"}, "/a/b/c/d", "/workspace/a/b/c d"},
		{[]string{"/workspace", "/a", "/a/b/c"}, "/a/b", "/workspace/a b"},
		{[]string{"/workspace", "/a", "/a/b/c"}, "/a/b/cc", "/workspace/a b/cc"},
		{[]string{"/a/b"}, "/", "synthetic ."},
		{[]string{"/a/b"}, "/a", "synthetic a"},
		{[]string{"/a/b"}, "/a/b", "/workspace/a/b ."},
		{[]string{"/a/b"}, "/a/x", "outside"},
		{[]string{"/a/b"}, "/x", "outside"},
		{[]string{"/a/b"}, "/A/b", "outside"},
		{[]string{"/mnt/docs"}, "/mnt/Docs/f", "outside"},
		{[]string{"/mnt/docs"}, "/MNT/docs/f", "outside"},
		// A folded spelling of a nested mount point, by every kind of folding.
		{[]string{"/workspace", "/docs"}, "/Docs", "outside"},
		{[]string{"/workspace", "/docs"}, "/DOCS/f", "outside"},
		{[]string{"/workspace", "/docs"}, "/docs./f", "outside"},
		{[]string{"/workspace", "/docs"}, "/docs /f", "outside"},
		{[]string{"/workspace", "/docs"}, "/do\u200dcs/f", "outside"},
		{[]string{"/workspace", "/docs"}, "/doc\u017f/f", "outside"},
		{[]string{"/workspace", "/é"}, "/e\u0301/f", "outside"},
		{[]string{"/workspace", "/docs"}, "/docs2/f", "/workspace docs2/f"},
		{[]string{"/workspace", "/docs"}, "/.docs", "/workspace .docs"},
		{[]string{"/workspace", "/a/b"}, "/A/b", "outside"},
		{[]string{"/workspace", "/a/b"}, "/A/B/c", "outside"},
		{[]string{"/workspace", "/a/b"}, "/a/B", "outside"},
		{[]string{"/workspace", "/a/b"}, "/A/x", "/workspace A/x"},
		{[]string{"/workspace", "/a/b"}, "/A", "/workspace A"},
		{[]string{"/workspace", "/a/b/c"}, "/A/B/C/x", "outside"},
		{[]string{"/workspace", "/a/b/c"}, "/a/B/C", "outside"},
		{[]string{"/workspace", "/a/b/c"}, "/A/B/x", "/workspace A/B/x"},
		// An exact node does not hide a folded mount point beside it.
		{[]string{"/workspace", "/a/x", "/A/y"}, "/A/x", "outside"},
		{[]string{"/workspace", "/a/x", "/A/y"}, "/A/y", "/workspace/A/y ."},
		{[]string{"/workspace", "/a", "/A"}, "/A/f", "outside"},
	} {
		n := layout(t, c.mounts...)
		p := MustParse(c.path)
		target, err := n.Lookup(p)
		got := target.Mount.String() + " " + target.Rel.String()
		switch {
		case errors.Is(err, ErrOutside) && errors.Is(err, fs.ErrPermission):
			got = "outside"
		case err != nil:
			t.Fatal(err)
		case target.Provider == provider.Provider(n.synth):
			got = "synthetic " + target.Rel.String()
		}
		if got != c.want {
			t.Errorf("%v: Lookup(%q) = %s, want %s", c.mounts, c.path, got, c.want)
		}
		if err == nil && (target.Path != p || target.Requested != p || target.Provider == nil) {
			t.Errorf("%v: Lookup(%q) = %+v", c.mounts, c.path, target)
		}
	}
}

// TestTargetAt: At says what Lookup says of another path in the same mount, and
// leaves that of any other alone.
func TestTargetAt(t *testing.T) {
	n := layout(t, "/workspace/app rw", "/data")
	paths := []string{"/workspace/app", "/app/x", "/app/x/y", "/data", "/data/x", "/data/x/y"}
	for _, from := range paths {
		for _, to := range paths {
			start, err1 := n.Lookup(MustParse(from))
			want, err2 := n.Lookup(MustParse(to))
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			got := start
			ok := got.At(MustParse(to))
			if inside := start.Mount == want.Mount; ok != inside || inside && got != want || !inside && got != start {
				t.Errorf("from %s At(%s) = %+v, %v", from, to, got, ok)
			}
			if got = start; got.At(Path{}) || got != start {
				t.Errorf("from %s to the unset path: %+v", from, got)
			}
		}
	}
	if (&Target{}).At(root) {
		t.Error("the zero Target has a mount")
	}
}

func TestLookupUnset(t *testing.T) {
	n := layout(t, "/workspace")
	if _, err := n.Lookup(Path{}); !errors.Is(err, provider.ErrPath) {
		t.Errorf("unset path: %v", err)
	}
	for _, n := range []*Namespace{nil, {}} {
		if _, err := n.Lookup(root); !errors.Is(err, ErrOutside) {
			t.Errorf("empty namespace: %v", err)
		}
		if _, err := n.Resolve(root, "x"); !errors.Is(err, ErrOutside) {
			t.Errorf("empty namespace: %v", err)
		}
		if _, err := n.ResolveParents(t.Context(), root, "x/../y", nil); err == nil {
			t.Error("empty namespace: resolved")
		}
		if _, err := n.DirFromHost(t.Context(), t.TempDir()); !errors.Is(err, ErrOutside) {
			t.Errorf("empty namespace: %v", err)
		}
		_, dir := n.Dir()
		_, from := n.FromHost(t.TempDir())
		_, to := n.ToHost(root)
		_, ancestor := n.Ancestor(root)
		if dir || from || to || ancestor || n.Children(root) != nil || len(n.Mounts()) > 0 || n.Aliases(root) != nil || !n.MountPoint(root) ||
			n.Display(root) != rootText || len(n.BindMounts()) > 0 || n.Close() != nil || n.CheckHost(root) == nil {
			t.Error("empty namespace answers something")
		}
	}
}

func TestNewErrors(t *testing.T) {
	p := mem()
	for name, mounts := range map[string][]Mount{
		"none":          nil,
		"nil provider":  {{At: "/workspace"}},
		"relative":      {{At: "a", Provider: p}},
		"blank":         {{Provider: p}},
		"unspellable":   {{At: "/a/../b", Provider: p}},
		"same":          {{At: "/data", Provider: p}, {At: "/workspace/data/", Provider: p}},
		"access":        {{At: "/a", Access: 2, Provider: p}},
		"relative host": {{At: "/a", Provider: p, HostDir: "x"}},
		"unclean host":  {{At: "/a", Provider: p, HostDir: "/x/../y"}},
	} {
		if n, err := New(mounts...); err == nil || n != nil || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDir(t *testing.T) {
	if dir, ok := layout(t, "/workspace", "/data rw").Dir(); !ok || dir != root {
		t.Errorf("mounted at /workspace: %v, %v", dir, ok)
	}
	if dir, ok := layout(t, "/workspace/a rw").Dir(); ok {
		t.Errorf("nothing mounted at /workspace: %v", dir)
	}
	n := layout(t, "/workspace/a rw")
	if _, err := n.Resolve(Path{}, "x"); !errors.Is(err, provider.ErrPath) {
		t.Errorf("relative name without a directory: %v", err)
	}
	if got, err := n.Resolve(MustParse("/a"), "x"); err != nil || got.Path.String() != "/workspace/a/x" {
		t.Errorf("%v, %v", got.Path, err)
	}
	if got, err := Workspace(mem()).Resolve(Path{}, "x"); err != nil || got.Path.String() != "/workspace/x" || got.Access != ReadWrite {
		t.Errorf("%v, %v", got.Path, err)
	}
}

func TestTree(t *testing.T) {
	n := layout(t, "/workspace rw", "/mnt/notes", "/mnt/pics rw", "/data rw", "/data/in/raw")
	for path, want := range map[string]string{
		"/": "data mnt", "/mnt": "notes pics", "/data": "in", "/data/in": "raw", "/data/in/raw": "", "/mnt/notes": "", "/x": "", "/Mnt": "", "/data/x": "",
	} {
		if got := strings.Join(n.Children(MustParse(path)), " "); got != want {
			t.Errorf("Children(%s) = %q, want %q", path, got, want)
		}
	}
	names := n.Children(root)
	names[0] = "changed"
	if slices.Contains(n.Children(root), "changed") {
		t.Error("Children hands out the table's own slice")
	}
	for path, want := range map[string]bool{"/": true, "/mnt": true, "/mnt/notes": true, "/mnt/notes/x": false, "/data/in": true, "/data/inn": false, "/x": false, "/Mnt": false, "/DATA/IN": false} {
		if got := n.MountPoint(MustParse(path)); got != want {
			t.Errorf("MountPoint(%s) = %v", path, got)
		}
	}
	var ats []string
	for _, m := range n.Mounts() {
		ats = append(ats, m.At.String()+" "+m.Access.String())
	}
	want := "/workspace read-write,/workspace/data read-write,/workspace/data/in/raw read-only,/workspace/mnt/notes read-only,/workspace/mnt/pics read-write"
	if got := strings.Join(ats, ","); got != want {
		t.Errorf("Mounts: %s", got)
	}
	for path, want := range map[string]bool{"/": false, "/mnt": true, "/mnt/notes": false, "/data/in": true, "/data": false, "/x": false} {
		target, ok := n.Ancestor(MustParse(path))
		if ok != want {
			t.Errorf("Ancestor(%s) = %v", path, ok)
		}
		if ok {
			if info, err := target.Provider.Stat(t.Context(), target.Rel); err != nil || !info.IsDir() {
				t.Errorf("Ancestor(%s): %v", path, err)
			}
		}
	}
}

// In storage that ignores case, another spelling of a directory that leads to a
// mount point is that directory, and may not be removed or renamed either.
func TestMountPointFolded(t *testing.T) {
	n := mustNew(t,
		Mount{At: "/workspace", Access: ReadWrite, Provider: memfs.New(memfs.Options{CaseInsensitive: true})},
		Mount{At: "/a/b", Provider: mem()})
	for path, want := range map[string]bool{"/A": true, "/a": true, "/A/B": true, "/A/x": false, "/\u00e1": false} {
		if got := n.MountPoint(MustParse(path)); got != want {
			t.Errorf("MountPoint(%s) = %v", path, got)
		}
	}
}

func TestDisplay(t *testing.T) {
	n := layout(t, "/workspace", "/data", "/workspace/mnt/notes", "/mnt/pics", "/opt/x")
	for path, want := range map[string]string{
		"/": "/workspace", "/a/b": "/workspace/a/b", "/data": "/data", "/data/x": "/data/x", "/mnt/notes/x": "/workspace/mnt/notes/x",
		"/mnt/pics/x": "/mnt/pics/x", "/mnt": "/workspace/mnt",
	} {
		if got := n.Display(MustParse(path)); got != want {
			t.Errorf("Display(%s) = %q, want %q", path, got, want)
		}
	}
	n = layout(t, "/data", "/mnt/a", "/workspace/app", "/x/a", "/workspace/x/b")
	for path, want := range map[string]string{
		"/": "/", "/mnt": "/mnt", "/app/x": "/workspace/app/x", "/x": "/workspace/x", "/x/a": "/x/a", "/data": "/data",
	} {
		p := MustParse(path)
		if got := n.Display(p); got != want {
			t.Errorf("Display(%s) = %q, want %q", path, got, want)
		}
		if back, err := Parse(Path{}, n.Display(p)); err != nil || back != p {
			t.Errorf("Display(%s) parses to %v, %v", path, back, err)
		}
	}
	if got := n.Display(Path{}); got != "" {
		t.Errorf("unset path: %q", got)
	}
	if got := layout(t, "/workspace/workspace").Display(MustParse("/workspace/workspace/a")); got != "/workspace/workspace/a" {
		t.Errorf("an element called workspace: %q", got)
	}
}

func TestAliases(t *testing.T) {
	shared, other := mem(), mem()
	n := mustNew(t,
		Mount{At: "/a", Provider: shared}, Mount{At: "/b", Provider: shared}, Mount{At: "/b/sub", Provider: other}, Mount{At: "/c", Provider: other})
	for path, want := range map[string]string{
		"/a/x":     "/workspace/b/x",
		"/b/x/y":   "/workspace/a/x/y",
		"/a":       "/workspace/b",
		"/a/sub/x": "", // below /b something else is mounted there
		"/b/sub/x": "/workspace/c/x",
		"/c":       "/workspace/b/sub",
		"/d":       "",
	} {
		var got []string
		for _, p := range n.Aliases(MustParse(path)) {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Aliases(%s) = %v, want %q", path, got, want)
		}
	}
	// An alias that would be too long is no path.
	n = mustNew(t, Mount{At: "/a", Provider: shared}, Mount{At: "/" + strings.Repeat("b", 250), Provider: shared})
	long := MustParse("/a/" + strings.Repeat("x/", 1950))
	if got := n.Aliases(long); len(got) != 0 {
		t.Errorf("too long: %d aliases", len(got))
	}
}

// Every mutation of a synthetic directory is EBUSY, and changes nothing.
func TestSynthetic(t *testing.T) {
	ctx := t.Context()
	n := layout(t, "/a/b rw", "/a/c")
	target, err := n.Lookup(MustParse("/a"))
	if err != nil {
		t.Fatal(err)
	}
	p, rel := target.Provider, target.Rel
	for _, open := range []provider.OpenOptions{{Write: true}, {Read: true, Append: true}, {Read: true, Create: true, Exclusive: true}, {Read: true, Truncate: true}} {
		if _, err := p.Open(ctx, rel, open); err != syscall.EBUSY {
			t.Errorf("Open(%+v): %v", open, err)
		}
	}
	_, replaceErr := p.Replace(ctx, rel, strings.NewReader("x"), provider.ReplaceOptions{})
	for i, err := range []error{
		p.Mkdir(ctx, rel, 0o755), p.Remove(ctx, rel), p.Rename(ctx, rel, provider.MustPath("z"), provider.RenameOptions{}),
		replaceErr, p.Chmod(ctx, rel, 0o777), p.Chtimes(ctx, rel, time.Now(), time.Now()),
	} {
		if err != syscall.EBUSY {
			t.Errorf("mutation %d: %v", i, err)
		}
	}
	if _, err := p.Stat(ctx, provider.MustPath("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of nothing: %v", err)
	}
	info, err := p.Stat(ctx, rel)
	if err != nil || info.Name() != "a" || info.Mode() != fs.ModeDir|0o555 || info.Size() != 0 || info.Sys() != nil || info.ModTime().IsZero() {
		t.Errorf("Stat: %v, %v", info, err)
	}
	f, err := p.Open(ctx, rel, provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.ReadDir(0)
	if err != nil || len(entries) != 2 || entries[0].Name() != "b" || entries[1].Name() != "c" {
		t.Errorf("ReadDir: %v, %v", entries, err)
	}
	if rw, _ := entries[0].Info(); rw.Mode() != fs.ModeDir|0o755 {
		t.Errorf("a writable mount shows as %v", rw.Mode())
	}
	if ro, _ := entries[1].Info(); ro.Mode() != fs.ModeDir|0o555 {
		t.Errorf("a read-only mount shows as %v", ro.Mode())
	}
	if _, err := f.ReadDir(1); !errors.Is(err, provider.ErrTooMany) {
		t.Errorf("ReadDir(1): %v", err)
	}
	if _, err := f.ReadAt(nil, 0); err != syscall.EISDIR {
		t.Errorf("ReadAt: %v", err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err != syscall.EISDIR {
		t.Errorf("WriteAt: %v", err)
	}
	if _, _, err := f.Append([]byte("x")); err != syscall.EISDIR {
		t.Errorf("Append: %v", err)
	}
	if err := f.Truncate(0); err != syscall.EISDIR {
		t.Errorf("Truncate: %v", err)
	}
	if err := f.Sync(); err != nil {
		t.Errorf("Sync: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
	if _, err := f.ReadDir(0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("ReadDir after Close: %v", err)
	}
	if _, err := f.Stat(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stat after Close: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Stat(done, rel); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := p.Remove(done, rel); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestFirstBytes compares the quick test for children with the skeletons that
// it stands for.
func TestFirstBytes(t *testing.T) {
	names := []string{"a", "A", "é", "e\u0301", "ß", "...", ". x", " b", "~", "日本", "\u212a", "ﬁ", "1", "-", "\u0301a", "a.", "\u00adz", ";", "\u037e"}
	for _, child := range names {
		n := layout(t, "/workspace", "/"+child)
		for _, name := range names {
			if skeleton(name) == skeleton(child) && !n.root.perhaps(name) {
				t.Errorf("%+q is not taken for %+q", name, child)
			}
		}
	}
}
