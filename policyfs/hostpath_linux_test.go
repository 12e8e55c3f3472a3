package policyfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// TestHostPathOfReplacedDirectory: when another directory has taken the name of
// the mounted one, the provider still serves the old one, so its host path would
// name something else.
func TestHostPathOfReplacedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "granted")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := diskfs.Open(dir, diskfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ns, err := namespace.New(namespace.Mount{At: "/workspace", Provider: d, HostDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(ns, policyfs.Options{Policy: policyfs.ReadOnly()})
	if host, err := f.HostPath(policyfs.OpRead, "a"); err != nil || host != filepath.Join(dir, "a") {
		t.Fatalf("HostPath: %q, %v", host, err)
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if host, err := f.HostPath(policyfs.OpRead, "a"); host != "" || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("HostPath after the directory was replaced: %q, %v, want a refusal", host, err)
	}
}
