package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// filled is a memory provider that holds files.
func filled(t testing.TB, files map[string]string) provider.Provider {
	t.Helper()
	m := memfs.New(memfs.Options{})
	face := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: everything(t), CreateParents: true})
	for name, content := range files {
		if err := afero.WriteFile(face, name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// everything is a policy that allows all that a policy can.
func everything(t testing.TB) policyfs.Policy {
	t.Helper()
	p, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowHidden: []string{"/"}, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLiveUnderUse swaps tables while sixteen goroutines use one FS: each
// operation sees one table, whole.
func TestLiveUnderUse(t *testing.T) {
	one, err := namespace.New(namespace.Mount{At: "/workspace", Access: namespace.ReadWrite, Provider: filled(t, map[string]string{"f": "one", "d/g": "one"})})
	if err != nil {
		t.Fatal(err)
	}
	two, err := namespace.New(
		namespace.Mount{At: "/workspace", Provider: filled(t, map[string]string{"f": "two"})},
		namespace.Mount{At: "/d", Access: namespace.ReadWrite, Provider: filled(t, map[string]string{"g": "two"})})
	if err != nil {
		t.Fatal(err)
	}
	var live namespace.Live
	live.Store(one)
	face := policyfs.New(&live, policyfs.Options{Policy: everything(t)})
	stop := make(chan struct{})
	var swapper, users sync.WaitGroup
	var swaps, reads, denied atomic.Int64
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, n := range []*namespace.Namespace{two, nil, one} {
				live.Store(n)
				// Nothing preempts it on one thread (js); and in step with the users
				// they would meet one table only.
				for range 1 + rand.IntN(4) {
					runtime.Gosched()
				}
			}
			swaps.Add(1)
		}
	})
	for i := range 16 {
		users.Go(func() {
			for round := 0; round < 60 || round < 10_000 && (reads.Load() == 0 || denied.Load() == 0); round++ {
				data, err := afero.ReadFile(face, "/d/g")
				switch {
				case errors.Is(err, fs.ErrPermission):
					denied.Add(1)
				case err != nil || string(data) != "one" && string(data) != "two":
					t.Errorf("%q, %v", data, err)
				default:
					reads.Add(1)
				}
				runtime.Gosched()
				name := fmt.Sprintf("/d/own%d-%d", i, round%3)
				if err := afero.WriteFile(face, name, []byte("x"), 0o644); err != nil && !errors.Is(err, fs.ErrPermission) {
					t.Errorf("write: %v", err)
				}
				if err := face.Remove(name); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("remove: %v", err)
				}
				for entry, err := range face.Walk("/") {
					if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
						t.Logf("walk stopped at %v: %v", entry.Path, err) // the table was swapped
						break
					}
				}
			}
		})
	}
	users.Wait()
	close(stop)
	swapper.Wait()
	t.Logf("%d swaps, %d reads, %d denied", swaps.Load(), reads.Load(), denied.Load())
	if swaps.Load() == 0 || reads.Load() == 0 || denied.Load() == 0 {
		t.Error("nothing raced")
	}
}

// TestFailingSource: an error of the source denies, reaches Audit whole, and is
// not shown to the agent.
func TestFailingSource(t *testing.T) {
	secret := errors.New("no route to grants.internal:5432")
	var audited []error
	face := policyfs.New(namespace.SourceFunc(func() (*namespace.Namespace, error) { return nil, secret }), policyfs.Options{
		Policy: everything(t),
		Audit:  func(_ context.Context, e policyfs.Event) { audited = append(audited, e.Err) },
	})
	_, err := face.Open("/f")
	var denied *policyfs.DeniedError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &denied) || !errors.Is(denied.Cause, secret) || strings.Contains(err.Error(), "grants.internal") {
		t.Errorf("%v", err)
	}
	if !slices.ContainsFunc(audited, func(err error) bool { return errors.Is(err, secret) }) {
		t.Errorf("Audit heard of %v", audited)
	}
}

