package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/mcpserver"
	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
)

type mcpCmd struct {
	HTTP      string `name:"http" placeholder:"ADDRESS" help:"Serve streamable HTTP on a loopback address, such as 127.0.0.1:8931, instead of standard input and output."`
	TokenFile string `placeholder:"FILE" help:"File with the bearer token that HTTP clients must send."`
	TokenEnv  string `placeholder:"NAME" default:"WORKSPACEFS_TOKEN" help:"Environment variable with the token, without --token-file (default: ${default})."`
	Audit     string `placeholder:"FILE" help:"Append one JSON line for each decision. When that fails the server stops."`
	Verbose   bool   `short:"v" help:"Log what the server does to standard error."`
}

// Run serves until the client goes away or the command is interrupted.
func (m *mcpCmd) Run(t *terminal, c *cli) error {
	if c.Flags.Empty() {
		return usageError("mcp: say what to grant: --root DIR, --grant LABEL=DIR or --memory (the current directory of an agent host is not a choice)")
	}
	w, err := c.Flags.Open()
	if err != nil {
		return err
	}
	defer w.Close()
	t.advice.Namespace, t.advice.Policy = w.Namespace, w.Policy
	token, err := m.operatorFiles(w)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(t.ctx)
	defer stop(nil)
	config := mcpserver.Config{Workspace: w, Version: version()}
	if m.Audit != "" {
		file, err := os.OpenFile(m.Audit, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("--audit %q: %w", m.Audit, setup.Condition(err))
		}
		defer file.Close()
		config.Audit = mcpserver.NewAudit(file, stop)
	}
	if m.Verbose {
		config.Logger = slog.New(slog.NewTextHandler(t.err, nil))
	}
	server, err := mcpserver.New(config)
	if err != nil {
		return &failure{"chdir", c.Cwd, err}
	}
	if m.HTTP == "" {
		err = server.ServeStdio(ctx, io.NopCloser(t.in), stdout{t.raw})
	} else {
		err = m.serveHTTP(ctx, t, server, token)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause // the audit log
	}
	return err
}

func (m *mcpCmd) serveHTTP(ctx context.Context, t *terminal, server *mcpserver.Server, token string) error {
	l, err := mcpserver.Listen(ctx, m.HTTP)
	if err != nil {
		return usageError("--http: %v", err)
	}
	fmt.Fprintf(t.err, "workspacefs: serving MCP on http://%s\n", l.Addr())
	return server.ServeHTTP(ctx, l, token)
}

// operatorFiles checks that no file of the operator's lies where an agent could
// reach it, and reads the token.
func (m *mcpCmd) operatorFiles(w *setup.Workspace) (token string, err error) {
	for _, f := range []struct{ flag, name string }{
		{"--policy", w.Policy.File}, {"--audit", m.Audit}, {"--token-file", m.TokenFile},
	} {
		if f.name == "" {
			continue
		}
		if err := w.OutsideGrants(f.flag, f.name); err != nil {
			return "", err
		}
	}
	switch {
	case m.HTTP == "" && m.TokenFile == "":
		return "", nil
	case m.HTTP == "":
		return "", usageError("--token-file is for --http")
	case m.TokenFile != "":
		data, err := os.ReadFile(m.TokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file %q: %w", m.TokenFile, setup.Condition(err))
		}
		token = string(data)
	default:
		token = os.Getenv(m.TokenEnv)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", usageError("--http needs a bearer token: --token-file FILE, or the environment variable %s", m.TokenEnv)
	}
	return token, nil
}

// stdout is what the protocol writes to; closing it is not the server's business.
type stdout struct{ io.Writer }

func (stdout) Close() error { return nil }
