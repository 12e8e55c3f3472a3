package mcpserver

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// Limits of one search, beside maxText.
const (
	defaultMatches = 200
	maxMatches     = 5000
	maxMatchLine   = 1000 // bytes of one matching line
	maxSkipped     = 20   // skipped files that an answer names
)

func (s *Server) addSearchTools() {
	tool(s, &mcp.Tool{
		Name:        "glob",
		Description: "Find files and directories by pattern: *, ?, [..], {a,b} and ** (any number of directories), relative to the working directory.",
		Annotations: readOnly("Find by name"),
	}, glob)
	tool(s, &mcp.Tool{
		Name:        "grep",
		Description: "Search the lines of files for a regular expression (RE2 syntax) or a literal text. Answers path:line:text; context lines as path-line-text.",
		Annotations: readOnly("Search in files"),
	}, grep)
}

type globIn struct {
	Pattern string `json:"pattern" jsonschema:"for instance **/*.go"`
}

func glob(c *call, in globIn) (*mcp.CallToolResult, error) {
	names, err := c.fs.Glob(in.Pattern)
	if err != nil {
		return nil, c.fail(in.Pattern, err)
	}
	var b strings.Builder
	for i, name := range names {
		if i == maxEntries || b.Len() > maxText {
			fmt.Fprintf(&b, "[%d more: narrow the pattern]\n", len(names)-i)
			break
		}
		b.WriteString(name + "\n")
	}
	if len(names) == 0 {
		b.WriteString("[nothing matches]\n")
	}
	return with(text(b.String()), map[string]any{"matches": len(names)}), nil
}

type grepIn struct {
	Pattern    string   `json:"pattern" jsonschema:"regular expression in RE2 syntax, or text with literal"`
	Path       string   `json:"path,omitempty" jsonschema:"file or directory to search (default: the working directory)"`
	Literal    bool     `json:"literal,omitempty" jsonschema:"take the pattern as plain text"`
	IgnoreCase bool     `json:"ignore_case,omitempty" jsonschema:"ignore case"`
	Include    []string `json:"include,omitempty" jsonschema:"only files that match one of these globs, for instance *.go"`
	Exclude    []string `json:"exclude,omitempty" jsonschema:"leave out files and directories that match one of these globs"`
	Before     int      `json:"before,omitempty" jsonschema:"lines of context before a match"`
	After      int      `json:"after,omitempty" jsonschema:"lines of context after a match"`
	MaxMatches int      `json:"max_matches,omitempty" jsonschema:"stop after so many matches (default 200)"`
	Gitignore  bool     `json:"gitignore,omitempty" jsonschema:"leave out what .gitignore files exclude"`
}

func grep(c *call, in grepIn) (*mcp.CallToolResult, error) {
	root := cmp.Or(in.Path, ".")
	limit := cmp.Or(in.MaxMatches, defaultMatches)
	if limit > maxMatches {
		return nil, c.refuse(root, "max_matches must be at most %d", maxMatches)
	}
	var b strings.Builder
	var skipped []string
	more := 0
	skip := func(name string, reason error) {
		if len(skipped) == maxSkipped {
			more++
			return
		}
		skipped = append(skipped, fmt.Sprintf("[skipped %s: %v]", namespace.Quote(name), reason))
	}
	q := policyfs.Query{
		Pattern: in.Pattern, Literal: in.Literal, IgnoreCase: in.IgnoreCase,
		Include: in.Include, Exclude: in.Exclude, Before: in.Before, After: in.After,
		MaxMatches: limit, MaxLineBytes: maxMatchLine, Ignore: in.Gitignore, Skipped: skip, Progress: c.progress(),
	}
	matches := 0
	for m, err := range c.fs.Grep(root, q) {
		if err != nil {
			if matches == 0 && m.Name == "" {
				return nil, c.fail(root, err)
			}
			skip(cmp.Or(m.Name, root), err)
			continue
		}
		if b.Len() > maxText {
			limit = matches
			break
		}
		sep := ":"
		if m.Context {
			sep = "-"
		} else {
			matches++
		}
		fmt.Fprintf(&b, "%s%s%d%s%s\n", m.Name, sep, m.Line, sep, strings.ToValidUTF8(m.Text, "\uFFFD"))
	}
	switch {
	case matches == 0:
		b.WriteString("[nothing matches]\n")
	case matches >= limit:
		fmt.Fprintf(&b, "[stopped after %d matches: narrow the search, or raise max_matches]\n", matches)
	}
	for _, line := range skipped {
		b.WriteString(line + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "[%d more files skipped]\n", more)
	}
	return with(text(b.String()), map[string]any{"matches": matches}), nil
}

// progress tells a client that asked for it how far a search has come.
func (c *call) progress() func(policyfs.Progress) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	last := int64(-1)
	return func(p policyfs.Progress) {
		if p.Files <= last {
			return // the protocol wants every notification to be an advance
		}
		last = p.Files
		_ = c.req.Session.NotifyProgress(c.ctx, &mcp.ProgressNotificationParams{ // a lost one matters to nobody
			ProgressToken: token, Progress: float64(p.Files), Message: fmt.Sprintf("%d files, %.1f MB searched", p.Files, float64(p.Bytes)/1e6),
		})
	}
}