// TestSessions: two working directories over one provider, used at once.
func TestSessions(t *testing.T) {
	files := map[string]string{"one/f": "ONE", "two/f": "TWO", "one/sub/g": "ONE", "two/h": "TWO"}
	face := policyfs.New(namespace.Workspace(filled(t, files)), policyfs.Options{Policy: everything(t), ResolveParents: true})
	globbed := map[string]string{"one": "f sub", "two": "f h"}
	var both sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		session := face.WithDir(namespace.MustParse("/" + name))
		want := strings.ToUpper(name)
		both.Go(func() {
			for range 50 {
				if data, err := afero.ReadFile(session, "f"); err != nil || string(data) != want {
					t.Errorf("%s: %q, %v", name, data, err)
				}
				if data, err := afero.ReadFile(session, "../"+name+"/f"); err != nil || string(data) != want {
					t.Errorf("%s: %q, %v", name, data, err)
				}
				for m, err := range session.Grep(".", policyfs.Query{Pattern: "ONE|TWO"}) {
					if err != nil || m.Text != want || !strings.HasPrefix(m.Path.String(), "/workspace/"+name+"/") {
						t.Errorf("%s: grep %+v, %v", name, m, err)
					}
				}
				for entry, err := range session.Walk(".") {
					if err != nil || entry.Path.String() != "/workspace/"+name && !strings.HasPrefix(entry.Path.String(), "/workspace/"+name+"/") {
						t.Errorf("%s: walk %+v, %v", name, entry, err)
					}
				}
				if found, err := session.Glob("*"); err != nil || strings.Join(found, " ") != globbed[name] {
					t.Errorf("%s: glob %q, %v", name, found, err)
				}
				if _, err := session.Open("missing"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "missing") || strings.Contains(err.Error(), name) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	both.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := afero.ReadFile(face.WithContext(ctx), "/one/f"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestMountsInTheTree: mount points are directories in listings, walks and
// greps, and nothing removes or moves what leads to one.
func TestMountsInTheTree(t *testing.T) {
	ws := filled(t, map[string]string{"a": "needle", "mnt/own": "needle", "x/notes": "no directory"})
	notes, pics := filled(t, map[string]string{"n": "needle"}), filled(t, map[string]string{"p": "needle"})
	ns, err := namespace.New(
		namespace.Mount{At: "/workspace", Access: namespace.ReadWrite, Provider: ws},
		namespace.Mount{At: "/mnt/notes", Provider: notes},
		namespace.Mount{At: "/deep/er/pics", Access: namespace.ReadWrite, Provider: pics},
		namespace.Mount{At: "/x/notes/in", Provider: notes})
	if err != nil {
		t.Fatal(err)
	}
	face := policyfs.New(ns, policyfs.Options{Policy: everything(t)})
	for dir, want := range map[string]string{"/": "a deep mnt x", "/mnt": "notes own", "/deep": "er", "/deep/er": "pics", "/x": "notes", "/x/notes": "in", "/mnt/notes": "n"} {
		infos, err := afero.ReadDir(face, dir)
		var names []string
		for _, info := range infos {
			names = append(names, info.Name())
			if info.Name() != "a" && info.Name() != "own" && info.Name() != "n" && !info.IsDir() {
				t.Errorf("%s/%s is %v", dir, info.Name(), info.Mode())
			}
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s lists %q, %v; want %q", dir, got, err, want)
		}
		if info, err := face.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	var found []string
	for m, err := range face.Grep("/", policyfs.Query{Pattern: "needle"}) {
		if err != nil {
			t.Error(err)
		}
		found = append(found, m.Name)
	}
	slices.Sort(found)
	want := []string{"/deep/er/pics/p", "/mnt/notes/n", "/workspace/a", "/workspace/mnt/own", "/x/notes/in/n"}
	if !slices.Equal(found, want) {
		t.Errorf("grep finds %q, want %q", found, want)
	}
	for _, name := range []string{"/", "/mnt", "/mnt/notes", "/deep", "/deep/er", "/x/notes", "/x"} {
		for what, err := range map[string]error{
			"Remove": face.Remove(name), "RemoveAll": face.RemoveAll(name), "Rename": face.Rename(name, "/elsewhere"), "Rename onto": face.Rename("/a", name),
		} {
			if !errors.Is(err, syscall.EBUSY) && !(what == "Rename onto" && errors.Is(err, fs.ErrExist)) {
				t.Errorf("%s(%s): %v", what, name, err)
			}
		}
	}
	if err := face.Rename("/a", "/deep/er/pics/a"); !errors.Is(err, syscall.EXDEV) {
		t.Errorf("across mounts: %v", err)
	}
	if err := afero.WriteFile(face, "/mnt/notes/new", nil, 0o644); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "mount /mnt/notes is read-only") {
		t.Errorf("a read-only mount: %v", err)
	}
	for _, name := range []string{"/a", "/mnt/own", "/mnt/notes/n", "/deep/er/pics/p"} {
		if data, err := afero.ReadFile(face, name); err != nil || string(data) != "needle" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// TestTwoPathsOneObject: a rule about one path of an object holds at the other.
func TestTwoPathsOneObject(t *testing.T) {
	top := namespace.Dirs(t, "w/docs/open", "w/docs/private")
	for _, file := range []string{"w/f", "w/docs/f", "w/docs/private/f"} {
		if err := os.WriteFile(filepath.Join(top, file), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ns, err := namespace.FromGrants(namespace.Portable, namespace.OpenDisk,
		namespace.Grant{Dir: filepath.Join(top, "w"), Label: "w", Access: namespace.ReadWrite},
		namespace.Grant{Dir: filepath.Join(top, "w/docs"), Label: "docs", Kind: namespace.KindFolder, Access: namespace.ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	policy, err := policyfs.Compile(policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"},
		DenyRead: []string{"/workspace/w/docs/private"}, DenyWrite: []string{"/mnt/docs/f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	face := policyfs.New(ns, policyfs.Options{Policy: policy})
	for _, name := range []string{"/workspace/w/docs/private/f", "/mnt/docs/private/f"} {
		if _, err := afero.ReadFile(face, name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read %s: %v", name, err)
		}
	}
	for _, name := range []string{"/workspace/w/docs/f", "/mnt/docs/f"} {
		if data, err := afero.ReadFile(face, name); err != nil || string(data) != "old" {
			t.Errorf("read %s: %q, %v", name, data, err)
		}
		if err := afero.WriteFile(face, name, []byte("new"), 0o644); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("write %s: %v", name, err)
		}
	}
	for _, dir := range []string{"/workspace/w/docs", "/mnt/docs"} {
		names, err := afero.ReadDir(face, dir)
		if err != nil || len(names) != 2 || names[0].Name() != "f" || names[1].Name() != "open" {
			t.Errorf("%s lists %v, %v", dir, names, err)
		}
	}
	if err := afero.WriteFile(face, "/mnt/docs/open/new", []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
	if data, err := afero.ReadFile(face, "/workspace/w/docs/open/new"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
}
