package diskfs_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// counted is an operation whose system calls are pinned, on a tree with
// d/sub/f (4 KiB), and where it can be repeated, allocations.
type counted struct {
	name   string
	calls  string // the calls in order
	allocs float64
	do     func(t testing.TB, p provider.Provider)
}

var deepFile = path("d/sub/f")

// background is a context that does not allocate, as that of a test does.
var background = context.Background()

func mustDo(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// readBuf is read into, so that the buffer is not counted.
var readBuf = make([]byte, 4096)

// countedOps must leave the tree as they found it only together: they run in
// this order, once.
var countedOps = []counted{
	{"open+close", "openat2 fstat close", 1, func(t testing.TB, p provider.Provider) {
		f, err := p.Open(background, deepFile, provider.OpenOptions{Read: true})
		mustDo(t, err)
		mustDo(t, f.Close())
	}},
	{"open+read+close", "openat2 fstat pread64 close", 1, func(t testing.TB, p provider.Provider) {
		f, err := p.Open(background, deepFile, provider.OpenOptions{Read: true})
		mustDo(t, err)
		_, err = f.ReadAt(readBuf, 0)
		mustDo(t, err)
		mustDo(t, f.Close())
	}},
	{"stat", "openat2 fstat close", 1, func(t testing.TB, p provider.Provider) {
		_, err := p.Stat(background, deepFile)
		mustDo(t, err)
	}},
	{"stat-depth-1", "newfstatat", 1, func(t testing.TB, p provider.Provider) {
		_, err := p.Stat(background, path("top"))
		mustDo(t, err)
	}},
	{"ReadFile", "openat2 fstat pread64 close", 1, func(t testing.TB, p provider.Provider) {
		_, err := p.(provider.FileReader).ReadFile(background, deepFile, 0)
		mustDo(t, err)
	}},
	{"ReadFileInto", "openat2 fstat pread64 close", 0, func(t testing.TB, p provider.Provider) {
		_, err := p.(provider.FileIntoReader).ReadFileInto(background, deepFile, readBuf)
		mustDo(t, err)
	}},
	{"list", "openat2 getdents64 getdents64 close", 6, func(t testing.TB, p provider.Provider) {
		f, err := p.Open(background, path("d/sub"), provider.OpenOptions{Read: true, Directory: true})
		mustDo(t, err)
		_, err = f.ReadDir(0)
		mustDo(t, err)
		mustDo(t, f.Close())
	}},
	{"mkdir", "openat2 mkdirat close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Mkdir(background, path("d/sub/new"), 0o755))
	}},
	{"create+write+close", "openat2 fstat pwrite64 close", -1, func(t testing.TB, p provider.Provider) {
		f, err := p.Open(background, path("d/sub/made"), provider.OpenOptions{Write: true, Create: true, Truncate: true})
		mustDo(t, err)
		_, err = f.WriteAt(readBuf, 0)
		mustDo(t, err)
		mustDo(t, f.Close())
	}},
	{"overwrite", "openat2 fstat ftruncate pwrite64 close", 1, func(t testing.TB, p provider.Provider) {
		f, err := p.Open(background, path("d/sub/made"), provider.OpenOptions{Write: true, Create: true, Truncate: true})
		mustDo(t, err)
		_, err = f.WriteAt(readBuf, 0)
		mustDo(t, err)
		mustDo(t, f.Close())
	}},
	{"rename", "openat2 renameat2 close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Rename(background, path("d/sub/made"), path("d/sub/made2"), provider.RenameOptions{}))
	}},
	{"rename-NotDir", "openat2 newfstatat renameat2 close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Rename(background, path("d/sub/made2"), path("d/sub/made"), provider.RenameOptions{NotDir: true}))
	}},
	{"rename-NotDir-across", "openat2 openat2 newfstatat renameat2 close close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Rename(background, path("d/sub/made"), path("d/other/made"), provider.RenameOptions{NotDir: true}))
	}},
	{"rename-across", "openat2 openat2 renameat2 close close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Rename(background, path("d/other/made"), path("d/sub/made"), provider.RenameOptions{}))
	}},
	{"chmod", "openat2 fstat fchmodat2 close", 0, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Chmod(background, deepFile, 0o644))
	}},
	{"remove", "openat2 unlinkat close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Remove(background, path("d/sub/made")))
	}},
	{"remove-directory", "openat2 unlinkat unlinkat close", -1, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Remove(background, path("d/sub/new")))
	}},
	{"mkdir+remove", "openat2 mkdirat close openat2 unlinkat unlinkat close", 0, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Mkdir(background, path("d/sub/new"), 0o755))
		mustDo(t, p.Remove(background, path("d/sub/new")))
	}},
	{"rename-there-and-back", "openat2 renameat2 close openat2 renameat2 close", 0, func(t testing.TB, p provider.Provider) {
		mustDo(t, p.Rename(background, deepFile, path("d/sub/g"), provider.RenameOptions{}))
		mustDo(t, p.Rename(background, path("d/sub/g"), deepFile, provider.RenameOptions{}))
	}},
}

