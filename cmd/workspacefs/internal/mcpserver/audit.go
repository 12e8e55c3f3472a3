package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// errAudit refuses everything once a decision could not be recorded.
var errAudit = errors.New("the audit log cannot be written, so the service has stopped; tell the user")

// Audit writes one JSON line for each decision. The first write that fails makes
// Failed true for good and runs the function given to NewAudit, which stops the
// service. A nil *Audit records nothing and never fails.
type Audit struct {
	failed atomic.Bool
	stop   func(error)

	mu  sync.Mutex // guards the writer, so that lines are whole
	out io.Writer
}

// NewAudit writes to out. stop is called once, from the goroutine whose decision
// could not be recorded.
func NewAudit(out io.Writer, stop func(error)) *Audit { return &Audit{out: out, stop: stop} }

// Failed reports whether a decision could not be recorded.
func (a *Audit) Failed() bool { return a != nil && a.failed.Load() }

type sessionIDKey struct{}

// withSessionID lets Record say whose decision it was.
func withSessionID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sessionIDKey{}, id)
}

// line is one decision. Every text in it is safe to log.
type line struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session,omitempty"`
	Op      string    `json:"op"`
	Path    string    `json:"path"`
	Name    string    `json:"name"`
	Allow   bool      `json:"allow"`
	Rule    string    `json:"rule,omitempty"`
	Done    bool      `json:"done,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// Record is the Audit option of policyfs.
func (a *Audit) Record(ctx context.Context, e policyfs.Event) {
	if a.Failed() {
		return
	}
	l := line{
		Time: time.Now().UTC(), Op: e.Op.String(), Path: namespace.Quote(e.Path.String()), Name: e.Name,
		Allow: e.Allow, Rule: namespace.Quote(e.Rule), Done: e.Done,
	}
	l.Session, _ = ctx.Value(sessionIDKey{}).(string)
	if e.Err != nil {
		l.Error = namespace.Quote(e.Err.Error())
	}
	data, err := json.Marshal(l)
	if err == nil {
		err = a.write(append(data, '\n'))
	}
	if err != nil && !a.failed.Swap(true) {
		a.stop(fmt.Errorf("audit: %w", err))
	}
}

func (a *Audit) write(line []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}
