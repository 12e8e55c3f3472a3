package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// needBubblewrap skips where no sandbox can be made.
func needBubblewrap(t *testing.T) {
	t.Helper()
	out, err := exec.Command("bwrap", "--ro-bind", "/", "/", "--unshare-all", "true").CombinedOutput()
	if err == nil {
		return
	}
	missing := "bubblewrap does not work here: " + err.Error() + " " + string(out)
	if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

func writeTo(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestRunCommand(t *testing.T) {
	needBubblewrap(t)
	base := t.TempDir()
	app, notes := filepath.Join(base, "app"), filepath.Join(base, "notes")
	writeTo(t, filepath.Join(app, "src", "a.txt"), "content\n")
	writeTo(t, filepath.Join(notes, "n.txt"), "note\n")
	writeTo(t, filepath.Join(base, "secret"), "secret\n")
	everything := writeTo(t, filepath.Join(base, "all.json"), `{"allow_read":["/"],"allow_write":["/"]}`)
	partly := writeTo(t, filepath.Join(base, "part.json"), `{"allow_read":["/"],"allow_write":["/"],"deny_write":["/workspace/app/src/locked"]}`)
	grants := []string{"--grant", "app=" + app, "--grant", "notes=" + notes + ":ro"}
	sh := func(policy, script string, more ...string) outcome {
		t.Helper()
		args := append(append([]string{"--policy", policy}, grants...), "run")
		return runIn(t, base, "", append(append(args, more...), "--", "sh", "-c", script)...)
	}

	if o := sh(everything, "pwd; cat src/a.txt /workspace/notes/n.txt; ls /workspace"); o.status != 0 || o.stdout != "/workspace/app\ncontent\nnote\napp\nnotes\n" {
		t.Errorf("the same paths: %+v", o)
	}
	if o := sh(everything, "echo new > /workspace/app/new; echo x > /workspace/notes/x; exit 7"); o.status != 7 {
		t.Errorf("exit status: %+v", o)
	}
	if data, err := os.ReadFile(filepath.Join(app, "new")); err != nil || string(data) != "new\n" {
		t.Errorf("a writable grant: %q, %v", data, err)
	}
	if _, err := os.Stat(filepath.Join(notes, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a read-only grant was written: %v", err)
	}
	if o := sh(partly, "echo x > /workspace/app/y"); o.status == 0 || !strings.Contains(o.stderr, "cannot write /workspace/app") {
		t.Errorf("a partly writable grant: %+v", o)
	}
	if o := sh("read-only", "echo x > /workspace/app/y"); o.status == 0 {
		t.Errorf("read-only policy: %+v", o)
	}

	// Nothing of the host but its programs, no environment, no descriptor.
	t.Setenv("PLANTED", "secret")
	leak, err := os.Open(filepath.Join(base, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	cmd := exec.Command(binary, append(grants, "run", "--", "sh", "-c",
		"cat "+filepath.Join(base, "secret")+"; ls /root /home /etc/passwd; env; ls /proc/self/fd | wc -l; cat <&10; ls /sys/class/net 2>/dev/null; kill -0 "+"1 && ls /proc | grep -c '^[0-9]'")...)
	cmd.ExtraFiles = slices.Repeat([]*os.File{leak}, 8) // the first few give way to those of the grants
	out, _ := cmd.CombinedOutput()                      // the script's own status does not matter
	if strings.Contains(string(out), "\nsecret\n") || strings.HasPrefix(string(out), "secret") || strings.Contains(string(out), "PLANTED") {
		t.Errorf("the command sees the host:\n%s", out)
	}
	if !strings.Contains(string(out), "\n4\n") { // 0, 1, 2 and that of ls
		t.Errorf("the command has descriptors of the host:\n%s", out)
	}

	// It refuses where the policy and a shell would disagree.
	refused := func(what, want string, o outcome) {
		t.Helper()
		if o.status != exitFailed || !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, "--shell-ignores-policy") || strings.Contains(o.stdout, "ran") {
			t.Errorf("%s: %+v", what, o)
		}
	}
	denied := writeTo(t, filepath.Join(base, "deny.json"), `{"allow_read":["/"],"deny_read":["/workspace/app/later"]}`)
	refused("deny_read of something that is not there yet", "/workspace/app/later", sh(denied, "echo ran"))
	narrow := writeTo(t, filepath.Join(base, "narrow.json"), `{"allow_read":["/workspace/app/src"]}`)
	refused("a part that may not be read", "reading all of", sh(narrow, "echo ran"))
	writeTo(t, filepath.Join(app, "src", ".env"), "secret\n")
	refused("a protected name", "/workspace/app/src/.env", sh(everything, "echo ran"))
	if o := sh(everything, "cat src/.env", "--shell-ignores-policy"); o.status != 0 || o.stdout != "secret\n" {
		t.Errorf("--shell-ignores-policy: %+v", o)
	}
	inside := writeTo(t, filepath.Join(app, "policy.json"), `{"allow_read":["/"]}`)
	if o := sh(inside, "echo ran"); o.status != exitFailed || !strings.Contains(o.stderr, "inside a granted directory") {
		t.Errorf("a policy inside a grant: %+v", o)
	}
	t.Setenv("PATH", t.TempDir())
	if o := sh(everything, "echo ran"); o.status != exitFailed || !strings.Contains(o.stderr, "bubblewrap is missing") {
		t.Errorf("without bubblewrap: %+v", o)
	}
}

// The command has a session of its own, and goes when workspacefs is killed.
func TestRunDiesWithParent(t *testing.T) {
	needBubblewrap(t)
	cmd := exec.Command(binary, "--root", t.TempDir(), "run", "--", "sh", "-c", "read -r stat < /proc/self/stat; echo $stat; exec sleep 1000")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(stdout)
	line, err := r.ReadString('\n') // pid (comm) state ppid pgrp session ...
	if fields := strings.Fields(line); err != nil || len(fields) < 6 || fields[5] == "0" {
		t.Errorf("the session of the command is one from outside: %q, %v", line, err)
	}
	// Whoever holds the other end of the pipe is alive.
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, r)
		ended <- err
	}()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the command outlives workspacefs")
	}
	_ = cmd.Wait() // killed
}