// stackOps are the same through policyfs and its policy, which add no system call,
// and no allocation but the open file's.
var stackOps = []stackOp{
	{"stack: open+close", "openat2 fstat close", 2, func(t testing.TB, f *policyfs.FS) {
		file, err := f.Open("/workspace/d/sub/f")
		mustDo(t, err)
		mustDo(t, file.Close())
	}},
	{"stack: open+read+close", "openat2 fstat pread64 close", 2, func(t testing.TB, f *policyfs.FS) {
		file, err := f.Open("/workspace/d/sub/f")
		mustDo(t, err)
		_, err = file.Read(readBuf)
		mustDo(t, err)
		mustDo(t, file.Close())
	}},
	{"stack: stat", "openat2 fstat close", 1, func(t testing.TB, f *policyfs.FS) {
		_, err := f.Stat("/workspace/d/sub/f")
		mustDo(t, err)
	}},
	{"stack: stat-depth-1", "newfstatat", 1, func(t testing.TB, f *policyfs.FS) {
		_, err := f.Stat("/workspace/top")
		mustDo(t, err)
	}},
	{"stack: ReadFile", "openat2 fstat pread64 close", 1, func(t testing.TB, f *policyfs.FS) {
		_, _, err := f.ReadFile("/workspace/d/sub/f")
		mustDo(t, err)
	}},
	{"stack: list", "openat2 getdents64 getdents64 close", -1, func(t testing.TB, f *policyfs.FS) {
		file, err := f.Open("/workspace/d/sub/")
		mustDo(t, err)
		_, err = file.Readdirnames(-1)
		mustDo(t, err)
		mustDo(t, file.Close())
	}},
	{"stack: create+write+close", "openat2 fstat pwrite64 close", -1, func(t testing.TB, f *policyfs.FS) {
		file, err := f.Create("/workspace/d/sub/made")
		mustDo(t, err)
		_, err = file.Write(readBuf)
		mustDo(t, err)
		mustDo(t, file.Close())
	}},
	{"stack: rename", "openat2 newfstatat renameat2 close", -1, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Rename("/workspace/d/sub/made", "/workspace/d/sub/made2"))
	}},
	{"stack: rename-across", "openat2 openat2 newfstatat renameat2 close close", -1, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Rename("/workspace/d/sub/made2", "/workspace/d/other/made"))
	}},
	{"stack: remove", "openat2 unlinkat close", -1, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Remove("/workspace/d/other/made"))
	}},
	{"stack: mkdir", "openat2 mkdirat close", -1, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Mkdir("/workspace/d/sub/new", 0o755))
	}},
	{"stack: remove-directory", "openat2 unlinkat unlinkat close", -1, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Remove("/workspace/d/sub/new"))
	}},
	{"stack: mkdir+remove", "openat2 mkdirat close openat2 unlinkat unlinkat close", 0, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Mkdir("/workspace/d/sub/new", 0o755))
		mustDo(t, f.Remove("/workspace/d/sub/new"))
	}},
	{"stack: rename-there-and-back", "openat2 newfstatat renameat2 close openat2 newfstatat renameat2 close", 0, func(t testing.TB, f *policyfs.FS) {
		mustDo(t, f.Rename("/workspace/d/sub/f", "/workspace/d/sub/g"))
		mustDo(t, f.Rename("/workspace/d/sub/g", "/workspace/d/sub/f"))
	}},
}

// stackOp is counted through the whole stack.
type stackOp struct {
	name   string
	calls  string
	allocs float64
	do     func(t testing.TB, f *policyfs.FS)
}

// stackOn is the face over p, under a policy with rules to look at.
func stackOn(t testing.TB, p provider.Provider) *policyfs.FS {
	t.Helper()
	policy, err := policyfs.Compile(policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"},
		DenyRead: []string{"private/keys"}, DenyWrite: []string{"generated", "d/sub/locked"}, DenyWriteComponent: []string{"node_modules"},
	})
	mustDo(t, err)
	return policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policy})
}

func countedTree(t testing.TB) string {
	t.Helper()
	dir := tempDirIn(t, scratch(t))
	lay(t, dir, "", "d/", "d/sub/", "d/other/", "top: x", "d/sub/f: "+strings.Repeat("x", 4096))
	return dir
}

// TestAllocations pins what an operation allocates: the file, the info, the
// content; names never. The context comes from outside.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := modes[0].openDir(t, countedTree(t), diskfs.Options{NoSync: true}).Provider
	for _, c := range countedOps {
		if c.allocs < 0 {
			c.do(t, p)
			continue
		}
		if got := testing.AllocsPerRun(50, func() { c.do(t, p) }); got > c.allocs {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.allocs)
		}
	}
	f := stackOn(t, p)
	for _, c := range stackOps {
		if c.allocs < 0 {
			c.do(t, f)
			continue
		}
		if got := testing.AllocsPerRun(50, func() { c.do(t, f) }); got > c.allocs {
			t.Errorf("%s: %v allocations, want %v", c.name, got, c.allocs)
		}
	}
}

