package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

type grepCmd struct {
	IgnoreCase bool     `short:"i" help:"Ignore case."`
	Literal    bool     `short:"F" help:"The pattern is text, not a regular expression."`
	After      int      `short:"A" placeholder:"N" help:"Lines of context after a match."`
	Before     int      `short:"B" placeholder:"N" help:"Lines of context before a match."`
	Context    int      `short:"C" placeholder:"N" help:"Lines of context on both sides."`
	Include    []string `short:"g" sep:"none" placeholder:"GLOB" help:"Only these files. Repeatable."`
	Exclude    []string `sep:"none" placeholder:"GLOB" help:"Not these files or directories. Repeatable."`
	Max        int      `short:"m" placeholder:"N" help:"Stop after N matches."`
	Files      bool     `short:"l" help:"Print the names of files that match only."`
	Ignore     bool     `help:"Honour .gitignore."`
	Verbose    bool     `short:"v" help:"Say which files were skipped and why."`
	Pattern    string   `arg:"" help:"What to look for."`
	Path       []string `arg:"" optional:"" help:"Where to look (default: the working directory)."`
}

func (g *grepCmd) Run(t *terminal, c *cli) error {
	if g.After < 0 || g.Before < 0 || g.Context < 0 || g.Max < 0 {
		return usageError("-A, -B, -C and -m must not be negative")
	}
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	paths := g.Path
	if len(paths) == 0 {
		paths = []string{"."}
	}
	p := &matchPrinter{t: t, dir: t.work.Dir, files: g.Files, context: g.After+g.Before+g.Context > 0, highlight: g.highlighter(t)}
	bar := t.startProgress()
	defer bar.stop()
	for _, root := range paths {
		p.relative = !strings.HasPrefix(root, "/")
		q := g.query(p, bar)
		for m, err := range f.Grep(root, q) {
			if err != nil {
				var bad *syntax.Error
				if errors.As(err, &bad) {
					return usageError("pattern: %v", bad)
				}
				bar.clear()
				name := m.Name
				if name == "" {
					name = root
				}
				t.report("grep", name, err)
				continue
			}
			bar.clear()
			if err := p.print(m); err != nil {
				return err
			}
		}
	}
	if p.matches == 0 && !t.failed {
		return errQuiet
	}
	return nil
}

func (g *grepCmd) query(p *matchPrinter, bar *progress) policyfs.Query {
	q := policyfs.Query{
		Pattern: g.Pattern, Literal: g.Literal, IgnoreCase: g.IgnoreCase,
		Include: g.Include, Exclude: g.Exclude,
		Before: max(g.Before, g.Context), After: max(g.After, g.Context),
		Ignore: g.Ignore, Progress: bar.callback(),
	}
	if g.Max > 0 {
		q.MaxMatches = g.Max
	}
	if g.Verbose {
		q.Skipped = func(name string, reason error) {
			p.t.flush()
			fmt.Fprintf(p.t.err, "workspacefs: skipped %s: %v\n", name, reason)
		}
	}
	return q
}

// highlighter finds the matches in a line again, for colour only.
func (g *grepCmd) highlighter(t *terminal) *regexp.Regexp {
	if !t.color {
		return nil
	}
	pattern := g.Pattern
	if g.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if g.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil // Grep itself says what is wrong with it
	}
	return re
}

// A matchPrinter prints matches as grep does: name, line number, text; context
// lines with dashes, groups apart from each other by "--".
type matchPrinter struct {
	t         *terminal
	dir       namespace.Path
	relative  bool // names are printed as seen from dir
	files     bool
	context   bool
	highlight *regexp.Regexp
	matches   int
	lastName  string
	lastLine  int
}

func (p *matchPrinter) print(m policyfs.Match) error {
	m.Name = p.shown(m)
	if !m.Context {
		p.matches++
	}
	newFile := m.Name != p.lastName
	apart := p.context && p.lastName != "" && (newFile || m.Line != p.lastLine+1)
	p.lastName, p.lastLine = m.Name, m.Line
	switch {
	case p.files && (m.Context || !newFile):
		return nil
	case p.files && p.t.json:
		return p.t.emit(map[string]string{"path": m.Name})
	case p.files:
		_, err := fmt.Fprintln(p.t.out, p.t.paint(colorPath, m.Name))
		return err
	case p.t.json:
		return p.t.emit(struct {
			Path    string `json:"path"`
			Line    int    `json:"line"`
			Column  int    `json:"column,omitempty"`
			Offset  int64  `json:"offset"`
			Text    string `json:"text"`
			Context bool   `json:"context,omitempty"`
		}{m.Name, m.Line, m.Column, m.Offset, m.Text, m.Context})
	}
	if apart {
		fmt.Fprintln(p.t.out, "--")
	}
	sep := ":"
	if m.Context {
		sep = "-"
	}
	text := p.t.safe(m.Text)
	if p.highlight != nil && !m.Context {
		text = p.highlight.ReplaceAllStringFunc(text, func(s string) string { return p.t.paint(colorMatch, s) })
	}
	_, err := fmt.Fprintf(p.t.out, "%s%s%s%s%s\n", p.t.paint(colorPath, m.Name), sep, p.t.paint(colorLine, fmt.Sprint(m.Line)), sep, text)
	return err
}

// shown spells a name as its caller spelled where to look.
func (p *matchPrinter) shown(m policyfs.Match) string {
	if !p.relative || !p.dir.Contains(m.Path) || p.dir == m.Path {
		return m.Name
	}
	return strings.TrimPrefix(m.Path.String(), p.dir.String()+"/")
}

type globCmd struct {
	Pattern []string `arg:"" help:"Patterns, relative to the working directory: *, ?, [..], {a,b} and **."`
}

func (g *globCmd) Run(t *terminal, c *cli) error {
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	for _, pattern := range g.Pattern {
		names, err := f.Glob(pattern)
		if errors.Is(err, path.ErrBadPattern) {
			return usageError("pattern %s: %v", namespace.Quote(pattern), path.ErrBadPattern)
		}
		if err != nil {
			t.report("glob", pattern, err)
		}
		for _, name := range names {
			if t.json {
				err = t.emit(map[string]string{"path": name})
			} else {
				_, err = fmt.Fprintln(t.out, name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A progress shows how far a long search has come, on a terminal, on the line
// that the next output replaces.
type progress struct {
	t       *terminal
	started time.Time
	shown   bool
}

// progressAfter is how long a search may take without telling.
const progressAfter = time.Second

func (t *terminal) startProgress() *progress { return &progress{t: t, started: time.Now()} }

// callback returns nil where nobody would see it.
func (p *progress) callback() func(policyfs.Progress) {
	if !p.t.errTTY || p.t.json {
		return nil
	}
	return func(done policyfs.Progress) {
		if time.Since(p.started) < progressAfter {
			return
		}
		p.shown = true
		fmt.Fprintf(p.t.err, "\r\x1b[K%d files, %.1f MB searched", done.Files, float64(done.Bytes)/1e6)
	}
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.t.err, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) stop() { p.clear() }
