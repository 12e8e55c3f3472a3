package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
)

// rawClient talks to ServeStdio in lines.
type rawClient struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func (s *Server) raw(t *testing.T) *rawClient {
	t.Helper()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	c := &rawClient{t, in, bufio.NewReader(out), make(chan error, 1)}
	go func() { c.done <- s.ServeStdio(t.Context(), serverIn, serverOut) }()
	return c
}

func (c *rawClient) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// answer is one line of the server's.
type answer struct {
	ID     any `json:"id"`
	Result any `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *rawClient) receive() answer {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		c.t.Fatalf("%v in %q", err, line)
	}
	return a
}

// ping sends a request and wants its answer, next.
func (c *rawClient) ping(id int, after string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id))
	if a := c.receive(); a.ID != float64(id) || a.Error != nil {
		c.t.Fatalf("after %.80q the ping is answered with %+v", after, a)
	}
}

// A line that is no message gets an error, and the session goes on.
func TestStdioGarbage(t *testing.T) {
	c := serve(t, t.TempDir(), setup.ReadOnly).raw(t)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if a := c.receive(); a.Error != nil {
		t.Fatalf("%+v", a)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	const none = 0 // no answer
	for i, tc := range []struct {
		line string
		code int
		id   any
	}{
		{`{"jsonrpc":"2.0","id":`, -32700, nil},
		{`garbage`, -32700, nil},
		{`{}{}`, -32700, nil},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"} trailing`, -32700, nil},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", -32700, nil},
		{"\x00", -32700, nil},
		{strings.Repeat("[", 1<<20), -32700, nil},
		{`{"x":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`, -32700, nil},
		{strings.Repeat("x", maxMessage+1), -32600, nil},
		{`[]`, -32600, nil},
		{`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, -32600, nil},
		{`5`, -32600, nil},
		{`null`, -32600, nil},
		{`{}`, -32600, nil},
		{`{"id":7,"method":"ping"}`, -32600, float64(7)},
		{`{"jsonrpc":"1.0","id":"x","method":"ping"}`, -32600, "x"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600, 1.5},
		{`{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, -32600, float64(100)},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, float64(1 << 53)},
		{`{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, -32600, float64(1 << 53)},
		{`{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`, -32600, 1e20},
		{`{"jsonrpc":"2.0","id":1.5,"result":{}}`, none, nil},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, -32600, float64(7)},
		{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, -32601, float64(7)},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, -32600, float64(7)},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`, -32602, float64(7)},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}`, -32602, float64(7)},
		{`{"jsonrpc":"2.0","id":99,"result":{}}`, none, nil},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`, none, nil},
		{`{"jsonrpc":"2.0","method":"no/such"}`, none, nil},
		{``, none, nil},
		{"  \t\r", none, nil},
	} {
		c.send(tc.line)
		if tc.code != none {
			if a := c.receive(); a.Error == nil || a.Error.Code != tc.code || a.ID != tc.id {
				t.Errorf("%.80q is answered with %+v %+v, want id %v, code %d", tc.line, a, a.Error, tc.id, tc.code)
			}
		}
		c.ping(100+i, tc.line)
	}
	c.in.Close()
	if err := <-c.done; err != nil {
		t.Errorf("at the end: %v", err)
	}
}

// A line has a bound, and memory is not spent on what is beyond it.
func TestReadLine(t *testing.T) {
	const limit = 1 << 20
	long := strings.Repeat("x", limit)
	r := bufio.NewReaderSize(io.MultiReader(strings.NewReader("a\n"+long+"\n"), io.LimitReader(endless{}, 64<<20), strings.NewReader("\nb\n"+long[:limit-1]+"\nlast")), 4<<10)
	for i, want := range []struct {
		line string
		err  error
	}{
		{"a\n", nil}, {"", errLongLine}, {"", errLongLine}, {"b\n", nil}, {long[:limit-1] + "\n", nil}, {"last", io.EOF}, {"", io.EOF},
	} {
		line, err := readLine(r, limit)
		if string(line) != want.line || !errors.Is(err, want.err) {
			t.Fatalf("line %d: %d bytes, %v; want %d, %v", i, len(line), err, len(want.line), want.err)
		}
	}
	data := append(bytes.Repeat([]byte("y"), 32<<20), '\n')
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readLine(bufio.NewReaderSize(bytes.NewReader(data), 4<<10), limit)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*limit || !errors.Is(err, errLongLine) {
		t.Errorf("%d bytes for a line that is too long, %v", n, err)
	}
}

// endless is what never comes to an end of line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'z'
	}
	return len(p), nil
}

// Who pipes requests in and closes the pipe gets every answer, also of the calls
// that were under way then.
func TestStdioAnswersWhatCameBeforeTheEnd(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), bytes.Repeat([]byte("text\n"), 1000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const calls = 20
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i := range calls {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"grep","arguments":{"pattern":"no such text"}}}`+"\n", i+1)
	}
	var out bytes.Buffer
	err := serve(t, dir, setup.ReadOnly).ServeStdio(t.Context(), io.NopCloser(strings.NewReader(in.String())), nopWriteCloser{&out})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(map[any]bool)
	for line := range strings.Lines(out.String()) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.Error != nil || a.Result == nil {
			t.Errorf("%q: %v", line, err)
		}
		answered[a.ID] = true
	}
	if len(answered) != calls+1 {
		t.Errorf("%d requests were answered, want %d", len(answered), calls+1)
	}
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
