//go:build linux

package policyfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// flagObjects are what can be at the name that is opened.
var flagObjects = []string{"file", "missing", "dir", "link", "dangling", "file/", "dir/", "missing/", "file/x", "missing/x"}

// flagWorld makes the objects in a box, or in a plain host directory.
func flagWorld(mkdir func(string), file func(string, string), link func(string, string)) {
	mkdir("dir")
	file("dir/a", "1")
	file("dir/b", "22")
	file("dir/c", "333")
	file("file", "0123456789")
	link("link", "file")
	link("dangling", "nowhere")
}

// errClass says what an error is, in the words that both sides share.
func errClass(err error) string {
	var errno syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case err == io.EOF:
		return "EOF"
	case errors.Is(err, fs.ErrClosed), strings.HasSuffix(err.Error(), "use of closed file"):
		return "closed"
	case errors.Is(err, provider.ErrSymlink):
		return fmt.Sprintf("%v", syscall.ELOOP)
	case errors.As(err, &errno):
		return fmt.Sprintf("%v", errno)
	case strings.Contains(err.Error(), "negative offset"), strings.Contains(err.Error(), "invalid use of WriteAt"):
		return fmt.Sprintf("%v", syscall.EINVAL)
	case errors.Is(err, fs.ErrExist):
		return fmt.Sprintf("%v", syscall.EEXIST)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%v", syscall.ENOENT)
	case errors.Is(err, fs.ErrInvalid):
		return fmt.Sprintf("%v", syscall.EINVAL)
	}
	return err.Error()
}

// handleOp is one call of a handle script.
type handleOp struct {
	op     string
	data   string
	n, off int64
	whence int
}

// handleScript is the fixed script: everything once, in an order that matters.
var handleScript = []handleOp{
	{op: "stat"}, {op: "name"}, {op: "read", n: 3}, {op: "readat", n: 4, off: 1}, {op: "readat", n: 100, off: 8}, {op: "readat", n: 1, off: 100},
	{op: "readat", n: 1, off: -1}, {op: "readat", n: 0, off: -1}, {op: "readat", n: 0, off: 0}, {op: "read", n: 0},
	{op: "seek", off: 0, whence: 1}, {op: "seek", off: -1, whence: 0}, {op: "seek", off: 0, whence: 9}, {op: "seek", off: -1, whence: 99}, {op: "seek", off: 0, whence: 1},
	{op: "write", data: "ab"}, {op: "seek", off: 0, whence: 1}, {op: "read", n: 2}, {op: "writeat", data: "cd", off: 1}, {op: "writeat", data: "", off: 1},
	{op: "writeat", data: "x", off: -1}, {op: "writestring", data: "e"}, {op: "seek", off: 2, whence: 2}, {op: "write", data: "z"}, {op: "write", data: ""},
	{op: "content"}, {op: "truncate", n: 3}, {op: "content"}, {op: "truncate", n: 6}, {op: "content"}, {op: "truncate", n: -1}, {op: "seek", off: 0, whence: 1},
	{op: "seek", off: 0, whence: 0}, {op: "read", n: 100}, {op: "read", n: 100}, {op: "sync"},
	{op: "readdir", n: 1}, {op: "readdirnames", n: 1}, {op: "readDir", n: 1}, {op: "readDir", n: 1}, {op: "readDir", n: -1},
	{op: "seek", off: 0, whence: 0}, {op: "readDir", n: 0}, {op: "readdir", n: -1}, {op: "readdirnames", n: 2},
	{op: "content"}, {op: "stat"}, {op: "close"}, {op: "close"},
	{op: "read", n: 1}, {op: "read", n: 0}, {op: "readat", n: 1}, {op: "write", data: "x"}, {op: "write", data: ""}, {op: "writestring", data: "x"}, {op: "truncate", n: 1},
	{op: "seek"}, {op: "stat"}, {op: "sync"}, {op: "readdir", n: 1}, {op: "readdirnames", n: -1}, {op: "readDir", n: 1}, {op: "name"}, {op: "content"},
}

// randomScript generates a script of n calls.
func randomScript(rng *rand.Rand, n int) []handleOp {
	ops := []string{"read", "readat", "write", "write", "writeat", "writestring", "seek", "truncate", "stat", "content", "sync", "readDir", "readdirnames"}
	script := make([]handleOp, n)
	for i := range script {
		script[i] = handleOp{
			op: ops[rng.IntN(len(ops))], data: strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(6)),
			n: rng.Int64N(14) - 1, off: rng.Int64N(24) - 2, whence: []int{0, 1, 2, 9}[rng.IntN(4)],
		}
	}
	return append(script, handleOp{op: "content"}, handleOp{op: "close"})
}

