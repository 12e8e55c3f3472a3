// Package mcpserver offers a policed workspace to agent hosts over the Model
// Context Protocol: tools to read, search, write and move files, on stdin and
// stdout or over HTTP on the loopback interface.
//
// # Guarantees
//
// Every tool goes through one policyfs.FS, so it refuses what the policy refuses.
// A write replaces a file whole or not at all. An existing file is only
// overwritten when it still is what the session last read. Errors are tool
// errors with the operation, the agent path, the rule and what to do; none holds
// a host path. When the client declares roots they narrow what is granted and
// never widen it.
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/advice"
	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// Config is what a Server works on.
type Config struct {
	Workspace *setup.Workspace
	Audit     *Audit       // nil: no audit
	Version   string       // of the command, told to clients
	Logger    *slog.Logger // nil discards
}

// A Server serves any number of sessions over one workspace. It is safe for
// concurrent use.
type Server struct {
	mcp    *mcp.Server
	base   view // before any roots
	ns     *namespace.Namespace
	advice advice.Advisor
	audit  *Audit
	logger *slog.Logger

	// writes is held shared by every tool that changes files, exclusively by a
	// move that overwrites: its check of what is there and its rename are two
	// steps, and no other session may come between them.
	writes sync.RWMutex

	calls sync.WaitGroup // running tool calls, which a shutdown waits for

	mu       sync.Mutex // guards sessions
	sessions map[*mcp.ServerSession]*session
}

// sessionVersions are the protocol versions that have sessions. The later ones
// are stateless, and the guard against blind overwriting remembers what a session
// has read.
func sessionVersions() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v > "2025-11-25" })
}

// New makes a server. It fails when the working directory of the workspace is not
// one.
func New(cfg Config) (*Server, error) {
	opts := policyfs.Options{}
	if cfg.Audit != nil {
		opts.Audit = cfg.Audit.Record
	}
	base, err := cfg.Workspace.FS(opts)
	if err != nil {
		return nil, err
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		base: view{base, cfg.Workspace.Dir}, ns: cfg.Workspace.Namespace,
		advice: advice.Advisor{Namespace: cfg.Workspace.Namespace, Policy: cfg.Workspace.Policy},
		audit:  cfg.Audit, logger: logger,
		sessions: map[*mcp.ServerSession]*session{},
	}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "workspacefs", Title: "Policed workspace", Version: cfg.Version},
		&mcp.ServerOptions{
			Instructions:              s.instructions(cfg.Workspace),
			Logger:                    logger,
			Capabilities:              &mcp.ServerCapabilities{},
			SupportedProtocolVersions: sessionVersions(),
			//lint:ignore SA1019 deprecated for the protocol versions without sessions only
			RootsListChangedHandler: func(_ context.Context, r *mcp.RootsListChangedRequest) { s.session(r.Session).forgetRoots() },
		},
	)
	s.addReadTools()
	s.addSearchTools()
	s.addWriteTools()
	s.addResources()
	return s, nil
}

// instructions tell a model what it can reach and what will be refused.
func (s *Server) instructions(w *setup.Workspace) string {
	var b strings.Builder
	b.WriteString("File tools over a policed workspace. Paths use \"/\"; \"..\" is not accepted; relative paths start at ")
	b.WriteString(s.ns.Display(w.Dir) + ".\nReachable:\n")
	for _, m := range s.ns.Mounts() {
		access := "read-only"
		if m.Access == namespace.ReadWrite {
			access = "read-write"
		}
		fmt.Fprintf(&b, "- %s (%s)\n", s.ns.Display(m.At), access)
	}
	if t, err := s.ns.Resolve(w.Dir, "/workspace"); err == nil && t.Path != t.Requested {
		fmt.Fprintf(&b, "\"/\" lists them all; /workspace alone is short for %s.\n", s.ns.Display(t.Path))
	}
	fmt.Fprintf(&b, "The policy (%s) may refuse more; explain says what and why. ", namespace.Quote(policyLabel(w.Policy)))
	b.WriteString("Read a file before you overwrite or edit it: a write that would lose a change made since is refused. " +
		"Every refusal says which rule caused it and what to do; repeating a refused call does not help.")
	return b.String()
}

// policyLabel names a policy without the host path of its file.
func policyLabel(p setup.Policy) string {
	if p.File != "" {
		return "from a file"
	}
	return p.Name
}

