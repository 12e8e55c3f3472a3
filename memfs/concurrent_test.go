package memfs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

const goroutines = 16

// crowded makes goroutines take turns often, on a small machine too.
func crowded(t *testing.T, opts memfs.Options) *memfs.FS {
	procs := runtime.GOMAXPROCS(goroutines)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	opts.Now = func() time.Time { runtime.Gosched(); return time.Now() }
	return memfs.New(opts)
}

func crowd(f func(i int)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range goroutines {
		wg.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	wg.Wait()
}

// TestOneWinner lets many try what only one may succeed in.
func TestOneWinner(t *testing.T) {
	ctx := t.Context()
	for _, insensitive := range []bool{false, true} {
		ways := map[string]func(m *memfs.FS, name provider.Path) error{
			"create": func(m *memfs.FS, name provider.Path) error {
				f, err := m.Open(ctx, name, provider.OpenOptions{Write: true, Create: true, Exclusive: true})
				if err == nil {
					err = f.Close()
				}
				return err
			},
			"mkdir": func(m *memfs.FS, name provider.Path) error { return m.Mkdir(ctx, name, 0o755) },
			"replace": func(m *memfs.FS, name provider.Path) error {
				_, err := m.Replace(ctx, name, strings.NewReader("x"), provider.ReplaceOptions{If: provider.IfAbsent()})
				return err
			},
			"link": func(m *memfs.FS, name provider.Path) error { return m.Symlink("x", name) },
		}
		for way, do := range ways {
			m := crowded(t, memfs.Options{CaseInsensitive: insensitive})
			for round := range 50 {
				var won atomic.Int32
				crowd(func(i int) {
					name := fmt.Sprintf("file%d", round)
					if insensitive && i%2 == 0 {
						name = strings.ToUpper(name)
					}
					switch err := do(m, provider.MustPath(name)); {
					case err == nil:
						won.Add(1)
					case !errors.Is(err, fs.ErrExist):
						t.Errorf("%s: %v", way, err)
					}
				})
				if won.Load() != 1 {
					t.Fatalf("%s: %d winners", way, won.Load())
				}
			}
		}
	}
}

// TestReplaceIfMatchLosesNothing counts to a total in a file, each step read,
// compare and replace.
func TestReplaceIfMatchLosesNothing(t *testing.T) {
	ctx := t.Context()
	m := crowded(t, memfs.Options{})
	name := provider.MustPath("counter")
	if err := provider.WriteFile(ctx, m, name, make([]byte, 8), 0); err != nil {
		t.Fatal(err)
	}
	const each = 20
	crowd(func(int) {
		for done := 0; done < each; {
			data, err := m.ReadFile(ctx, name, 0)
			if err != nil {
				t.Error(err)
				return
			}
			old := digest(data)
			binary.BigEndian.PutUint64(data, binary.BigEndian.Uint64(data)+1)
			_, err = m.Replace(ctx, name, bytes.NewReader(data), provider.ReplaceOptions{If: provider.IfMatch(old)})
			switch {
			case err == nil:
				done++
			case !errors.Is(err, provider.ErrConflict):
				t.Error(err)
				return
			}
		}
	})
	data, err := m.ReadFile(ctx, name, 0)
	if err != nil || binary.BigEndian.Uint64(data) != goroutines*each {
		t.Errorf("%d, %v, want %d", binary.BigEndian.Uint64(data), err, goroutines*each)
	}
}

// TestConcurrentAppend appends records of many lengths, over the borders of
// chunks, through one handle and through many: each is there once, whole.
func TestConcurrentAppend(t *testing.T) {
	ctx := t.Context()
	for _, shared := range []bool{true, false} {
		m := crowded(t, memfs.Options{})
		name := provider.MustPath("log")
		open := func() provider.File {
			f, err := m.Open(ctx, name, provider.OpenOptions{Write: true, Append: true, Create: true})
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		one := open()
		const each = 40
		var ends sync.Map
		crowd(func(i int) {
			f := one
			if !shared {
				f = open()
				defer f.Close()
			}
			for j := range each {
				// A record: its length, then that many bytes of one kind.
				size := 4 + (i*977+j*3301)%2000
				rec := bytes.Repeat([]byte{byte(i)}, size)
				binary.BigEndian.PutUint32(rec, uint32(size))
				n, end, err := f.Append(rec)
				if err != nil || n != size {
					t.Errorf("append: %d, %v", n, err)
				}
				if _, twice := ends.LoadOrStore(end, true); twice {
					t.Errorf("two appends ended at %d", end)
				}
			}
		})
		data, err := m.ReadFile(ctx, name, 0)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for len(data) > 0 {
			size := binary.BigEndian.Uint32(data)
			if int(size) > len(data) || size < 4 {
				t.Fatalf("record of %d, %d left", size, len(data))
			}
			if rest := data[4:size]; len(rest) > 0 && bytes.Count(rest, rest[:1]) != len(rest) {
				t.Fatal("records are mixed")
			}
			data = data[size:]
			count++
		}
		if count != goroutines*each {
			t.Errorf("%d records, want %d", count, goroutines*each)
		}
		one.Close()
	}
}

// TestCloneIsOneMoment writes each number to file x and then to y, through open
// handles; in every clone y may lag behind x by one, never run ahead.
func TestCloneIsOneMoment(t *testing.T) {
	ctx := t.Context()
	m := crowded(t, memfs.Options{})
	open := func(name string) provider.File {
		f, err := m.Open(ctx, provider.MustPath(name), provider.OpenOptions{Write: true, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	number := func(m *memfs.FS, name string) uint64 {
		data, err := m.ReadFile(ctx, provider.MustPath(name), 0)
		if err != nil || len(data) != 8 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
			return 0
		}
		return binary.BigEndian.Uint64(data)
	}
	// y is opened first: a clone that locked one file after the other would come
	// to x, the later one in its list, before the write, and to y after it.
	y, x := open("y"), open("x")
	defer x.Close()
	defer y.Close()
	var zero [8]byte
	x.WriteAt(zero[:], 0)
	y.WriteAt(zero[:], 0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := uint64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var buf [8]byte
			binary.BigEndian.PutUint64(buf[:], i)
			x.WriteAt(buf[:], 0)
			y.WriteAt(buf[:], 0)
		}
	})
	for range 500 {
		c := m.Clone()
		nx, ny := number(c, "x"), number(c, "y")
		if ny > nx || nx > ny+1 {
			t.Fatalf("a clone has x = %d and y = %d", nx, ny)
		}
	}
	close(stop)
	wg.Wait()
}

// TestQuotaNeverExceeded writes more than fits, from all sides.
func TestQuotaNeverExceeded(t *testing.T) {
	ctx := t.Context()
	const most = 100_000
	m := crowded(t, memfs.Options{MaxBytes: most, MaxFiles: 40})
	over := func() {
		if u := m.Usage(); u.Bytes > most || u.Bytes < 0 || u.Files > 40 || u.Files < 0 {
			t.Errorf("usage %+v", u)
		}
	}
	crowd(func(i int) {
		for j := range 60 {
			name := provider.MustPath(fmt.Sprintf("f%d", (i*7+j)%50))
			f, err := m.Open(ctx, name, provider.OpenOptions{Write: true, Append: true, Create: true, Truncate: j%5 == 0})
			if err != nil {
				if !errors.Is(err, provider.ErrQuota) {
					t.Error(err)
				}
				continue
			}
			if _, _, err := f.Append(make([]byte, 1000+100*i)); err != nil && !errors.Is(err, provider.ErrQuota) {
				t.Error(err)
			}
			over()
			if j%3 == 0 {
				m.Remove(ctx, name)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			over()
		}
	})
	for i := range 50 {
		m.Remove(ctx, provider.MustPath(fmt.Sprintf("f%d", i)))
	}
	if u := m.Usage(); u != (memfs.Usage{}) {
		t.Errorf("an empty tree is charged %+v", u)
	}
}

// TestCloseRaces closes handles that are in use: every operation works or is
// fs.ErrClosed, one Close wins, and nothing stays charged.
func TestCloseRaces(t *testing.T) {
	ctx := t.Context()
	m := crowded(t, memfs.Options{})
	for range 50 {
		name := provider.MustPath("f")
		f, err := m.Open(ctx, name, provider.OpenOptions{Read: true, Write: true, Append: true, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		var closed atomic.Int32
		crowd(func(i int) {
			var err error
			switch i % 6 {
			case 0:
				_, err = f.WriteAt([]byte("data"), 5)
			case 1:
				_, _, err = f.Append([]byte("more"))
			case 2:
				err = f.Truncate(3)
			case 3:
				_, err = f.ReadAt(make([]byte, 1), 0)
				if err != nil && err.Error() == "EOF" {
					err = nil
				}
			case 4:
				_ = m.Remove(ctx, name)
			case 5:
				if err = f.Close(); err == nil {
					closed.Add(1)
				}
			}
			if err != nil && !errors.Is(err, fs.ErrClosed) {
				t.Error(err)
			}
		})
		if closed.Load() != 1 {
			t.Fatalf("closed %d times", closed.Load())
		}
		m.Remove(ctx, name)
		if u := m.Usage(); u != (memfs.Usage{}) {
			t.Fatalf("an empty tree is charged %+v", u)
		}
	}
}

// TestEverythingAtOnce only asks that nothing breaks (run it with -race) and
// that the tree is empty in the end.
func TestEverythingAtOnce(t *testing.T) {
	ctx := t.Context()
	m := crowded(t, memfs.Options{})
	var clones sync.Map
	crowd(func(i int) {
		tree := m
		for j := range 200 {
			p := provider.MustPath(fmt.Sprintf("d%d", (i+j)%3))
			q, _ := p.Join(fmt.Sprintf("f%d", j%4))
			switch (i + j*5) % 11 {
			case 0:
				tree.Mkdir(ctx, p, 0o755)
			case 1, 2:
				provider.WriteFile(ctx, tree, q, []byte("content"), 0)
			case 3:
				tree.ReadFile(ctx, q, 0)
			case 4:
				tree.Rename(ctx, p, provider.MustPath(fmt.Sprintf("d%d", j%3)), provider.RenameOptions{})
			case 5:
				tree.Remove(ctx, q)
			case 6:
				if f, err := tree.Open(ctx, p, provider.OpenOptions{Read: true}); err == nil {
					list, _ := f.ReadDir(0)
					for _, e := range list {
						e.Info()
						f.(provider.EntryRemover).RemoveEntry(e.Name(), e.IsDir())
					}
					f.Close()
				}
			case 7:
				tree.Chmod(ctx, q, 0o600)
				tree.Chtimes(ctx, p, time.Time{}, time.Now())
			case 8:
				if f, err := tree.Open(ctx, q, provider.OpenOptions{Read: true, Write: true}); err == nil {
					f.WriteAt([]byte("x"), 300<<10)
					tree.Stat(ctx, q)
					f.Close()
				}
			case 9:
				tree.Rename(ctx, q, provider.MustPath("g"), provider.RenameOptions{})
			case 10:
				if j%4 == 0 {
					c := tree.Clone()
					clones.Store(c, true)
					if j%8 == 0 {
						tree = c
					}
				}
			}
		}
	})
	empty := func(m *memfs.FS) {
		for _, d := range []string{"d0", "d1", "d2", "."} {
			f, err := m.Open(ctx, provider.MustPath(d), provider.OpenOptions{Read: true})
			if err != nil {
				continue
			}
			list, _ := f.ReadDir(0)
			for _, e := range list {
				f.(provider.EntryRemover).RemoveEntry(e.Name(), e.IsDir())
			}
			f.Close()
		}
		if u := m.Usage(); u != (memfs.Usage{}) {
			t.Errorf("an empty tree is charged %+v", u)
		}
	}
	empty(m)
	clones.Range(func(c, _ any) bool { empty(c.(*memfs.FS)); return true })
}
