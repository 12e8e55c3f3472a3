package policyfs_test

import (
	"path/filepath"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// hostMount mounts p at the root as if it served a directory of the host.
func hostMount(t *testing.T, p provider.Provider, dir string, access namespace.Access) *namespace.Namespace {
	t.Helper()
	ns, err := namespace.New(namespace.Mount{At: "/workspace", Provider: p, HostDir: dir, Access: access})
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// TestHostPathTellsNothing: what bears the name of a directory on the way to
// something permitted, and is none, gets the answer of a missing name.
func TestHostPathTellsNothing(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"way/x"}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(plant func(*memfs.FS) error) (answers []string) {
		m := memfs.New(memfs.Options{})
		if err := plant(m); err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(hostMount(t, m, dir, namespace.ReadOnly), policyfs.Options{Policy: policy})
		for _, name := range []string{"way", "way/x", "way/x/y"} {
			for _, op := range []policyfs.Op{policyfs.OpStat, policyfs.OpList, policyfs.OpRead} {
				host, err := f.HostPath(op, name)
				answer := host
				if err != nil {
					answer = err.Error()
				}
				answers = append(answers, op.String()+" "+name+": "+answer)
			}
		}
		return answers
	}
	way := provider.MustPath("way")
	missing := ask(func(*memfs.FS) error { return nil })
	for kind, plant := range map[string]func(*memfs.FS) error{
		"file": func(m *memfs.FS) error { return provider.WriteFile(t.Context(), m, way, []byte("x"), 0) },
		"link": func(m *memfs.FS) error { return m.Symlink("elsewhere", way) },
	} {
		for i, got := range ask(plant) {
			if got != missing[i] {
				t.Errorf("%s: %s; without it: %s", kind, got, missing[i])
			}
		}
	}
	for _, got := range ask(func(m *memfs.FS) error { return m.Mkdir(t.Context(), way, 0o755) })[5:] {
		if filepath.Base(got) != "x" && filepath.Base(got) != "y" {
			t.Errorf("below a directory: %s", got)
		}
	}
}

// TestHostPathOneSnapshot: the path that was judged and the one that is returned
// come from one table, also while it is swapped.
func TestHostPathOneSnapshot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := memfs.New(memfs.Options{})
	tables := []*namespace.Namespace{hostMount(t, m, filepath.Join(dir, "read-only"), namespace.ReadOnly), hostMount(t, m, dir, namespace.ReadWrite)}
	calls := 0
	f := policyfs.New(namespace.SourceFunc(func() (*namespace.Namespace, error) {
		calls++
		return tables[(calls-1)%2], nil
	}), policyfs.Options{Policy: policyfs.ReadWrite()})
	for range 2 {
		host, err := f.HostPath(policyfs.OpWrite, "a")
		if err == nil && host != filepath.Join(dir, "a") {
			t.Errorf("HostPath to write: %s, which is mounted read-only", host)
		}
	}
	if calls != 2 {
		t.Errorf("two calls asked the source %d times", calls)
	}
}
