package policyfs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// policyFunc is a function as a Policy.
type policyFunc func(policyfs.Request) policyfs.Decision

func (p policyFunc) Check(r policyfs.Request) policyfs.Decision { return p(r) }

// TestPinDuringOperation: a starter file that becomes read-only while an operation
// is already under way is not changed by it any more. The policy, which is asked
// after the operation took its snapshot, stands for another goroutine.
func TestPinDuringOperation(t *testing.T) {
	for name, call := range map[string]func(*policyfs.FS) error{
		"rename above": func(f *policyfs.FS) error { return f.Rename("d", "e") },
		"rename":       func(f *policyfs.FS) error { return f.Rename("d/pin", "e") },
		"rename onto":  func(f *policyfs.FS) error { return f.Rename("d/x", "d/pin") },
		"tree":         func(f *policyfs.FS) error { return f.RemoveAll("d") },
		"remove":       func(f *policyfs.FS) error { return f.Remove("d/pin") },
		"create":       func(f *policyfs.FS) error { _, err := f.Create("d/pin"); return err },
		"write": func(f *policyfs.FS) error {
			_, err := f.WriteFile("d/pin", nil, provider.ReplaceOptions{})
			return err
		},
	} {
		m := tree{"d/x": "x"}.memory(t)
		var f *policyfs.FS
		pinned := false
		f = policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policyFunc(func(policyfs.Request) policyfs.Decision {
			if !pinned {
				pinned = true
				if err := f.Seed(policyfs.SeedFile{Name: "/d/pin", Data: []byte("pinned"), ReadOnly: true}); err != nil {
					t.Error(err)
				}
			}
			return policyfs.Decision{Allow: true}
		})})
		if err := call(f); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
		if data, _, err := f.ReadFile("d/pin"); string(data) != "pinned" {
			t.Errorf("%s: the file holds %q, %v", name, data, err)
		}
	}
}
