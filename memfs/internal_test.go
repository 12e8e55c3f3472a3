package memfs

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/workspacefs/workspacefs/provider"
)

// These windows are too narrow to be hit by chance, so the tests stand in them.

// TestRecallIsAskedAgain: who read from a remembered inode, or opened it, notices
// that it was taken away meanwhile, whatever did it, and whether or not the inode
// has handles or had some.
func TestRecallIsAskedAgain(t *testing.T) {
	ctx := t.Context()
	name := provider.MustPath("d/f")
	opts := provider.OpenOptions{Read: true}
	takes := map[string]func(m *FS) error{
		"remove":  func(m *FS) error { return m.Remove(ctx, name) },
		"replace": func(m *FS) error { return provider.WriteFile(ctx, m, name, []byte("new"), 0) },
		"rename":  func(m *FS) error { return m.Rename(ctx, name, provider.MustPath("x"), provider.RenameOptions{}) },
		"rename over": func(m *FS) error {
			return m.Rename(ctx, provider.MustPath("d/g"), name, provider.RenameOptions{})
		},
		"rename of the directory": func(m *FS) error {
			return m.Rename(ctx, provider.MustPath("d"), provider.MustPath("e"), provider.RenameOptions{})
		},
		"remove by entry": func(m *FS) error {
			d, err := m.Open(ctx, provider.MustPath("d"), opts)
			if err != nil {
				return err
			}
			defer d.Close()
			return d.(provider.EntryRemover).RemoveEntry("f", false)
		},
		"copy after a clone": func(m *FS) error { m.Clone(); return m.Chmod(ctx, name, 0o600) },
		"clone":              func(m *FS) error { m.Clone(); return nil },
		"nothing":            func(m *FS) error { return nil },
	}
	for what, take := range takes {
		for _, handle := range []string{"none", "closed", "open"} {
			m := New(Options{})
			m.unremembered.Store(1 << 20)
			if err := m.Mkdir(ctx, provider.MustPath("d"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"d/f", "d/g"} {
				if err := provider.WriteFile(ctx, m, provider.MustPath(file), []byte("old"), 0); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				if _, err := m.Stat(ctx, name); err != nil {
					t.Fatal(err)
				}
			}
			var h provider.File
			if handle != "none" {
				var err error
				if h, err = m.Open(ctx, name, opts); err != nil {
					t.Fatal(err)
				}
				if handle == "closed" {
					h.Close()
				}
			}
			r := m.recall(name.String())
			if r.e == nil {
				t.Fatalf("%s: the path is not remembered", what)
			}
			if err := take(m); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			// A clone shares what is not open: it may be looked at, not opened. An
			// open one stays this FS's own, and is not copied to be changed.
			stays := what == "nothing" || what == "clone" || what == "copy after a clone" && handle == "open"
			opens := stays && (what == "nothing" || handle == "open")
			if told := r.info() != nil; told != stays {
				t.Errorf("%s, handle %s: attributes hold: %v", what, handle, told)
			}
			if f := m.openRecalled(r, "f", opts); (f != nil) != opens {
				t.Errorf("%s, handle %s: opened: %v", what, handle, f != nil)
			}
			checkTree(t, m)
			if handle == "open" {
				if err := h.Close(); err != nil {
					t.Error(err)
				}
				checkTree(t, m)
			}
		}
	}
}

// TestSharedInodeBearsNoRecord: an inode that is shared with a clone has no record of
// handles, not for a moment, and what an FS might find there it leaves alone: the
// clone has an openMu of its own, so one would take the other's record for its own,
// and open for writing what never changes.
func TestSharedInodeBearsNoRecord(t *testing.T) {
	ctx := t.Context()
	name := provider.MustPath("f")
	opts := provider.OpenOptions{Read: true, Write: true}
	m := New(Options{})
	m.unremembered.Store(1 << 20)
	if err := provider.WriteFile(ctx, m, name, []byte("old"), 0); err != nil {
		t.Fatal(err)
	}
	clone := m.Clone()
	for range 3 {
		if _, err := m.Stat(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	r := m.recall("f")
	if r.e == nil {
		t.Fatal("the path is not remembered")
	}
	n := r.e.n

	var done atomic.Bool
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for !done.Load() {
			if n.open.Load() != nil {
				t.Error("a shared inode has a record")
				return
			}
		}
	})
	for range 200_000 {
		if m.openRecalled(r, "f", opts) != nil {
			t.Fatal("a shared inode was opened")
		}
	}
	done.Store(true)
	watcher.Wait()

	others := &handles{m: clone, n: n}
	others.state.Store(shut)
	n.open.Store(others)
	if m.openRecalled(r, "f", opts) != nil {
		t.Error("a shared inode was opened by the record of another FS")
	}
	if n.open.Load() != others || others.state.Load() != shut {
		t.Error("the record of another FS was changed")
	}
}

// TestOpenWhileTaken: an inode that is opened just when its name has been forgotten,
// and before whoever takes it away has looked for handles, stays closed, and what it
// retains is released once.
func TestOpenWhileTaken(t *testing.T) {
	ctx := t.Context()
	for _, handle := range []bool{false, true} {
		m := New(Options{})
		m.unremembered.Store(1 << 20)
		name := provider.MustPath("f")
		if err := provider.WriteFile(ctx, m, name, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := m.Stat(ctx, name); err != nil {
				t.Fatal(err)
			}
		}
		if handle {
			h, err := m.Open(ctx, name, provider.OpenOptions{Read: true, Write: true})
			if err != nil {
				t.Fatal(err)
			}
			h.Close()
		}
		r := m.recall("f")
		m.mu.lock()
		m.forget(m.root, "f")
		if f := m.openRecalled(r, "f", provider.OpenOptions{Read: true}); f != nil {
			t.Errorf("handle before: %v: opened", handle)
		}
		if m.enterFirst(r.e.n, &r.e.location, wrote, &r) != nil {
			t.Errorf("handle before: %v: entered", handle)
		}
		m.root.entries.delete(m.owner, "f")
		m.orphan(r.e.n)
		m.mu.unlock()
		if f := m.openRecalled(r, "f", provider.OpenOptions{Read: true}); f != nil {
			t.Errorf("handle before: %v: opened when it was gone", handle)
		}
		checkTree(t, m)
	}
}

// TestHandlesState: nobody joins a record that is shut, and what has no handles is
// left to none.
func TestHandlesState(t *testing.T) {
	h := &handles{}
	if h.bequeath() || h.state.Load() != 0 {
		t.Errorf("left to nobody: %#x", h.state.Load())
	}
	if !h.join(wrote) || !h.join(0) || h.state.Load() != wrote+2 {
		t.Errorf("two handles: %#x", h.state.Load())
	}
	if !h.bequeath() || h.state.Load() != wrote+removed+2 {
		t.Errorf("left to two: %#x", h.state.Load())
	}
	h.state.Store(shut)
	if h.join(0) || h.state.Load() != shut {
		t.Errorf("joined: %#x", h.state.Load())
	}
}

// TestRemovedIsReleasedOnce: what a removed file retains is released by its last
// handle, whoever takes openMu between the end of that and its release.
func TestRemovedIsReleasedOnce(t *testing.T) {
	ctx := t.Context()
	name := provider.MustPath("f")
	for what, between := range map[string]func(m *FS, h *handles){
		"nobody": func(*FS, *handles) {},
		"reap":   func(m *FS, _ *handles) { m.reap() },
		"retire": func(m *FS, h *handles) {
			if m.retire(h) {
				t.Error("retired before it was released")
			}
		},
		"settle": func(m *FS, h *handles) { m.settle(h) },
	} {
		m := New(Options{})
		if err := provider.WriteFile(ctx, m, name, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
		f, err := m.Open(ctx, name, provider.OpenOptions{Read: true, Write: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Remove(ctx, name); err != nil {
			t.Fatal(err)
		}
		h := f.(*file).h
		h.state.Add(-1) // as leave begins
		m.openMu.Lock()
		between(m, h)
		m.settle(h) // and as it ends
		m.openMu.Unlock()
		if u := m.Usage(); u != (Usage{}) {
			t.Errorf("%s: an empty tree is charged %+v", what, u)
		}
		checkTree(t, m)
	}
}

// TestHandlesAreListedUnderLock: while somebody else changes the list of open
// inodes, who removes one waits.
func TestHandlesAreListedUnderLock(t *testing.T) {
	ctx := t.Context()
	name := provider.MustPath("f")
	for what, take := range map[string]func(m *FS) error{
		"remove":  func(m *FS) error { return m.Remove(ctx, name) },
		"replace": func(m *FS) error { return provider.WriteFile(ctx, m, name, []byte("new"), 0) },
		"rename":  func(m *FS) error { return m.Rename(ctx, name, provider.MustPath("x"), provider.RenameOptions{}) },
		"clone":   func(m *FS) error { m.Clone(); return nil },
	} {
		for _, open := range []bool{false, true} {
			m := New(Options{})
			if err := provider.WriteFile(ctx, m, name, []byte("old"), 0); err != nil {
				t.Fatal(err)
			}
			f, err := m.Open(ctx, name, provider.OpenOptions{Read: true})
			if err != nil {
				t.Fatal(err)
			}
			if !open {
				f.Close()
			}
			h := f.(*file).h
			state, at := h.state.Load(), *h.at
			m.openMu.Lock()
			began := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				close(began)
				if err := take(m); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
			<-began
			for range 1000 {
				runtime.Gosched() // the other one gets as far as it can
			}
			if h.state.Load() != state || h.at == nil || *h.at != at {
				t.Errorf("%s, open %v: did not wait for the lock", what, open)
			}
			m.openMu.Unlock()
			wg.Wait()
			if open {
				f.Close()
			}
			checkTree(t, m)
		}
	}
}

// TestCloseWaitsForWrites: a handle counts until the last write through it is done,
// since a clone takes an inode without handles for one that does not change.
func TestCloseWaitsForWrites(t *testing.T) {
	m := New(Options{})
	f, err := m.Open(t.Context(), provider.MustPath("f"), provider.OpenOptions{Write: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	h := f.(*file).h
	h.n.mu.Lock() // as a write under way does
	var wg sync.WaitGroup
	wg.Go(func() { f.Close() })
	for !f.(*file).closed.Load() {
		runtime.Gosched()
	}
	for range 1000 {
		runtime.Gosched()
	}
	if h.state.Load()&countMask != 1 {
		t.Error("Close did not wait")
	}
	h.n.mu.Unlock()
	wg.Wait()
	if h.state.Load() != 0 {
		t.Errorf("state %#x", h.state.Load())
	}
}

// TestIdleHandlesAreFew: what is not open any more is kept in mind of few inodes
// only.
func TestIdleHandlesAreFew(t *testing.T) {
	ctx := t.Context()
	m := New(Options{})
	for i := range 10 * maxIdle {
		f, err := m.Open(ctx, provider.MustPath("f"+strconv.Itoa(i)), provider.OpenOptions{Write: true, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if m.listed > 2*maxIdle {
			t.Fatalf("%d are listed", m.listed)
		}
	}
	checkTree(t, m)
}

// TestMatchIsAskedAgain: a file that changed after its digest was found right is
// compared again.
func TestMatchIsAskedAgain(t *testing.T) {
	ctx := t.Context()
	name := provider.MustPath("f")
	for what, change := range map[string]func(m *FS, h provider.File) error{
		"write":   func(m *FS, h provider.File) error { _, err := h.WriteAt([]byte("X"), 0); return err },
		"replace": func(m *FS, h provider.File) error { return provider.WriteFile(ctx, m, name, []byte("old"), 0) },
		"nothing": func(m *FS, h provider.File) error { return nil },
	} {
		m := New(Options{})
		if err := provider.WriteFile(ctx, m, name, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
		h, err := m.Open(ctx, name, provider.OpenOptions{Read: true, Write: true})
		if err != nil {
			t.Fatal(err)
		}
		want := digestOf([]byte("old"))
		seen, err := m.checkMatch(name, want)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := m.readContent(ctx, strings.NewReader("new"))
		if err != nil {
			t.Fatal(err)
		}
		if err := change(m, h); err != nil {
			t.Fatal(err)
		}
		done, err := m.publish(name, c, provider.ReplaceOptions{If: provider.IfMatch(want)}, seen)
		if err != nil || done != (what == "nothing") {
			t.Errorf("%s: published %v, %v", what, done, err)
		}
	}
}

// TestStatTellsTheSameAgain: while nothing changes, Stat of a remembered path makes
// nothing; and what it told before stays as it was when something does.
func TestStatTellsTheSameAgain(t *testing.T) {
	ctx, name := t.Context(), provider.MustPath("d/f")
	m := New(Options{})
	m.unremembered.Store(1 << 20) // the path cache is there from the start
	err := errors.Join(m.Mkdir(ctx, name.Parent(), 0o755), provider.WriteFile(ctx, m, name, []byte("text"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.Open(ctx, name, provider.OpenOptions{Write: true, Append: true})
	if err != nil {
		t.Fatal(err)
	}
	stat := func() fs.FileInfo {
		t.Helper()
		info, err := m.Stat(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	for range 3 {
		stat()
	}
	if n := testing.AllocsPerRun(100, func() { stat() }); n != 0 {
		t.Errorf("%v allocations a Stat", n)
	}
	at := time.Unix(1234, 5678)
	for what, change := range map[string]func() error{
		"append":   func() error { _, _, err := h.Append([]byte("more")); return err },
		"truncate": func() error { return h.Truncate(1) },
		"chmod":    func() error { return m.Chmod(ctx, name, 0o600) },
		"chtimes":  func() error { at = at.Add(time.Second); return m.Chtimes(ctx, name, at, at) },
		"replace":  func() error { return provider.WriteFile(ctx, m, name, []byte("another text"), 0) },
	} {
		before := stat()
		was := fmt.Sprint(before.Name(), before.Size(), before.Mode(), before.ModTime())
		if err := change(); err != nil {
			t.Fatal(err)
		}
		got := stat()
		walked, err := m.findLocked(name)
		if err != nil {
			t.Fatal(err)
		}
		want := walked.attr()
		walked.mu.RUnlock()
		if got.Name() != "f" || got.Size() != want.size || got.Mode() != want.mode || got.ModTime().UnixNano() != want.mtime {
			t.Errorf("after %s: %v, want %v", what, got, want)
		}
		if now := fmt.Sprint(before.Name(), before.Size(), before.Mode(), before.ModTime()); now != was {
			t.Errorf("%s changed what was told before: %s to %s", what, was, now)
		}
	}
}

// TestNothingIsWrittenAfterTheMatch: a write through a handle comes before the
// comparison of IfMatch, or after all of the replacement, its time and its charge
// too.
func TestNothingIsWrittenAfterTheMatch(t *testing.T) {
	ctx, name := t.Context(), provider.MustPath("f")
	var n *inode
	asked, open := false, false
	m := New(Options{Now: func() time.Time {
		if n != nil {
			asked = true
			if n.mu.TryLock() {
				open = true
				n.mu.Unlock()
			}
		}
		return time.Unix(1, 0)
	}})
	if err := provider.WriteFile(ctx, m, name, []byte("old"), 0); err != nil {
		t.Fatal(err)
	}
	h, err := m.Open(ctx, name, provider.OpenOptions{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	n = h.(*file).h.n
	_, err = m.Replace(ctx, name, strings.NewReader("new"), provider.ReplaceOptions{If: provider.IfMatch(digestOf([]byte("old")))})
	if err != nil || !asked || open {
		t.Errorf("%v; the clock was asked: %v, while handles could write: %v", err, asked, open)
	}
}

// TestReserveIsOneStep: no number of reservations at once goes over the limit, and
// none is refused that fits.
func TestReserveIsOneStep(t *testing.T) {
	// In the window between looking and charging.
	q := &quota{maxBytes: 2}
	used := q.bytes.Load()
	if q.reserve(2) != nil || q.charge(used, 1) || q.bytes.Load() != 2 {
		t.Errorf("charged on top of what came between: %d of 2", q.bytes.Load())
	}
	if !q.charge(2, -2) || q.bytes.Load() != 0 {
		t.Error("not charged although nothing came between")
	}

	// And by chance: two goroutines want the one place there is, and give it back
	// at once, until it has gone from one to the other often.
	const often, most = 10_000, 10_000_000
	q = &quota{maxBytes: 1}
	var passed, over atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			refused := false
			for i := 0; i < most && passed.Load() < often && over.Load() == 0; i++ {
				if q.reserve(1) != nil {
					refused = true
					continue
				}
				if used := q.bytes.Load(); used > 1 {
					over.Store(used)
				}
				if refused {
					passed.Add(1)
					refused = false
				}
				q.reserve(-1)
			}
		})
	}
	wg.Wait()
	if n := over.Load(); n != 0 {
		t.Fatalf("%d of 1", n)
	}
	if used := q.bytes.Load(); used != 0 {
		t.Errorf("%d stay charged", used)
	}
	if q.reserve(1) != nil || q.reserve(1) == nil {
		t.Error("the limit is not exact")
	}
	t.Logf("the place changed hands %d times", passed.Load())
}

// TestTouchIsOneStep: while one of two directories bears the new time and the
// other the old, neither can be read.
func TestTouchIsOneStep(t *testing.T) {
	a, b := newDir(nil, 0, 0), newDir(nil, 0, 0)
	meanwhile(func(i int64) { touch(i, a, b) }, func() int64 {
		first := a.attr().mtime
		second := b.attr().mtime
		third := a.attr().mtime
		if first > second || second > third {
			t.Errorf("saw %d, then %d, then %d", first, second, third)
			return changes()
		}
		return third
	})
}

// TestAttrIsOneMoment: size and time of a file belong together.
func TestAttrIsOneMoment(t *testing.T) {
	n := newInode(nil, 0, 0)
	meanwhile(func(i int64) { n.update(func(a *attr) { a.size, a.mtime = i, i }) }, func() int64 {
		a := n.attr()
		if a.size != a.mtime {
			t.Errorf("size %d at time %d", a.size, a.mtime)
			return changes()
		}
		return a.size
	})
}

// changes is how many there are in a race of one writer with one reader.
func changes() int64 {
	if testing.Short() {
		return 100_000
	}
	return 1_000_000
}

// meanwhile looks, until it sees the last of many changes.
func meanwhile(change func(i int64), look func() int64) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range changes() {
			change(i + 1)
		}
	})
	for look() < changes() {
		if runtime.GOOS == "js" {
			runtime.Gosched() // nothing preempts a loop there
		}
	}
	wg.Wait()
}

// TestKeysAreCopied: the key of an entry is its own memory.
func TestKeysAreCopied(t *testing.T) {
	m := New(Options{})
	long := "name-of-a-file/"
	if err := m.Mkdir(t.Context(), provider.MustPath(long[:14]), 0o755); err != nil {
		t.Fatal(err)
	}
	for key := range m.root.entries.all {
		if unsafe.StringData(key) == unsafe.StringData(long) {
			t.Error("the key is part of the path")
		}
	}
}

// TestTrim: a file that nobody writes to has no large free capacity, in no chunk,
// however it came to be.
func TestTrim(t *testing.T) {
	ctx := t.Context()
	for _, size := range []int{1, 100, 5000, chunkSize - 1, chunkSize, chunkSize + 1, 2*chunkSize + 10} {
		m := New(Options{})
		data := strings.Repeat("x", size)
		if err := provider.WriteFile(ctx, m, provider.MustPath("replaced"), []byte(data), 0); err != nil {
			t.Fatal(err)
		}
		f, err := m.Open(ctx, provider.MustPath("appended"), provider.OpenOptions{Write: true, Append: true, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		for rest := data; rest != ""; {
			n := min(len(rest), 1000)
			if _, _, err := f.Append([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for key, n := range m.root.entries.all {
			free := cap(n.content.head) - len(n.content.head)
			if n.content.chunks != nil {
				for _, ch := range n.content.chunks.all {
					free += cap(ch.buf) - len(ch.buf)
				}
			}
			if last := (size-1)%chunkSize + 1; free > last+slack {
				t.Errorf("%s, %d bytes: %d free", key, size, free)
			}
		}
	}
}

// TestViewEnds: a write copies at most once while content is looked at, and nothing
// once nobody looks, however that ended.
func TestViewEnds(t *testing.T) {
	m := New(Options{})
	f, err := m.Open(t.Context(), provider.MustPath("f"), provider.OpenOptions{Read: true, Write: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := f.(*file).h.n
	writes := func() (copied bool) {
		t.Helper()
		before := n.content
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		return n.content != before
	}
	view := f.(provider.ContentViewer).ViewContent
	writes()
	view(1, func([]byte) {
		view(1, func([]byte) {})
		if !writes() || writes() {
			t.Error("beside a view the first write copies, and no other")
		}
	})
	if writes() {
		t.Error("a write copies after a view that was written beside")
	}
	view(1, func([]byte) {})
	if writes() {
		t.Error("a write copies after a view")
	}
	reason := errors.New("a reason")
	func() {
		defer func() {
			if got := recover(); got != reason {
				t.Errorf("the panic of fn arrives as %v", got)
			}
		}()
		view(1, func([]byte) { panic(reason) })
	}()
	if writes() {
		t.Error("a write copies after a view that ended in a panic")
	}
}
