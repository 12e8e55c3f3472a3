package namespace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// openDisk is the Opener that programs use.
func openDisk(dir string, access Access) (provider.Provider, error) {
	return diskfs.Open(dir, diskfs.Options{ReadOnly: access == ReadOnly, NoSync: true})
}

func grantDisk(t testing.TB, mode Mode, grants ...Grant) *Namespace {
	t.Helper()
	n, err := FromGrants(mode, openDisk, grants...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// cwdCase is one of testdata/cwd.json.
type cwdCase struct {
	Name string
	Tree struct {
		Dirs                       []string
		Files, Symlinks, Hardlinks map[string]string
	}
	Cwd         string
	Path        *string
	Physical    string
	PhysicalCwd string `json:"physical_cwd"`
	Lookup      string
}

func TestCwdVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/cwd.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []cwdCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 40 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	outcomes := make(map[string]int)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			outcome, err := c.check(t)
			if err != nil {
				t.Error(err)
			}
			outcomes[outcome]++
		})
	}
	t.Logf("%v", outcomes)
	if outcomes["reached"] < 25 || outcomes["link"] < 8 {
		t.Errorf("too few cases say something: %v", outcomes)
	}
}

// check builds the tree and compares what the namespace reaches with what the
// kernel does.
func (c cwdCase) check(t *testing.T) (outcome string, err error) {
	top := dirs(t, c.Tree.Dirs...)
	expand := func(s string) string { return strings.ReplaceAll(s, "$ROOT", top) }
	plant(t, top, c.Tree.Files, func(path, content string) error { return os.WriteFile(path, []byte(content), 0o644) })
	plant(t, top, c.Tree.Symlinks, func(path, target string) error { return os.Symlink(expand(target), path) })
	plant(t, top, c.Tree.Hardlinks, func(path, target string) error { return os.Link(filepath.Join(top, target), path) })
	n := grantDisk(t, Portable, Grant{Dir: top, At: "/workspace", Access: ReadWrite})

	cwd := expand(c.Cwd)
	dir, err := n.DirFromHost(t.Context(), cwd)
	physical, realErr := filepath.EvalSymlinks(cwd)
	switch {
	case realErr != nil:
		if !errors.Is(err, ErrOutside) {
			return "", fmt.Errorf("DirFromHost(%q) = %v, %v; want ErrOutside", c.Cwd, dir, err)
		}
	case err != nil:
		return "", fmt.Errorf("DirFromHost(%q): %w", c.Cwd, err)
	default:
		if host, ok := n.ToHost(dir); !ok || host != physical {
			return "", fmt.Errorf("DirFromHost(%q) = %v, which is %q; the kernel is in %q", c.Cwd, dir, host, physical)
		}
	}
	if c.Path == nil {
		if host, ok := n.ToHost(dir); !ok || host != expand(c.PhysicalCwd) {
			return "", fmt.Errorf("%v is %q, want %q", dir, host, c.PhysicalCwd)
		}
		return "reached", nil
	}

	want, lookup := expand(c.Physical), c.Lookup
	if c.Physical == "" { // the working directory of a command, which must exist
		want, lookup = expand(c.PhysicalCwd), "directory"
		if real, err := filepath.EvalSymlinks(want); err == nil {
			want = real
		}
	}
	name := expand(*c.Path)
	if filepath.IsAbs(name) && strings.HasPrefix(name, top) {
		p, ok := n.FromHost(name)
		if host, _ := n.ToHost(p); !ok || host != want {
			return "", fmt.Errorf("FromHost(%q) = %v, which is %q, want %q", *c.Path, p, host, want)
		}
		name = p.String()
	}
	target, err := n.ResolveParents(t.Context(), dir, name, func(Target) error { return nil })
	if err == nil {
		_, err = target.Provider.Stat(t.Context(), target.Rel)
		if err == nil {
			// Stat reports a final link; opening refuses it.
			var f provider.File
			if f, err = target.Provider.Open(t.Context(), target.Rel, provider.OpenOptions{Read: true}); err == nil {
				f.Close()
			}
		}
	}
	if errors.Is(err, provider.ErrSymlink) {
		if !throughLink(t, top, dir, n, name) {
			return "", fmt.Errorf("%q is refused as a link and goes through none", *c.Path)
		}
		return "link", nil
	}
	if errors.Is(err, provider.ErrPath) {
		if !strings.ContainsAny(name, "\\\n") && len(name) < 256 {
			return "", fmt.Errorf("%q: %w", *c.Path, err)
		}
		return "unspellable", nil
	}
	switch lookup {
	case "No such file or directory":
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%q: %v, want ErrNotExist", *c.Path, err)
		}
	case "Not a directory":
		if !errors.Is(err, syscall.ENOTDIR) {
			return "", fmt.Errorf("%q: %v, want ENOTDIR", *c.Path, err)
		}
		return "reached", nil
	case "regular file", "directory":
		if err != nil {
			return "", fmt.Errorf("%q: %w", *c.Path, err)
		}
	default:
		return "", fmt.Errorf("no rule for %q: %v", lookup, err)
	}
	if target.Path == (Path{}) {
		return "", fmt.Errorf("%q: %v, want %q", *c.Path, err, want)
	}
	if host, ok := n.ToHost(target.Path); !ok || host != want {
		return "", fmt.Errorf("%q leads to %q, want %q", *c.Path, host, want)
	}
	return "reached", nil
}

func plant(t *testing.T, top string, entries map[string]string, make func(path, value string) error) {
	t.Helper()
	for name, value := range entries {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := make(path, value); err != nil {
			t.Fatal(err)
		}
	}
}

// throughLink reports whether some element of name, from dir on, is a link.
func throughLink(t *testing.T, top string, dir Path, n *Namespace, name string) bool {
	t.Helper()
	at, ok := n.ToHost(dir)
	if !ok {
		at = top
	}
	name = strings.TrimPrefix(name, "/workspace/")
	for elem := range strings.SplitSeq(name, "/") {
		at += "/" + elem
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
