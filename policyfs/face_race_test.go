package policyfs_test

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// movablePolicy lets every directory move, and denies to change what lies at or
// below /cfg/locked. A Spec cannot say that: its scopes would pin /cfg. So only
// the plan, and the lock that it holds under, stand between a file published
// meanwhile and the denied place.
type movablePolicy struct{}

func (movablePolicy) Check(r policyfs.Request) policyfs.Decision {
	if r.Op == policyfs.OpMoveTree || strings.HasPrefix(r.Path.String(), "/workspace/cfg/") {
		runtime.Gosched() // a plan takes time
	}
	locked := r.Path == lockedPath || lockedPath.Contains(r.Path)
	if locked && r.Op != policyfs.OpRead && r.Op != policyfs.OpStat && r.Op != policyfs.OpList {
		return policyfs.Decision{Rule: "locked"}
	}
	return policyfs.Decision{Allow: true, Rule: "free"}
}

// slowRename is a provider whose renames give way first, so that what the lock
// does not hold back gets between a plan and its act.
type slowRename struct{ provider.Provider }

func (p *slowRename) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if !opts.NotDir {
		for range 10 {
			runtime.Gosched()
		}
	}
	return p.Provider.Rename(ctx, oldname, newname, opts)
}

var lockedPath = namespace.MustParse("/cfg/locked")

// TestPublishDuringMove publishes files, directories and renamed files into a
// directory while that directory is renamed onto a name below which the same
// entry is denied. Nothing may land there.
func TestPublishDuringMove(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			total := scale(3_000, 20_000, 100_000)
			if kind == "disk" {
				total = scale(1_000, 4_000, 100_000)
			}
			b := newBox(t, kind)
			for _, name := range []string{"a", "b", "c", "d", "e", "sub/f", "sub/g"} {
				b.file("W/src/"+name, name)
			}
			b.open()
			b.w = &slowRename{b.w}
			// Two values that know nothing of each other share the lock.
			publisher := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: movablePolicy{}})
			mover := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: movablePolicy{}})
			var stop atomic.Bool
			var moves, refused, landed atomic.Int64
			var wg sync.WaitGroup
			wg.Go(func() {
				for !stop.Load() {
					err := mover.Rename("/src", "/cfg")
					if err != nil {
						refused.Add(1)
						continue
					}
					moves.Add(1)
					if _, err := b.w.Stat(context.Background(), provider.MustPath("cfg/locked")); !errors.Is(err, fs.ErrNotExist) {
						landed.Add(1)
						b.w.Remove(context.Background(), provider.MustPath("cfg/locked"))
					}
					if err := mover.Rename("/cfg", "/src"); err != nil {
						t.Errorf("moving back: %v", err)
						return
					}
					for range 4 {
						runtime.Gosched() // let something be published
					}
				}
			})
			published := 0
			deadline := time.Now().Add(time.Minute)
			enough := int64(scale(50, 200, 2000))
			met := func() bool { return published > 0 && moves.Load() >= enough && refused.Load() > 0 }
			for i := 0; i < total || !met() && time.Now().Before(deadline); i++ {
				var err error
				switch i % 4 {
				case 0:
					_, err = publisher.WriteFile("/src/locked", []byte("x"), provider.ReplaceOptions{})
				case 1:
					_, err = closed(publisher.Create("/src/locked"))
				case 2:
					err = publisher.Mkdir("/src/locked", 0o755)
				case 3:
					if _, err = publisher.WriteFile("/stage", nil, provider.ReplaceOptions{}); err == nil {
						err = publisher.Rename("/stage", "/src/locked")
					}
				}
				if err == nil {
					published++
					publisher.Remove("/src/locked")
				} else if errors.Is(err, fs.ErrNotExist) {
					runtime.Gosched()
				} else if !errors.Is(err, fs.ErrExist) {
					t.Fatal(err)
				}
			}
			stop.Store(true)
			wg.Wait()
			t.Logf("%d of %d published, %d moves, %d moves refused, %d landed in a denied place", published, total, moves.Load(), refused.Load(), landed.Load())
			if landed.Load() != 0 {
				t.Errorf("%d entries landed in a denied place", landed.Load())
			}
			if !met() {
				t.Error("the two did not meet: nothing was tested")
			}
		})
	}
}