// runScript runs a script on a handle. content reads the file by another way.
func runScript(h afero.File, name string, script []handleOp, content func() string) []string {
	out := make([]string, 0, len(script))
	for _, s := range script {
		line := fmt.Sprintf("%+v: ", s)
		switch s.op {
		case "stat":
			i, err := h.Stat()
			if err != nil {
				line += errClass(err)
			} else if i.IsDir() {
				line += fmt.Sprint(i.Name(), i.Mode())
			} else {
				line += fmt.Sprint(i.Name(), i.Mode(), i.Size())
			}
		case "name":
			line += fmt.Sprint(strings.HasSuffix(h.Name(), name))
		case "read":
			buf := make([]byte, max(s.n, 0))
			n, err := h.Read(buf)
			line += fmt.Sprintf("%q %s", buf[:n], errClass(err))
		case "readat":
			buf := make([]byte, max(s.n, 0))
			n, err := h.ReadAt(buf, s.off)
			line += fmt.Sprintf("%q %s", buf[:n], errClass(err))
		case "write":
			n, err := h.Write([]byte(s.data))
			line += fmt.Sprint(n, errClass(err))
		case "writestring":
			n, err := h.WriteString(s.data)
			line += fmt.Sprint(n, errClass(err))
		case "writeat":
			n, err := h.WriteAt([]byte(s.data), s.off)
			line += fmt.Sprint(n, errClass(err))
		case "seek":
			n, err := h.Seek(s.off, s.whence)
			line += fmt.Sprint(n, errClass(err))
		case "truncate":
			line += errClass(h.Truncate(s.n))
		case "sync":
			line += errClass(h.Sync())
		case "close":
			line += errClass(h.Close())
		case "readdir":
			list, err := h.Readdir(int(s.n))
			line += fmt.Sprint(len(list), errClass(err))
		case "readdirnames":
			list, err := h.Readdirnames(int(s.n))
			line += fmt.Sprint(len(list), errClass(err))
		case "readDir":
			list, err := h.(fs.ReadDirFile).ReadDir(int(s.n))
			line += fmt.Sprint(len(list), errClass(err))
		case "content":
			line += content()
		}
		out = append(out, line)
	}
	return out
}

// flagSide is one side of the comparison: package os, or the face over a storage.
// fresh makes the objects in a new directory and returns its name.
type flagSide struct {
	fresh   func() string
	open    func(name string, flag int, perm fs.FileMode) (afero.File, error)
	content func(name string) string
}

func osSide(t testing.TB) flagSide {
	dir := t.TempDir()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	worlds := 0
	return flagSide{
		fresh: func() string {
			worlds++
			at := fmt.Sprint(worlds, "/")
			must(os.Mkdir(dir+"/"+at, 0o755))
			flagWorld(
				func(n string) { must(os.Mkdir(dir+"/"+at+n, 0o755)) },
				func(n, c string) { must(os.WriteFile(dir+"/"+at+n, []byte(c), 0o644)) },
				func(n, target string) { must(os.Symlink(target, dir+"/"+at+n)) })
			return at
		},
		open: func(name string, flag int, perm fs.FileMode) (afero.File, error) {
			f, err := os.OpenFile(dir+"/"+name, flag|syscall.O_NOFOLLOW, perm)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		content: func(name string) string {
			data, err := os.ReadFile(dir + "/" + name)
			return fmt.Sprintf("%q %v", data, err != nil)
		},
	}
}

func faceSide(t testing.TB, kind string) flagSide {
	b := newBox(t, kind)
	b.open()
	f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, fullSpec())})
	worlds := 0
	return flagSide{
		fresh: func() string {
			worlds++
			at := fmt.Sprint(worlds, "/")
			b.mkdir("W/" + at)
			flagWorld(
				func(n string) { b.mkdir("W/" + at + n) },
				func(n, c string) { b.file("W/"+at+n, c) },
				func(n, target string) { b.link("W/"+at+n, target) })
			return at
		},
		open: f.OpenFile,
		content: func(name string) string {
			data, err := b.content("W/" + name)
			return fmt.Sprintf("%q %v", data, err != nil)
		},
	}
}

// TestFlagMatrix opens every kind of object with every combination of flags, on
// package os, memory and disk, and runs scripts on the handles: the same answers.
func TestFlagMatrix(t *testing.T) {
	defer hostUmask(hostUmask(0o022))
	oracle := osSide(t)
	sides := map[string]flagSide{}
	for _, kind := range boxKinds {
		sides[kind] = faceSide(t, kind)
	}
	cells, scripts := 0, 0
	random := scale(1, 2, 200)
	for _, object := range flagObjects {
		for _, flag := range openFlags() {
			cells++
			t.Run(object+" "+flagText(flag), func(t *testing.T) {
				for i := range random + 1 {
					script := handleScript
					if i > 0 && strings.HasPrefix(object, "dir") {
						break // positions in a directory other than its start are not offered
					}
					if i > 0 {
						script = randomScript(rand.New(rand.NewPCG(uint64(flag), uint64(i))), 40)
					}
					scripts++
					want := flagCell(oracle, object, flag, script)
					for _, kind := range boxKinds {
						got := flagCell(sides[kind], object, flag, script)
						if !slices.Equal(got, want) {
							for j := range max(len(got), len(want)) {
								if j >= len(got) || j >= len(want) || got[j] != want[j] {
									t.Errorf("%s, script %d, step %d:\n got %v\nwant %v", kind, i, j, at(got, j), at(want, j))
									break
								}
							}
						}
					}
					if want[0] != "ok" {
						break // nothing to run a script on
					}
				}
			})
		}
	}
	t.Logf("%d cells, %d scripts, 3 storages", cells, scripts)
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// flagCell opens and runs the script; the first line is the answer of the open.
func flagCell(s flagSide, object string, flag int, script []handleOp) []string {
	dir := s.fresh()
	others := func() []string {
		return []string{s.content(dir + "missing"), s.content(dir + "file"), s.content(dir + "nowhere")}
	}
	h, err := s.open(dir+object, flag, 0o640)
	if err != nil {
		return append([]string{errClass(err)}, others()...)
	}
	defer h.Close()
	out := append([]string{"ok"}, runScript(h, object, script, func() string { return s.content(dir + object) })...)
	return append(out, others()...)
}
