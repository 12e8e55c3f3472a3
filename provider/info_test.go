package provider_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func TestInfo(t *testing.T) {
	now := time.Now()
	f := provider.NewInfo("f", 7, 0o640, now)
	if f.Name() != "f" || f.Size() != 7 || f.Mode() != 0o640 || f.IsDir() || !f.ModTime().Equal(now) || f.Sys() != nil {
		t.Errorf("a file: %v", fs.FormatFileInfo(f))
	}
	for _, mode := range []fs.FileMode{fs.ModeDir | 0o755, fs.ModeSymlink | 0o777, fs.ModeNamedPipe} {
		if i := provider.NewInfo("x", 7, mode, now); i.Size() != 0 || i.Mode() != mode || i.IsDir() != mode.IsDir() {
			t.Errorf("%v: size %d, IsDir %v", mode, i.Size(), i.IsDir())
		}
	}
}
