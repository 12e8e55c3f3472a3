package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/advice"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints a script made from the grammar itself.
func (c *completionCmd) Run(t *terminal, ctx *kong.Context) error {
	verbs := verbsOf(ctx.Model.Node)
	var err error
	switch c.Shell {
	case "fish":
		err = fishCompletion(t, ctx.Model.Node, verbs)
	case "zsh":
		_, err = fmt.Fprint(t.out, "autoload -U +X bashcompinit && bashcompinit\n"+bashCompletion(ctx.Model.Node, verbs))
	default:
		_, err = fmt.Fprint(t.out, bashCompletion(ctx.Model.Node, verbs))
	}
	return err
}

// verbsOf are the commands with their own flags, in order of the grammar.
func verbsOf(n *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(n.Children), func(c *kong.Node) bool { return c.Hidden })
}

// flagsOf are the flags of one node, as typed.
func flagsOf(n *kong.Node) []string {
	var flags []string
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		flags = append(flags, "--"+f.Name)
		if f.Short != 0 {
			flags = append(flags, "-"+string(f.Short))
		}
	}
	return flags
}

func bashCompletion(root *kong.Node, verbs []*kong.Node) string {
	var b strings.Builder
	var names []string
	b.WriteString("_workspacefs() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} verb= w\n\tlocal i\n")
	fmt.Fprintf(&b, "\tfor ((i = 1; i < COMP_CWORD; i++)); do case ${COMP_WORDS[i]} in\n")
	for _, v := range verbs {
		names = append(names, v.Name)
	}
	fmt.Fprintf(&b, "\t%s) verb=${COMP_WORDS[i]}; break ;;\n\tesac; done\n", strings.Join(names, "|"))
	fmt.Fprintf(&b, "\tlocal words=%q\n\tcase $verb in\n", strings.Join(flagsOf(root), " "))
	fmt.Fprintf(&b, "\t'') words+=%q ;;\n", " "+strings.Join(names, " "))
	for _, v := range verbs {
		words := flagsOf(v)
		for _, child := range verbsOf(v) {
			words = append(words, child.Name)
		}
		switch v.Name {
		case "explain":
			for _, o := range advice.Ops() {
				words = append(words, o.String())
			}
		case "completion":
			words = append(words, "bash", "zsh", "fish")
		}
		fmt.Fprintf(&b, "\t%s) words+=%q ;;\n", v.Name, " "+strings.Join(words, " "))
	}
	b.WriteString("\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n\t[[ $cur == -* || -z $verb ]] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n}\n")
	b.WriteString("complete -o filenames -F _workspacefs workspacefs\n")
	return b.String()
}

func fishCompletion(t *terminal, root *kong.Node, verbs []*kong.Node) error {
	line := func(condition string, n *kong.Node) error {
		for _, f := range n.Flags {
			short := ""
			if f.Short != 0 {
				short = " -s " + string(f.Short)
			}
			if _, err := fmt.Fprintf(t.out, "complete -c workspacefs%s -l %s%s -d %q\n", condition, f.Name, short, f.Help); err != nil {
				return err
			}
		}
		return nil
	}
	if err := line("", root); err != nil {
		return err
	}
	for _, v := range verbs {
		if _, err := fmt.Fprintf(t.out, "complete -c workspacefs -f -n __fish_use_subcommand -a %s -d %q\n", v.Name, v.Help); err != nil {
			return err
		}
		if err := line(fmt.Sprintf(" -n '__fish_seen_subcommand_from %s'", v.Name), v); err != nil {
			return err
		}
	}
	return nil
}
