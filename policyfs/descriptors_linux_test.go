package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestTreesWithFewDescriptors makes, walks, and removes trees on disk that are
// deeper and wider than there are descriptors: this process may open no number
// above 63 meanwhile.
func TestTreesWithFewDescriptors(t *testing.T) {
	base := t.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if base, err = os.MkdirTemp("/dev/shm", "policyfs"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(base) })
	}
	p, err := diskfs.Open(base, diskfs.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	few.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Error(err)
		}
	})
	deep, wide := scale(200, 1990, 1990), scale(2_000, 200_000, 200_000)
	f := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: everything(t), MaxWalk: deep + wide + 10})
	if err := f.MkdirAll("/t"+strings.Repeat("/d", deep), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Mkdir("/t/w", 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range wide {
		h, err := p.Open(context.Background(), provider.MustPath(fmt.Sprintf("t/w/entry-%06d", i)), provider.OpenOptions{Write: true, Create: true, Exclusive: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := afero.ReadDir(f, "/t/w"); err != nil || len(entries) != wide {
		t.Errorf("listed %d of %d, %v", len(entries), wide, err)
	}
	walked := 0
	for _, err := range f.Walk("/t") {
		if err != nil {
			t.Fatal(err)
		}
		walked++
	}
	if want := 1 + deep + 1 + wide; walked != want {
		t.Errorf("walked %d entries of %d", walked, want)
	}
	if err := f.RemoveAll("/t"); err != nil {
		t.Error(err)
	}
	if _, err := f.Stat("/t"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after RemoveAll: %v", err)
	}
}
