package conformance_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// dirs remembers the directory of the host that each provider serves.
type dirs struct{ byProvider sync.Map }

func (d *dirs) of(p provider.Provider) string {
	dir, _ := d.byProvider.Load(p)
	return dir.(string)
}

// keep remembers p and closes it with the test.
func (d *dirs) keep(t testing.TB, p provider.Provider, dir string) provider.Provider {
	d.byProvider.Store(p, dir)
	t.Cleanup(func() { p.Close() })
	return p
}

// onHost writes files below dir.
func onHost(t testing.TB, dir string, files map[string]string) {
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// diskHarness serves a directory of the host that open opens.
func diskHarness(open func(dir string) (provider.Provider, error)) conformance.Harness {
	d := &dirs{}
	opened := func(t testing.TB, dir string) provider.Provider {
		p, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d.keep(t, p, dir)
	}
	return conformance.Harness{
		New: func(t testing.TB) provider.Provider { return opened(t, t.TempDir()) },
		Reopen: func(t testing.TB, p provider.Provider) provider.Provider {
			p.Close()
			return opened(t, d.of(p))
		},
		HostDir: d.of,
	}
}

// readOnly makes a harness whose storage is filled from outside.
func readOnly(h conformance.Harness, open func(dir string) (provider.Provider, error)) conformance.Harness {
	d := &dirs{}
	h.New, h.HostDir = nil, d.of
	h.NewWith = func(t testing.TB, files map[string]string) provider.Provider {
		dir := t.TempDir()
		onHost(t, dir, files)
		p, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return d.keep(t, p, dir)
	}
	h.Reopen = nil
	return h
}

func openDisk(opts diskfs.Options) func(dir string) (provider.Provider, error) {
	return func(dir string) (provider.Provider, error) { return diskfs.Open(dir, opts) }
}

func TestDiskfs(t *testing.T) {
	conformance.Run(t, diskHarness(openDisk(diskfs.Options{NoSync: true})))
}

func TestDiskfsReadOnly(t *testing.T) {
	conformance.Run(t, readOnly(conformance.Harness{}, openDisk(diskfs.Options{ReadOnly: true})))
}
