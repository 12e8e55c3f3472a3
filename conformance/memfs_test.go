package conformance_test

import (
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// memHarness serves memory, with links planted through the provider itself.
func memHarness(opts memfs.Options) conformance.Harness {
	return conformance.Harness{
		New: func(t testing.TB) provider.Provider {
			m := memfs.New(opts)
			t.Cleanup(func() { m.Close() })
			return m
		},
		Plant: func(t testing.TB, p provider.Provider, target string, name provider.Path) {
			if err := p.(*memfs.FS).Symlink(target, name); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestMemfs(t *testing.T) { conformance.Run(t, memHarness(memfs.Options{})) }

func TestMemfsWithLimits(t *testing.T) {
	conformance.Run(t, memHarness(memfs.Options{MaxBytes: 24 << 20}))
}

func TestMemfsCaseInsensitive(t *testing.T) {
	conformance.Run(t, memHarness(memfs.Options{CaseInsensitive: true}))
}
