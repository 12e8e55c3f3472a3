package diskfs

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// openTemp opens a temporary directory for the time of the test.
func openTemp(t *testing.T) (d *FS, dir string) {
	t.Helper()
	dir = t.TempDir()
	d, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, dir
}

// TestReadAtSeesTheEndOfNow: the size a file had when it was opened saves a read;
// it does not decide where the file ends.
func TestReadAtSeesTheEndOfNow(t *testing.T) {
	d, dir := openTemp(t)
	host := filepath.Join(dir, "f")
	for _, now := range []string{"12345", "12345678", "123", ""} {
		if err := os.WriteFile(host, []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := d.Open(t.Context(), provider.MustPath("f"), provider.OpenOptions{Read: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(host, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		if n, err := f.ReadAt(buf, 0); string(buf[:n]) != now || err != io.EOF {
			t.Errorf("read %q, %v; want %q and io.EOF", buf[:n], err, now)
		}
		if n, err := f.ReadAt(buf, int64(len(now))); n != 0 || err != io.EOF {
			t.Errorf("read %d bytes at the end, %v", n, err)
		}
		f.Close()
	}
}
