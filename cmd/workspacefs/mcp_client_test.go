package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the recorded transcripts")

const token = "a-token-for-tests-0123456789"

// A job is what the client in testdata/mcpclient is told to do.
type job struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Cwd     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Token   string            `json:"token,omitempty"`
	Dir     string            `json:"dir"`
	Roots   any               `json:"roots,omitempty"`
	Steps   []json.RawMessage `json:"steps"`
}

// needNode returns node, or skips where it or the client's package is missing.
func needNode(t *testing.T) string {
	t.Helper()
	missing := ""
	node, err := exec.LookPath("node")
	if err != nil {
		missing = "node is missing"
	} else if _, err := os.Stat("testdata/mcpclient/node_modules/@modelcontextprotocol/sdk"); err != nil {
		missing = "the TypeScript SDK is missing: npm ci --prefix cmd/workspacefs/testdata/mcpclient"
	}
	if missing != "" {
		if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return node
}

func (j job) run(t *testing.T, node string) string {
	t.Helper()
	data, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "testdata/mcpclient/client.mjs")
	cmd.Stdin = bytes.NewReader(data)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("client: %v\n%s%s", err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// mcpTree is a planted tree with what the recorded session needs, and the flags
// that serve it.
func mcpTree(t *testing.T) (p planted, args []string) {
	t.Helper()
	p = plant(t)
	base := filepath.Dir(p.root)
	if err := os.MkdirAll(filepath.Join(p.root, "out", "tree", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "scratch"), 0o755); err != nil {
		t.Fatal(err)
	}
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
	for name, content := range map[string]string{
		"lines.txt": "1\n2\n3\n4\n5\n6\n", "pixel.png": png, "blob.bin": "\x00\x01\x02needle", "empty": "",
		"unread.txt": "x\n", "shared.txt": "mine\nand ours\n", "gone.txt": "soon\n", "out/tree/deep/f": "f\n",
	} {
		if err := os.WriteFile(filepath.Join(p.root, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	policy := filepath.Join(base, "policy.json")
	spec := `{"allow_read":["/"],"allow_write":["/"],"deny_write_component":["node_modules"],"allow_recursive_delete":true,"deny_write":["/workspace/app/d/e/keep"]}`
	if err := os.WriteFile(policy, []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	return p, []string{
		"--grant", "app=" + p.root, "--grant", "notes=" + p.outside + ":ro", "--grant", "scratch=" + filepath.Join(base, "scratch"),
		"--policy", policy, "mcp", "--audit", filepath.Join(base, "audit.jsonl"),
	}
}

// serveHTTP starts the server on a free port and returns its URL.
func serveHTTP(t *testing.T, args []string) string {
	t.Helper()
	cmd := exec.Command(binary, append(args, "--http", "127.0.0.1:0")...)
	cmd.Env = append(os.Environ(), "WORKSPACEFS_TOKEN="+token)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		defer time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server did not shut down cleanly: %v", err)
		}
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), " on ")
	if err != nil || !ok {
		t.Fatalf("server said %q, %v", line, err)
	}
	return url
}

var volatile = regexp.MustCompile(`modified \S+`)

// compare checks a transcript against the recorded one.
func compare(t *testing.T, file, transcript string) {
	t.Helper()
	transcript = volatile.ReplaceAllString(transcript, "modified TIME")
	if *update {
		if err := os.WriteFile(file, []byte(transcript), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if transcript != string(want) {
		got, wanted := strings.Split(transcript, "\n"), strings.Split(string(want), "\n")
		for i := range max(len(got), len(wanted)) {
			if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
				t.Fatalf("the transcript differs from line %d on:\n got %q\nwant %q", i+1, at(got, i), at(wanted, i))
			}
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(end)"
}

// A client from another code base plays the same session over both transports.
func TestMCPTranscript(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the recorded session needs links, a FIFO and the error texts of Linux")
	}
	node := needNode(t)
	script, err := os.ReadFile("testdata/mcpclient/session.json")
	if err != nil {
		t.Fatal(err)
	}
	var steps []json.RawMessage
	if err := json.Unmarshal(script, &steps); err != nil {
		t.Fatal(err)
	}
	calls := bytes.Count(script, []byte(`"tool":`))
	if calls < 40 {
		t.Errorf("the session has %d calls", calls)
	}
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			p, args := mcpTree(t)
			j := job{Dir: p.root, Steps: steps}
			if transport == "http" {
				j.URL, j.Token = serveHTTP(t, args), token
			} else {
				j.Command, j.Args, j.Cwd = binary, args, p.outside
			}
			transcript := j.run(t, node)
			p.hostFree(t, "the transcript", outcome{stdout: strings.ReplaceAll(transcript, "../outside/secret", "")})
			compare(t, "testdata/transcript.golden", transcript)
			checkAudit(t, filepath.Join(filepath.Dir(p.root), "audit.jsonl"))
			t.Logf("%d tool calls", calls)
		})
	}
}

// checkAudit wants one JSON object a line, decisions of both kinds among them.
func checkAudit(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	allowed, denied := 0, 0
	for line := range bytes.Lines(data) {
		var l struct {
			Op, Path, Rule string
			Allow          bool
		}
		if err := json.Unmarshal(line, &l); err != nil || l.Op == "" {
			t.Fatalf("%v in %q", err, line)
		}
		if l.Allow {
			allowed++
		} else {
			denied++
		}
	}
	if allowed == 0 || denied == 0 {
		t.Errorf("%d decisions allowed and %d denied in the audit log", allowed, denied)
	}
}

// Roots narrow what is granted and never widen it.
func TestMCPRoots(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the recorded session needs absolute paths of Unix, which Windows lacks")
	}
	node := needNode(t)
	p, args := mcpTree(t)
	call := func(path string) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"tool":"read_file","args":{"path":%q}}`, path))
	}
	roots := func(dirs any) json.RawMessage {
		data, err := json.Marshal(map[string]any{"roots": dirs})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	const app, deep, notes = "/workspace/app/a.txt", "/workspace/app/src/main.go", "/workspace/notes/secret"
	for _, tc := range []struct {
		name  string
		roots any
		can   string // of app, deep, notes: which can be read
	}{
		{"parent of a grant", []string{p.root}, "app deep"},
		{"parent of all grants", []string{filepath.Dir(p.root)}, "app deep notes"},
		{"inside a grant", []string{filepath.Join(p.root, "src")}, "deep"},
		{"through a link", []string{filepath.Join(p.root, "dirlink")}, "notes"},
		{"two", []string{filepath.Join(p.root, "src"), p.outside}, "deep notes"},
		{"outside every grant", []string{t.TempDir()}, ""},
		{"no such directory", []string{filepath.Join(p.root, "nope")}, ""},
		{"no file URI", []string{"file://host/x", "file:relative"}, ""},
		{"none", []string{}, ""},
		{"failing", "fail", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := job{Command: binary, Args: args, Cwd: p.outside, Dir: p.root, Roots: tc.roots, Steps: []json.RawMessage{call(app), call(deep), call(notes)}}
			transcript := j.run(t, node)
			var can []string
			for i, answer := range strings.Split(transcript, "> read_file ")[1:] {
				if !strings.Contains(answer, "\n! ") {
					can = append(can, []string{"app", "deep", "notes"}[i])
				}
			}
			if got := strings.Join(can, " "); got != tc.can {
				t.Errorf("can read %q, want %q\n%s", got, tc.can, transcript)
			}
			p.hostFree(t, "a refusal", outcome{stdout: transcript})
		})
	}
	t.Run("changed", func(t *testing.T) {
		j := job{Command: binary, Args: args, Cwd: p.outside, Dir: p.root, Roots: []string{p.root}, Steps: []json.RawMessage{
			call(app), roots([]string{p.outside}), call(app), call(notes), roots([]string{}), call(notes),
		}}
		transcript := j.run(t, node)
		var answers []string
		for _, answer := range strings.Split(transcript, "> read_file ")[1:] {
			answers = append(answers, map[bool]string{true: "refused", false: "read"}[strings.Contains(answer, "\n! ")])
		}
		if got := strings.Join(answers, " "); got != "read refused read refused" {
			t.Errorf("%s\n%s", got, transcript)
		}
	})
}
