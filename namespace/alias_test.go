package namespace

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

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
