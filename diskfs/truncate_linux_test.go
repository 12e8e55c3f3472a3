package diskfs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestTruncatingOpenMovesTheTime: opening with O_TRUNC sets the modification time
// of an empty file too, as in package os; os.Create is used as touch(1) is.
func TestTruncatingOpenMovesTheTime(t *testing.T) {
	for what, old := range map[string]time.Time{
		"long ago":      time.Unix(1_000_000_000, 0),
		"a second ago":  time.Now().Add(-time.Second),
		"in the future": time.Now().Add(time.Hour),
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "marker")
			mustDo(t, os.WriteFile(file, nil, 0o644))
			mustDo(t, os.Chtimes(file, old, old))
			p, err := diskfs.Open(dir, diskfs.Options{})
			mustDo(t, err)
			defer p.Close()
			begin := time.Now().Add(-20 * time.Millisecond) // the kernel's stamps lag behind
			f, err := p.Open(background, path("marker"), provider.OpenOptions{Write: true, Create: true, Truncate: true})
			mustDo(t, err)
			mustDo(t, f.Close())
			info, err := os.Stat(file)
			mustDo(t, err)
			if info.ModTime().Before(begin) || info.ModTime().After(time.Now()) {
				t.Errorf("the modification time was %v, and is %v", old, info.ModTime())
			}
		})
	}
}
