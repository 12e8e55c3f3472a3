package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/advice"
	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/policyfs"
)

// A terminal is where a verb reads and prints: text for people, JSON lines for
// programs, colour only on a terminal.
type terminal struct {
	ctx    context.Context
	in     io.Reader
	raw    io.Writer // standard output without a buffer
	out    *bufio.Writer
	err    io.Writer
	json   bool
	color  bool // standard output is a terminal that wants colour
	tty    bool // standard output is a terminal
	errTTY bool // standard error is a terminal
	advice advice.Advisor
	work   *setup.Workspace // set by open
	failed bool
	// exitStatus, if not 0, is that of a command that run has run.
	exitStatus int
}

func newTerminal(ctx context.Context, c cli, stdin io.Reader, stdout, stderr io.Writer) *terminal {
	t := &terminal{ctx: ctx, in: stdin, raw: stdout, out: bufio.NewWriterSize(stdout, 64<<10), err: stderr, json: c.JSON}
	t.tty, t.errTTY = isTerminal(stdout), isTerminal(stderr)
	t.color = t.tty && !c.JSON && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return t
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (t *terminal) flush() error { return t.out.Flush() }

// open opens the workspace of the flags for one verb.
func (t *terminal) open(c *cli) (*policyfs.FS, func(), error) {
	w, err := c.Flags.Open()
	if err != nil {
		return nil, nil, err
	}
	t.advice = advice.Advisor{Namespace: w.Namespace, Policy: w.Policy}
	t.work = w
	f, err := w.FS(policyfs.Options{})
	if err != nil {
		w.Close()
		return nil, nil, &failure{"chdir", c.Cwd, err}
	}
	return f.WithContext(t.ctx), func() { w.Close() }, nil
}

// A failure is an error of one operation on one name, for status to explain.
type failure struct {
	operation, name string
	err             error
}

func (f *failure) Error() string { return f.operation + " " + f.name + ": " + f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// report prints why one of several names failed, and lets the verb go on.
func (t *terminal) report(operation, name string, err error) {
	t.failed = true
	t.flush()
	t.complain(&failure{operation, name, err})
}

func (t *terminal) complain(err error) {
	var f *failure
	if !errors.As(err, &f) {
		if t.json {
			t.jsonLine(t.err, map[string]any{"error": map[string]string{"reason": err.Error()}})
			return
		}
		fmt.Fprintln(t.err, "workspacefs:", err)
		return
	}
	r := t.advice.Refusal(f.operation, f.name, f.err)
	if r.Hint == "" {
		r.Hint = hints[f.operation+" "+r.Kind]
	}
	if t.json {
		t.jsonLine(t.err, map[string]any{"error": r})
		return
	}
	fmt.Fprintln(t.err, "workspacefs:", r)
}

// hints say which verb or flag helps, by operation and kind of refusal.
var hints = map[string]string{
	"cat isdir":     "ls lists it",
	"mkdir missing": "-p makes missing parents",
	"rm isdir":      "-r removes directories",
	"write missing": "mkdir -p makes missing directories",
}

// status says what went wrong and turns it into an exit status.
func (t *terminal) status(err error) int {
	switch {
	case err == nil && !t.failed:
		return exitOK
	case err == nil, errors.Is(err, errQuiet):
		return max(t.exitStatus, exitFailed)
	}
	t.complain(err)
	if errors.Is(err, setup.ErrUsage) {
		return exitUsage
	}
	return exitFailed
}

// emit prints v as a line of JSON.
func (t *terminal) emit(v any) error { return t.jsonLine(t.out, v) }

func (t *terminal) jsonLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Colours, as ls and grep use them.
const (
	colorDir   = "1;34"
	colorLink  = "1;36"
	colorPath  = "35"
	colorLine  = "32"
	colorMatch = "1;31"
)

func (t *terminal) paint(color, s string) string {
	if !t.color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

// safe keeps file content from steering a terminal: control characters other
// than a tab become visible. What goes to a pipe stays as it is.
func (t *terminal) safe(s string) string {
	if !t.tty || strings.IndexFunc(s, steers) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

func steers(r rune) bool { return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 }

// version is the module's version as the Go tool recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "workspacefs (unknown version)"
	}
	return "workspacefs " + info.Main.Version + " " + info.GoVersion
}
