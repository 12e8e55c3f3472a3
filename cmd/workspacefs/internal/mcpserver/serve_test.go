package mcpserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
)

const testToken = "a-token-for-tests-0123456789"

// http serves s and returns what sends a request to it.
func (s *Server) http(t *testing.T) (send func(method, session, authorization, body string) *http.Response) {
	t.Helper()
	handler, err := s.Handler(testToken)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(method, session, authorization, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// The SDK looks at Host too; this is the server's own check.
func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		host    string
		origins []string
		foreign bool
	}{
		{"127.0.0.1:80", nil, false},
		{"127.9.9.9", nil, false},
		{"[::1]:80", nil, false},
		{"LOCALHOST:1", nil, false},
		{"127.0.0.1:80", []string{"http://127.0.0.1:80"}, false},
		{"evil.example", nil, true},
		{"127.0.0.1.evil.example:80", nil, true},
		{"localhost.", nil, true},
		{"10.0.0.1", nil, true},
		{"0.0.0.0:80", nil, true},
		{"", nil, true},
		{"127.0.0.1:80", []string{"null"}, true},
		{"127.0.0.1:80", []string{""}, true},
		{"127.0.0.1:80", []string{"http://127.0.0.1:81"}, true},
		{"127.0.0.1:80", []string{"https://127.0.0.1:80"}, true},
		{"127.0.0.1:80", []string{"http://127.0.0.1:80", "http://evil.example"}, true},
		{"evil.example", []string{"http://evil.example"}, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Host = tc.host
		for _, o := range tc.origins {
			r.Header.Add("Origin", o)
		}
		if got := foreign(r); (got != "") != tc.foreign {
			t.Errorf("Host %q, Origin %q: %q", tc.host, tc.origins, got)
		}
	}
}

// Who knows the ID of a session and not the token can neither use nor end it.
func TestSessionNeedsToken(t *testing.T) {
	send := serve(t, t.TempDir(), setup.ReadOnly).http(t)
	res := send(http.MethodPost, "", "Bearer "+testToken, initialize)
	session := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || session == "" {
		t.Fatalf("%s, session %q", res.Status, session)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for _, authorization := range []string{"", "Bearer ", "Bearer " + testToken + "x", "Bearer " + testToken[:len(testToken)-1], "Bearer x" + testToken[1:], testToken} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if res := send(method, session, authorization, list); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with %q: %s", method, authorization, res.Status)
			}
		}
	}
	res = send(http.MethodPost, session, "Bearer "+testToken, list)
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), "read_file") {
		t.Errorf("the session itself: %s, %v", res.Status, err)
	}
}

// What is no message gets an error over HTTP too, and the session goes on.
func TestHTTPGarbage(t *testing.T) {
	send := serve(t, t.TempDir(), setup.ReadOnly).http(t)
	session := send(http.MethodPost, "", "Bearer "+testToken, initialize).Header.Get("Mcp-Session-Id")
	for _, body := range []string{"", "garbage", `{"jsonrpc":"2.0","id":`, `{}`, `[]`, `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}"} {
		if res := send(http.MethodPost, session, "Bearer "+testToken, body); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %s", body, res.Status)
		}
		res := send(http.MethodPost, session, "Bearer "+testToken, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"id":9`) {
			t.Errorf("the ping after %q: %s, %v, %s", body, res.Status, err, answer)
		}
	}
}

// Text that is not UTF-8 would be changed by decoding; it is refused.
func TestHTTPInvalidUTF8(t *testing.T) {
	dir := t.TempDir()
	send := serve(t, dir, setup.ReadWrite).http(t)
	session := send(http.MethodPost, "", "Bearer "+testToken, initialize).Header.Get("Mcp-Session-Id")
	for i, content := range []string{"a\xffb", "a\xe2\x82", strings.Repeat("x", 9000) + "\xed\xa0\x80"} {
		call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"f%d","content":"%s"}}}`, i, i, content)
		if res := send(http.MethodPost, session, "Bearer "+testToken, call); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q: %s", content, res.Status)
		}
	}
	call := `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"good","content":"` + strings.Repeat("\u20ac", 100_000) + `"}}}`
	if res := send(http.MethodPost, session, "Bearer "+testToken, call); res.StatusCode != http.StatusOK {
		t.Errorf("good text: %s", res.Status)
	} else if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 || names[0].Name() != "good" {
		t.Errorf("%v, %v", names, err)
	}
}

// No more requests are served at once than the bound, and open streams do not use
// it up.
func TestLimit(t *testing.T) {
	s := serve(t, t.TempDir(), setup.ReadOnly)
	entered, leave := make(chan string), make(chan struct{})
	handler := s.limit(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- r.Method
		<-leave
	}))
	done := make(chan int)
	start := func(method string) {
		go func() {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
			done <- w.Code
		}()
	}
	now := func(method string) int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		return w.Code
	}
	running := 0
	for method, most := range map[string]int{http.MethodGet: maxStreams, http.MethodPost: maxRequests} {
		for range most {
			start(method)
			if got := <-entered; got != method {
				t.Fatalf("%s was let in", got)
			}
			running++
		}
		if code := now(method); code != http.StatusServiceUnavailable {
			t.Errorf("one more %s: %d", method, code)
		}
	}
	close(leave)
	for range running {
		if code := <-done; code != http.StatusOK {
			t.Errorf("one of those let in: %d", code)
		}
	}
	go func() { <-entered }()
	if code := now(http.MethodPost); code != http.StatusOK {
		t.Errorf("when all have left: %d", code)
	}
}
