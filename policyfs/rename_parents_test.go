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

// frozen is a policy of the caller under which one file may be removed, and neither
// written nor overwritten.
type frozen struct{ op policyfs.Op }

func (p frozen) Check(r policyfs.Request) policyfs.Decision {
	if r.Op == p.op && r.Path == namespace.MustParse("/frozen") {
		return policyfs.Decision{Rule: "frozen"}
	}
	return policyfs.Decision{Allow: true}
}

// TestMoveWidensNothing: what may not be read or written where it is may not be
// moved to where it may be, by policies of the caller too, which tell apart what
// compiled ones do not.
func TestMoveWidensNothing(t *testing.T) {
	for _, op := range []policyfs.Op{policyfs.OpRead, policyfs.OpWrite} {
		for name, policy := range map[string]policyfs.Policy{
			"alone":    frozen{op},
			"composed": policyfs.Compose(policyfs.ReadWrite(), frozen{op}),
		} {
			m := tree{"frozen": "x", "free": "y"}.memory(t)
			f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policy})
			if err := f.Rename("frozen", "other"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%v denied, %s: Rename away: %v", op, name, err)
			}
			if err := f.Rename("free", "other"); err != nil {
				t.Errorf("%v denied, %s: Rename of what is not denied: %v", op, name, err)
			}
		}
	}
}
