package namespace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// reverse-map (attack J09): the most specific grant, by whole elements.
func TestFromHostMostSpecific(t *testing.T) {
	top := dirs(t, "w/sub", "o", "wsubX", "w/subX")
	in := func(name string) string { return filepath.Join(top, name) }
	n := grant(t, Portable,
		Grant{Dir: in("w"), Label: "a", Access: ReadWrite},
		Grant{Dir: in("w/sub"), Label: "sub", Kind: KindFolder})
	for host, want := range map[string]string{
		in("w/sub/f"): "/mnt/sub/f", in("w/x"): "/workspace/a/x", in("w"): "/workspace/a", in("w/sub"): "/mnt/sub", in("w/subX/f"): "/workspace/a/subX/f",
		in("w/new/dir/f"): "/workspace/a/new/dir/f", in("w/./x/") + "/": "/workspace/a/x", in("o") + "/../w/x": "/workspace/a/x",
		in("o/x"): "", in("wsubX/f"): "", top: "", "/": "", "": "", "w/x": "", in("w") + "\x00": "", in("o") + "/../w/sub/../y": "/workspace/a/y",
	} {
		p, ok := n.FromHost(host)
		if got := n.Display(p); got != want || ok != (want != "") {
			t.Errorf("FromHost(%q) = %q, %v; want %q", host, got, ok, want)
		}
	}
	if p, ok := n.FromHost(in("w") + "/missing/../x"); ok {
		t.Errorf("through a missing directory: %v", p)
	}
	if p, ok := n.FromHost(in("w/a\nb")); ok {
		t.Errorf("unspellable: %v", p)
	}
	if p, ok := n.FromHost(in("w/a\\b")); ok && runtime.GOOS != "windows" {
		t.Errorf("unspellable: %v", p)
	}
	for path, want := range map[string]string{"/workspace/a/x/y": in("w/x/y"), "/workspace/a": in("w"), "/workspace/a/sub/f": in("w/sub/f"), "/mnt/sub/f": in("w/sub/f"), "/mnt": "", "/": "", "/x": ""} {
		if host, ok := n.ToHost(MustParse(path)); host != want || ok != (want != "") {
			t.Errorf("ToHost(%s) = %q, %v", path, host, ok)
		}
	}
}

// A mount that covers a directory hides it from FromHost too.
func TestFromHostCovered(t *testing.T) {
	top := dirs(t, "w/docs", "d")
	n := mustNew(t,
		Mount{At: "/workspace", Provider: mem(), HostDir: filepath.Join(top, "w")},
		Mount{At: "/workspace/docs", Provider: mem(), HostDir: filepath.Join(top, "d")},
		Mount{At: "/memory", Provider: mem()})
	for host, want := range map[string]string{"w/docs/f": "", "w/f": "/workspace/f", "d/f": "/workspace/docs/f", "w/memory/f": "", "w/Docs/f": ""} {
		p, ok := n.FromHost(filepath.Join(top, host))
		if p.String() != want || ok != (want != "") {
			t.Errorf("FromHost(%s) = %v, %v", host, p, ok)
		}
	}
	if host, ok := n.ToHost(MustParse("/memory/f")); ok {
		t.Errorf("no HostDir: %q", host)
	}
	if err := n.CheckHost(MustParse("/memory")); !errors.Is(err, ErrOutside) {
		t.Errorf("no HostDir: %v", err)
	}
}

// A HostDir that does not exist yet is compared by name.
func TestFromHostMissingDir(t *testing.T) {
	top := dirs(t)
	n := mustNew(t, Mount{At: "/workspace", Provider: mem(), HostDir: filepath.Join(top, "later")})
	if p, ok := n.FromHost(filepath.Join(top, "later/f")); !ok || p.String() != "/workspace/f" {
		t.Errorf("%v, %v", p, ok)
	}
	if p, ok := n.FromHost(filepath.Join(top, "later2/f")); ok {
		t.Errorf("%v", p)
	}
	if err := n.CheckHost(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CheckHost: %v", err)
	}
}

