package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

type runCmd struct {
	ShellIgnoresPolicy bool     `help:"Run even where the command could reach what the policy denies or protects. Mount access still holds."`
	Net                bool     `help:"Keep the network."`
	Command            []string `arg:"" passthrough:"" help:"The command and its arguments, after --."`
}

// maxChecked bounds how many entries are looked at before a command may start.
const maxChecked = 1_000_000

// Run starts the command in a sandbox that shows the granted directories at the
// paths that the file tools use. A shell knows no policy, so it only starts where
// that makes no difference, unless the user says otherwise.
func (r *runCmd) Run(t *terminal, c *cli) error {
	command := r.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usageError("run: no command")
	}
	if c.Flags.Memory {
		return usageError("run: a workspace in memory has no directory that a command could see")
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return errors.New("run: bubblewrap is missing (the program bwrap; Debian and Fedora call the package bubblewrap)")
	}
	_, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	w := t.work
	if w.Policy.File != "" {
		if err := w.OutsideGrants("--policy", w.Policy.File); err != nil {
			return err
		}
	}
	readOnly := map[string]bool{}
	if !r.ShellIgnoresPolicy {
		if readOnly, err = exposure(t.ctx, w); err != nil {
			return fmt.Errorf("run: %w; --shell-ignores-policy runs the command all the same", err)
		}
	}
	for at, only := range readOnly {
		if only && len(w.Policy.Spec.AllowWrite) > 0 {
			fmt.Fprintf(t.err, "workspacefs: run: the command cannot write %s: the policy does not allow writing all of it\n", at)
		}
	}
	args := r.sandbox()
	binds, files, err := w.Namespace.BubblewrapArgs(firstFD)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	args = append(args, restrict(binds, readOnly)...)
	args = append(args, "--chdir", w.Namespace.Display(w.Dir), "--")
	if err := keepDescriptors(); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	cmd := exec.CommandContext(t.ctx, bwrap, append(args, command...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.raw, t.err
	cmd.Env = []string{}
	cmd.ExtraFiles = files
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		t.exitStatus = max(exit.ExitCode(), exitFailed)
		return errQuiet
	} else if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

// firstFD is the number of the first of os/exec's ExtraFiles in the child.
const firstFD = 3

// sandbox are the options that make an empty world: the system's programs, no
// home, no network, no environment.
func (r *runCmd) sandbox() []string {
	args := []string{
		"--unshare-all", "--new-session", "--die-with-parent", "--clearenv",
		"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8",
		"--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
		"--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
	}
	if r.Net {
		args = append(args, "--share-net",
			"--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf", "--ro-bind-try", "/etc/ssl", "/etc/ssl")
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64"} {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else {
			args = append(args, "--ro-bind-try", dir, dir)
		}
	}
	return args
}

// restrict turns the binds that may not be written into read-only ones.
func restrict(binds []string, readOnly map[string]bool) []string {
	for i := 0; i+2 < len(binds); i += 3 {
		if readOnly[binds[i+2]] {
			binds[i] = strings.Replace(binds[i], "--bind", "--ro-bind", 1)
		}
	}
	return binds
}

// exposure says which mounts the command may only read, because the policy does
// not allow writing all of them. It fails when the command could read what the
// policy denies or protects, or would miss a mount.
func exposure(ctx context.Context, w *setup.Workspace) (readOnly map[string]bool, err error) {
	readOnly = map[string]bool{}
	hosts := map[namespace.Path]bool{}
	for _, b := range w.Namespace.BindMounts() {
		at, err := namespace.Parse(namespace.MustParse("/"), b.At)
		if err != nil {
			return nil, err
		}
		hosts[at] = true
		if err := readable(ctx, w, at); err != nil {
			return nil, err
		}
		readOnly[b.At] = !covers(w.Policy.Spec.AllowWrite, at) || len(w.Policy.Spec.DenyWriteComponent) > 0 ||
			overlap(w.Policy.Spec.DenyWrite, at) != ""
	}
	for _, m := range w.Namespace.Mounts() {
		if !hosts[m.At] {
			return nil, fmt.Errorf("the mount %s has no host directory", w.Namespace.Display(m.At))
		}
	}
	return readOnly, nil
}

// readable fails unless the policy lets everything at and below a mount be read:
// by its rules, and by the names that are there now.
func readable(ctx context.Context, w *setup.Workspace, at namespace.Path) error {
	spec := w.Policy.Spec
	if !covers(spec.AllowRead, at) {
		return fmt.Errorf("the policy does not allow reading all of %s", w.Namespace.Display(at))
	}
	if scope := overlap(spec.DenyRead, at); scope != "" {
		return fmt.Errorf("the command could read what deny_read %q denies", scope)
	}
	t, err := w.Namespace.Lookup(at)
	if err != nil {
		return err
	}
	left := maxChecked
	return readableBelow(ctx, w, t.Provider, at, t.Rel, &left)
}

func readableBelow(ctx context.Context, w *setup.Workspace, p provider.Provider, at namespace.Path, rel provider.Path, left *int) error {
	dir, err := p.Open(ctx, rel, provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		return fmt.Errorf("%s: %w", w.Namespace.Display(at), err)
	}
	entries, err := dir.ReadDir(0)
	dir.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", w.Namespace.Display(at), err)
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return fmt.Errorf("more than %d entries to check", maxChecked)
		}
		below, err := at.Join(e.Name())
		if err != nil {
			return fmt.Errorf("the command could reach a name in %s that the file tools refuse", w.Namespace.Display(at))
		}
		if d := w.Policy.Compiled.Check(policyfs.Request{Op: policyfs.OpRead, Path: below}); !d.Allow {
			return fmt.Errorf("the command could read %s (%s)", namespace.Quote(w.Namespace.Display(below)), d.Rule)
		}
		if e.Type()&fs.ModeSymlink != 0 || !e.IsDir() {
			continue // a link leads nowhere but into the sandbox
		}
		next, err := rel.Join(e.Name())
		if err != nil {
			return fmt.Errorf("the command could reach a name in %s that the file tools refuse", w.Namespace.Display(at))
		}
		if err := readableBelow(ctx, w, p, below, next, left); err != nil {
			return err
		}
	}
	return nil
}

// covers reports whether one of the scopes contains p.
func covers(scopes []string, p namespace.Path) bool {
	for _, text := range scopes {
		if s, err := namespace.Parse(namespace.MustParse("/"), text); err == nil && s.Contains(p) {
			return true
		}
	}
	return false
}

// overlap is the first scope that has something in common with the tree at p.
func overlap(scopes []string, p namespace.Path) string {
	for _, text := range scopes {
		s, err := namespace.Parse(namespace.MustParse("/"), text)
		if err != nil || s.Contains(p) || p.Contains(s) {
			return text
		}
	}
	return ""
}
