package policyfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// TestRefusedMoveMakesNoParents: with Options.CreateParents a directory that may not
// move leaves nothing behind at the other end.
func TestRefusedMoveMakesNoParents(t *testing.T) {
	m := tree{"app/node_modules/x": "", "free/x": ""}.memory(t)
	f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policyfs.ReadWrite(), CreateParents: true})
	for _, c := range []struct {
		from, to, parent string
		ok               bool
	}{
		{"app", "new/dir/app", "new", false},
		{"app", "app/in/side", "app/in", false},
		{"free", "other/dir/free", "other", true},
	} {
		err := f.Rename(c.from, c.to)
		if (err == nil) != c.ok {
			t.Errorf("Rename(%s, %s): %v", c.from, c.to, err)
		}
		if _, err := f.Stat(c.parent); (err == nil) != c.ok || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Rename(%s, %s): Stat(%s): %v", c.from, c.to, c.parent, err)
		}
	}
}
