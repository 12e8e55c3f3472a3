package mcpserver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// serve makes a server over dir; connect opens one session to it.
func serve(t *testing.T, dir, policy string) *Server {
	t.Helper()
	w, err := setup.Flags{Root: dir, Policy: policy}.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	s, err := New(Config{Workspace: w, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *Server) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// use calls a tool and returns its text; failed says that it is a tool error.
func use(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (text string, failed bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text + "\n")
		}
	}
	return b.String(), res.IsError
}

// edit_file leaves every byte outside the edit, and the mode, as they are.
func TestEditFile(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, setup.ReadWrite).connect(t)
	size := 50 << 20
	if testing.Short() {
		size = 4 << 20
	}
	big := strings.Repeat("0123456789abcde\n", size/16)
	for i, tc := range []struct {
		name, content, from, to, want string
		all                           bool
		err                           string
	}{
		{name: "crlf", content: "a\r\nb\r\n", from: "a\nb", to: "x\ny", want: "x\r\ny\r\n"},
		{name: "mixed", content: "a\r\nb\nc\r\n", from: "b", to: "x", want: "a\r\nx\nc\r\n"},
		{name: "bom", content: "\xef\xbb\xbfa\n", from: "a", to: "x", want: "\xef\xbb\xbfx\n"},
		{name: "invalid utf-8", content: "\xff\xfe b \x80\n", from: "b", to: "x", want: "\xff\xfe x \x80\n"},
		{name: "empty", content: "", from: "", to: "x", want: "x"},
		{name: "50 MB", content: big + "needle" + big, from: "needle", to: "thread", want: big + "thread" + big},
		{name: "dollar", content: "a", from: "a", to: "$& $1 $$ \\0", want: "$& $1 $$ \\0"},
		{name: "all", content: "a b a", from: "a", to: "x", all: true, want: "x b x"},
		{name: "ambiguous", content: "a b a", from: "a", to: "x", err: "several times, at lines 1, 1"},
		{name: "absent", content: "a", from: "b", to: "x", err: "does not occur"},
		{name: "empty text", content: "a", from: "", to: "x", err: "is empty"},
		{name: "no change", content: "a", from: "a", to: "a", err: "equals"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := fmt.Sprintf("f%d", i)
			host := filepath.Join(dir, name)
			if err := os.WriteFile(host, []byte(tc.content), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(host, 0o751); err != nil {
				t.Fatal(err)
			}
			args := map[string]any{"path": name, "old_text": tc.from, "new_text": tc.to, "replace_all": tc.all}
			if text, failed := use(t, s, "edit_file", args); !failed || !strings.Contains(text, "has not read it") {
				t.Errorf("an edit of what was not read: %v %s", failed, text)
			}
			if text, failed := use(t, s, "read_file", map[string]any{"path": name, "limit": 1}); failed {
				t.Fatal(text)
			}
			args["dry_run"] = true
			dry, dryFailed := use(t, s, "edit_file", args)
			if data, err := os.ReadFile(host); err != nil || string(data) != tc.content {
				t.Fatalf("a dry run changed the file: %v", err)
			}
			delete(args, "dry_run")
			text, failed := use(t, s, "edit_file", args)
			data, err := os.ReadFile(host)
			if err != nil {
				t.Fatal(err)
			}
			if tc.err != "" {
				if !failed || !dryFailed || !strings.Contains(text, tc.err) || string(data) != tc.content {
					t.Errorf("%v %v %s", failed, dryFailed, text)
				}
				return
			}
			if failed || dryFailed || !strings.HasPrefix(text, dry) || !strings.HasPrefix(dry, "--- "+name) || len(dry) > 70<<10 {
				t.Errorf("%v %v\n%.500s\ndry:\n%.500s", failed, dryFailed, text, dry)
			}
			if string(data) != tc.want {
				t.Errorf("the file holds %.100q, want %.100q", data, tc.want)
			}
			if info, err := os.Stat(host); err != nil || info.Mode() != 0o751 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			// What the session wrote it knows: no need to read again.
			if text, failed := use(t, s, "write_file", map[string]any{"path": name, "content": "done"}); failed {
				t.Error(text)
			}
		})
	}
}

