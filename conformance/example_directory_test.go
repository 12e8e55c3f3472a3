package conformance_test

import (
	"os"
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/provider"
)

// TestExampleProviderOverDirectory lets the suite attack the storage from
// outside, which needs nothing but the directory.
func TestExampleProviderOverDirectory(t *testing.T) {
	conformance.Run(t, readOnly(conformance.Harness{}, func(dir string) (provider.Provider, error) {
		return &archive{fsys: os.DirFS(dir)}, nil
	}))
}