// What is wrong outside every grant is never reported.
func TestDirFromHostErrors(t *testing.T) {
	ctx := t.Context()
	top := dirs(t, "w/a/b", "w/real", "out/deep")
	in := func(name string) string { return filepath.Join(top, name) }
	for link, target := range map[string]string{
		"w/loop": "loop", "w/out": in("out/deep"), "w/in": "a/b", "w/dangling": "nothing", "w/outdangling": in("out/nothing"), "to": in("w/a/b"), "outloop": "outloop", "w/up": "..",
	} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"w/file", "outfile"} {
		if err := os.WriteFile(in(file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("w/new\nline"), 0o755); err != nil {
		t.Fatal(err)
	}
	chain := in("w/a/b")
	for i := range 45 {
		link := filepath.Join(top, "w", "chain"+string(rune('A'+i)))
		if err := os.Symlink(chain, link); err != nil {
			t.Fatal(err)
		}
		chain = link
	}
	n := grant(t, Portable, Grant{Dir: in("w"), At: "/workspace", Access: ReadWrite})
	for _, c := range []struct {
		cwd  string
		want string
		err  error
	}{
		{in("w"), "/workspace", nil},
		{in("w") + "/", "/workspace", nil},
		{in("w/a/b"), "/workspace/a/b", nil},
		{in("w/in"), "/workspace/a/b", nil},
		{in("w/in") + "/..", "/workspace/a", nil},
		{in("to") + "/..", "/workspace/a", nil},
		{in("to") + "/../../real", "/workspace/real", nil},
		{in("w/up") + "/w", "/workspace", nil},
		{in("out") + "/../w/a", "/workspace/a", nil},
		{in("w/missing"), "", fs.ErrNotExist},
		{in("w") + "/missing/../a", "", fs.ErrNotExist},
		{in("w/dangling"), "", fs.ErrNotExist},
		{in("w/file"), "", syscall.ENOTDIR},
		{in("w/file") + "/", "", syscall.ENOTDIR},
		{in("w/file") + "/.", "", syscall.ENOTDIR},
		{in("w/file") + "/../a", "", syscall.ENOTDIR},
		{in("w/loop"), "", syscall.ELOOP},
		{in("w/loop") + "/..", "", syscall.ELOOP},
		{chain, "", syscall.ELOOP},
		{in("w") + "/" + strings.Repeat("x", 300), "", syscall.ENAMETOOLONG},
		{in("w/new\nline"), "", provider.ErrPath},
		{in("w/out"), "", ErrOutside},
		{in("w/out") + "/..", "", ErrOutside},
		{in("w/up"), "", ErrOutside},
		{in("w") + "/..", "", ErrOutside},
		{in("w/outdangling"), "", ErrOutside},
		{in("missing"), "", ErrOutside},
		{in("outfile"), "", ErrOutside},
		{in("outfile") + "/x", "", ErrOutside},
		{in("outloop"), "", ErrOutside},
		{top, "", ErrOutside},
		{"/", "", ErrOutside},
		{"relative", "", provider.ErrPath},
		{"", "", provider.ErrPath},
		{in("w") + "\x00", "", provider.ErrPath},
	} {
		p, err := n.DirFromHost(ctx, c.cwd)
		if p.String() != c.want || !errors.Is(err, c.err) {
			t.Errorf("DirFromHost(%.60q) = %q, %v; want %q, %v", c.cwd, p, err, c.want, c.err)
		}
		if err != nil && strings.Contains(err.Error(), top) {
			t.Errorf("the error shows the host: %v", err)
		}
		// And as the kernel does.
		info, kernel := os.Stat(c.cwd)
		if c.err == nil && (kernel != nil || !info.IsDir()) || errors.Is(c.err, fs.ErrNotExist) && !errors.Is(kernel, fs.ErrNotExist) {
			t.Errorf("%.60q: the kernel says %v", c.cwd, kernel)
		}
		if errno, ok := c.err.(syscall.Errno); ok && kernel != nil && !errors.Is(kernel, errno) {
			t.Errorf("%.60q: the kernel says %v", c.cwd, kernel)
		}
	}
	for _, host := range []string{in("w/file") + "/", in("w/file") + "/.", in("w/file/x")} {
		if p, ok := n.FromHost(host); ok {
			t.Errorf("a file taken for a directory: %v", p)
		}
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := n.DirFromHost(done, in("w/a")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A directory that was replaced after it was granted is no part of the grant.
func TestReplacedDir(t *testing.T) {
	top := dirs(t, "w/a", "evil/a")
	w := filepath.Join(top, "w")
	n := grantDisk(t, Portable, Grant{Dir: w, At: "/workspace", Access: ReadWrite})
	if err := n.CheckHost(root); err != nil {
		t.Fatal(err)
	}
	for name, replace := range map[string]func() error{
		"other directory": func() error { return os.Mkdir(w, 0o755) },
		"link to another": func() error { return os.Symlink(filepath.Join(top, "evil"), w) },
		"link to itself":  func() error { return os.Symlink(filepath.Join(top, "moved"), w) },
		"file":            func() error { return os.WriteFile(w, nil, 0o644) },
		"nothing":         func() error { return nil },
	} {
		if err := errors.Join(os.Rename(w, filepath.Join(top, "moved")), replace()); err != nil {
			t.Fatal(err)
		}
		if err := n.CheckHost(root); err == nil || strings.Contains(err.Error(), top) {
			t.Errorf("%s: CheckHost: %v", name, err)
		}
		if name != "link to itself" {
			if p, ok := n.FromHost(filepath.Join(w, "a")); ok {
				t.Errorf("%s: FromHost: %v", name, p)
			}
			if p, err := n.DirFromHost(t.Context(), filepath.Join(w, "a")); !errors.Is(err, ErrOutside) {
				t.Errorf("%s: DirFromHost: %v, %v", name, p, err)
			}
		}
		if args, err := n.DockerArgs(); err == nil {
			t.Errorf("%s: DockerArgs: %v", name, args)
		}
		if args, files, err := n.BubblewrapArgs(3); err == nil || args != nil || files != nil {
			t.Errorf("%s: BubblewrapArgs: %v", name, args)
		}
		if err := errors.Join(os.RemoveAll(w), os.Rename(filepath.Join(top, "moved"), w)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.CheckHost(root); err != nil {
		t.Errorf("back in place: %v", err)
	}
	// Without a grant only the provider knows its directory.
	p, err := openDisk(w, ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	n = mustNew(t, Mount{At: "/workspace", Provider: p, HostDir: w})
	if p, ok := n.FromHost(filepath.Join(w, "a")); !ok || n.CheckHost(root) != nil {
		t.Errorf("FromHost: %v, %v", p, ok)
	}
	if err := errors.Join(os.Rename(w, filepath.Join(top, "moved")), os.Mkdir(w, 0o755)); err != nil {
		t.Fatal(err)
	}
	// Where os.Root is a path (js), so is the provider's knowledge.
	if _, knows := p.(sameDirer); knows && runtime.GOOS != "js" {
		if p, ok := n.FromHost(filepath.Join(w, "a")); ok || n.CheckHost(root) == nil {
			t.Errorf("replaced below a mount: %v", p)
		}
	}
}

func TestHostRoot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the cases are absolute paths of Unix, which Windows lacks")
	}
	for dir, want := range map[string]string{"/mine/u": "/mine/u", "/workspace/x": "/workspace/x", "/": ""} {
		if got, err := hostRoot(dir); got != want || (err != nil) != (want == "") {
			t.Errorf("hostRoot(%q) = %q, %v", dir, got, err)
		}
	}
}

// In Host mode a directory below /workspace is the tree's own, so it must be
// alone.
func TestHostModeBelowWorkspace(t *testing.T) {
	below := &granted{Grant: Grant{Label: "a"}, at: MustParse("/workspace/a")}
	other := &granted{Grant: Grant{Label: "b"}, at: MustParse("/mine/b"), bare: true}
	alone := &grantTable{mode: Host, grants: []*granted{below}}
	if err := alone.checkRoots(); err != nil {
		t.Errorf("alone: %v", err)
	}
	beside := &grantTable{mode: Host, grants: []*granted{other, below}}
	if err := beside.checkRoots(); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("beside others: %v", err)
	}
	for at, dir := range map[Path]string{below.at: "/workspace/a"} {
		p, bare, err := parseMountPoint(dir)
		if err != nil || p != at || bare {
			t.Errorf("%v, %v, %v", p, bare, err)
		}
	}
}

func TestMountTable(t *testing.T) {
	table := parseMountTable(`22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 8:2 / /mine rw shared:1 - ext4 /dev/sdb rw
31 22 8:2 /u/data /srv/my\040data rw - ext4 /dev/sdb rw
32 22 0:30 / /mine/u/tmp rw - tmpfs tmpfs rw
33 32 8:1 /etc /mine/u/tmp rw - ext4 /dev/sda1 ro
short line
`)
	for dir, want := range map[string]place{
		"/x": {"8:1", "/x"}, "/mine": {"8:2", "/"}, "/mine/u": {"8:2", "/u"}, "/mines": {"8:1", "/mines"}, "/srv/my data/f": {"8:2", "/u/data/f"}, "/mine/u/tmp/x": {"8:1", "/etc/x"},
	} {
		if got := table.locate(dir); got != want {
			t.Errorf("locate(%q) = %v, want %v", dir, got, want)
		}
	}
	if got := mountTable(nil).locate("/x"); got != (place{}) {
		t.Errorf("no table: %v", got)
	}
	if _, ok := (place{}).cut(place{}); ok {
		t.Error("unknown places lie in each other")
	}
	if got := unescapeMount(`a\134b\011\04`); got != "a\\b\t\\04" {
		t.Errorf("%q", got)
	}
}