// One session's read does not vouch for another's write, and a spelling is not a
// way around.
func TestGuard(t *testing.T) {
	dir := t.TempDir()
	server := serve(t, dir, setup.ReadWrite)
	one, two := server.connect(t), server.connect(t)
	put := func(content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write := func(s *mcp.ClientSession, path, content string) string {
		t.Helper()
		text, failed := use(t, s, "write_file", map[string]any{"path": path, "content": content})
		if failed {
			return text
		}
		return ""
	}
	put("v1\n")
	if _, failed := use(t, one, "read_file", map[string]any{"path": "f"}); failed {
		t.Fatal("read")
	}
	if why := write(two, "f", "x"); !strings.Contains(why, "has not read it") {
		t.Errorf("a session that has not read it: %q", why)
	}
	if why := write(one, "/workspace/./f", "v2\n"); why != "" {
		t.Errorf("another spelling of what was read: %s", why)
	}
	if why := write(two, "//f", "x"); !strings.Contains(why, "has not read it") {
		t.Errorf("another spelling of what was not: %q", why)
	}
	put("v3\n")
	if why := write(one, "f", "x"); !strings.Contains(why, "changed since") || !strings.Contains(why, "-v2\n") || !strings.Contains(why, "+v3\n") {
		t.Errorf("a change from outside: %q", why)
	}
	if text, failed := use(t, one, "write_file", map[string]any{"path": "f", "content": "x", "expected_digest": "sha256:" + strings.Repeat("0", 64)}); !failed || !strings.Contains(text, "conflict") {
		t.Errorf("a digest that was never read: %s", text)
	}
	if text, failed := use(t, two, "write_file", map[string]any{"path": "f", "content": "x", "expected_digest": "sha256:" + strings.Repeat("0", 64)}); !failed || !strings.Contains(text, "has not read") {
		t.Errorf("a digest of a file that was never read: %s", text)
	}
	// Reading cannot help where there is no file.
	if text, failed := use(t, one, "make_directory", map[string]any{"path": "dir"}); failed {
		t.Fatal(text)
	}
	if why := write(one, "dir", "x"); !strings.Contains(why, "is a directory; list_directory") {
		t.Errorf("over a directory: %q", why)
	}
	if text, failed := use(t, one, "write_file", map[string]any{"path": "f", "content": "x", "expected_digest": "nonsense"}); !failed || !strings.Contains(text, "not a digest") {
		t.Errorf("no digest: %s", text)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(data) != "v3\n" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	// A window counts as a read of the file, whose digest it tells.
	if _, failed := use(t, two, "read_file", map[string]any{"path": "f", "offset": 1, "limit": 1}); failed {
		t.Fatal("read")
	}
	if why := write(two, "f", "v4\n"); why != "" {
		t.Error(why)
	}
	// A move brings what is known along, and forgets what it replaced.
	if text, failed := use(t, two, "move", map[string]any{"source": "f", "destination": "g"}); failed {
		t.Fatal(text)
	}
	if why := write(two, "g", "v5\n"); why != "" {
		t.Error(why)
	}
	if why := write(one, "f", "new\n"); !strings.Contains(why, "was removed") {
		t.Errorf("a file that went: %q", why)
	}
	if why := write(one, "f", "new\n"); why != "" {
		t.Errorf("made anew: %s", why)
	}
}

// A digest that the caller names must be the one last read, also where the file has
// not changed; moving over a file needs what overwriting it needs.
func TestGuardDigests(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, setup.ReadWrite).connect(t)
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) {
		t.Helper()
		if text, failed := use(t, s, "read_file", map[string]any{"path": name}); failed {
			t.Fatal(text)
		}
	}
	other := "sha256:" + strings.Repeat("0", 64)
	put("f", "f")
	put("g", "g")
	read("f")
	if text, failed := use(t, s, "write_file", map[string]any{"path": "f", "content": "x", "expected_digest": other}); !failed || !strings.Contains(text, "not what this session last read") {
		t.Errorf("another digest: %s", text)
	}
	over := map[string]any{"source": "f", "destination": "g", "overwrite": true}
	for _, step := range []struct {
		what, want string
		before     func()
		digest     any
	}{
		{"unread", "has not read it", func() {}, nil},
		{"another digest", "has not read", func() {}, other},
		{"read, another digest", "not what this session last read", func() { read("g") }, other},
		{"changed since", "changed since", func() { put("g", "new") }, nil},
	} {
		step.before()
		over["expected_digest"] = step.digest
		if text, failed := use(t, s, "move", over); !failed || !strings.Contains(text, step.want) {
			t.Errorf("%s: %v %s", step.what, failed, text)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "g")); err != nil || string(data) != "new" {
		t.Errorf("the destination holds %q, %v", data, err)
	}
	read("g")
	delete(over, "expected_digest")
	if text, failed := use(t, s, "move", over); failed {
		t.Error(text)
	}
}

