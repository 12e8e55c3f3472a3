package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// binary is the command: the tests run it as a process, as users do. It is the
// test's own executable under the command's name, so that the results that the Go
// tool caches are of the code as it is.
var binary string

const commandName = "workspacefs"

func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == commandName {
		main()
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "workspacefs-cmd-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		// Under the race detector every process would sleep a second at its end.
		if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if binary, err = namedCommand(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// namedCommand puts this executable into dir under the command's name.
func namedCommand(dir string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, commandName)
	if runtime.GOOS != "windows" {
		return name, os.Symlink(own, name)
	}
	data, err := os.ReadFile(own)
	if err != nil {
		return "", err
	}
	name += ".exe"
	return name, os.WriteFile(name, data, 0o755)
}

// outcome is what a user sees of one run.
type outcome struct {
	stdout, stderr string
	status         int
	took           time.Duration
}

// runIn runs the command in dir.
func runIn(t *testing.T, dir, stdin string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	o := outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(start)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o
}

// A planted tree has everything that a careless tool would follow, open or show.
type planted struct{ root, outside string }

func plant(t *testing.T) planted {
	t.Helper()
	base := t.TempDir()
	p := planted{filepath.Join(base, "project"), filepath.Join(base, "outside")}
	for _, dir := range []string{p.root, p.outside, filepath.Join(p.root, ".git"), filepath.Join(p.root, "src", "deep"), filepath.Join(p.root, ".hidden")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		".git/config": "needle in git\n", ".env": "SECRET=needle\n", "a.txt": "one\nneedle\nthree\n",
		"src/main.go": "package main // needle\n", "src/deep/x.go": "package deep\n", "../outside/secret": "needle outside\n",
		".hidden/h": "needle\n",
	} {
		if err := os.WriteFile(filepath.Join(p.root, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		for name, target := range map[string]string{
			"link": filepath.Join(p.outside, "secret"), "dirlink": p.outside, "src/inner": "main.go", "dangling": "nowhere",
		} {
			if err := os.Symlink(target, filepath.Join(p.root, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(p.root, `a\b`), []byte("needle\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		mkfifo(t, filepath.Join(p.root, "fifo"))
	}
	return p
}

// hostFree fails when a text for agents or users names a place of the host.
func (p planted) hostFree(t *testing.T, what string, o outcome) {
	t.Helper()
	base := filepath.Dir(p.root)
	for _, text := range []string{o.stdout, o.stderr} {
		if strings.Contains(text, base) || strings.Contains(text, "outside/secret") || strings.Contains(text, "SECRET") {
			t.Errorf("%s shows the host:\n%s", what, text)
		}
	}
}

// Every refusal is one line with the operation, the agent path and the rule or
// reason, comes within a second, and shows nothing of the host.
func TestRefusals(t *testing.T) {
	p := plant(t)
	for _, tc := range []struct {
		args string
		want []string // in the one line
	}{
		{"explain write .env", []string{"refused: write /workspace/.env", `"allow_sensitive": ["/workspace/.env"] and with "allow_write": ["/workspace/.env"] would allow it`}},
		{"explain read .env", []string{"refused: read /workspace/.env", `"allow_sensitive": ["/workspace/.env"]`}},
		{"explain write a.txt", []string{"refused: write /workspace/a.txt", "--policy read-write would allow it"}},
		{"explain read .hidden/h", []string{"refused: read /workspace/.hidden/h", `"allow_hidden": ["/workspace/.hidden/h"]`}},
		{"cat .git/config", []string{"read /workspace/.git/config", "allow_sensitive"}},
		{"cat .env", []string{"read /workspace/.env", "allow_sensitive"}},
		{"cat ../outside", []string{"cat ../outside", ".."}},
		{"cat ../outside/x", []string{"cat ../outside/x"}},
		{`cat a\b`, []string{`cat`, "backslash"}},
		{"cat link", []string{"cat link", "symbolic link refused", "never followed"}},
		{"cat dirlink/secret", []string{"cat dirlink/secret", "symbolic link refused"}},
		{"cat src/inner", []string{"cat src/inner", "symbolic link refused"}},
		{"cat dangling", []string{"cat dangling", "symbolic link refused"}},
		{"cat fifo", []string{"cat fifo", "not a regular file"}},
		{"cat src", []string{"cat src", "is a directory; ls lists it"}},
		{"--policy read-write write nope/x", []string{"write nope/x", "mkdir -p"}},
		{"--policy read-write mv src src/deep/src", []string{"src -> src/deep/src", "into itself"}},
		{"cat nope", []string{"cat nope", "no such file"}},
		{"cat a.txt/x", []string{"cat a.txt/x", "not a directory"}},
		{"write a.txt", []string{"write /workspace/a.txt", "--policy read-write would allow it"}},
		{"--policy read-write write .git/config", []string{"write /workspace/.git/config", "allow_sensitive"}},
		{"--policy read-write write node_modules/x", []string{"write /workspace/node_modules/x", `without "node_modules" in "deny_write_component"`}},
		{"--policy read-write write fifo", []string{"write fifo", "not a regular file"}},
		{"--policy read-write write link", []string{"write link", "symbolic link refused"}},
		{"--policy read-write rm src", []string{"rm src", "is a directory; -r"}},
		{"--policy read-write rm -r src", []string{"/workspace/src", `"allow_recursive_delete": true`}},
		{"--policy read-write mv a.txt src/main.go", []string{"a.txt -> src/main.go", "exist"}},
		{"mkdir new", []string{"/workspace/new", "--policy read-write would allow it"}},
		{"rm a.txt", []string{"remove /workspace/a.txt", "--policy read-write would allow it"}},
		{"stat .env", []string{"stat /workspace/.env"}},
		{"ls .git", []string{"/workspace/.git", "allow_sensitive"}},
		{"grep needle .git", []string{"/workspace/.git"}},
		{"--cwd src cat ../a.txt", []string{"cat ../a.txt"}},
	} {
		if runtime.GOOS == "windows" && (strings.Contains(tc.args, "link") || strings.Contains(tc.args, "fifo") || strings.Contains(tc.args, "inner") || strings.Contains(tc.args, "dangling")) {
			continue // not planted there
		}
		t.Run(tc.args, func(t *testing.T) {
			o := runIn(t, p.root, "new content", strings.Fields(tc.args)...)
			if o.status != exitFailed {
				t.Errorf("exit status %d, want 1\n%s%s", o.status, o.stdout, o.stderr)
			}
			if o.took > time.Second {
				t.Errorf("took %v", o.took)
			}
			line := o.stderr
			if strings.HasPrefix(tc.args, "explain") {
				line = o.stdout
			}
			if strings.Count(line, "\n") != 1 {
				t.Errorf("not one line:\n%s", line)
			}
			for _, want := range tc.want {
				if !strings.Contains(line, want) {
					t.Errorf("no %q in\n%s", want, line)
				}
			}
			p.hostFree(t, tc.args, o)
		})
	}
	for name, want := range map[string]string{".git/config": "needle in git\n", ".env": "SECRET=needle\n", "a.txt": "one\nneedle\nthree\n", "src/main.go": "package main // needle\n"} {
		if got, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name))); err != nil || string(got) != want {
			t.Errorf("%s changed: %q, %v", name, got, err)
		}
	}
}

// What is permitted is shown, and nothing else.
func TestReading(t *testing.T) {
	p := plant(t)
	for _, tc := range []struct {
		args   string
		want   string // all of standard output
		status int
	}{
		{"ls", "a.txt\nsrc/\n", 0},
		{"ls src", "deep/\nmain.go\n", 0},
		{"ls a.txt", "a.txt\n", 0},
		{"tree", ".\n├── a.txt\n└── src/\n    ├── deep/\n    │   └── x.go\n    └── main.go\n", 0},
		{"tree -d 1", ".\n├── a.txt\n└── src/\n", 0},
		{"cat a.txt", "one\nneedle\nthree\n", 0},
		{"cat src a.txt src nope a.txt", "one\nneedle\nthree\none\nneedle\nthree\n", 1},
		{"cat /workspace/a.txt", "one\nneedle\nthree\n", 0},
		{"cat /a.txt", "one\nneedle\nthree\n", 0},
		{"grep needle", "a.txt:2:needle\nsrc/main.go:1:package main // needle\n", 0},
		{"grep -i NEEDLE src", "src/main.go:1:package main // needle\n", 0},
		{"grep -C 1 needle a.txt", "a.txt-1-one\na.txt:2:needle\na.txt-3-three\n", 0},
		{"grep -l needle", "a.txt\nsrc/main.go\n", 0},
		{"grep -m 1 needle", "a.txt:2:needle\n", 0},
		{"grep -g *.go needle", "src/main.go:1:package main // needle\n", 0},
		{"grep -F needle( .", "", 1},
		{"grep absent", "", 1},
		{"glob **/*.go", "src/deep/x.go\nsrc/main.go\n", 0},
		{"--cwd src glob *.go", "main.go\n", 0},
		{"--cwd src cat main.go", "package main // needle\n", 0},
		{"explain read a.txt", "", 0},
	} {
		t.Run(tc.args, func(t *testing.T) {
			o := runIn(t, p.root, "", strings.Fields(tc.args)...)
			got := o.stdout
			if runtime.GOOS != "windows" { // links and the like are listed; what they are is marked
				got = dropLines(got, "link@", "dirlink@", "dangling@", "fifo|", "inner@")
			}
			if o.status != tc.status || tc.want != "" && got != tc.want {
				t.Errorf("status %d\n%s%s\nwant\n%s", o.status, got, o.stderr, tc.want)
			}
			p.hostFree(t, tc.args, o)
		})
	}
}

// What no path can spell is not shown, and ls and tree say so.
func TestUnspellable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no names with a backslash or a control character")
	}
	p := plant(t)
	const note = "1 more entry is not shown"
	for _, args := range []string{"ls", "ls /", "tree -d 1", "--json ls"} {
		if o := runIn(t, p.root, "", strings.Fields(args)...); o.status != exitOK || strings.Count(o.stderr, note) != 1 || strings.Contains(o.stdout, `\`) {
			t.Errorf("%s: %+v", args, o)
		}
	}
	for _, args := range []string{"ls src", "tree src", "ls a.txt"} {
		if o := runIn(t, p.root, "", strings.Fields(args)...); o.stderr != "" {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

func dropLines(text string, suffixes ...string) string {
	var kept []string
	for line := range strings.Lines(text) {
		drop := false
		for _, s := range suffixes {
			drop = drop || strings.HasSuffix(strings.TrimSuffix(line, "\n"), s)
		}
		if !drop {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestWriting(t *testing.T) {
	p := plant(t)
	rw := func(args ...string) []string { return append([]string{"--policy", "read-write"}, args...) }
	ok := func(stdin string, args ...string) outcome {
		t.Helper()
		o := runIn(t, p.root, stdin, args...)
		if o.status != exitOK {
			t.Fatalf("%v: status %d\n%s", args, o.status, o.stderr)
		}
		return o
	}
	is := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name))); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	ok("hello\n", rw("write", "new.txt")...)
	is("new.txt", "hello\n")
	ok("more\n", rw("write", "--append", "new.txt")...)
	is("new.txt", "hello\nmore\n")
	if o := runIn(t, p.root, "x", rw("write", "--new", "new.txt")...); o.status != exitFailed {
		t.Errorf("--new over a file: %+v", o)
	}
	var it item
	o := ok("", "--json", "stat", "--digest", "new.txt")
	if err := json.Unmarshal([]byte(o.stdout), &it); err != nil || it.Size != 11 || !strings.HasPrefix(it.Digest, "sha256:") {
		t.Fatalf("stat --json: %v, %s", err, o.stdout)
	}
	ok("matched\n", rw("write", "--match", it.Digest, "new.txt")...)
	if o := runIn(t, p.root, "x", rw("write", "--match", it.Digest, "new.txt")...); o.status != exitFailed || !strings.Contains(o.stderr, "changed") {
		t.Errorf("stale --match: %+v", o)
	}
	is("new.txt", "matched\n")
	ok("", rw("mkdir", "-p", "d/e/f")...)
	ok("", rw("mv", "new.txt", "d/e")...)
	is("d/e/new.txt", "matched\n")
	ok("", rw("mv", "-f", "d/e/new.txt", "a.txt")...)
	is("a.txt", "matched\n")
	ok("", rw("rm", "a.txt")...)
	ok("", rw("rm", "-f", "a.txt")...)
	ok("", rw("rm", "-r", "d/e/f")...) // empty
	ok("", rw("mkdir", "d/e/f")...)
	if runtime.GOOS != "windows" {
		ok("", rw("rm", "dangling", "fifo")...)
		ok("", rw("rm", "-r", "dirlink")...)
		is("../outside/secret", "needle outside\n")
		if o := runIn(t, p.root, "", rw("ls")...); o.stdout != "a\\b\nd/\nlink@\nsrc/\n" && o.stdout != "d/\nlink@\nsrc/\n" {
			t.Errorf("links are left or lost: %q", o.stdout)
		}
	}
	policy := filepath.Join(filepath.Dir(p.root), "policy.json")
	if err := os.WriteFile(policy, []byte(`{"allow_read":["/"],"allow_write":["/d"],"allow_recursive_delete":true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	ok("", "--policy", policy, "rm", "-r", "d/e")
	if _, err := os.Stat(filepath.Join(p.root, "d", "e")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("d/e is still there: %v", err)
	}
}

func TestGrants(t *testing.T) {
	p := plant(t)
	args := func(more ...string) []string {
		return append([]string{"--grant", "App Code=" + p.root, "--grant", "notes=" + p.outside + ":ro", "--policy", "read-write"}, more...)
	}
	if o := runIn(t, p.outside, "", args("ls", "/")...); o.stdout != "app-code/\nnotes/\n" {
		t.Errorf("ls: %+v", o)
	}
	if o := runIn(t, p.outside, "x", args("write", "/workspace/notes/x")...); o.status != exitFailed ||
		!strings.Contains(o.stderr, "read-only") || !strings.Contains(o.stderr, "without :ro would allow it") {
		t.Errorf("write to a read-only grant: %+v", o)
	}
	if o := runIn(t, p.outside, "x", args("write", "/workspace/app-code/x")...); o.status != exitOK {
		t.Errorf("write to a grant: %+v", o)
	}
	if o := runIn(t, p.outside, "", args("cat", "x")...); o.stdout != "x" { // the first writable grant is the working directory
		t.Errorf("relative: %+v", o)
	}
	if o := runIn(t, p.outside, "", args("cat", "/other/x")...); o.status != exitFailed || !strings.Contains(o.stderr, "reachable are /workspace/app-code, /workspace/notes") {
		t.Errorf("outside: %+v", o)
	}
	if o := runIn(t, p.outside, "", "--root", p.root, "--grant", "notes="+p.outside, "cat", "/mnt/notes/secret"); o.stdout != "needle outside\n" {
		t.Errorf("grant beside root: %+v", o)
	}
}

func TestUsage(t *testing.T) {
	p := plant(t)
	for _, args := range [][]string{
		{}, {"nope"}, {"cat"}, {"cat", "--nope", "x"}, {"explain", "fly", "x"}, {"--grant", "x", "ls"},
		{"--policy", "nope", "ls"}, {"--memory", "--root", ".", "ls"}, {"write", "--match", "x", "a.txt"},
		{"grep", "("}, {"glob", "["}, {"grep", "-A", "-1", "x"}, {"mcp"}, {"--cwd", "..", "ls"}, {"run"},
	} {
		if o := runIn(t, p.root, "", args...); o.status != exitUsage || o.stderr == "" {
			t.Errorf("%v: status %d, want 2\n%s", args, o.status, o.stderr)
		}
	}
	for _, args := range [][]string{{"--root", "nope", "ls"}, {"--policy", "nope.json", "ls"}, {"--cwd", "nope", "ls"}, {"--cwd", "a.txt", "ls"}} {
		if o := runIn(t, p.root, "", args...); o.status != exitFailed || strings.Contains(o.stderr, filepath.Dir(p.root)) {
			t.Errorf("%v: status %d, want 1 and no host path\n%s", args, o.status, o.stderr)
		}
	}
	for _, args := range [][]string{{"--help"}, {"grep", "--help"}, {"--version"}} {
		if o := runIn(t, p.root, "", args...); o.status != exitOK || o.stdout == "" {
			t.Errorf("%v: %+v", args, o)
		}
	}
	if o := runIn(t, p.root, "data", "--memory", "--policy", "read-write", "write", "x"); o.status != exitOK {
		t.Errorf("--memory: %+v", o)
	}
}

// JSON is one object a line, on both streams, and colour never goes to a pipe.
func TestJSON(t *testing.T) {
	p := plant(t)
	for _, args := range []string{"ls", "tree", "stat a.txt", "grep needle", "glob **", "cat a.txt", "cat .env", "explain write x", "policy check read-write a b"} {
		o := runIn(t, p.root, "", append([]string{"--json"}, strings.Fields(args)...)...)
		lines := 0
		for line := range strings.Lines(o.stdout + o.stderr) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Errorf("%s: %v in %q", args, err, line)
			}
			lines++
		}
		if lines == 0 {
			t.Errorf("%s printed nothing", args)
		}
		if strings.Contains(o.stdout, "\x1b") {
			t.Errorf("%s printed colour", args)
		}
		p.hostFree(t, args, o)
	}
}

func TestPolicyCheck(t *testing.T) {
	p := plant(t)
	policy := filepath.Join(p.outside, "policy.json")
	write := func(text string) {
		if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"allow_read":["/"],"allow_write":["/out"],"deny_read":["/src/secret"]}`)
	if o := runIn(t, p.root, "", "policy", "check", policy); o.status != exitOK || o.stdout != "ok\n" {
		t.Errorf("%+v", o)
	}
	o := runIn(t, p.root, "", "policy", "check", policy, "out/x", "src/secret/y")
	for _, want := range []string{"write       allow /workspace/out/x", "read        deny  /workspace/src/secret/y", "remove_tree deny  /workspace/out/x"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	write(`{"allow_read":["/"],"allow_write":["/workspace/app"]}`)
	if o := runIn(t, p.root, "", "--grant", "app="+p.root+":ro", "policy", "check", policy); o.status != exitOK || !strings.Contains(o.stderr, "warning:") || !strings.Contains(o.stderr, "/workspace/app") {
		t.Errorf("no warning about a scope that does nothing: %+v", o)
	}
	write(`{"allow_reed":["/"]}`)
	if o := runIn(t, p.root, "", "policy", "check", policy); o.status != exitFailed || !strings.Contains(o.stderr, "allow_reed") {
		t.Errorf("%+v", o)
	}
}

func TestCompletion(t *testing.T) {
	p := plant(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		o := runIn(t, p.root, "", "completion", shell)
		for _, verb := range []string{"ls", "tree", "cat", "stat", "grep", "glob", "write", "mkdir", "mv", "rm", "explain", "policy", "mcp", "run", "completion"} {
			if !strings.Contains(o.stdout, verb) {
				t.Errorf("%s: no %s", shell, verb)
			}
		}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		script := runIn(t, p.root, "", "completion", "bash").stdout +
			"\nCOMP_WORDS=(workspacefs gre); COMP_CWORD=1; _workspacefs; echo ${COMPREPLY[@]}\n" +
			"COMP_WORDS=(workspacefs --root . grep --igno); COMP_CWORD=4; _workspacefs; echo ${COMPREPLY[@]}\n"
		out, err := exec.Command(bash, "-c", script).CombinedOutput()
		if err != nil || string(out) != "grep\n--ignore-case --ignore\n" {
			t.Errorf("bash: %v\n%s", err, out)
		}
	}
}
