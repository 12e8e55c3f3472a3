package namespace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// openMem is an Opener for tables whose storage does not matter.
func openMem(string, Access) (provider.Provider, error) { return mem(), nil }

// dirs makes host directories below a fresh root without links, and returns it.
func dirs(t testing.TB, names ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(top, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

func grant(t testing.TB, mode Mode, grants ...Grant) *Namespace {
	t.Helper()
	n, err := FromGrants(mode, openMem, grants...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func TestShorthand(t *testing.T) {
	top := dirs(t, "app", "notes", "pics")
	app := Grant{Dir: filepath.Join(top, "app"), Label: "App", Access: ReadWrite}
	notes := Grant{Dir: filepath.Join(top, "notes"), Label: "notes", Kind: KindFolder}
	n := grant(t, Portable, app, notes)
	sub := MustParse("/workspace/app/sub")
	for _, c := range []struct {
		dir             Path
		name            string
		requested, path string // "" for ErrOutside
	}{
		{Path{}, "x", "/workspace/app/x", "/workspace/app/x"},
		{Path{}, "/workspace/x", "/workspace/x", "/workspace/app/x"},
		{Path{}, "/workspace/./x/", "/workspace/x", "/workspace/app/x"},
		{Path{}, "/workspace", "/workspace", "/workspace/app"},
		{Path{}, "//workspace/", "/workspace", "/workspace/app"},
		{Path{}, "/", "/workspace", "/workspace"},
		{sub, "/workspace/x", "/workspace/x", "/workspace/app/sub/x"},
		{sub, "x", "/workspace/app/sub/x", "/workspace/app/sub/x"},
		{Path{}, "/workspace/app/x", "/workspace/app/x", "/workspace/app/x"},
		{Path{}, "/workspace/mnt", "/workspace/mnt", "/workspace/mnt"},
		{Path{}, "/workspace/mnt/notes/x", "/workspace/mnt/notes/x", "/workspace/mnt/notes/x"},
		{Path{}, "/workspace/mnt/x", "", ""},
		{Path{}, "/mnt/x", "", ""},
		{Path{}, "/x", "", ""},
		{root, "x", "", ""},
		{Path{}, "/Workspace/x", "", ""},
	} {
		got, err := n.Resolve(c.dir, c.name)
		if c.path == "" {
			if !errors.Is(err, ErrOutside) {
				t.Errorf("Resolve(%v, %q) = %v, %v; want ErrOutside", c.dir, c.name, got.Path, err)
			}
			continue
		}
		if err != nil || got.Requested.String() != c.requested || got.Path.String() != c.path {
			t.Errorf("Resolve(%v, %q) = %v -> %v, %v; want %s -> %s", c.dir, c.name, got.Requested, got.Path, err, c.requested, c.path)
		}
		var again Target
		dir := n.dirOr(c.dir)
		if err := n.ResolveParsed(&again, &dir, got.Requested, c.name); err != nil || again != got {
			t.Errorf("ResolveParsed(%v, %q) = %v, %v", c.dir, c.name, again, err)
		}
	}
	// Lookup knows no shorthand: it is a matter of spelling.
	if _, err := n.Lookup(MustParse("/workspace/x")); !errors.Is(err, ErrOutside) {
		t.Errorf("Lookup: %v", err)
	}

	// There is none in other namespaces, and without a working directory.
	outside := map[string]*Namespace{
		"New":              layout(t, "/workspace/app rw"),
		"Host mode":        grant(t, Host, app),
		"no directory":     grant(t, Portable, Grant{Dir: app.Dir, Label: "app"}),
		"at or below /mnt": grant(t, Portable, notes),
	}
	for name, n := range outside {
		if got, err := n.Resolve(Path{}, "/workspace/x"); !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v, %v", name, got.Path, err)
		}
	}
	whole := app
	whole.At = "/workspace"
	if got, err := grant(t, Portable, whole).Resolve(Path{}, "/workspace/x"); err != nil || got.Requested != got.Path || got.Path.String() != "/workspace/x" {
		t.Errorf("mounted at /workspace: %v, %v", got, err)
	}
}

// TestResolveParents: ".." is what a kernel says it is.
func TestResolveParents(t *testing.T) {
	ctx := t.Context()
	ws, data := memfs.New(memfs.Options{}), memfs.New(memfs.Options{})
	for _, dir := range []string{"a", "a/b", "real", "refused"} {
		if err := ws.Mkdir(ctx, provider.MustPath(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := provider.WriteFile(ctx, ws, provider.MustPath("file"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := ws.Symlink("real", provider.MustPath("link")); err != nil {
		t.Fatal(err)
	}
	if err := data.Mkdir(ctx, provider.MustPath("in"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused by policy")
	var asked []string
	ok := func(target Target) error {
		asked = append(asked, target.Path.String())
		if MustParse("/refused").Contains(target.Path) {
			return refused
		}
		return nil
	}
	outer := mustNew(t, Mount{At: "/workspace", Access: ReadWrite, Provider: ws}, Mount{At: "/data", Provider: data}, Mount{At: "/x/y", Provider: mem()})
	apart := mustNew(t, Mount{At: "/workspace/app", Access: ReadWrite, Provider: ws}, Mount{At: "/data", Provider: data})
	at := MustParse
	for _, c := range []struct {
		n    *Namespace
		dir  Path
		name string
		want string
		err  error
	}{
		{outer, root, "a/../file", "/workspace/file", nil},
		{outer, root, "a/b/../../file", "/workspace/file", nil},
		{outer, root, "/workspace/a/../file", "/workspace/file", nil},
		{outer, at("/a/b"), "..", "/workspace/a", nil},
		{outer, at("/a/b"), "../../file", "/workspace/file", nil},
		{outer, at("/a/b"), "../c/new", "/workspace/a/c/new", nil},
		{outer, root, "a/b/..", "/workspace/a", nil},
		{outer, root, "a/../a/../a", "/workspace/a", nil},
		{outer, root, "a/..b/..", "", fs.ErrNotExist},
		{outer, root, "...", "/workspace/...", nil},
		{outer, root, "a..", "/workspace/a..", nil},
		{outer, root, "..", "", ErrOutside},
		{outer, root, "/..", "", ErrOutside},
		{outer, root, "/workspace/..", "", ErrOutside},
		{outer, root, "a/../..", "", ErrOutside},
		{outer, root, "missing/../file", "", fs.ErrNotExist},
		{outer, root, "missing/../../x", "", fs.ErrNotExist},
		{outer, root, "file/../file", "", syscall.ENOTDIR},
		{outer, root, "link/../file", "", provider.ErrSymlink},
		{outer, root, "link/x/../file", "", provider.ErrSymlink},
		{outer, root, "refused/../file", "", refused},
		{outer, root, "refused/nothing/../x", "", refused},
		{outer, root, "refused/../../x", "", refused},
		{outer, root, "a\\../x", "", provider.ErrPath},
		{outer, root, "a/\x01/../x", "", provider.ErrPath},
		{outer, root, strings.Repeat("x", 256) + "/../a", "", provider.ErrPath},
		{outer, root, strings.Repeat("a/../", 20_000), "", provider.ErrPath},
		// Mount points and their ancestors are directories, whatever is below them.
		{outer, root, "/data/../file", "/workspace/file", nil},
		{outer, root, "/data/in/../../a", "/workspace/a", nil},
		{outer, root, "/x/../file", "/workspace/file", nil},
		{outer, root, "/x/y/../..", "/workspace", nil},
		{outer, root, "/data/../data/in", "/workspace/data/in", nil},
		// The parent of "/data" is "/", which "workspace" leads on from.
		{outer, root, "/data/../workspace/a", "/workspace/a", nil},
		{outer, root, "/workspace/data/../workspace/a", "/workspace/workspace/a", nil},
		{outer, at("/data"), "../workspace/a", "/workspace/a", nil},
		{outer, at("/a"), "../workspace/a", "/workspace/workspace/a", nil},
		{apart, at("/app/a"), "../b", "/workspace/app/b", nil},
		{apart, at("/app"), "../data/in", "/workspace/data/in", nil},
		{apart, at("/app"), "../nothing", "", ErrOutside},
		{apart, at("/app"), "../..", "", ErrOutside},
		{apart, root, "/nothing/../data", "", ErrOutside},
		{apart, Path{}, "../x", "", provider.ErrPath},
	} {
		got, err := c.n.ResolveParents(ctx, c.dir, c.name, ok)
		if !errors.Is(err, c.err) || err == nil && got.Path.String() != c.want || err != nil && got != (Target{}) {
			t.Errorf("ResolveParents(%v, %.30q) = %q, %v; want %q, %v", c.dir, c.name, got.Path, err, c.want, c.err)
		}
	}
	// A refused directory is refused before anyone looks whether it exists.
	asked = nil
	if _, err := outer.ResolveParents(ctx, root, "a/../refused/nothing/../../missing/..", ok); err != refused || !slices.Equal(asked, []string{"/workspace/a", "/workspace/refused/nothing"}) {
		t.Errorf("%v, asked for %v", err, asked)
	}
	if _, err := outer.ResolveParents(ctx, root, "a/../b", nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("nobody to ask: %v", err)
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	for _, name := range []string{"a/../b", "/data/../a"} {
		if _, err := outer.ResolveParents(done, root, name, ok); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}
