// Command workspacefs works on a policed workspace: one or more directories of
// the host under the names and the policy that an agent gets. Every verb goes
// through policyfs, so that what it refuses is what an agent is refused.
//
// Exit status: 0 done, 1 refused or failed (grep: also no match), 2 wrong usage.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// cli is the grammar of the command.
type cli struct {
	setup.Flags `group:"Workspace"`
	JSON        bool             `name:"json" help:"Print JSON, one object a line."`
	Version     kong.VersionFlag `help:"Print the version."`

	Ls      lsCmd      `cmd:"" help:"List a directory."`
	Tree    treeCmd    `cmd:"" help:"Show a directory with everything below it."`
	Cat     catCmd     `cmd:"" help:"Print files."`
	Stat    statCmd    `cmd:"" help:"Describe files and directories."`
	Grep    grepCmd    `cmd:"" help:"Search files for a regular expression (RE2). Exit status 1 when nothing matches."`
	Glob    globCmd    `cmd:"" help:"Find names by pattern, with **."`
	Write   writeCmd   `cmd:"" help:"Write standard input to a file, atomically."`
	Mkdir   mkdirCmd   `cmd:"" help:"Make directories."`
	Mv      mvCmd      `cmd:"" help:"Move a file or a directory."`
	Rm      rmCmd      `cmd:"" help:"Remove files, or trees with -r."`
	Explain explainCmd `cmd:"" help:"Say whether an operation is allowed, by which rule, and what would allow it."`
	Check   checkCmd   `cmd:"" name:"policy" help:"Work on policy files."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Serve the workspace to an agent host over the Model Context Protocol."`
	Exec    runCmd     `cmd:"" name:"run" help:"Run a command that sees the granted directories only, through bubblewrap."`

	Completion completionCmd `cmd:"" help:"Print a completion script for a shell."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the command as a function of its surroundings.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("workspacefs"),
		kong.Description("Work on a policed workspace: what is refused here is what an agent is refused."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(status int) { exited = status }),
		kong.Vars{"version": version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ExplicitGroups([]kong.Group{{Key: "Workspace", Title: "Workspace:"}}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "workspacefs:", err)
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help or --version has answered
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "workspacefs: %v (--help shows the usage)\n", err)
		return exitUsage
	}
	t := newTerminal(ctx, c, stdin, stdout, stderr)
	err = parsed.Run(t, &c)
	if flushErr := t.flush(); err == nil {
		err = flushErr
	}
	return t.status(err)
}

// errQuiet ends a verb with exit status 1 when everything has been said.
var errQuiet = errors.New("said")

// usageError is a wrong command line that the grammar cannot express.
func usageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", setup.ErrUsage, fmt.Sprintf(format, args...))
}
