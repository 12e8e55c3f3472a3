package namespace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// bindMount mounts what at the directory where, until the test ends.
func bindMount(t *testing.T, what, where string) {
	t.Helper()
	if err := os.MkdirAll(where, 0o755); err != nil {
		t.Fatal(err)
	}
	bindFile(t, what, where)
}

// TestOverlapThroughBindMounts: a bind mount does not hide that one granted
// directory lies inside another, wherever it begins.
func TestOverlapThroughBindMounts(t *testing.T) {
	top := dirs(t, "w/a/b/c", "w/m", "x/y/z", "x/q", "v/covered")
	in := func(name string) string { return filepath.Join(top, name) }
	bindMount(t, in("w"), in("w2"))      // all of w elsewhere
	bindMount(t, in("w/a"), in("a2"))    // a part of w elsewhere
	bindMount(t, in("x/y"), in("w/m"))   // a part of x inside w
	bindMount(t, in("w/a"), in("w/aa"))  // a part of w inside w
	bindMount(t, in("x/y/z"), in("v/z")) // a part of a part of x inside v
	bindMount(t, in("v/covered"), in("uncovered"))
	bindMount(t, in("x/q"), in("v/covered")) // something else where that was
	folder := func(dir, label string, access Access) Grant {
		return Grant{Dir: in(dir), Label: label, Kind: KindFolder, Access: access}
	}
	w := Grant{Dir: in("w"), Label: "w", Access: ReadWrite}
	for name, c := range map[string]struct {
		grants  []Grant
		want    string
		path    string
		aliases string
	}{
		"outer mounted elsewhere": {
			[]Grant{w, folder("w2/a", "a", ReadOnly)},
			"/mnt/a ro, /workspace/w rw, /workspace/w/a ro, /workspace/w/aa ro",
			"/mnt/a/f", "/workspace/w/a/f /workspace/w/aa/f",
		},
		"part mounted elsewhere": {
			[]Grant{w, folder("a2", "a", ReadOnly)},
			"/mnt/a ro, /workspace/w rw, /workspace/w/a ro, /workspace/w/aa ro",
			"/workspace/w/a/f", "/workspace/mnt/a/f /workspace/w/aa/f",
		},
		"below the part mounted elsewhere": {
			[]Grant{w, folder("a2/b", "b", ReadOnly)},
			"/mnt/b ro, /workspace/w rw, /workspace/w/a/b ro, /workspace/w/aa/b ro",
			"/workspace/w/a/b/f", "/workspace/mnt/b/f /workspace/w/aa/b/f",
		},
		"equal through a bind mount": {
			[]Grant{w, folder("w2", "w", ReadOnly)},
			"/mnt/w ro, /workspace/w ro",
			"/mnt/w/f", "/workspace/w/f",
		},
		"granted directory shown inside another": {
			[]Grant{w, folder("x/y", "y", ReadOnly)},
			"/mnt/y ro, /workspace/w rw, /workspace/w/m ro",
			"/mnt/y/f", "/workspace/w/m/f",
		},
		"part of a granted directory shown inside another": {
			[]Grant{w, folder("x", "x", ReadOnly)},
			"/mnt/x ro, /workspace/w rw, /workspace/w/m ro",
			"/mnt/x/y/f", "/workspace/w/m/f",
		},
		"and granted more closely": {
			[]Grant{w, folder("x", "x", ReadWrite), folder("x/y/z", "z", ReadOnly)},
			"/mnt/x rw, /mnt/x/y/z ro, /mnt/z ro, /workspace/w rw, /workspace/w/m rw, /workspace/w/m/z ro",
			"/workspace/w/m/z/f", "/workspace/mnt/x/y/z/f /workspace/mnt/z/f",
		},
		"part of two granted directories": {
			[]Grant{folder("v", "v", ReadWrite), folder("x", "x", ReadWrite), folder("x/y", "y", ReadOnly)},
			"/mnt/v rw, /mnt/v/covered rw, /mnt/v/z ro, /mnt/x rw, /mnt/x/y ro, /mnt/y ro",
			"/mnt/v/z/f", "/workspace/mnt/x/y/z/f /workspace/mnt/y/z/f",
		},
		"inside, but covered by another mount": {
			[]Grant{folder("v", "v", ReadWrite), folder("uncovered", "c", ReadOnly)},
			"/mnt/c ro, /mnt/v rw",
			"/mnt/c/f", "",
		},
		"part of a directory shown inside itself": {
			[]Grant{w},
			"/workspace/w rw",
			"/workspace/w/aa/f", "/workspace/w/a/f",
		},
	} {
		n, err := FromGrants(Portable, openDisk, c.grants...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := table(n); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		var aliases []string
		for _, p := range n.Aliases(MustParse(c.path)) {
			aliases = append(aliases, p.String())
		}
		slices.Sort(aliases)
		if got := strings.Join(aliases, " "); got != c.aliases {
			t.Errorf("%s: %s is also %s, want %s", name, c.path, got, c.aliases)
		}
		for _, m := range n.Mounts() {
			target, err := n.Lookup(m.At)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := target.Provider.Stat(t.Context(), target.Rel); err != nil {
				t.Errorf("%s: %v: %v", name, m.At, err)
			}
			if err := n.CheckHost(m.At); err != nil {
				t.Errorf("%s: %v: %v", name, m.At, err)
			}
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}

	// A working directory reached by the other way is found too.
	n := grantDisk(t, Portable, w)
	for _, dir := range []string{"w2/a/b", "w/a/b"} {
		if p, err := n.DirFromHost(t.Context(), in(dir)); err != nil || p.String() != "/workspace/w/a/b" {
			t.Errorf("DirFromHost(%s) = %v, %v", dir, p, err)
		}
	}
}

// TestCaseInsensitiveMount: on storage that ignores case, no spelling of a
// nested read-only mount reaches it through the writable one around it.
func TestCaseInsensitiveMount(t *testing.T) {
	need(t, os.Getuid() == 0, "root")
	top := dirs(t)
	out, err := exec.CommandContext(t.Context(), "sh", filepath.Join("testdata", "case-mounts.sh"), top).Output()
	loop := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		for _, name := range []string{"exfat", "ntfs"} {
			syscall.Unmount(filepath.Join(top, name), syscall.MNT_DETACH)
		}
		if loop != "" {
			exec.Command("losetup", "-d", loop).Run()
		}
	})
	need(t, err == nil, fmt.Sprintf("case-insensitive mounts (%v)", err))
	for _, name := range []string{"exfat", "ntfs"} {
		t.Run(name, func(t *testing.T) { checkCaseMount(t, filepath.Join(top, name, "Work")) })
	}
}

