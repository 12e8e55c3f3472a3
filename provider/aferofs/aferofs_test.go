package aferofs_test

import (
	"os"
	"sync"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/provider"
	"github.com/workspacefs/workspacefs/provider/aferofs"
)

// overOS serves directories of the host through afero.OsFs.
func overOS(wrap func(afero.Fs) afero.Fs) conformance.Harness {
	var dirs sync.Map
	opened := func(t testing.TB, dir string) provider.Provider {
		p := aferofs.New(wrap(afero.NewBasePathFs(afero.NewOsFs(), dir)))
		dirs.Store(p, dir)
		t.Cleanup(func() { p.Close() })
		return p
	}
	dirOf := func(p provider.Provider) string {
		dir, _ := dirs.Load(p)
		return dir.(string)
	}
	return conformance.Harness{
		New:     func(t testing.TB) provider.Provider { return opened(t, t.TempDir()) },
		HostDir: dirOf,
		Reopen: func(t testing.TB, p provider.Provider) provider.Provider {
			p.Close()
			return opened(t, dirOf(p))
		},
	}
}

func same(f afero.Fs) afero.Fs { return f }

func TestOverOsFs(t *testing.T) { conformance.Run(t, overOS(same)) }

func TestOverReadOnlyFs(t *testing.T) {
	h := overOS(afero.NewReadOnlyFs)
	opened := h.New
	h.New, h.Reopen = nil, nil
	h.NewWith = func(t testing.TB, files map[string]string) provider.Provider {
		p := opened(t)
		root, err := os.OpenRoot(h.HostDir(p))
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		for name, content := range files {
			if err := root.MkdirAll(provider.MustPath(name).Parent().String(), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := root.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return p
	}
	conformance.Run(t, h)
}

func TestOverMemMapFs(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		New: func(t testing.TB) provider.Provider { return aferofs.New(afero.NewMemMapFs()) },
		Known: map[string]string{
			"WRITE-far-beyond-the-end":    "MemMapFs allocates holes",
			"DIR-handle-follows-a-rename": "the listings of MemMapFs cannot begin again, so directories are listed by name",
			"REMOVE-an-open-directory":    "as above",
			// aferofs looks at the parent by name before it creates, with a gap between.
			"CONC-nothing-in-a-removed-directory": "sometimes the parent goes in between, and MemMapFs makes it again",
		},
	})
}
