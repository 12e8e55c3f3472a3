package policyfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestConcurrentHandle uses one handle from many goroutines, Close included: no
// race, every error is one that the state explains, and what is read was written.
func TestConcurrentHandle(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			f, _ := face(t, kind, policyfs.Options{})
			if err := f.MkdirAll("/dir/sub", 0o755); err != nil {
				t.Fatal(err)
			}
			for range scale(3, 10, 100) {
				h, err := f.OpenFile("/file", os.O_RDWR|os.O_CREATE, 0o644)
				if err != nil {
					t.Fatal(err)
				}
				d, err := f.Open("/dir")
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				check := func(err error) {
					if err != nil && err != io.EOF && !errors.Is(err, fs.ErrClosed) {
						t.Error(err)
					}
				}
				for i := range 8 {
					wg.Go(func() {
						buf := make([]byte, 16)
						for j := range 20 {
							switch (i + j) % 10 {
							case 0:
								_, err := h.Write([]byte("0123456789"))
								check(err)
							case 1:
								n, err := h.Read(buf)
								check(err)
								if strings.Trim(string(buf[:n]), "0123456789x\x00") != "" {
									t.Errorf("read %q", buf[:n])
								}
							case 2:
								_, err := h.WriteAt([]byte("xxxx"), int64(j))
								check(err)
							case 3:
								_, err := h.Seek(int64(j), io.SeekStart)
								check(err)
							case 4:
								_, err := h.Stat()
								check(err)
							case 5:
								check(h.Truncate(int64(j * 10)))
							case 6:
								_, err := d.Readdirnames(1)
								check(err)
							case 7:
								_, err := d.Seek(0, io.SeekStart)
								check(err)
							case 8:
								_, err := d.(fs.ReadDirFile).ReadDir(-1)
								check(err)
							case 9:
								if i == 0 && j > 10 {
									check(h.Close())
									check(d.Close())
								}
							}
						}
					})
				}
				wg.Wait()
				h.Close()
				d.Close()
			}
		})
	}
}

