package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/advice"
	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

type explainCmd struct {
	Op   string   `arg:"" help:"read, stat, list, create, write, remove, remove_tree or move_tree."`
	Path []string `arg:"" help:"The files. They need not exist: names are judged, not what is there."`
}

// A verdict is one answer of explain.
type verdict struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Allow bool   `json:"allow"`
	Rule  string `json:"rule"`
	Hint  string `json:"hint,omitempty"`
}

func (v verdict) String() string {
	word := "allowed"
	if !v.Allow {
		word = "refused"
	}
	s := fmt.Sprintf("%s: %s %s: %s", word, v.Op, v.Path, v.Rule)
	if v.Hint != "" {
		s += "; " + v.Hint
	}
	return s
}

func (e *explainCmd) Run(t *terminal, c *cli) error {
	op, ok := advice.ParseOp(e.Op)
	if !ok {
		return usageError("unknown operation %q: want one of %s", e.Op, advice.OpNames())
	}
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range e.Path {
		d := f.Explain(op, p)
		v := verdict{Op: op.String(), Path: namespace.Quote(p), Allow: d.Allow, Rule: namespace.Quote(d.Rule)}
		if target, err := t.work.Namespace.Resolve(t.work.Dir, p); err == nil {
			v.Path = namespace.Quote(t.work.Namespace.Display(target.Path))
			if !d.Allow {
				v.Hint = t.advice.Allow(policyfs.Request{Op: op, Path: target.Path})
			}
		}
		t.failed = t.failed || !v.Allow
		if t.json {
			err = t.emit(v)
		} else {
			_, err = fmt.Fprintln(t.out, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type checkCmd struct {
	Check policyCheckCmd `cmd:"" help:"Validate a policy file and print what it decides; with --root or --grant also where the two do not fit."`
}

type policyCheckCmd struct {
	File string   `arg:"" help:"A JSON policy, or read-only or read-write."`
	Path []string `arg:"" optional:"" help:"Paths to print the decisions for."`
}

func (p *policyCheckCmd) Run(t *terminal, c *cli) error {
	policy, err := setup.OpenPolicy(p.File)
	if err != nil {
		return err
	}
	root := namespace.MustParse("/")
	var paths []namespace.Path
	for _, name := range p.Path {
		path, err := namespace.Parse(root, name)
		if err != nil {
			return &failure{"policy check", name, err}
		}
		paths = append(paths, path)
	}
	if !c.Flags.Empty() {
		if err := p.lint(t, c, policy); err != nil {
			return err
		}
	}
	if len(paths) == 0 && !t.json {
		_, err := fmt.Fprintln(t.out, "ok")
		return err
	}
	return printTable(t, policy, paths)
}

// lint tells where the policy and the granted directories do not fit.
func (p *policyCheckCmd) lint(t *terminal, c *cli, policy setup.Policy) error {
	flags := c.Flags
	flags.Policy = p.File
	w, err := flags.Open()
	if err != nil {
		return err
	}
	defer w.Close()
	for _, problem := range policyfs.Lint(w.Namespace, policy.Spec) {
		fmt.Fprintln(t.err, "workspacefs: warning:", problem)
	}
	return nil
}

// printTable prints one line a path with a letter per operation that is allowed,
// then the rules that refuse.
func printTable(t *terminal, policy setup.Policy, paths []namespace.Path) error {
	slices.SortFunc(paths, func(a, b namespace.Path) int { return strings.Compare(a.String(), b.String()) })
	for _, path := range paths {
		for _, o := range advice.Ops() {
			d := policy.Compiled.Check(policyfs.Request{Op: o, Path: path})
			v := verdict{Op: o.String(), Path: namespace.Quote(path.String()), Allow: d.Allow, Rule: namespace.Quote(d.Rule)}
			if t.json {
				if err := t.emit(v); err != nil {
					return err
				}
				continue
			}
			word := "allow"
			if !v.Allow {
				word = "deny"
			}
			if _, err := fmt.Fprintf(t.out, "%-11s %-5s %s  %s\n", v.Op, word, v.Path, v.Rule); err != nil {
				return err
			}
		}
	}
	return nil
}