// TestListingAllocations: per listed entry, with Info, almost none.
func TestListingAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dir := tempDirIn(t, scratch(t))
	const n = 5000
	for i := range n {
		lay(t, dir, "", fmt.Sprintf("entry-%05d: ", i))
	}
	p := modes[0].openDir(t, dir, diskfs.Options{})
	f, err := p.Open(t.Context(), path("."), provider.OpenOptions{Read: true})
	mustDo(t, err)
	defer f.Close()
	for what, info := range map[string]bool{"names": false, "infos": true} {
		got := testing.AllocsPerRun(5, func() {
			entries, err := f.ReadDir(0)
			mustDo(t, err)
			if len(entries) != n {
				t.Fatal(len(entries))
			}
			for _, e := range entries {
				if info {
					if _, err := e.Info(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
		t.Logf("MEASURED %s: %v allocations per entry", what, got/n)
		if got/n > 0.03 {
			t.Errorf("%s: %v allocations per entry", what, got/n)
		}
	}
	r := f.(provider.EntryReader)
	var into provider.Info
	got := testing.AllocsPerRun(5, func() {
		mustDo(t, r.ReadEntries(0, func(string, fs.FileMode) {}))
	})
	infos := testing.AllocsPerRun(100, func() { mustDo(t, r.StatEntry("entry-00000", &into)) })
	t.Logf("MEASURED EntryReader: %v allocations per entry, %v an info", got/n, infos)
	if got/n > 0.01 || infos != 0 {
		t.Errorf("EntryReader: %v allocations per entry, %v an info", got/n, infos)
	}
}

const tracedEnv = "DISKFS_TEST_TRACED"

// TestTraced makes the operations of TestSystemCalls, between markers.
func TestTraced(t *testing.T) {
	dir := os.Getenv(tracedEnv)
	if dir == "" {
		t.Skip("runs in a child process")
	}
	runtime.LockOSThread()
	p := modes[0].openDir(t, dir, diskfs.Options{NoSync: true}).Provider
	mark := func(s string) { unix.Access("/mark/"+s, 0) }
	for _, c := range countedOps {
		mark(c.name)
		c.do(t, p)
		mark("end")
	}
	f := stackOn(t, p)
	for _, c := range stackOps {
		mark(c.name)
		c.do(t, f)
		mark("end")
	}
}

// sameCalls gives calls one name on all architectures; older straces do not
// know fchmodat2.
var sameCalls = strings.NewReplacer("syscall_0x1c4", "fchmodat2", "fstatat64", "newfstatat", "fstat64", "fstat", "ftruncate64", "ftruncate")

// TestSystemCalls pins the system calls of each operation, in their order.
func TestSystemCalls(t *testing.T) {
	strace := needProgram(t, "strace")
	trace := filepath.Join(t.TempDir(), "trace")
	out, err := child{run: "^TestTraced$", env: []string{tracedEnv + "=" + countedTree(t)},
		wrap: []string{strace, "-f", "-qq", "-o", trace}}.command(t).CombinedOutput()
	if strings.Contains(string(out), "PTRACE") {
		lacking(t, "the right to trace processes")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	call := regexp.MustCompile(`^(\d+) +(?:<\.\.\. )?(\w+)[( ]`)
	marker := regexp.MustCompile(`"/mark/([^"]+)"`)
	runtimeCalls := []string{"futex", "futex_time64", "mmap2", "clock_nanosleep", "clock_nanosleep_time64", "epoll_wait", "epoll_pwait2", "restart_syscall", "nanosleep", "sched_yield", "madvise", "rt_sigreturn", "rt_sigprocmask", "tgkill", "getpid", "mmap", "munmap", "epoll_pwait", "epoll_ctl", "gettid", "clone", "clone3", "prctl", "write"}
	got := make(map[string][]string)
	current, thread := "", ""
	for line := range strings.Lines(hostFile(t, trace)) {
		m := call.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, "resumed>") {
			continue
		}
		if name := marker.FindStringSubmatch(line); name != nil {
			current, thread = name[1], m[1]
			continue
		}
		if current != "" && current != "end" && m[1] == thread && !slices.Contains(runtimeCalls, m[2]) {
			got[current] = append(got[current], m[2])
		}
	}
	expect := func(name, want string) {
		if calls := sameCalls.Replace(strings.Join(got[name], " ")); calls != want {
			t.Errorf("%s: %s\nwant: %s", name, calls, want)
		}
	}
	for _, c := range countedOps {
		expect(c.name, c.calls)
	}
	for _, c := range stackOps {
		expect(c.name, c.calls)
	}
}
