package diskfs_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childEnv tells a re-executed test binary how to restrict itself before it
// runs tests: a comma-separated list of words, see restrict.
const childEnv = "DISKFS_TEST_CHILD"

func TestMain(m *testing.M) {
	for word := range strings.SplitSeq(os.Getenv(childEnv), ",") {
		if err := restrict(word); err != nil {
			fmt.Fprintln(os.Stderr, word, err)
			os.Exit(3)
		}
	}
	os.Exit(m.Run())
}

// restrict takes something away from this process.
func restrict(word string) error {
	what, arg, _ := strings.Cut(word, "=")
	switch what {
	case "":
		return nil
	case "nofile":
		return limit(unix.RLIMIT_NOFILE, arg)
	case "fsize":
		return limit(unix.RLIMIT_FSIZE, arg)
	case "deny": // deny=openat2:ENOSYS
		name, e, _ := strings.Cut(arg, ":")
		return deny(name, e)
	case "only": // marks a child for tests that run nowhere else
		return nil
	}
	return fmt.Errorf("unknown restriction")
}

func limit(what int, arg string) error {
	n, err := strconv.ParseUint(arg, 10, 64)
	if err != nil {
		return err
	}
	return syscall.Setrlimit(what, &syscall.Rlimit{Cur: n, Max: n})
}

// deny makes the system call name fail, with the errno named e, in all threads.
func deny(name, e string) error {
	errnos := map[string]unix.Errno{"ENOSYS": unix.ENOSYS, "EPERM": unix.EPERM, "EINVAL": unix.EINVAL, "EIO": unix.EIO, "EOPNOTSUPP": unix.EOPNOTSUPP}
	type rule struct {
		nr   uint32
		arg  int    // tested if >= 0
		mask uint32 // the rule holds when the argument has one of these bits
	}
	rules := map[string]rule{
		"openat2":         {unix.SYS_OPENAT2, -1, 0},
		"fchmodat2":       {unix.SYS_FCHMODAT2, -1, 0},
		"linkat":          {unix.SYS_LINKAT, -1, 0},
		"linkat-empty":    {unix.SYS_LINKAT, 4, unix.AT_EMPTY_PATH},
		"renameat2":       {unix.SYS_RENAMEAT2, -1, 0},
		"renameat2-flags": {unix.SYS_RENAMEAT2, 4, ^uint32(0)},
		"openat-tmpfile":  {unix.SYS_OPENAT, 2, unix.O_TMPFILE &^ unix.O_DIRECTORY},
		"utimensat-empty": {unix.SYS_UTIMENSAT, 3, unix.AT_EMPTY_PATH},
		"fsync":           {unix.SYS_FSYNC, -1, 0},
		"pwrite64":        {unix.SYS_PWRITE64, -1, 0},
		"statx":           {unix.SYS_STATX, -1, 0},
		"flock":           {unix.SYS_FLOCK, -1, 0},
	}
	r, ok := rules[name]
	if !ok || errnos[e] == 0 {
		return fmt.Errorf("unknown")
	}
	ret := func(v uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: v} }
	const allow = 0x7fff0000 // SECCOMP_RET_ALLOW
	refuse := ret(0x00050000 | uint32(errnos[e]))
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // seccomp_data.nr
	if r.arg < 0 {
		prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.nr, Jt: 0, Jf: 1}, refuse, ret(allow))
	} else {
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: r.nr, Jt: 0, Jf: 3},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(16 + 8*r.arg)}, // low half, little-endian
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: r.mask, Jt: 0, Jf: 1},
			refuse, ret(allow))
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	const setModeFilter, tsync = 1, 1
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, tsync, uintptr(unsafe.Pointer(&fprog))); e != 0 {
		return e
	}
	return nil
}

// nobody is a user without privileges.
const nobody = 65534

// child describes a re-execution of this test binary.
type child struct {
	restrictions []string
	uid          int // 0: as we are
	run          string
	env          []string
	args         []string
	wrap         []string // a program that runs the binary, with its arguments
}

// start returns the command, not yet started.
func (c child) command(t testing.TB) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if c.uid != 0 {
		self = reachableCopy(t, self)
	}
	argv := append(slices.Clone(c.wrap), self, "-test.run="+c.run, "-test.v", "-test.timeout=10m")
	if testing.Short() {
		argv = append(argv, "-test.short")
	}
	argv = append(argv, c.args...)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(append(slices.Clone(c.restrictions), "only"), ","))
	cmd.Env = append(cmd.Env, c.env...)
	if c.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.uid)}}
		home := tempDirIn(t, "")
		if err := os.Chown(home, c.uid, c.uid); err != nil {
			t.Fatal(err)
		}
		cmd.Dir = home
		cmd.Env = append(cmd.Env, "TMPDIR="+home)
	}
	return cmd
}

// mustPass runs the child's tests and fails t when one fails or none ran.
func (c child) mustPass(t testing.TB) {
	t.Helper()
	out, err := c.command(t).CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("child %v: %v\n%s", c.restrictions, err, tail(text))
	}
	if !strings.Contains(text, "--- PASS") {
		t.Fatalf("child ran no test:\n%s", tail(text))
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "MEASURED") || strings.Contains(line, "requirements: ") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// tail keeps the end of a long output.
func tail(s string) string {
	const keep = 8 << 10
	if len(s) > keep {
		return "..." + s[len(s)-keep:]
	}
	return s
}

// onlyInChild skips a test that needs a process of its own.
func onlyInChild(t testing.TB) {
	t.Helper()
	if os.Getenv(childEnv) == "" {
		t.Skip("runs in a child process")
	}
}

// reachableCopy copies the test binary to where every user can run it.
func reachableCopy(t testing.TB, self string) string {
	t.Helper()
	dir := tempDirIn(t, "")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	name := filepath.Join(dir, "diskfs.test")
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// needRoot skips tests that mount or change user.
func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking(t, "root")
	}
}

// needProgram returns the path of a program.
func needProgram(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		lacking(t, "the program "+name)
	}
	return path
}
