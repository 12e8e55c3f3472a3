package policyfs_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// most is a provider that knows how many of its Files were open at once. Its
// Files remove entries when the ones below do and fast asks for it.
type most struct {
	*counting
	fast bool

	mu   sync.Mutex // guards open: a walk lists several directories at once
	open int64
}

func (m *most) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := m.counting.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.open = max(m.open, m.counting.open.Load())
	m.mu.Unlock()
	if r, ok := f.(*countedFile).File.(provider.EntryRemover); ok && m.fast {
		return &struct {
			provider.File
			provider.EntryRemover
		}{f, r}, nil
	}
	return f, nil
}

// take returns how many Files were open at once since it was called last.
func (m *most) take() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.open
	m.open = 0
	return n
}

// TestTreesHoldFewFiles: a plan and its act hold one directory open, however deep
// the tree is, and close it when they fail; a walk holds one for each that it
// lists at once.
func TestTreesHoldFewFiles(t *testing.T) {
	deep := strings.Repeat("/d", scale(100, 300, 2000))
	for _, fast := range []bool{true, false} {
		c := &counting{Provider: memfs.New(memfs.Options{})}
		m := &most{counting: c, fast: fast}
		f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: everything(t), CreateParents: true})
		refused := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: policyfs.ReadWrite()})
		for _, name := range []string{deep + "/f", "/d/wide/a/.env", "/d/wide/b/f", "/d/wide/c/f"} {
			if _, err := f.WriteFile(name, []byte("x"), provider.ReplaceOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for what, err := range map[string]error{"Rename": refused.Rename("/d", "/e"), "RemoveAll": refused.RemoveAll("/d")} {
			if err == nil {
				t.Errorf("%s of a tree that holds what is denied succeeds", what)
			}
		}
		if n := m.take(); n != 1 {
			t.Errorf("with EntryRemover %v: a refused plan had %d Files at once", fast, n)
		}
		entries := 0
		for _, err := range f.Walk("/") {
			if err != nil {
				t.Error(err)
			}
			entries++
		}
		if want, n := strings.Count(deep, "/")+9, m.take(); entries != want || n > 16 {
			t.Errorf("walked %d entries of %d with %d Files at once", entries, want, n)
		}
		if err := f.Rename("/d", "/e"); err != nil {
			t.Error(err)
		}
		if err := f.RemoveAll("/e"); err != nil {
			t.Error(err)
		}
		if n, left := m.take(), c.open.Load(); n != 1 || left != 0 {
			t.Errorf("with EntryRemover %v: %d Files at once, %d left open", fast, n, left)
		}
	}
}
