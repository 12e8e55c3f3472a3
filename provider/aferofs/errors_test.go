package aferofs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/provider"
)

// TestBare: no text of a backend gets through, and no condition is lost.
func TestBare(t *testing.T) {
	own := errors.New("backend at /srv/secret is down")
	for _, tt := range []struct {
		err  error
		want []error
	}{
		{&fs.PathError{Op: "open", Path: "/srv/secret", Err: syscall.ENOENT}, []error{fs.ErrNotExist}},
		{&fs.PathError{Op: "open", Path: "/srv/secret", Err: syscall.EACCES}, []error{fs.ErrPermission, syscall.EACCES}},
		{&os.LinkError{Op: "rename", Old: "/srv/secret", New: "/srv/b", Err: syscall.EXDEV}, []error{syscall.EXDEV}},
		{&os.SyscallError{Syscall: "fstat", Err: syscall.EIO}, []error{syscall.EIO}},
		{afero.ErrFileClosed, []error{fs.ErrClosed}},
		{os.ErrExist, []error{fs.ErrExist}},
		{io.EOF, []error{io.EOF}},
		{own, []error{own, syscall.EIO}},
	} {
		got := bare(tt.err)
		for _, want := range tt.want {
			if !errors.Is(got, want) {
				t.Errorf("bare(%v) = %v, which is not %v", tt.err, got, want)
			}
		}
		if strings.Contains(got.Error(), "secret") {
			t.Errorf("bare(%v) = %q", tt.err, got)
		}
	}
	if bare(nil) != nil {
		t.Error("bare(nil) is an error")
	}
}

// TestTemporaries: the names of temporaries are out of reach, listed or not.
func TestTemporaries(t *testing.T) {
	base := afero.NewMemMapFs()
	f := New(base)
	name, err := temporary(provider.MustPath("d/f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Mkdir(t.Context(), provider.MustPath("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := afero.WriteFile(base, native(name), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(t.Context(), name); !errors.Is(err, provider.ErrPath) {
		t.Errorf("Stat of a temporary: %v, want ErrPath", err)
	}
	if _, err := f.Stat(t.Context(), provider.MustPath(strings.ToUpper(name.String()))); !errors.Is(err, provider.ErrPath) {
		t.Errorf("Stat of another spelling: %v, want ErrPath", err)
	}
	d, err := f.Open(t.Context(), provider.MustPath("d"), provider.OpenOptions{Read: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if entries, err := d.ReadDir(1); err != nil || len(entries) != 0 {
		t.Errorf("a listing beside a temporary: %v, %v", entries, err)
	}
	if err := f.Remove(t.Context(), provider.MustPath("d")); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("Remove of a directory with a temporary: %v, want ENOTEMPTY", err)
	}
}
