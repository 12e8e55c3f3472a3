package policyfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestEntryInfoOfAnother: an entry was listed because it was a directory on the way
// to something permitted. Of a file that has taken its place meanwhile it must not
// tell, no more than Lstat does.
func TestEntryInfoOfAnother(t *testing.T) {
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"way/x", "open"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"way", "open"} {
		m := memfs.New(memfs.Options{})
		at := provider.MustPath(name)
		if err := m.Mkdir(t.Context(), at, 0o755); err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policy})
		listed := func() (fs.DirEntry, fs.ReadDirFile) {
			d, err := f.Open("/")
			if err != nil {
				t.Fatal(err)
			}
			entries, err := d.(fs.ReadDirFile).ReadDir(-1)
			if err != nil || len(entries) != 1 {
				t.Fatalf("%v, %v", entries, err)
			}
			return entries[0], d.(fs.ReadDirFile)
		}
		entry, dir := listed()
		defer dir.Close()
		if info, err := entry.Info(); err != nil || !info.IsDir() {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		if err := errors.Join(m.Remove(t.Context(), at), provider.WriteFile(t.Context(), m, at, []byte("secret"), 0)); err != nil {
			t.Fatal(err)
		}
		info, err := entry.Info()
		switch name {
		case "way":
			if info != nil || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v, %v, want that nothing is there", name, info, err)
			}
		case "open":
			if err != nil || info.Size() != 6 {
				t.Errorf("%s: %v, %v, want what is there now", name, info, err)
			}
		}
	}
}