func checkCaseMount(t *testing.T, work string) {
	docs := filepath.Join(work, "docs")
	if err := os.MkdirAll(filepath.Join(docs, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "f"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(work, "DOCS", "F")); err != nil {
		t.Fatalf("the mount does not ignore case: %v", err)
	}
	n := grantDisk(t, Portable, Grant{Dir: work, At: "/workspace", Access: ReadWrite}, Grant{Dir: docs, Label: "docs", Kind: KindFolder})
	if got := table(n); got != "/mnt/docs ro, /workspace rw, /workspace/docs ro" {
		t.Fatalf("%s", got)
	}
	for _, name := range []string{"Docs/f", "DOCS/F", "dOcS/in/new", "docs./f", "DOC\u017f/f", "DO\u200dCS"} {
		target, err := n.Resolve(Path{}, name)
		if !errors.Is(err, ErrOutside) {
			t.Errorf("%q leads to %v, %v", name, target.Mount, err)
		}
	}
	if target, err := n.Resolve(Path{}, "docs/f"); err != nil || target.Access != ReadOnly {
		t.Errorf("the exact spelling: %v, %v", target.Access, err)
	}
	// Without the rule, the outer provider really would open it.
	outer, err := n.Lookup(root)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := provider.ReadFile(t.Context(), outer.Provider, provider.MustPath("DOCS/F")); err != nil || string(data) != "old" {
		t.Errorf("the control shows nothing: %q, %v", data, err)
	}
	// Grants that are spelled in another case overlap all the same.
	n = grantDisk(t, Portable, Grant{Dir: filepath.Join(filepath.Dir(work), "WORK"), At: "/workspace", Access: ReadWrite}, Grant{Dir: filepath.Join(work, "DOCS"), Label: "docs", Kind: KindFolder})
	if got := table(n); !strings.EqualFold(got, "/mnt/docs ro, /workspace rw, /workspace/docs ro") {
		t.Errorf("spelled otherwise: %s", got)
	}
	if p, ok := n.FromHost(filepath.Join(work, "DoCs", "f")); !ok || p.String() != "/workspace/mnt/docs/f" {
		t.Errorf("FromHost: %v, %v", p, ok)
	}
	if p, err := n.DirFromHost(t.Context(), filepath.Join(work, "DOCS", "In")); err != nil || !strings.EqualFold(p.String(), "/workspace/mnt/docs/in") {
		t.Errorf("DirFromHost: %v, %v", p, err)
	}
}

// TestShowsHost: a file that some mount shows is found, whatever it is called and
// however it is bound; what no mount shows is not.
func TestShowsHost(t *testing.T) {
	top := dirs(t, "app/sub", "other/in", "safe", "later")
	in := func(name string) string { return filepath.Join(top, name) }
	for _, name := range []string{"app/f", "app/sub/f", "other/f", "other/in/f", "safe/f", "app/bound"} {
		if err := os.WriteFile(in(name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "app/f", "dirlink": "app/sub", "dangling": "app/new", "safe/link": "../safe/f"} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	bindMount(t, in("app"), in("app2"))
	bindMount(t, in("app/sub"), in("sub2"))
	bindMount(t, in("other/in"), in("app/mnt"))
	bindFile(t, in("other/f"), in("app/bound"))
	n, err := FromGrants(Portable, openMem, Grant{Dir: in("app"), Label: "app", Access: ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for name, want := range map[string]bool{
		"app": true, "app/f": true, "app/sub/f": true, "app/new": true, "app/no/such": true, "link": true, "dirlink/f": true, "dirlink/new": true,
		"dangling": true, "dirlink/../f": true, "app2/f": true, "app2/sub/new": true, "sub2": true, "sub2/f": true, "sub2/new": true,
		"other/in/f": true, "other/in/new": true, "other/f": true,
		"safe": false, "safe/f": false, "safe/link": false, "safe/new": false, "other/new": false, "other": false, "": false, "nowhere/x": false,
	} {
		if got, err := n.ShowsHost(top + "/" + name); err != nil || got != want {
			t.Errorf("ShowsHost(%s) is %v, %v, want %v", name, got, err, want)
		}
	}
	if _, err := n.ShowsHost("relative"); err == nil {
		t.Error("a relative path is answered")
	}
	if got, err := (*Namespace)(nil).ShowsHost(top); got || err != nil {
		t.Errorf("no namespace shows %v, %v", got, err)
	}
	if err := os.Symlink("loop", in("loop")); err != nil {
		t.Fatal(err)
	}
	// Without a table the identity of directories is left.
	for name, want := range map[string]bool{
		"app": true, "app/f": true, "app/sub/f": true, "app2/f": true, "app2/sub": true,
		"sub2/f": false, "other/f": false, "safe/f": false, "": false,
	} {
		if got, err := n.shows(in(name), nil); err != nil || got != want {
			t.Errorf("without a table, ShowsHost(%s) is %v, %v, want %v", name, got, err, want)
		}
	}
	g, err := FromGrants(Portable, openMem, Grant{Dir: in("later"), Label: "later"})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := os.Remove(in("later")); err != nil {
		t.Fatal(err)
	}
	if shown, err := g.ShowsHost(in("safe/f")); shown || err != nil {
		t.Errorf("of a directory that is gone: %v, %v", shown, err)
	}
	if _, err := n.ShowsHost(in("loop")); !errors.Is(err, syscall.ELOOP) || strings.Contains(err.Error(), top) {
		t.Errorf("a loop: %v", err)
	}
}

// bindFile is bindMount of a file that exists, over one that does.
func bindFile(t *testing.T, what, where string) {
	t.Helper()
	err := syscall.Mount(what, where, "", syscall.MS_BIND, "")
	need(t, err == nil, fmt.Sprintf("the right to mount (%v)", err))
	t.Cleanup(func() {
		if err := syscall.Unmount(where, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