func TestReadWindows(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, setup.ReadOnly).connect(t)
	long := strings.Repeat("é", maxLine)
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	for name, content := range map[string]string{
		"many": many.String(), "long": "a\n" + long + "\nb\n", "huge": strings.Repeat(strings.Repeat("x", 1000)+"\n", 2000),
		"bom": "\xef\xbb\xbffirst\n", "bad": "a\xffb\n", "crlf": "a\r\nb\r\n", "nolf": "a\nb",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args map[string]any
		want []string
	}{
		{map[string]any{"path": "many"}, []string{"     1\tline 1\n", "  2000\tline 2000\n", "[lines 1-2000 of 5000", "offset 2001"}},
		{map[string]any{"path": "many", "offset": 4999}, []string{"  4999\tline 4999\n  5000\tline 5000\n", "[lines 4999-5000 of 5000"}},
		{map[string]any{"path": "many", "offset": 6000}, []string{"[no lines from 6000 on: 5000 lines"}},
		{map[string]any{"path": "long"}, []string{"     3\tb\n", "[long lines were cut]"}},
		{map[string]any{"path": "huge"}, []string{"[lines 1-260 of 2000", "offset 261"}},
		{map[string]any{"path": "bom"}, []string{"     1\tfirst\n", "byte order mark"}},
		{map[string]any{"path": "bad"}, []string{"     1\ta\uFFFDb\n", "not valid UTF-8"}},
		{map[string]any{"path": "crlf"}, []string{"     1\ta\n     2\tb\n", "[line endings: crlf]"}},
		{map[string]any{"path": "nolf"}, []string{"     1\ta\n     2\tb\n", "[lines 1-2 of 2"}},
	} {
		text, failed := use(t, s, "read_file", tc.args)
		for _, want := range tc.want {
			if failed || !strings.Contains(text, want) {
				t.Errorf("%v: no %q in %v %.300q ... %.200q", tc.args, want, failed, text, text[max(0, len(text)-200):])
			}
		}
		if len(text) > maxText+maxLine+1000 {
			t.Errorf("%v: %d bytes", tc.args, len(text))
		}
	}
	if text, failed := use(t, s, "read_file", map[string]any{"path": "many", "offset": -1}); !failed {
		t.Error(text)
	}
}

// What no path can spell is not shown, and the answer says so.
func TestUnspellable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no names with a backslash or a control character")
	}
	dir := t.TempDir()
	for _, name := range []string{"full/plain", `full/a\b`, "full/c\x01", "full/.h\x01", `only/x\y`} {
		host := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(host), 0o755), os.WriteFile(host, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, dir, setup.ReadOnly).connect(t)
	for _, tc := range []struct{ tool, path, want string }{
		{"list_directory", "full", "plain\t0\n[2 more entries are not shown"},
		{"list_directory", "only", "[1 more entry is not shown"},
		{"list_directory", ".", "full/\nonly/\n\n"},
		{"tree", ".", "  full/\n    plain\n    [2 more entries are not shown"},
	} {
		if text, failed := use(t, s, tc.tool, map[string]any{"path": tc.path}); failed || !strings.Contains(text, tc.want) {
			t.Errorf("%s %s: no %q in %v %q", tc.tool, tc.path, tc.want, failed, text)
		}
	}
}