// TestConcurrentAppend: appends through many handles and values never overlap.
func TestConcurrentAppend(t *testing.T) {
	for _, kind := range boxKinds {
		f, _ := face(t, kind, policyfs.Options{})
		lines := scale(20, 50, 500)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				h, err := f.OpenFile("/log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
				if err != nil {
					t.Error(err)
					return
				}
				defer h.Close()
				for j := range lines {
					if _, err := fmt.Fprintf(h, "%d:%d\n", i, j); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		data, _, err := f.ReadFile("/log")
		if err != nil {
			t.Fatal(err)
		}
		next := map[string]int{}
		n := 0
		for line := range strings.Lines(string(data)) {
			var i, j int
			if _, err := fmt.Sscanf(line, "%d:%d\n", &i, &j); err != nil || j != next[fmt.Sprint(i)] {
				t.Fatalf("%s: line %q", kind, line)
			}
			next[fmt.Sprint(i)]++
			n++
		}
		if n != 8*lines {
			t.Errorf("%s: %d lines, want %d", kind, n, 8*lines)
		}
	}
}

// TestConcurrentExclusive: of many exclusive creates, whatever the method, exactly
// one wins; and of many edits of what was read, exactly one.
func TestConcurrentExclusive(t *testing.T) {
	for _, kind := range boxKinds {
		f, _ := face(t, kind, policyfs.Options{})
		for round := range scale(5, 20, 300) {
			name := fmt.Sprintf("/f%d", round)
			var won atomic.Int64
			var wg sync.WaitGroup
			for i := range 6 {
				wg.Go(func() {
					var err error
					switch i % 3 {
					case 0:
						_, err = closed(f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644))
					case 1:
						_, err = f.WriteFile(name, nil, provider.ReplaceOptions{If: provider.IfAbsent()})
					case 2:
						err = f.Mkdir(name, 0o755)
					}
					if err == nil {
						won.Add(1)
					} else if !errors.Is(err, fs.ErrExist) {
						t.Errorf("%s: %v", kind, err)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%s: %d of the exclusive creates won", kind, won.Load())
			}
		}
		if _, err := f.WriteFile("/edit", []byte("0"), provider.ReplaceOptions{}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var edits atomic.Int64
		for range 4 {
			wg.Go(func() {
				for range scale(5, 20, 200) {
					data, digest, err := f.ReadFile("/edit")
					if err != nil {
						t.Error(err)
						return
					}
					_, err = f.WriteFile("/edit", append(data, 'x'), provider.ReplaceOptions{If: provider.IfMatch(digest)})
					if err == nil {
						edits.Add(1)
					} else if !errors.Is(err, provider.ErrConflict) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		data, _, err := f.ReadFile("/edit")
		if err != nil || int64(len(data)) != edits.Load()+1 {
			t.Errorf("%s: %d bytes after %d edits, %v", kind, len(data), edits.Load(), err)
		}
	}
}

// fuzzNames are the names that operation sequences use.
var fuzzNames = []string{
	"/", "/a", "/a/b", "/a/b/c", "/d", "/d/e", "/locked", "/locked/x", "/.env", "/a/.git", "/a/.git/config", "/node_modules", "/a/node_modules/m",
	"/secret", "/secret/s", "/SECRET/s", "/a/", "a/./b", "/workspace/a", "/a/../d", "/se\u200bcret", "/d/link", "/d/link/x", "",
}

// FuzzOperations runs sequences of operations through a policed face: nothing
// panics, what may not be read is never told, and what may not be written stays.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte{2, 1, 3, 2, 11, 1, 14, 10, 4, 20, 5, 6, 11, 5, 7, 30, 12, 40})
	f.Add(bytes.Repeat([]byte{10, 1, 4, 10, 4, 1}, 20))
	f.Add([]byte{8, 0, 8, 1, 8, 6, 8, 13, 9, 0, 9, 13, 10, 13, 1, 10, 6, 1, 10, 1, 6, 10, 4, 6})
	calls := faceCalls()
	spec := policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"}, DenyRead: []string{"secret"}, DenyWrite: []string{"secret", "locked"},
		DenyWriteComponent: []string{"node_modules"}, AllowRecursiveDelete: true,
	}
	pol, err := policyfs.Compile(spec)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		m := memfs.New(memfs.Options{MaxBytes: 1 << 20})
		b := &box{t: t, memory: true, w: m}
		for name, content := range map[string]string{
			"W/a/b/c": "c", "W/d/e": "e", "W/locked/x": "LOCKED", "W/.env": "SECRET", "W/a/.git/config": "SECRET", "W/a/node_modules/m": "MODULE", "W/secret/s": "SECRET",
		} {
			b.file(name, content)
		}
		b.link("W/d/link", "../secret")
		fsys := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: pol, ResolveParents: len(script)%2 == 0, CreateParents: len(script)%3 == 0})
		handles := []afero.File{}
		next := func() byte {
			if len(script) == 0 {
				return 0
			}
			c := script[0]
			script = script[1:]
			return c
		}
		for steps := 0; len(script) > 0 && steps < 200; steps++ {
			c := calls[int(next())%len(calls)]
			names := []string{fuzzNames[int(next())%len(fuzzNames)], fuzzNames[int(next())%len(fuzzNames)]}[:c.names]
			out, err := c.do(fsys, names...)
			text := out
			if err != nil {
				text += err.Error()
			}
			if strings.Contains(strings.ReplaceAll(text, "/SECRET", ""), "SECRET") {
				t.Fatalf("%s(%q) tells %q", c.label, names, text)
			}
			if h, err := fsys.OpenFile(names[0], int(next())%4|os.O_APPEND*int(next()%2), 0); err == nil {
				handles = append(handles, h)
			}
			if len(handles) > 0 {
				h := handles[int(next())%len(handles)]
				h.WriteString("w")
				h.Readdirnames(1)
				h.Truncate(int64(next()))
				buf := make([]byte, 10)
				if n, _ := h.ReadAt(buf, 0); strings.Contains(string(buf[:n]), "SECRET") {
					t.Fatalf("a handle of %q reads %q", h.Name(), buf[:n])
				}
			}
		}
		for _, h := range handles {
			h.Close()
		}
		for name, want := range map[string]string{
			"W/locked/x": "LOCKED", "W/.env": "SECRET", "W/a/.git/config": "SECRET", "W/a/node_modules/m": "MODULE", "W/secret/s": "SECRET",
		} {
			if got, err := b.content(name); err != nil || got != want {
				t.Fatalf("%s is %q, %v", name, got, err)
			}
		}
	})
}
