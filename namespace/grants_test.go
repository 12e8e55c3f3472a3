package namespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// table renders the mounts as "/at access" lines, as an agent sees them.
func table(n *Namespace) string {
	var out []string
	for _, m := range n.Mounts() {
		mark := "ro"
		if m.Access == ReadWrite {
			mark = "rw"
		}
		out = append(out, n.Display(m.At)+" "+mark)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func TestMountName(t *testing.T) {
	for label, want := range map[string]string{
		"": "workspace", "***": "workspace", "My Docs!!": "my-docs", "my---docs": "my-docs", "Éa": "éa", "  a  b  ": "a-b", "a/b\\c": "a-b-c", "../..": "workspace",
		"-rf": "rf", "日本 語": "日本-語", "v1.2": "v1-2", "a\nb": "a-b", "\u3164": "workspace", "a\u200bb": "a-b", "\u212a": "k", "A--": "a", "data": "data", "a\xffb": "a-b",
	} {
		if got := MountName(label); got != want {
			t.Errorf("MountName(%q) = %q, want %q", label, got, want)
		}
		if got := MountName(MountName(label)); got != want {
			t.Errorf("MountName twice (%q) = %q, want %q", label, got, want)
		}
	}
}

func TestGrantRoots(t *testing.T) {
	top := dirs(t, "app", "data", "notes", "app/sub")
	in := func(name string) string { return filepath.Join(top, name) }
	n := grant(t, Portable,
		Grant{Dir: in("notes"), Label: "My Notes!", Kind: KindFolder},
		Grant{Dir: in("data"), Label: "ignored", Kind: KindData, Access: ReadWrite},
		Grant{Dir: in("app"), Label: "App", Access: ReadWrite, Default: true})
	if got := table(n); got != "/data rw, /mnt/my-notes ro, /workspace/app rw" {
		t.Errorf("Portable: %s", got)
	}
	if dir, ok := n.Dir(); !ok || n.Display(dir) != "/workspace/app" {
		t.Errorf("working directory: %v, %v", dir, ok)
	}
	if got := n.Mounts()[1]; got.Label != "ignored" || got.Kind != KindData {
		t.Errorf("%+v", got)
	}
	if runtime.GOOS != "windows" {
		n = grant(t, Host, Grant{Dir: in("notes")}, Grant{Dir: in("app/../app"), Access: ReadWrite})
		if got := table(n); got != in("app")+" rw, "+in("notes")+" ro" {
			t.Errorf("Host: %s", got)
		}
		if dir, ok := n.Dir(); !ok || n.Display(dir) != in("app") {
			t.Errorf("working directory: %v, %v", dir, ok)
		}
	}
	n = grant(t, Portable, Grant{Dir: in("notes"), At: "/workspace"}, Grant{Dir: in("data"), At: "/a/b", Access: ReadWrite})
	if got := table(n); got != "/a/b rw, /workspace ro" {
		t.Errorf("explicit: %s", got)
	}
}

func TestGrantDir(t *testing.T) {
	top := dirs(t, "a", "b", "c")
	in := func(name string) string { return filepath.Join(top, name) }
	ro, rw := Grant{Dir: in("a"), Label: "a"}, Grant{Dir: in("b"), Label: "b", Access: ReadWrite}
	rw2 := Grant{Dir: in("c"), Label: "c", Access: ReadWrite}
	def := func(g Grant) Grant { g.Default = true; return g }
	for name, c := range map[string]struct {
		grants []Grant
		want   string
	}{
		"first writable":      {[]Grant{ro, rw, rw2}, "/workspace/b"},
		"default":             {[]Grant{ro, rw, def(rw2)}, "/workspace/c"},
		"default not allowed": {[]Grant{def(ro), rw, rw2}, "/workspace/b"},
		"none":                {[]Grant{def(ro)}, ""},
	} {
		dir, ok := grant(t, Portable, c.grants...).Dir()
		if dir.String() != c.want || ok != (c.want != "") {
			t.Errorf("%s: %v, %v", name, dir, ok)
		}
	}
}

func TestFromGrantsErrors(t *testing.T) {
	top := dirs(t, "a", "b", "new\nline", "c,d")
	in := func(name string) string { return filepath.Join(top, name) }
	if err := os.WriteFile(in("file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	a, b := in("a"), in("b")
	for name, c := range map[string]struct {
		mode   Mode
		grants []Grant
		want   string
	}{
		"none":                   {Portable, nil, "no grants"},
		"same slug":              {Portable, []Grant{{Dir: a, Label: "My Docs!!"}, {Dir: b, Label: "my---docs"}}, "two grants"},
		"two data":               {Portable, []Grant{{Dir: a, Kind: KindData}, {Dir: b, Kind: KindData}}, "two grants"},
		"coinciding":             {Portable, []Grant{{Dir: a, Label: "data"}, {Dir: b, Kind: KindData}}, "two grants"},
		"called mnt":             {Portable, []Grant{{Dir: a, Label: "mnt"}, {Dir: b, Label: "b", Kind: KindFolder}}, "collides"},
		"called data":            {Portable, []Grant{{Dir: a, Label: "data"}, {Dir: b, At: "/data/in"}}, "collides"},
		"explicit twice":         {Portable, []Grant{{Dir: a, At: "/x"}, {Dir: b, At: "/workspace/x"}}, "two grants"},
		"same directory in Host": {Host, []Grant{{Dir: a}, {Dir: a, Access: ReadWrite}}, "two grants"},
		"explicit unspellable":   {Portable, []Grant{{Dir: a, At: "/x/../y"}}, "invalid path"},
		"explicit relative":      {Portable, []Grant{{Dir: a, At: "x"}}, "not absolute"},
		"unspellable in Host":    {Host, []Grant{{Dir: in("new\nline")}}, "control character"},
		"label too long":         {Portable, []Grant{{Dir: a, Label: strings.Repeat("x", 300)}}, "255 bytes"},
		"missing":                {Portable, []Grant{{Dir: in("missing")}}, "not exist"},
		"missing parent":         {Portable, []Grant{{Dir: in("missing") + "/../a"}}, "not exist"},
		"a file":                 {Portable, []Grant{{Dir: in("file")}}, "not a directory"},
		"below a file":           {Portable, []Grant{{Dir: in("file/x")}}, "not a directory"},
		"blank":                  {Portable, []Grant{{}}, "no directory"},
		"two defaults":           {Portable, []Grant{{Dir: a, Label: "a", Default: true}, {Dir: b, Label: "b", Default: true}}, "second default"},
		"kind":                   {Portable, []Grant{{Dir: a, Kind: 3}}, "unknown"},
		"access":                 {Portable, []Grant{{Dir: a, Access: 2}}, "unknown"},
		"mode":                   {Mode(2), []Grant{{Dir: a}}, "unknown mode"},
		"root of the host":       {Host, []Grant{{Dir: "/"}}, "root directory"},
	} {
		if c.mode == Host && runtime.GOOS == "windows" {
			continue
		}
		opened := 0
		n, err := FromGrants(c.mode, func(string, Access) (provider.Provider, error) {
			opened++
			return mem(), nil
		}, c.grants...)
		if err == nil || n != nil || !strings.Contains(strings.ToLower(err.Error()), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
			continue
		}
		if opened > 0 {
			t.Errorf("%s: %d directories were opened first", name, opened)
		}
		if c.mode == Portable && strings.Contains(err.Error(), top) || strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%s: the error shows the host: %v", name, err)
		}
	}
	if _, err := FromGrants(Portable, nil, Grant{Dir: a}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("no opener: %v", err)
	}
}

// closeCounter counts what happens to the providers of an Opener.
type closeCounter struct{ opened, closed int }

type counted struct {
	*memfs.FS
	counter *closeCounter
}

func (c counted) Close() error {
	c.counter.closed++
	return c.FS.Close()
}

func (c *closeCounter) open(string, Access) (provider.Provider, error) {
	c.opened++
	return counted{memfs.New(memfs.Options{}), c}, nil
}

func TestFromGrantsCloses(t *testing.T) {
	top := dirs(t, "a", "b", "c")
	grants := []Grant{{Dir: filepath.Join(top, "a"), Label: "a"}, {Dir: filepath.Join(top, "b"), Label: "b"}, {Dir: filepath.Join(top, "c"), Label: "c"}}
	var counter closeCounter
	n, err := FromGrants(Portable, counter.open, grants...)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil || counter != (closeCounter{3, 3}) {
		t.Errorf("Close: %v, %+v", err, counter)
	}
	if err := n.Close(); !errors.Is(err, fs.ErrClosed) || counter.closed != 3 {
		t.Errorf("second Close: %v, %+v", err, counter)
	}

	secret := fmt.Errorf("open %s: %w", top, errors.New("no luck"))
	for name, third := range map[string]func(dir string) (provider.Provider, error){
		"fails": func(string) (provider.Provider, error) { return nil, secret },
		"path error": func(dir string) (provider.Provider, error) {
			return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrPermission}
		},
		"nothing": func(string) (provider.Provider, error) { return nil, nil },
		"wrong": func(string) (provider.Provider, error) {
			return elsewhere{counted{memfs.New(memfs.Options{}), &counter}}, nil
		},
		"replaced":    replaceDir(&counter),
		"disappeared": func(dir string) (provider.Provider, error) { os.Remove(dir); return counter.open(dir, ReadOnly) },
	} {
		counter = closeCounter{}
		want := 2
		n, err := FromGrants(Portable, func(dir string, access Access) (provider.Provider, error) {
			if filepath.Base(dir) != "c" {
				return counter.open(dir, access)
			}
			p, err := third(dir)
			if p != nil {
				want++
			}
			return p, err
		}, grants...)
		if err == nil || n != nil || counter.closed != want {
			t.Errorf("%s: %v; %d closed, want %d", name, err, counter.closed, want)
		}
		if err != nil && strings.Contains(err.Error(), top) {
			t.Errorf("%s: the error shows the host: %v", name, err)
		}
		if name == "fails" && !errors.Is(err, secret) {
			t.Errorf("%s: the cause is lost: %v", name, err)
		}
		if err := os.MkdirAll(grants[2].Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// elsewhere is a provider that serves another directory than the one asked for.
type elsewhere struct{ provider.Provider }

func (elsewhere) SameDir(string) bool { return false }

// replaceDir opens a directory and then puts another one in its place.
func replaceDir(counter *closeCounter) func(string) (provider.Provider, error) {
	return func(dir string) (provider.Provider, error) {
		p, err := counter.open(dir, ReadOnly)
		if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o755)); err != nil {
			return nil, err
		}
		return p, err
	}
}

// TestOverlap: rights follow the host directory, at whatever agent path.
func TestOverlap(t *testing.T) {
	top := dirs(t, "w/a/b/c", "w/keep", "other")
	in := func(name string) string { return filepath.Join(top, name) }
	if err := errors.Join(os.Symlink(in("w"), in("link")), os.Symlink(in("w/a"), in("alink"))); err != nil {
		t.Fatal(err)
	}
	folder := func(dir, label string, access Access) Grant {
		return Grant{Dir: in(dir), Label: label, Kind: KindFolder, Access: access}
	}
	w := Grant{Dir: in("w"), Label: "w", Access: ReadWrite}
	for name, c := range map[string]struct {
		grants []Grant
		want   string
	}{
		"inner read-only": {[]Grant{w, folder("w/a", "a", ReadOnly)},
			"/mnt/a ro, /workspace/w rw, /workspace/w/a ro"},
		"inner writable": {[]Grant{folder("w", "w", ReadOnly), folder("w/a", "a", ReadWrite)},
			"/mnt/a rw, /mnt/w ro, /mnt/w/a rw"},
		"three levels": {[]Grant{w, folder("w/a", "a", ReadOnly), folder("w/a/b", "b", ReadWrite)},
			"/mnt/a ro, /mnt/a/b rw, /mnt/b rw, /workspace/w rw, /workspace/w/a ro, /workspace/w/a/b rw"},
		"equal with conflict": {[]Grant{w, folder("w", "same", ReadOnly)},
			"/mnt/same ro, /workspace/w ro"},
		"equal": {[]Grant{w, folder("w", "same", ReadWrite)},
			"/mnt/same rw, /workspace/w rw"},
		"equal and inner": {[]Grant{w, folder("w", "same", ReadWrite), folder("w/a/b", "b", ReadOnly)},
			"/mnt/b ro, /mnt/same rw, /mnt/same/a/b ro, /workspace/w rw, /workspace/w/a/b ro"},
		"inner conflict": {[]Grant{w, folder("w/a", "one", ReadOnly), folder("w/a", "two", ReadWrite)},
			"/mnt/one ro, /mnt/two ro, /workspace/w rw, /workspace/w/a ro"},
		"through a link outside": {[]Grant{w, folder("alink", "a", ReadOnly)},
			"/mnt/a ro, /workspace/w rw, /workspace/w/a ro"},
		"outer through a link": {[]Grant{{Dir: in("link"), Label: "w", Access: ReadWrite}, folder("w/a", "a", ReadOnly)},
			"/mnt/a ro, /workspace/w rw, /workspace/w/a ro"},
		"link and parent": {[]Grant{{Dir: in("alink") + "/../keep", Label: "keep", Access: ReadWrite}},
			"/workspace/keep rw"},
		"explicit root at the same place": {[]Grant{w, {Dir: in("w/a"), At: "/workspace/w/a"}},
			"/workspace/w rw, /workspace/w/a ro"},
		"covered by another root": {[]Grant{w, {Dir: in("other"), At: "/workspace/w/a"}, folder("w/a/b", "b", ReadOnly)},
			"/mnt/b ro, /workspace/w rw, /workspace/w/a ro"},
		"no overlap": {[]Grant{w, folder("other", "o", ReadOnly)},
			"/mnt/o ro, /workspace/w rw"},
	} {
		var counter closeCounter
		n, err := FromGrants(Portable, counter.open, c.grants...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := table(n); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if err := n.Close(); err != nil || counter.opened != counter.closed {
			t.Errorf("%s: %v, %+v", name, err, counter)
		}
	}

	n := grant(t, Portable, w, folder("w", "same", ReadWrite), folder("w/a/b", "b", ReadOnly))
	for path, want := range map[string]string{
		"/mnt/b/x":           "/workspace/mnt/same/a/b/x /workspace/w/a/b/x",
		"/workspace/w/a/b/x": "/workspace/mnt/b/x /workspace/mnt/same/a/b/x",
		"/workspace/w/x":     "/workspace/mnt/same/x",
		"/mnt/same":          "/workspace/w",
	} {
		var got []string
		for _, p := range n.Aliases(MustParse(path)) {
			got = append(got, p.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Aliases(%s) = %v, want %s", path, got, want)
		}
	}

	// A root that is explicit and elsewhere cannot stand where an overlap must.
	_, err := FromGrants(Portable, openMem, w, Grant{Dir: in("other"), At: "/workspace/w/a"}, folder("w/a", "a", ReadOnly))
	if err == nil || !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("coinciding with an overlap: %v", err)
	}

	// Host mode: the places coincide.
	if runtime.GOOS != "windows" {
		n = grant(t, Host, w, folder("w/a", "", ReadOnly))
		if got := table(n); got != in("w")+" rw, "+in("w/a")+" ro" {
			t.Errorf("Host: %s", got)
		}
	}
}

// An agent that can write where a link stands could redirect the next session.
func TestGrantThroughWritableLink(t *testing.T) {
	top := dirs(t, "w/real", "w/sub", "out/deep")
	in := func(name string) string { return filepath.Join(top, name) }
	for target, link := range map[string]string{in("out"): "w/link", "sub": "w/in", in("w/link"): "chain"} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	w := Grant{Dir: in("w"), Label: "w", Access: ReadWrite}
	for _, dir := range []string{"w/link", "w/link/deep", "w/in", "chain", "chain/deep"} {
		other := Grant{Dir: in(dir), Label: "x", Kind: KindFolder}
		if _, err := FromGrants(Portable, openMem, w, other); err == nil || !strings.Contains(err.Error(), "link inside the writable grant 0") {
			t.Errorf("%s: %v", dir, err)
		}
		ro := w
		ro.Access = ReadOnly
		grant(t, Portable, ro, other)
		grant(t, Portable, other)
	}
}

// A relative directory starts where the process is, and ".." is physical.
func TestGrantRelativeDir(t *testing.T) {
	top := dirs(t, "x/real/sub", "x/real/ws", "ws")
	if err := os.Symlink(filepath.Join(top, "x/real/sub"), filepath.Join(top, "lnk")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	for dir, want := range map[string]string{"ws": "ws", "./x/../ws": "ws", "lnk/../ws": "x/real/ws", ".": "", "lnk": "x/real/sub"} {
		n := grant(t, Portable, Grant{Dir: dir, Label: "a"})
		if host, ok := n.ToHost(MustParse("/workspace/a")); !ok || host != filepath.Join(top, want) {
			t.Errorf("%q is %q, want %q", dir, host, want)
		}
	}
}

// TestPlacesWithoutTable: where the system has no table of mounts, the identity
// of the parents finds what lies inside another directory.
func TestPlacesWithoutTable(t *testing.T) {
	top := dirs(t, "w/a/b", "o")
	at := func(name string) *granted {
		g := &granted{Grant: Grant{Dir: filepath.Join(top, name)}}
		if err := g.inspect(); err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct{ outer, inner, want string }{{"w", "w/a/b", filepath.Join("a", "b")}, {"w", "w/a", "a"}, {"w/a", "w", ""}, {"w", "o", ""}, {"w", "w", ""}} {
		if got := strings.Join(at(c.outer).places(at(c.inner), nil), " "); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.inner, c.outer, got, c.want)
		}
	}
}