// tool registers one tool. What is wrong with its arguments and the handler's error
// become tool errors that a model can act on; a panic becomes one too, and is
// logged.
func tool[In any](s *Server, t *mcp.Tool, run func(*call, In) (*mcp.CallToolResult, error)) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // the type of a tool's arguments has no schema: a mistake in this package
	}
	for _, p := range schema.Properties {
		if typeOf(p) == "integer" {
			p.Minimum, p.Maximum = new(float64), jsonschema.Ptr(float64(maxInteger))
		}
	}
	t.InputSchema = schema
	s.mcp.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := s.serve(ctx, req, t.Name, func(c *call) (*mcp.CallToolResult, error) {
			var in In
			if err := decodeArguments(schema, req.Params.Arguments, &in); err != nil {
				return nil, fmt.Errorf("%s: %w", t.Name, err)
			}
			return run(c, in)
		})
		if err != nil {
			res = &mcp.CallToolResult{}
			res.SetError(err)
		}
		return res, nil
	})
}

// serve runs one tool call in its session. Nothing is answered once a decision
// could not be recorded.
func (s *Server) serve(ctx context.Context, req *mcp.CallToolRequest, name string, run func(*call) (*mcp.CallToolResult, error)) (res *mcp.CallToolResult, err error) {
	s.calls.Add(1)
	defer s.calls.Done()
	defer func() {
		if p := recover(); p != nil {
			s.logger.Error("panic in a tool", "tool", name, "panic", p, "stack", string(debug.Stack()))
			res, err = nil, errors.New(name+": internal error; nothing half done is left behind")
		}
	}()
	if s.audit.Failed() {
		return nil, errAudit
	}
	c := &call{Server: s, ctx: ctx, req: req, tool: name, session: s.session(req.Session)}
	if c.view, err = c.session.view(ctx); err != nil {
		return nil, err
	}
	res, err = run(c)
	if s.audit.Failed() {
		return nil, errAudit
	}
	return res, err
}

// A call is one tool call: the filesystem as its session sees it, and what the
// handlers share.
type call struct {
	*Server
	ctx     context.Context
	req     *mcp.CallToolRequest
	tool    string
	session *session
	view
}

// fail explains an error of the filesystem.
func (c *call) fail(name string, err error) error {
	r := c.advice.Refusal(c.tool, name, err)
	switch {
	case r.Kind == "missing":
		r.Hint = "glob and list_directory show what exists; make_directory makes missing directories"
	case r.Kind == "isdir":
		r.Hint = "list_directory shows it"
	case r.Denied && r.Hint != "":
		r.Hint = "choose another path, or ask the user: " + r.Hint
	}
	return errors.New(r.String())
}

// canonical is the key under which a session remembers a file.
func (c *call) canonical(name string) (namespace.Path, bool) {
	t, err := c.ns.Resolve(c.dir, name)
	return t.Path, err == nil
}

// remember notes what the session has seen of a file.
func (c *call) remember(name string, d provider.Digest, content []byte) {
	if p, ok := c.canonical(name); ok {
		c.session.known.put(p, d, content)
	}
}

// refuse is an error that the tool itself has found.
func (c *call) refuse(name, format string, args ...any) error {
	return fmt.Errorf("%s %s: %s", c.tool, namespace.Quote(name), fmt.Sprintf(format, args...))
}

// text is a result of one or more text blocks.
func text(blocks ...string) *mcp.CallToolResult {
	res := &mcp.CallToolResult{}
	for _, b := range blocks {
		res.Content = append(res.Content, &mcp.TextContent{Text: b})
	}
	return res
}

// with adds metadata for programs.
func with(res *mcp.CallToolResult, meta map[string]any) *mcp.CallToolResult {
	res.Meta = mcp.Meta{}
	for k, v := range meta {
		res.Meta["workspacefs/"+k] = v
	}
	return res
}

// wait returns when no tool call is running any more, or after the limit.
func (s *Server) wait(limit time.Duration) {
	done := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// Annotations of the kinds of tools. All work on the workspace only.
func readOnly(title string) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: new(bool), OpenWorldHint: new(bool)}
}

func changing(title string, destructive, idempotent bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{Title: title, DestructiveHint: &destructive, IdempotentHint: idempotent, OpenWorldHint: new(bool)}
}
