package policyfs_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// slowReplace is a provider whose Replace takes until it is let go.
type slowReplace struct {
	*memfs.FS
	begun, end chan struct{}
}

func (p slowReplace) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	close(p.begun)
	<-p.end
	return p.FS.Replace(ctx, name, content, opts)
}

// TestWaitingEndsWithContext: an operation that waits for another one, to change the
// structure of the same storage, waits no longer than its context lasts, and leaves
// nothing behind that others would wait for.
func TestWaitingEndsWithContext(t *testing.T) {
	m := tree{"a/x": "", "b/x": "", "c": ""}.memory(t)
	p := slowReplace{m, make(chan struct{}), make(chan struct{})}
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policy})
	written := make(chan error, 1)
	go func() {
		_, err := f.WriteFile("slow", nil, provider.ReplaceOptions{})
		written <- err
	}()
	<-p.begun

	// A tree operation waits for the write, and everything else for that.
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 8)
	g := f.WithContext(ctx)
	go func() { waiting <- g.RemoveAll("a") }()
	time.Sleep(10 * time.Millisecond)
	for _, op := range []func() error{
		func() error { return g.Rename("b", "b2") },
		func() error { return g.Rename("c", "c2") },
		func() error { return g.Mkdir("d", 0o755) },
		func() error { return g.MkdirAll("d/e", 0o755) },
		func() error { return g.Remove("c") },
		func() error { _, err := g.Create("e"); return err },
		func() error { _, err := g.WriteFile("e", nil, provider.ReplaceOptions{}); return err },
	} {
		go func() { waiting <- op() }()
	}
	time.Sleep(10 * time.Millisecond)
	cancel()
	deadline := time.After(10 * time.Second)
	for range cap(waiting) {
		select {
		case err := <-waiting:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("an operation that waited: %v", err)
			}
		case <-deadline:
			t.Fatal("an operation still waits after its context is done")
		}
	}
	if err := f.Mkdir("free", 0o755); err != nil { // the one that held this up has given up
		t.Error(err)
	}
	close(p.end)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := f.RemoveAll("a"); err != nil {
		t.Error(err)
	}
}
