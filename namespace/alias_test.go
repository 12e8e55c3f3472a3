package namespace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// listed is a provider whose values cannot be compared.
type listed struct {
	provider.Provider
	_ []string
}

// TestAliasesWithoutComparison: objects with several agent paths are known to have
// them also when the values of their provider cannot be compared; where that
// cannot be known, the table is refused.
func TestAliasesWithoutComparison(t *testing.T) {
	top := dirs(t, "a/in")
	open := func(dir string, access Access) (provider.Provider, error) {
		p, err := openMem(dir, access)
		return listed{Provider: p}, err
	}
	for name, c := range map[string]struct {
		second, path string
		want         []string
	}{
		"equal":       {"a", "/workspace/x/f", []string{"/workspace/y/f"}},
		"overlapping": {"a/in", "/workspace/x/in/f", []string{"/workspace/y/f"}},
	} {
		n, err := FromGrants(Portable, open,
			Grant{Dir: filepath.Join(top, "a"), Label: "x", Access: ReadWrite},
			Grant{Dir: filepath.Join(top, c.second), Label: "y", Access: ReadWrite})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		defer n.Close()
		var got []string
		for _, p := range n.Aliases(MustParse(c.path)) {
			got = append(got, p.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: aliases of %s: %v, want %v", name, c.path, got, c.want)
		}
	}
	p := listed{Provider: mem()}
	if _, err := New(Mount{At: "/a", Provider: p}, Mount{At: "/b", Provider: p}); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("New with two providers that cannot be compared: %v", err)
	}
	if _, err := New(Mount{At: "/a", Provider: p}, Mount{At: "/b", Provider: mem()}); err != nil {
		t.Errorf("New with one provider that cannot be compared: %v", err)
	}
}

// TestAliasesOfOneDirectory: two providers that hold one directory are known to be
// one storage, whatever it was called when they were opened.
func TestAliasesOfOneDirectory(t *testing.T) {
	top := dirs(t, "a", "b")
	link := filepath.Join(top, "link")
	if err := os.Symlink(filepath.Join(top, "a"), link); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		t.Skip("this account of Windows may not make links: ", err)
	}
	open := func(dir string) provider.Provider {
		p, err := diskfs.Open(dir, diskfs.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	one := open(filepath.Join(top, "a"))
	type wrapped struct{ *diskfs.FS }
	for name, c := range map[string]struct {
		first, second provider.Provider
		want          bool
	}{
		"the same":              {one, one, true},
		"opened twice":          {one, open(filepath.Join(top, "a")), true},
		"through a link":        {one, open(link), true},
		"wrapped":               {wrapped{open(link).(*diskfs.FS)}, one, true},
		"not comparable":        {listedRoot{open(link).(*diskfs.FS), nil}, one, true},
		"not comparable, last":  {one, listedRoot{open(link).(*diskfs.FS), nil}, true},
		"other directories":     {one, open(filepath.Join(top, "b")), false},
		"disk and memory":       {one, mem(), false},
		"hidden by the wrapper": {listed{Provider: open(link)}, one, false}, // documented at New
	} {
		n, err := New(Mount{At: "/x", Provider: c.first}, Mount{At: "/y", Provider: c.second})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := n.Aliases(MustParse("/x/f"))
		if c.want != (len(got) == 1 && got[0].String() == "/workspace/y/f") || !c.want && got != nil {
			t.Errorf("%s: aliases %v, want some: %v", name, got, c.want)
		}
	}
	closed := open(link)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Mount{At: "/x", Provider: one}, Mount{At: "/y", Provider: closed}); !errors.Is(err, fs.ErrClosed) || strings.Contains(err.Error(), top) {
		t.Errorf("New with a closed provider: %v", err)
	}
}

// listedRoot is listed over a directory of the host.
type listedRoot struct {
	*diskfs.FS
	_ []string
}