// TestMoveOntoDeniedPlaces: with a Spec the rules say so themselves: a directory
// does not move onto, or away from, a name with scopes below it, whatever it holds.
func TestMoveOntoDeniedPlaces(t *testing.T) {
	base := policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowHidden: []string{"/"}}
	for label, c := range map[string]struct {
		change func(*policyfs.Spec)
		from   string
		to     string
	}{
		"onto deny_write":      {func(s *policyfs.Spec) { s.DenyWrite = []string{"cfg/locked"} }, "/src", "/cfg"},
		"away from deny_write": {func(s *policyfs.Spec) { s.DenyWrite = []string{"src/locked"} }, "/src", "/cfg"},
		"onto deny_read":       {func(s *policyfs.Spec) { s.DenyRead = []string{"cfg/locked"} }, "/src", "/cfg"},
		"away from deny_read":  {func(s *policyfs.Spec) { s.DenyRead = []string{"src/locked"} }, "/src", "/cfg"},
		"folded":               {func(s *policyfs.Spec) { s.DenyWrite = []string{"CFG/Locked"} }, "/src", "/cfg"},
		"opt-in below":         {func(s *policyfs.Spec) { s.AllowHidden = nil; s.AllowSensitive = []string{"cfg/.env"} }, "/src", "/cfg"},
		"allow covers one end": {func(s *policyfs.Spec) { s.AllowWrite = []string{"src", "cfg"}; s.AllowRead = []string{"src"} }, "/src", "/cfg"},
		"allow below":          {func(s *policyfs.Spec) { s.AllowRead = []string{"/", "cfg/part"} }, "/src", "/cfg"},
	} {
		t.Run(label, func(t *testing.T) {
			for _, kind := range boxKinds {
				b := newBox(t, kind)
				b.file("W/src/a", "a")
				b.mkdir("W/src/empty")
				b.open()
				spec := base
				c.change(&spec)
				f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, spec)})
				before := providerTree(t, b.w)
				err := f.Rename(c.from, c.to)
				var denied *policyfs.DeniedError
				if !errors.As(err, &denied) {
					t.Errorf("%s: %v", kind, err)
				}
				if after := providerTree(t, b.w); after != before {
					t.Errorf("%s: the tree changed", kind)
				}
			}
		})
	}
	// The control: without such a rule it moves.
	b := newBox(t, "memory")
	b.file("W/src/a", "a")
	f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, base)})
	if err := f.Rename("/src", "/cfg"); err != nil {
		t.Error(err)
	}
}

// TestMoveWidens: nothing becomes readable or writable by moving it.
func TestMoveWidens(t *testing.T) {
	spec := policyfs.Spec{
		AllowRead: []string{"pub"}, AllowWrite: []string{"pub", "drop", "locked"},
	}
	for _, kind := range boxKinds {
		b := newBox(t, kind)
		b.file("W/drop/f", "SECRET")
		b.file("W/drop/d/f", "SECRET")
		b.file("W/pub/f", "public")
		b.open()
		f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, spec)})
		before := providerTree(t, b.w)
		for _, names := range [][2]string{{"/drop/f", "/pub/stolen"}, {"/drop/d", "/pub/d"}, {"/drop/f", "/pub/f"}} {
			for _, opts := range []provider.RenameOptions{{}, {NoReplace: true}, {NotDir: true}} {
				if err := f.Move(names[0], names[1], opts); !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: %v: %v", kind, names, err)
				}
			}
		}
		if after := providerTree(t, b.w); after != before {
			t.Errorf("%s: the tree changed:\n%s", kind, after)
		}
		if err := f.Rename("/pub/f", "/drop/g"); err != nil {
			t.Errorf("%s: narrowing is allowed: %v", kind, err)
		}
	}
}

// TestRenameDescendants: a directory whose descendants may not be removed, or
// made at the new place, does not move.
func TestRenameDescendants(t *testing.T) {
	for _, kind := range boxKinds {
		for _, inside := range []string{".env", "node_modules/x", ".hidden/y", "deep/er/.git/config"} {
			b := newBox(t, kind)
			b.file("W/d/a", "a")
			b.file("W/d/"+inside, "protected")
			b.open()
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: policyfs.ReadWrite()})
			before := providerTree(t, b.w)
			err := f.Rename("/d", "/e")
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: with %s: %v", kind, inside, err)
			}
			if strings.HasPrefix(inside, ".") && strings.Contains(err.Error(), inside) {
				t.Errorf("%s: the refusal names what the caller may not see: %v", kind, err)
			}
			if after := providerTree(t, b.w); after != before {
				t.Errorf("%s: with %s: the tree changed", kind, inside)
			}
		}
	}
}
