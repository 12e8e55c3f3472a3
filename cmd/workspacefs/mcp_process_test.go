package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect starts the server as a process and connects the Go client to it.
func connect(t *testing.T, args ...string) (*mcp.ClientSession, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session, cmd
}

func callTool(ctx context.Context, s *mcp.ClientSession, name string, args map[string]any) (text string, failed bool, err error) {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return "", false, err
	}
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text + "\n")
		}
	}
	return b.String(), res.IsError, nil
}

// version n of a file: long enough that a torn write would show.
func versionOf(file, n int) string {
	head := fmt.Sprintf("file %d version %d\n", file, n)
	return head + strings.Repeat(head, 4000+n%7*100)
}

// Killed at any moment during a thousand writes, the server leaves every file old
// or new, whole.
func TestMCPKilled(t *testing.T) {
	const files = 8
	writes := 1000
	if testing.Short() {
		writes = 200
	}
	perRound := writes / 5 // killed half-way on average
	dir := t.TempDir()
	var began, done, kills int
	for round := 0; began < writes; round++ {
		session, cmd := connect(t, "--root", dir, "--policy", "read-write", "mcp")
		last := make([]int, files) // the newest version that was answered
		next := make([]int, files) // the newest that was asked for
		r := rand.New(rand.NewPCG(uint64(round), 2))
		kill := 1 + r.IntN(perRound*9/10)
		var wg sync.WaitGroup
		var mu sync.Mutex // guards what the writers count
		count := 0
		for f := range files {
			last[f], next[f] = -1, -1
			if round == 0 {
				continue
			}
			if _, failed, err := callTool(t.Context(), session, "read_file", map[string]any{"path": fmt.Sprintf("f%d", f)}); err != nil || failed {
				t.Fatal(failed, err)
			}
		}
		for f := range files {
			name := fmt.Sprintf("f%d", f)
			wg.Go(func() {
				for i := range perRound / files {
					n := round*1000 + i
					mu.Lock()
					next[f] = n
					began++
					count++
					if count == kill {
						_ = cmd.Process.Kill()
						kills++
					}
					mu.Unlock()
					_, failed, err := callTool(t.Context(), session, "write_file", map[string]any{"path": name, "content": versionOf(f, n)})
					if err != nil {
						return // killed
					}
					if failed {
						t.Errorf("round %d: a write was refused", round)
						return
					}
					mu.Lock()
					last[f] = n
					done++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		_ = cmd.Process.Kill()
		session.Close()
		for f := range files {
			data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("f%d", f)))
			if os.IsNotExist(err) && last[f] < 0 && round == 0 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", f)), []byte(versionOf(f, 0)), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			var file, n int
			if _, scanErr := fmt.Sscanf(string(data), "file %d version %d\n", &file, &n); err != nil || scanErr != nil || string(data) != versionOf(f, n) {
				t.Fatalf("round %d: file %d is torn: %d bytes, %v", round, f, len(data), err)
			}
			if last[f] >= 0 && (n < last[f] || n > next[f]) {
				t.Fatalf("round %d: file %d holds version %d, but %d was answered and %d asked for", round, f, n, last[f], next[f])
			}
		}
	}
	t.Logf("%d writes asked for, %d answered, killed %d times: every file whole", began, done, kills)
	session, _ := connect(t, "--root", dir, "mcp")
	if text, failed, err := callTool(t.Context(), session, "list_directory", nil); err != nil || failed || strings.Count(text, "\n") != files+1 {
		t.Errorf("after the last kill the listing shows (%v, %v):\n%s", failed, err, text)
	}
}

// A client that goes away ends the server, and so does an interrupt.
func TestMCPShutdown(t *testing.T) {
	dir := t.TempDir()
	session, cmd := connect(t, "--root", dir, "--policy", "read-write", "mcp")
	if _, failed, err := callTool(t.Context(), session, "write_file", map[string]any{"path": "x", "content": "x"}); err != nil || failed {
		t.Fatal(failed, err)
	}
	session.Close()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("the client went away: %v", cmd.ProcessState)
	}
	interrupted := exec.Command(binary, "--root", dir, "mcp")
	stdin, err := interrupted.StdinPipe() // stays open
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := interrupted.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // let it install its handler; before that an interrupt kills it, which is right too
	_ = interrupted.Process.Signal(os.Interrupt)
	timer := time.AfterFunc(10*time.Second, func() { _ = interrupted.Process.Kill() })
	defer timer.Stop()
	if err := interrupted.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}

// The operator's own files must lie outside every grant, and nothing is granted
// by accident.
func TestMCPStartup(t *testing.T) {
	base := t.TempDir()
	app := filepath.Join(base, "app")
	policy := `{"allow_read":["/"],"allow_write":["/"]}`
	for _, name := range []string{"app/policy.json", "app/sub/policy.json", "policy.json", "app/token"} {
		file := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		content := policy
		if strings.HasSuffix(name, "token") {
			content = token
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	linked := in("linked.json") // outside by name, inside by what it is
	if err := os.Symlink(in("app/policy.json"), linked); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		t.Skip("this account of Windows may not make links: ", err)
	}
	for _, err := range []error{
		os.Symlink(in("app"), in("alias")), os.Symlink(in("app/new"), in("dangling.jsonl")), os.Link(in("app/policy.json"), in("hard.json")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--policy", in("app/policy.json"), "mcp"}, exitFailed, "inside a granted directory"},
		{[]string{"--policy", in("app/sub/policy.json"), "mcp"}, exitFailed, "inside a granted directory"},
		{[]string{"--policy", linked, "mcp"}, exitFailed, "inside a granted directory"},
		{[]string{"--policy", in("hard.json"), "mcp"}, exitFailed, "more than one hard link"},
		{[]string{"mcp", "--audit", in("hard.json")}, exitFailed, "more than one hard link"},
		{[]string{"mcp", "--audit", in("dangling.jsonl")}, exitFailed, "inside a granted directory"},
		{[]string{"mcp", "--audit", in("app/audit.jsonl")}, exitFailed, "inside a granted directory"},
		{[]string{"mcp", "--audit", in("alias/audit.jsonl")}, exitFailed, "inside a granted directory"},
		{[]string{"mcp", "--audit", in("nowhere/audit.jsonl")}, exitFailed, "no such file"},
		{[]string{"mcp", "--http", "127.0.0.1:0", "--token-file", in("app/token")}, exitFailed, "inside a granted directory"},
		{[]string{"mcp", "--http", "127.0.0.1:0"}, exitUsage, "bearer token"},
		{[]string{"mcp", "--http", "0.0.0.0:0"}, exitUsage, "bearer token"},
		{[]string{"mcp", "--token-file", in("policy.json")}, exitUsage, "for --http"},
	} {
		args := append([]string{"--grant", "app=" + app}, tc.args...)
		if o := runIn(t, base, "", args...); o.status != tc.status || !strings.Contains(o.stderr, tc.want) {
			t.Errorf("%v: %+v", tc.args, o)
		}
	}
	if o := runIn(t, base, "", "mcp"); o.status != exitUsage || !strings.Contains(o.stderr, "say what to grant") {
		t.Errorf("no grant: %+v", o)
	}
	t.Setenv("WORKSPACEFS_TOKEN", token)
	if o := runIn(t, base, "", "--grant", "app="+app, "mcp", "--http", "0.0.0.0:0"); o.status != exitUsage || !strings.Contains(o.stderr, "not a loopback address") {
		t.Errorf("%+v", o)
	}
	t.Setenv("WORKSPACEFS_TOKEN", "short")
	if o := runIn(t, base, "", "--grant", "app="+app, "mcp", "--http", "127.0.0.1:0"); o.status != exitFailed || !strings.Contains(o.stderr, "at least") {
		t.Errorf("%+v", o)
	}
}

// Who may not speak HTTP with the server.
func TestMCPHTTPRefusals(t *testing.T) {
	url := serveHTTP(t, []string{"--root", t.TempDir(), "mcp"})
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	post := func(change func(*http.Request), body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+token)
		change(req)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := strings.TrimPrefix(url, "http://")
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"as it should be", func(*http.Request) {}, 200},
		{"its own origin", set("Origin", url), 200},
		{"localhost", func(r *http.Request) { r.Host = "localhost:1234" }, 200},
		{"no token", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		{"another token", set("Authorization", "Bearer "+token+"x"), 401},
		{"a prefix of the token", set("Authorization", "Bearer "+token[:10]), 401},
		{"the token as basic", set("Authorization", "Basic "+token), 401},
		{"rebound name", func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"rebound name with the port", func(r *http.Request) { r.Host = "evil.example:" + host[strings.LastIndex(host, ":")+1:] }, 403},
		{"a name that starts like one", func(r *http.Request) { r.Host = "127.0.0.1.evil.example" }, 403},
		{"origin null", set("Origin", "null"), 403},
		{"empty origin", set("Origin", ""), 403},
		{"foreign origin", set("Origin", "https://evil.example"), 403},
		{"another local origin", set("Origin", "http://127.0.0.1:1"), 403},
		{"own origin, other scheme", set("Origin", "https://"+host), 403},
	} {
		if res := post(tc.change, initialize); res.StatusCode != tc.want {
			t.Errorf("%s: %s, want %d", tc.name, res.Status, tc.want)
		}
	}
	if res := post(func(*http.Request) {}, `{"x":"`+strings.Repeat("x", 65<<20)+`"}`); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over the cap: %s", res.Status)
	}
	if res := post(set("Mcp-Session-Id", "stolen"), initialize); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown session: %s", res.Status)
	}
	var last *http.Response
	for range 80 {
		last = post(func(*http.Request) {}, initialize)
	}
	if last.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("sessions without end: %s", last.Status)
	}
}

