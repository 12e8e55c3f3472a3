package diskfs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// TestReadFileInto: what fits is read whole, exactly as much as there is room for
// too, and nothing of what does not; also where sizes are no truth.
func TestReadFileInto(t *testing.T) {
	d, dir := openTemp(t)
	for _, exact := range []bool{true, false} {
		d.devs.p.Store(&[]storage{{dev: d.dev, exact: exact}})
		for _, size := range []int{0, 1, 4095, 4096, 4097, 70_000} {
			content := bytes.Repeat([]byte("x"), size)
			if err := os.WriteFile(filepath.Join(dir, "f"), content, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, room := range []int{0, size - 1, size, size + 1, 2 * size} {
				if room < 0 {
					continue
				}
				p := make([]byte, room)
				n, err := d.ReadFileInto(t.Context(), provider.MustPath("f"), p)
				switch {
				case room < size && (n != 0 || err != unix.EFBIG):
					t.Errorf("exact %v: %d bytes into %d: %d, %v", exact, size, room, n, err)
				case room >= size && (err != nil || !bytes.Equal(p[:n], content)):
					t.Errorf("exact %v: %d bytes into %d: %d, %v", exact, size, room, n, err)
				}
			}
		}
	}
}

// askedContext is a context that calls asked when it is asked for its error, as it is
// between two reads of one file.
type askedContext struct {
	context.Context
	asked func()
}

func (c askedContext) Err() error {
	c.asked()
	return nil
}

// TestNoLockWhileContentIsRead: where a rename takes the lock, a read that waits for a
// network must not hold it.
func TestNoLockWhileContentIsRead(t *testing.T) {
	d, dir := openTemp(t)
	d.traits.atomicRename = false
	d.devs.p.Store(&[]storage{{dev: d.dev, exact: false}}) // so that one read is not enough
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	asked := 0
	ctx := askedContext{t.Context(), func() {
		asked++
		if !d.lock.mu.TryLock() {
			t.Error("the lock is held while content is read")
			return
		}
		d.lock.mu.Unlock()
	}}
	if _, err := d.ReadFile(ctx, provider.MustPath("f"), 0); err != nil {
		t.Fatal(err)
	}
	if asked < 2 {
		t.Errorf("the context was asked %d times, not while content was read", asked)
	}
	var st unix.Stat_t
	fd, _, err := d.openContent(d.root.fd, provider.MustPath("f"), &st)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(fd)
	if !d.lock.mu.TryLock() {
		t.Fatal("the lock is held once the file is open")
	}
	d.lock.mu.Unlock()
}
