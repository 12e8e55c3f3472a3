package policyfs_test

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// panicking is a provider with a bug at some names.
type panicking struct {
	*memfs.FS
	open, read, list string
}

func (p panicking) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if p.open != "" && strings.HasPrefix(name.String(), p.open) {
		panic("bug in Open")
	}
	f, err := p.FS.Open(ctx, name, opts)
	if p.read != "" && strings.HasPrefix(name.String(), p.read) {
		f = panickingFile{f}
	}
	if p.list != "" && strings.HasPrefix(name.String(), p.list) {
		f = panickingDir{f}
	}
	return f, err
}

type panickingFile struct{ provider.File }

func (panickingFile) ReadAt([]byte, int64) (int, error) { panic("bug in ReadAt") }

type panickingDir struct{ provider.File }

func (panickingDir) ReadDir(int) ([]fs.DirEntry, error) { panic("bug in ReadDir") }

// TestPanicsReachTheCaller: a provider that panics does so on the goroutine that
// iterates, which can recover, and not on a helper, where it would end the process.
// No goroutine stays behind, and no open File.
func TestPanicsReachTheCaller(t *testing.T) {
	m := memfs.New(memfs.Options{})
	for i := range 40 {
		dir := provider.MustPath(fmt.Sprintf("d%02d", i))
		file, err := dir.Join("f")
		if err != nil {
			t.Fatal(err)
		}
		m.Mkdir(t.Context(), dir, 0o755)
		if err := provider.WriteFile(t.Context(), m, file, []byte("x\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	before := runtime.NumGoroutine()
	for _, p := range []panicking{{FS: m, open: "d07"}, {FS: m, open: "d00"}, {FS: m, read: "d31/f"}, {FS: m, list: "d07"}, {FS: m, list: "d3"}} {
		c := &counting{Provider: p}
		f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: policyfs.ReadOnly()})
		for name, call := range map[string]func(){
			"walk": func() {
				for range f.Walk("/") {
					time.Sleep(100 * time.Microsecond) // let the others get ahead
				}
			},
			"grep": func() {
				for range f.Grep("/", policyfs.Query{Pattern: "x"}) {
				}
			},
			"glob": func() { f.Glob("**/*") },
		} {
			value := func() (value any) {
				defer func() { value = recover() }()
				call()
				return nil
			}()
			if reads := p.read != ""; reads && name != "grep" {
				if value != nil {
					t.Errorf("%s reads no file: %v", name, value)
				}
			} else if value == nil || !strings.Contains(fmt.Sprint(value), "bug in ") || !strings.Contains(fmt.Sprint(value), "panicking") {
				t.Errorf("%s of %+v: recovered %v, want the panic and its stack", name, p, value)
			}
			noLeak(t, c, before)
		}
	}
}

// stuttering is a provider whose listings say every name twice.
type stuttering struct{ *memfs.FS }

func (p stuttering) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := p.FS.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return stutteringFile{f}, nil
}

type stutteringFile struct{ provider.File }

func (f stutteringFile) ReadDir(max int) ([]fs.DirEntry, error) {
	list, err := f.File.ReadDir(max)
	return append(list, list...), err
}

// TestNamesTwice: a storage that changes while it is listed may say a name twice.
func TestNamesTwice(t *testing.T) {
	m := tree{"d/f": "x", "e/": "", "g": "x"}.memory(t)
	f := policyfs.New(namespace.Workspace(stuttering{m}), policyfs.Options{Policy: policyfs.ReadOnly()})
	if got, want := walked(t, f, "/", policyfs.WalkOptions{}), []string{"d", "d/f", "e", "g"}; !slices.Equal(got, want) {
		t.Errorf("walk: %q, want %q", got, want)
	}
	d, err := f.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if names, err := d.Readdirnames(-1); err != nil || !slices.Equal(names, []string{"d", "e", "g"}) {
		t.Errorf("listing: %q, %v", names, err)
	}
}
