package policyfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
	"github.com/workspacefs/workspacefs/provider/aferofs"
)

// TestRenameBelowItself: a directory is refused below itself with the error that
// package os has, by the face and by the providers themselves, and stays whole.
func TestRenameBelowItself(t *testing.T) {
	oracle := t.TempDir()
	plain := newBox(t, "disk")
	plain.open()
	for _, name := range []string{"a/b/c", "d"} {
		plain.must(os.MkdirAll(filepath.Join(oracle, name), 0o755))
	}
	plain.must(os.WriteFile(filepath.Join(oracle, "a/f"), []byte("1"), 0o644))

	memory := newBox(t, "memory")
	storages := map[string]provider.Provider{"disk": plain.w, "memory": memory.w, "afero": aferofs.New(afero.NewMemMapFs())}
	for kind, p := range storages {
		fill := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: compile(t, fullSpec()), CreateParents: true})
		plain.must(fill.MkdirAll("a/b/c", 0o755))
		_, err := fill.WriteFile("a/f", []byte("1"), provider.ReplaceOptions{})
		plain.must(err)
		before := providerTree(t, p)
		for _, to := range []string{"a/b", "a/b/c", "a/f", "a/new", "a/b/new", "a/x/y", "a/f/y"} {
			want := errClass(os.Rename(filepath.Join(oracle, "a"), filepath.Join(oracle, to)))
			strict := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: compile(t, fullSpec())})
			if got := errClass(strict.Rename("a", to)); got != want {
				t.Errorf("%s: rename a %s: %s, want %s", kind, to, got, want)
			}
			if got := errClass(p.Rename(t.Context(), provider.MustPath("a"), provider.MustPath(to), provider.RenameOptions{})); got != want {
				t.Errorf("%s: Provider.Rename a %s: %s, want %s", kind, to, got, want)
			}
			// Missing parents are not made for a call that cannot succeed.
			if err := fill.Rename("a", to); err == nil {
				t.Errorf("%s: rename a %s with CreateParents succeeds", kind, to)
			}
			if got := providerTree(t, p); got != before {
				t.Fatalf("%s: rename a %s leaves\n%s\nof\n%s", kind, to, got, before)
			}
		}
	}
}
