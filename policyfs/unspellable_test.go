package policyfs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// oddNames is a provider whose directories hold what no path can spell.
type oddNames struct {
	provider.Provider
	names []string
}

func (o oddNames) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := o.Provider.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return oddDir{f, o.names}, nil
}

type oddDir struct {
	provider.File
	names []string
}

func (d oddDir) ReadDir(limit int) ([]fs.DirEntry, error) {
	entries, err := d.File.ReadDir(limit)
	for _, n := range d.names {
		entries = append(entries, fs.FileInfoToDirEntry(provider.NewInfo(n, 0, 0o644, time.Time{})))
	}
	return entries, err
}

// TestUnspellable: what no path can name is counted if the policy would show it,
// under every policy, and never otherwise.
func TestUnspellable(t *testing.T) {
	odd := []string{"a\\b", "c\x01d", "e\xfff", "g\u202eh", "i\u0085"}
	refused := []string{".hidden\x01", "\x01.hidden", "\u202a.env", "\x7f.ssh", "sec\x01ret", "secret\\", "se\xffcret", "."}
	allow := policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"d/secret"}}
	compiled, err := policyfs.Compile(allow)
	if err != nil {
		t.Fatal(err)
	}
	way, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"d/way/x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		policy policyfs.Policy
		names  []string
		want   int
	}{
		{"none", compiled, nil, 0},
		{"odd", compiled, odd, len(odd)},
		{"refused", compiled, refused, 0},
		{"both", compiled, append(refused, odd...), len(odd)},
		{"composed", policyfs.Compose(compiled, policyfs.ReadWrite()), append(refused, odd...), len(odd)},
		{"own policy", policyfs.Compose(compiled, readOps{}), odd, len(odd)},
		{"on the way only", way, odd, 0},
	} {
		m := memfs.New(memfs.Options{})
		if err := m.Mkdir(t.Context(), provider.MustPath("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := provider.WriteFile(t.Context(), m, provider.MustPath("d/plain"), nil, 0); err != nil {
			t.Fatal(err)
		}
		f := policyfs.New(namespace.Workspace(oddNames{m, tc.names}), policyfs.Options{Policy: tc.policy})
		d, err := f.Open("d")
		if err != nil {
			t.Fatal(err)
		}
		dir := d.(*policyfs.File)
		n, err := dir.Unspellable()
		if err != nil || n != tc.want {
			t.Errorf("%s: %d, %v, want %d", tc.name, n, err, tc.want)
		}
		want := 1
		if tc.policy == way {
			want = 0
		}
		if names, err := dir.Readdirnames(-1); err != nil || len(names) != want {
			t.Errorf("%s: the listing shows %q, %v", tc.name, names, err)
		}
		if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := dir.Unspellable(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: after Close: %v", tc.name, err)
		}
	}
	f := policyfs.New(namespace.Workspace(memfs.New(memfs.Options{})), policyfs.Options{Policy: policyfs.ReadWrite()})
	for flag, want := range map[int]error{os.O_RDWR: syscall.ENOTDIR, os.O_WRONLY: syscall.ENOTDIR} {
		file, err := f.OpenFile("f", flag|os.O_CREATE, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.(*policyfs.File).Unspellable(); !errors.Is(err, want) {
			t.Errorf("a file: %v", err)
		}
		file.Close()
	}
	if _, err := new(policyfs.File).Unspellable(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the zero File: %v", err)
	}
}

// TestUnspellableAtTwoPaths: what is denied at one of two paths is counted at neither.
func TestUnspellableAtTwoPaths(t *testing.T) {
	m := &oddNames{memfs.New(memfs.Options{}), []string{"a\\b", "sec\\ret"}}
	ns, err := namespace.New(namespace.Mount{At: "/data", Provider: m}, namespace.Mount{At: "/mnt/same", Provider: m})
	if err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(ns, policyfs.Options{Policy: compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"/mnt/same/secret"}})})
	for _, name := range []string{"/data", "/mnt/same"} {
		d, err := f.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := d.(*policyfs.File).Unspellable(); err != nil || n != 1 {
			t.Errorf("%s: %d, %v, want 1", name, n, err)
		}
		d.Close()
	}
}

// readOps is somebody's own policy.
type readOps struct{}

func (readOps) Check(r policyfs.Request) policyfs.Decision {
	return policyfs.Decision{Allow: r.Op == policyfs.OpRead || r.Op == policyfs.OpStat || r.Op == policyfs.OpList, Rule: "read only"}
}
