package policyfs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// fsBug is one case of testdata/fs_bugs.json.
type fsBug struct {
	Name        string
	SeenIn      string `json:"seen_in"`
	Kind        string
	Steps       []string
	RightAnswer string `json:"right_answer"`
}

func loadFSBugs(t testing.TB) []fsBug {
	t.Helper()
	data, err := os.ReadFile("testdata/fs_bugs.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []fsBug }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// bugRun replays one case on one storage.
type bugRun struct {
	*box
	face    *policyfs.FS
	fs      afero.Fs
	handles map[string]afero.File
	times   map[string]time.Time
}

// newBugRun makes a face that allows everything and resolves "..".
func newBugRun(t testing.TB, kind string) *bugRun {
	b := newBox(t, kind)
	b.open()
	face := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: compile(t, fullSpec()), ResolveParents: true})
	r := &bugRun{b, face, face, map[string]afero.File{}, map[string]time.Time{}}
	t.Cleanup(func() {
		for _, h := range r.handles {
			h.Close()
		}
	})
	return r
}

func compile(t testing.TB, s policyfs.Spec) policyfs.Policy {
	t.Helper()
	p, err := policyfs.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bugValue is what a step gave.
type bugValue struct {
	err  error
	text string // content, listing, name
	n    int
	info fs.FileInfo
	has  string // which of the above counts
}

var bugStep = regexp.MustCompile(`^(?:(\w+)=)?(?:(\w+)\.)?(\w+)\((.*?)\)(?:\.(\w+)(?:\(\))?)?$`)

var bugFlags = map[string]int{
	"RDONLY": os.O_RDONLY, "WRONLY": os.O_WRONLY, "RDWR": os.O_RDWR, "APPEND": os.O_APPEND,
	"CREATE": os.O_CREATE, "EXCL": os.O_EXCL, "TRUNC": os.O_TRUNC, "SYNC": os.O_SYNC,
}

// step does one step of the mini language: [var=][handle.]Call(args)[.more] [-> expectation].
// not, if set, is an expectation that must not hold.
func (r *bugRun) step(text, not string) error {
	action, want, checked := strings.Cut(text, " -> ")
	m := bugStep.FindStringSubmatch(action)
	if m == nil {
		return fmt.Errorf("step %q is not understood", text)
	}
	variable, handle, call, more := m[1], m[2], m[3], m[5]
	var args []string
	if m[4] != "" {
		args = strings.Split(m[4], ",")
	}
	for i, a := range args {
		args[i] = strings.ReplaceAll(strings.Trim(a, "'"), `\0`, "\x00")
	}
	var v bugValue
	if handle != "" {
		h := r.handles[handle]
		if h == nil {
			return fmt.Errorf("step %q: no handle", text)
		}
		v = r.onHandle(h, call, args)
	} else {
		v = r.onFS(variable, call, args)
	}
	if more == "Close" && v.err == nil {
		v.err = r.handles[variable].Close()
		delete(r.handles, variable)
	}
	if call == "Stat" && variable != "" && v.err == nil {
		r.times[variable] = v.info.ModTime()
	}
	if !checked {
		if v.err != nil && handle == "" {
			return fmt.Errorf("%s: %w", text, v.err)
		}
		return nil
	}
	if err := r.expect(v, want, more); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if not != "" && r.expect(v, not, more) == nil {
		return fmt.Errorf("%s: %s holds too, the override is not needed", text, not)
	}
	return nil
}

func bugArg(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

func bugMode(args []string, i int) fs.FileMode {
	n, err := strconv.ParseUint(bugArg(args, i), 8, 32)
	if err != nil {
		return 0o755
	}
	return fs.FileMode(n)
}

// onFS calls a method of the face.
func (r *bugRun) onFS(variable, call string, a []string) (v bugValue) {
	name := bugArg(a, 0)
	open := func(f afero.File, err error) {
		if v.err = err; err == nil {
			r.handles[variable] = f
		}
	}
	switch call {
	case "MkdirAll":
		v.err = r.fs.MkdirAll(name, bugMode(a, 1))
	case "Mkdir":
		v.err = r.fs.Mkdir(name, bugMode(a, 1))
	case "WriteFile":
		v.err = afero.WriteFile(r.fs, name, []byte(bugArg(a, 1)), 0o644)
	case "ReadFile":
		var data []byte
		data, v.err = afero.ReadFile(r.fs, name)
		v.text, v.has = string(data), "text"
	case "ReadAll":
		var data []byte
		data, v.err = io.ReadAll(r.handles[name])
		v.text, v.has = string(data), "text"
	case "Remove":
		v.err = r.fs.Remove(name)
	case "RemoveAll":
		v.err = r.fs.RemoveAll(name)
	case "Rename":
		v.err = r.fs.Rename(name, bugArg(a, 1))
	case "Stat":
		v.info, v.err = r.fs.Stat(name)
		v.has = "info"
	case "Lstat":
		v.info, _, v.err = r.face.LstatIfPossible(name)
		v.has = "info"
	case "Chmod":
		v.err = r.fs.Chmod(name, bugMode(a, 1))
	case "Create":
		open(r.fs.Create(name))
	case "Open":
		open(r.fs.Open(name))
	case "OpenFile":
		flag := 0
		for f := range strings.SplitSeq(bugArg(a, 1), "|") {
			flag |= bugFlags[f]
		}
		open(r.fs.OpenFile(name, flag, bugMode(a, 2)))
	case "ReadDir":
		var list []fs.FileInfo
		list, v.err = afero.ReadDir(r.fs, name)
		names := []string{}
		for _, info := range list {
			names = append(names, info.Name())
		}
		v.text, v.has = "["+strings.Join(names, " ")+"]", "text"
	case "Symlink":
		r.link("W"+prefixSlash(bugArg(a, 1)), name)
	default:
		v.err = fmt.Errorf("call %q is not understood", call)
	}
	return v
}

func prefixSlash(s string) string { return "/" + strings.TrimPrefix(s, "/") }

// onHandle calls a method of an open file.
func (r *bugRun) onHandle(h afero.File, call string, a []string) (v bugValue) {
	num := func(i int) int64 { n, _ := strconv.ParseInt(bugArg(a, i), 10, 64); return n }
	switch call {
	case "Write":
		v.n, v.err = h.Write([]byte(bugArg(a, 0)))
	case "Read":
		v.n, v.err = h.Read(make([]byte, num(0)))
	case "ReadAt":
		v.n, v.err = h.ReadAt(make([]byte, num(0)), num(1))
	case "Seek":
		_, v.err = h.Seek(num(0), int(num(1)))
	case "Truncate":
		v.err = h.Truncate(num(0))
	case "Close":
		v.err = h.Close()
	case "Stat":
		v.info, v.err = h.Stat()
		v.has = "info"
	case "Name":
		v.text, v.has = h.Name(), "text"
	case "ReadDir":
		var list []fs.DirEntry
		list, v.err = h.(fs.ReadDirFile).ReadDir(int(num(0)))
		v.n = len(list)
	case "Readdir":
		var list []fs.FileInfo
		list, v.err = h.Readdir(int(num(0)))
		v.n = len(list)
	default:
		v.err = fmt.Errorf("call %q is not understood", call)
	}
	return v
}

var bugErrors = map[string]error{
	"ENOTEMPTY": syscall.ENOTEMPTY, "ENOENT": syscall.ENOENT, "ENOTDIR": syscall.ENOTDIR, "EISDIR": syscall.EISDIR,
	"EEXIST": syscall.EEXIST, "EBADF": syscall.EBADF, "EINVAL": syscall.EINVAL, "ENAMETOOLONG": syscall.ENAMETOOLONG,
	"EACCES": syscall.EACCES, "ELOOP": syscall.ELOOP, "EOF": io.EOF, "fs.ErrClosed": fs.ErrClosed,
	"SYMLINK": provider.ErrSymlink, "ErrPath": provider.ErrPath,
}

// sameError reports whether err is the condition want: by errors.Is, or as the
// broader condition of package io/fs, which sentinels share with errno.
func sameError(err, want error) bool {
	if errors.Is(err, want) {
		return true
	}
	for errno, broad := range map[error]error{syscall.ENOENT: fs.ErrNotExist, syscall.EEXIST: fs.ErrExist, syscall.EINVAL: fs.ErrInvalid} {
		if want == errno && errors.Is(err, broad) {
			return true
		}
	}
	return false
}

// expect compares what a step gave with what it should.
func (r *bugRun) expect(v bugValue, want, more string) error {
	n := -1
	if head, tail, ok := strings.Cut(want, ","); ok && len(head) == 1 && head[0] >= '0' && head[0] <= '9' {
		n, _ = strconv.Atoi(head)
		want = tail
	}
	if n >= 0 && v.n != n {
		return fmt.Errorf("n is %d, want %d", v.n, n)
	}
	if err, ok := bugErrors[want]; ok {
		if !sameError(v.err, err) {
			return fmt.Errorf("%v, want %v", v.err, err)
		}
		return nil
	}
	switch {
	case want == "no panic", want == "not checked":
		return nil
	case want == "error", want == "refused":
		if v.err == nil {
			return errors.New("no error")
		}
		return nil
	case strings.HasPrefix(want, "*PathError{"):
		var pe *fs.PathError
		if !errors.As(v.err, &pe) {
			return fmt.Errorf("%T, want %s", v.err, want)
		}
		got := fmt.Sprintf("*PathError{%s,%s,%s}", pe.Op, pe.Path, errnoName(pe.Err))
		if got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	case strings.HasPrefix(want, "*os.LinkError{"):
		var le *os.LinkError
		if !errors.As(v.err, &le) {
			return fmt.Errorf("%T, want %s", v.err, want)
		}
		if got := fmt.Sprintf("*os.LinkError{%s,%s,%s}", le.Op, le.Old, le.New); got != want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	}
	if v.err != nil {
		return fmt.Errorf("%w, want %s", v.err, want)
	}
	switch {
	case want == "ok", want == "nil":
	case want == "dir" && v.info != nil && v.info.IsDir(), want == "file" && v.info != nil && v.info.Mode().IsRegular():
	case want == "equal to a" && more == "ModTime" && v.info.ModTime().Equal(r.times["a"]):
	case more == "Mode" && fmt.Sprintf("0%o", v.info.Mode()) == want:
	case want == "0 entries" && v.n == 0:
	case v.has == "text" && (v.text == want || "'"+v.text+"'" == strings.ReplaceAll(want, `\0`, "\x00")):
	default:
		return fmt.Errorf("%+v, want %s", v, want)
	}
	return nil
}

func errnoName(err error) string {
	for name, e := range bugErrors {
		if err == e {
			return name
		}
	}
	return err.Error()
}