// A decision that cannot be recorded stops the service.
func TestMCPAuditFails(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skip("no /dev/full: ", err)
	}
	dir := t.TempDir()
	cmd := exec.Command(binary, "--root", dir, "--policy", "read-write", "mcp", "--audit", "/dev/full")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if text, failed, err := callTool(ctx, session, "write_file", map[string]any{"path": "x", "content": "x"}); err == nil && !failed {
		t.Errorf("answered %q", text)
	}
	session.Close()
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(stderr.String(), "audit") {
		t.Errorf("%v: %s", cmd.ProcessState, stderr.String())
	}
}

// The audit log is JSON lines whose texts cannot forge another line.
func TestMCPAuditLines(t *testing.T) {
	base := t.TempDir()
	dir, audit := filepath.Join(base, "app"), filepath.Join(base, "audit.jsonl")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	session, _ := connect(t, "--root", dir, "mcp", "--audit", audit)
	for _, path := range []string{"a\n{\"forged\":true}", "\u2028x", "\x1b[31m", ".env", "ok"} {
		_, _, err := callTool(t.Context(), session, "read_file", map[string]any{"path": path})
		if err != nil {
			t.Fatal(err)
		}
	}
	session.Close()
	data, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var l map[string]any
		if err := json.Unmarshal(line, &l); err != nil || l["op"] == nil || l["forged"] != nil {
			t.Errorf("%v in %q", err, line)
		}
	}
	if bytes.ContainsAny(data, "\x1b\u2028") || bytes.Contains(data, []byte(base)) {
		t.Errorf("not safe to log:\n%s", data)
	}
	if info, err := os.Stat(audit); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the log can be read by others: %v, %v", info.Mode(), err)
	}
}