// The memory of a session has a bound.
func TestKnown(t *testing.T) {
	var k known
	for i := range maxKnown + 100 {
		k.put(namespace.MustParse(fmt.Sprintf("/d/f%d", i)), provider.Digest{}, bytes.Repeat([]byte{1}, 4096))
	}
	if k.order.Len() > maxKnown || len(k.byKey) != k.order.Len() || k.bytes > maxKeptContents {
		t.Errorf("%d entries, %d keys, %d bytes", k.order.Len(), len(k.byKey), k.bytes)
	}
	if _, ok := k.get(namespace.MustParse("/d/f0")); ok {
		t.Error("the oldest is still there")
	}
	last := namespace.MustParse(fmt.Sprintf("/d/f%d", maxKnown+99))
	if s, ok := k.get(last); !ok || len(s.content) != 4096 {
		t.Error("the newest is gone")
	}
	var small known // no content to speak of: the number counts
	for i := range maxKnown + 100 {
		small.put(namespace.MustParse(fmt.Sprintf("/d/f%d", i)), provider.Digest{}, nil)
	}
	if small.order.Len() != maxKnown || len(small.byKey) != maxKnown {
		t.Errorf("%d entries, %d keys of files without content", small.order.Len(), len(small.byKey))
	}
	k.forget(namespace.MustParse("/d"))
	if k.order.Len() != 0 || k.bytes != 0 || len(k.byKey) != 0 {
		t.Errorf("after forgetting: %d entries, %d bytes", k.order.Len(), k.bytes)
	}
}

// A panic is a tool error that names nothing, and the server goes on.
func TestPanic(t *testing.T) {
	server := serve(t, t.TempDir(), setup.ReadOnly)
	tool(server, &mcp.Tool{Name: "explode"}, func(*call, struct{}) (*mcp.CallToolResult, error) { panic("secret") })
	s := server.connect(t)
	if text, failed := use(t, s, "explode", nil); !failed || strings.Contains(text, "secret") {
		t.Errorf("%v %s", failed, text)
	}
	if text, failed := use(t, s, "list_directory", nil); failed {
		t.Error(text)
	}
}

// brokenWriter fails after a few writes, as a full disk does.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, fs.ErrClosed
	}
	return len(p), nil
}

// From the first decision that cannot be recorded on, nothing is answered.
func TestAuditFailure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := setup.Flags{Root: dir, Policy: setup.ReadWrite}.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var stopped []error
	s, err := New(Config{Workspace: w, Audit: NewAudit(&brokenWriter{left: 3}, func(err error) { stopped = append(stopped, err) })})
	if err != nil {
		t.Fatal(err)
	}
	session := s.connect(t)
	refused := 0 // all but the first: the outcome of the second, which was allowed, is not recorded
	for range 10 {
		if text, failed := use(t, session, "read_file", map[string]any{"path": "f"}); failed && strings.Contains(text, "audit log") {
			refused++
		} else if refused > 0 {
			t.Errorf("answered after the failure: %s", text)
		}
	}
	if refused != 9 || len(stopped) != 1 || !errors.Is(stopped[0], fs.ErrClosed) {
		t.Errorf("%d refused, stopped %v", refused, stopped)
	}
	if text, failed := use(t, session, "write_file", map[string]any{"path": "new", "content": "x"}); !failed {
		t.Error(text)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a write that nobody recorded: %v", err)
	}
	if _, err := session.ListResources(t.Context(), nil); err == nil {
		t.Error("resources are still listed")
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "workspacefs:///workspace/f"}); err == nil {
		t.Error("resources are still read")
	}
}

// The listing of resources pages through everything, once.
func TestResourcePages(t *testing.T) {
	dir := t.TempDir()
	for i := range resourcePage + 20 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%04d %d", i, i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".env"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, setup.ReadOnly).connect(t)
	seen := map[string]bool{}
	for r, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.URI] || strings.Contains(r.URI, ".env") {
			t.Errorf("%s", r.URI)
		}
		seen[r.URI] = true
	}
	if len(seen) != resourcePage+20 {
		t.Errorf("%d resources", len(seen))
	}
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "workspacefs:///workspace/f0001%201"})
	if err != nil || len(res.Contents) != 1 {
		t.Errorf("%v", err)
	}
}
