package namespace

import (
	"errors"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestSources(t *testing.T) {
	n := layout(t, "/workspace")
	broken := errors.New("grant service is down")
	var live Live
	for name, s := range map[string]Source{
		"nil namespace":  (*Namespace)(nil),
		"zero namespace": &Namespace{},
		"zero live":      &live,
		"nil live":       (*Live)(nil),
		"nil func":       SourceFunc(nil),
		"func of nil":    SourceFunc(func() (*Namespace, error) { return nil, nil }),
		"func of empty":  SourceFunc(func() (*Namespace, error) { return &Namespace{}, nil }),
	} {
		if got, err := s.Namespace(); got != nil || !errors.Is(err, ErrOutside) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	// A failing source passes its error on, and not the table beside it.
	failing := SourceFunc(func() (*Namespace, error) { return n, broken })
	if got, err := failing.Namespace(); got != nil || err != broken {
		t.Errorf("failing: %v, %v", got, err)
	}
	live.Store(n)
	for _, s := range []Source{n, &live, SourceFunc(live.Namespace)} {
		if got, err := s.Namespace(); got != n || err != nil {
			t.Errorf("%T: %v, %v", s, got, err)
		}
	}
	// Never the old table silently.
	live.Store(nil)
	if got, err := live.Namespace(); got != nil || !errors.Is(err, ErrOutside) {
		t.Errorf("after Store(nil): %v, %v", got, err)
	}
}

// TestLiveSwap uses tables from sixteen goroutines while one swaps them: each
// sees one table or the other, whole.
func TestLiveSwap(t *testing.T) {
	a, b := layout(t, "/workspace rw", "/data"), layout(t, "/workspace/app rw", "/mnt/notes")
	var live Live
	live.Store(a)
	stop := make(chan struct{})
	var swaps, seen, denied atomic.Int64
	var swapper, users sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, n := range []*Namespace{b, nil, a} {
				live.Store(n)
				runtime.Gosched() // nothing preempts it on one thread (js)
			}
			swaps.Add(1)
		}
	})
	for range 16 {
		users.Go(func() {
			for range 300 {
				n, err := live.Namespace()
				if err != nil {
					if !errors.Is(err, ErrOutside) {
						t.Errorf("%v", err)
					}
					denied.Add(1)
					runtime.Gosched()
					continue
				}
				target, err := n.Resolve(Path{}, "/workspace/app/x")
				want := "x"
				if n == a {
					want = "app/x"
				}
				if err != nil || target.Rel.String() != want {
					t.Errorf("%v, %v", target.Rel, err)
				}
				for _, m := range n.Mounts() {
					if len(n.Aliases(m.At)) != 0 || !n.MountPoint(m.At) {
						t.Errorf("%v", m)
					}
				}
				n.Children(root)
				n.Display(target.Path)
				seen.Add(1)
				runtime.Gosched()
			}
		})
	}
	users.Wait()
	close(stop)
	swapper.Wait()
	t.Logf("%d swaps, %d uses, %d denied", swaps.Load(), seen.Load(), denied.Load())
	if swaps.Load() == 0 || seen.Load() == 0 || denied.Load() == 0 {
		t.Error("nothing raced")
	}
}
