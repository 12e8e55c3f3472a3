package policyfs_test

import (
	"context"
	"strings"
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
	open int64
}

func (m *most) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := m.counting.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	m.open = max(m.open, m.counting.open.Load())
	if r, ok := f.(*countedFile).File.(provider.EntryRemover); ok && m.fast {
		return &struct {
			provider.File
			provider.EntryRemover
		}{f, r}, nil
	}
	return f, nil
}

// TestTreesHoldFewFiles: a plan and its act hold one directory open, however deep
// and wide the tree is, and close it when they fail.
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
		if err := f.Rename("/d", "/e"); err != nil {
			t.Error(err)
		}
		if err := f.RemoveAll("/e"); err != nil {
			t.Error(err)
		}
		if n := c.open.Load(); n != 0 || m.open != 1 {
			t.Errorf("with EntryRemover %v: %d Files at once, %d left open", fast, m.open, n)
		}
	}
}
