package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lineTransport is MCP over a pair of streams, one JSON-RPC message a line. The
// transport of the SDK ends the session at the first line that is no message; this
// one answers it with an error and goes on with the next. Batches, which the
// protocol has no more, are refused.
type lineTransport struct {
	in     io.ReadCloser
	out    io.WriteCloser
	limit  int // bytes of a line
	logger *slog.Logger
}

// Connect implements [mcp.Transport]; it is called once.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{
		lineTransport: t,
		messages:      make(chan jsonrpc.Message),
		closed:        make(chan struct{}),
		answered:      make(chan struct{}, 1),
	}
	go c.receive()
	return c, nil
}

type lineConn struct {
	*lineTransport
	messages chan jsonrpc.Message // closed at the end of the input, after err is set
	err      error

	calls    atomic.Int64  // requests read and not answered yet
	answered chan struct{} // told when there are none any more

	writing sync.Mutex // guards out, so that lines are whole

	closing sync.Once
	closed  chan struct{}
}

// SessionID implements [mcp.Connection]: there is one session.
func (c *lineConn) SessionID() string { return "" }

// drainTime is how long the calls that a client made before it closed its end may
// take from then on.
const drainTime = 5 * time.Second

// Read returns the next message. At the end of the input it waits for the calls
// made before, up to drainTime: the server cancels what is under way when Read
// says that there is no more, and who pipes requests in wants their answers.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	case m, ok := <-c.messages:
		if !ok {
			c.drain(ctx)
			return nil, c.err
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			c.calls.Add(1)
		}
		return m, nil
	}
}

// drain waits until all calls are answered, the time is over or c is closed.
func (c *lineConn) drain(ctx context.Context) {
	late := time.NewTimer(drainTime)
	defer late.Stop()
	for c.calls.Load() > 0 {
		select {
		case <-c.answered:
		case <-late.C:
			return
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write sends one message.
func (c *lineConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = c.send(data)
	if _, ok := m.(*jsonrpc.Response); ok && c.calls.Add(-1) == 0 {
		select {
		case c.answered <- struct{}{}:
		default: // told already
		}
	}
	return err
}

func (c *lineConn) send(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close ends the connection. A Read of the input that blocks all the same does so
// until the process ends: standard input cannot be interrupted everywhere.
func (c *lineConn) Close() (err error) {
	c.closing.Do(func() {
		close(c.closed)
		err = errors.Join(c.in.Close(), c.out.Close())
	})
	return err
}

// receive passes on what is a message and answers what is none.
func (c *lineConn) receive() {
	defer close(c.messages)
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		line, err := readLine(r, c.limit)
		var m jsonrpc.Message
		var refused *lineError
		if errors.Is(err, errLongLine) {
			refused, err = &lineError{code: jsonrpc.CodeInvalidRequest, text: "the message is too large"}, nil
		} else {
			m, refused = decodeLine(line)
		}
		switch {
		case refused != nil:
			c.logger.Warn("a line that is no message", "why", refused.text)
			if serr := c.send(refused.encode()); serr != nil && err == nil {
				err = serr
			}
		case m != nil:
			select {
			case c.messages <- m:
			case <-c.closed:
				err = io.EOF
			}
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

var errLongLine = errors.New("line too long")

// readLine reads up to the next LF, and no more than limit bytes into memory: what
// is longer is skipped whole, as errLongLine. The line before io.EOF may lack its
// LF.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > limit; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && long:
			return nil, errLongLine
		}
		return line, err
	}
}

// lineError is the answer to a line that is no message.
type lineError struct {
	id   json.RawMessage // of the request, if it can be told
	code int
	text string
}

func (e *lineError) encode() []byte {
	id := e.id
	if id == nil {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": e.code, "message": e.text}})
	if err != nil {
		panic(err) // unreachable: id was decoded from JSON
	}
	return data
}

// decodeLine returns the message in a line, or why it holds none, or neither for a
// line that wants no answer: a blank one, and a broken response, because two peers
// that answer those would never end.
func decodeLine(line []byte) (jsonrpc.Message, *lineError) {
	line = bytes.TrimSpace(line)
	var envelope struct{ ID, Method, Result, Error json.RawMessage }
	switch {
	case len(line) == 0:
		return nil, nil
	case !utf8.Valid(line): // the decoder would change it in silence
		return nil, &lineError{code: jsonrpc.CodeParseError, text: "parse error: not valid UTF-8"}
	case !json.Valid(line):
		return nil, &lineError{code: jsonrpc.CodeParseError, text: "parse error: the line is not one JSON value"}
	case line[0] == '[':
		return nil, &lineError{code: jsonrpc.CodeInvalidRequest, text: "invalid request: batches are not supported, send one message a line"}
	case json.Unmarshal(line, &envelope) != nil:
		return nil, &lineError{code: jsonrpc.CodeInvalidRequest, text: "invalid request: a message is a JSON object"}
	}
	m, err := jsonrpc.DecodeMessage(line)
	text := "invalid request: not a JSON-RPC 2.0 message"
	if err == nil {
		if keepsID(m, envelope.ID) {
			return m, nil
		}
		text = "invalid request: an id is a string or an integer of at most 53 bits"
	}
	if envelope.Method == nil && (envelope.Result != nil || envelope.Error != nil) {
		return nil, nil
	}
	refused := &lineError{code: jsonrpc.CodeInvalidRequest, text: text}
	if id := envelope.ID; len(id) > 0 && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9') {
		refused.id = id
	}
	return nil, refused
}

// keepsID reports whether the decoder left m the id that the line says. It turns
// numbers into integers by way of float64, and so the answer to 1.5 would be one to
// 1, which may be another request; and null, which no request may have, into none.
func keepsID(m jsonrpc.Message, id json.RawMessage) bool {
	var decoded jsonrpc.ID
	switch m := m.(type) {
	case *jsonrpc.Request:
		decoded = m.ID
	case *jsonrpc.Response:
		decoded = m.ID
	}
	switch n := decoded.Raw().(type) {
	case nil:
		return id == nil
	case int64:
		return string(id) == strconv.FormatInt(n, 10) && -maxID <= n && n <= maxID
	}
	return true
}

// maxID is the last of the integers that float64 tells from their neighbours.
const maxID = 1<<53 - 1
