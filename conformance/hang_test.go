package conformance_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// hanging never answers Stat.
type hanging struct {
	provider.Provider
	release chan struct{}
}

func (h hanging) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	<-h.release
	return h.Provider.Stat(ctx, name)
}

// A provider that hangs is told so by every requirement, before go test loses its
// own patience.
func TestHang(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	h := conformance.Harness{New: func(t testing.TB) provider.Provider { return hanging{memfs.New(memfs.Options{}), release} }}
	out := conformance.Examine(t, h, "PATH-root-is-a-directory", 100*time.Millisecond)
	if !out.Fails || !out.Hung || !strings.Contains(out.Got, `Stat(".") has not returned`) {
		t.Errorf("%+v", out)
	}
	all := conformance.CallPatience(false) + time.Duration(len(conformance.Requirements()))*conformance.CallPatience(true)
	if all > 9*time.Minute {
		t.Errorf("a provider that always hangs takes %v", all)
	}
}
