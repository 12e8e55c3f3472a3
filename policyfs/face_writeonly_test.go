package policyfs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestWriteOnlyScope: where one may write and not read, everything that changes
// works, and nothing can be looked at.
func TestWriteOnlyScope(t *testing.T) {
	for _, kind := range boxKinds {
		f, b := face(t, kind, policyfs.Options{Policy: compile(t, policyfs.Spec{AllowWrite: []string{"drop"}, AllowRecursiveDelete: true})})
		b.mkdir("W/drop")
		steps := []struct {
			label string
			err   error
		}{
			{"MkdirAll", f.MkdirAll("/drop/m/b/c", 0o755)},
			{"MkdirAll again", f.MkdirAll("/drop/m/b/c", 0o755)},
			{"Mkdir", f.Mkdir("/drop/n", 0o755)},
			{"append", appendFile(f, "/drop/o", "x")},
			{"write", afero.WriteFile(f, "/drop/p", []byte("x"), 0o644)},
			{"rename", f.Rename("/drop/o", "/drop/m/o")},
			{"move tree", f.Rename("/drop/m", "/drop/y")},
			{"chmod", f.Chmod("/drop/p", 0o600)},
			{"remove", f.Remove("/drop/p")},
			{"removeall", f.RemoveAll("/drop/y")},
		}
		for _, s := range steps {
			if s.err != nil {
				t.Errorf("%s: %s: %v", kind, s.label, s.err)
			}
		}
		for _, c := range faceCalls() {
			if !c.reads || c.quiet {
				continue
			}
			for _, name := range []string{"/drop", "/drop/n", "/drop/none"} {
				if out, err := c.do(f, name); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: %s(%s): %q, %v", kind, c.label, name, out, err)
				}
			}
		}
		if _, err := f.OpenFile("/drop/n/f", os.O_RDWR|os.O_CREATE, 0o644); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: a readable handle: %v", kind, err)
		}
	}
}

// modes is a provider that records the modes it is given.
type modes struct {
	provider.Provider
	seen []fs.FileMode
}

func (m *modes) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	m.seen = append(m.seen, perm)
	return m.Provider.Chmod(ctx, name, perm)
}

func (m *modes) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	m.seen = append(m.seen, perm)
	return m.Provider.Mkdir(ctx, name, perm)
}

func (m *modes) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	m.seen = append(m.seen, opts.Perm)
	return m.Provider.Open(ctx, name, opts)
}

// TestModesAreMasked: no provider is given more than permission bits.
func TestModesAreMasked(t *testing.T) {
	m := &modes{Provider: newStorage(t, "memory")}
	f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: compile(t, fullSpec())})
	const odd = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky | fs.ModeDir | fs.ModeSymlink
	h, err := f.OpenFile("/f", os.O_RDWR|os.O_CREATE, odd|0o640)
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	if err := errors.Join(f.Mkdir("/d", odd|0o750), f.MkdirAll("/e/f", odd|0o750), f.Chmod("/f", odd|0o600), f.Chmod("/d", odd|0o700)); err != nil {
		t.Error(err)
	}
	if len(m.seen) < 5 {
		t.Errorf("modes %v", m.seen)
	}
	for _, mode := range m.seen {
		if mode&^fs.ModePerm != 0 {
			t.Errorf("the provider is given %v", mode)
		}
	}
}
