package mcpserver

//lint:file-ignore SA1019 as in session.go

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
)

// A root is a directory of this host, or nothing.
func TestFileURI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the cases are absolute paths of Unix, which Windows lacks")
	}
	for uri, want := range map[string]string{
		"file:///a/b": "/a/b", "file://localhost/a": "/a", "file:///a/../b/": "/b", "file:///a%20b": "/a b",
		"file://host/a": "", "file:a": "", "http:///a": "", "/a": "", "": "", "file:///a%00b": "", "file:///%zz": "", "file://": "",
	} {
		if got, ok := fileURI(uri); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v, want %q", uri, got, ok, want)
		}
	}
}

// So many roots that looking at them takes long grant nothing.
func TestTooManyRoots(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, setup.ReadOnly)
	roots := make([]*mcp.Root, maxRoots+1)
	for i := range roots {
		roots[i] = &mcp.Root{URI: "file://" + filepath.ToSlash(dir)}
	}
	if _, err := s.narrow(t.Context(), roots); err == nil {
		t.Error("no error")
	}
	if v, err := s.narrow(t.Context(), roots[1:]); err != nil {
		t.Error(err)
	} else if _, err := v.fs.Stat("."); runtime.GOOS != "windows" && err != nil {
		t.Errorf("with the most that are looked at: %v", err)
	}
}
