// Package setup turns the flags that every verb shares into a workspace: the
// granted directories opened and mounted, the policy compiled, the working
// directory chosen. What it reads comes from the person who starts the command
// and is trusted; names that agents send never reach it.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// Flags are the options that say what the workspace is.
type Flags struct {
	Root   string   `placeholder:"DIR" help:"Directory that becomes /workspace (default: the current directory, unless --grant or --memory is given)."`
	Memory bool     `help:"An empty workspace in memory, for trying things out."`
	Grant  []string `placeholder:"LABEL=DIR[:ro]" sep:"none" help:"Grant a directory as /workspace/LABEL, or as /mnt/LABEL beside --root. Repeatable."`
	Policy string   `placeholder:"POLICY" default:"read-only" help:"read-only, read-write, or a JSON file (default: ${default})."`
	Cwd    string   `placeholder:"DIR" help:"Working directory inside the workspace (default: /workspace, or the first writable grant)."`
}

// ErrUsage marks errors of the command line itself: exit status 2.
var ErrUsage = errors.New("usage")

// usage makes an error that is ErrUsage.
func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// Limits of a workspace in memory, so that writing to it ends in an error and
// not in a machine without memory.
const (
	memoryBytes = 1 << 30
	memoryFiles = 1 << 20
)

// Workspace is what the flags describe. Close releases it.
type Workspace struct {
	Namespace *namespace.Namespace
	Policy    Policy
	Dir       namespace.Path
	memory    bool
	close     func() error
}

// Close releases the providers.
func (w *Workspace) Close() error { return w.close() }

// Empty reports whether neither a root nor a grant nor memory was asked for, so
// that the current directory would be taken.
func (f Flags) Empty() bool { return f.Root == "" && !f.Memory && len(f.Grant) == 0 }

// Open opens everything.
func (f Flags) Open() (*Workspace, error) {
	policy, err := OpenPolicy(f.Policy)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Policy: policy, memory: f.Memory}
	if f.Memory {
		err = w.openMemory(f)
	} else {
		err = w.openGrants(f)
	}
	if err != nil {
		return nil, err
	}
	if w.Dir, err = f.workingDir(w.Namespace); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Workspace) openMemory(f Flags) error {
	if f.Root != "" || len(f.Grant) > 0 {
		return usage("--memory stands alone: it takes neither --root nor --grant")
	}
	m := memfs.New(memfs.Options{MaxBytes: memoryBytes, MaxFiles: memoryFiles})
	w.Namespace, w.close = namespace.Workspace(m), m.Close
	return nil
}

func (w *Workspace) openGrants(f Flags) error {
	var grants []namespace.Grant
	root := f.Root
	if f.Empty() {
		root = "."
	}
	kind := namespace.KindWorkspace
	if root != "" {
		grants = append(grants, namespace.Grant{
			Dir: root, Label: "workspace", Kind: namespace.KindWorkspace, Access: namespace.ReadWrite, At: "/workspace", Default: true,
		})
		kind = namespace.KindFolder
	}
	for _, text := range f.Grant {
		g, err := parseGrant(text, kind)
		if err != nil {
			return err
		}
		grants = append(grants, g)
	}
	for i := range grants {
		dir, err := canonicalDir(grants[i].Dir)
		if err != nil {
			return fmt.Errorf("%s: %w", flagText(grants[i], i == 0 && root != ""), err)
		}
		grants[i].Dir = dir
	}
	n, err := namespace.FromGrants(namespace.Portable, openDisk, grants...)
	if err != nil {
		return err
	}
	w.Namespace, w.close = n, n.Close
	return nil
}

// flagText names a grant as the user wrote it.
func flagText(g namespace.Grant, isRoot bool) string {
	if isRoot {
		return fmt.Sprintf("--root %q", g.Dir)
	}
	return fmt.Sprintf("--grant %q", g.Label+"="+g.Dir)
}

func openDisk(dir string, access namespace.Access) (provider.Provider, error) {
	return diskfs.Open(dir, diskfs.Options{ReadOnly: access == namespace.ReadOnly})
}

// parseGrant reads LABEL=DIR, LABEL=DIR:ro or LABEL=DIR:rw.
func parseGrant(text string, kind namespace.Kind) (namespace.Grant, error) {
	label, dir, ok := strings.Cut(text, "=")
	access := namespace.ReadWrite
	if rest, found := strings.CutSuffix(dir, ":ro"); found {
		dir, access = rest, namespace.ReadOnly
	} else if rest, found := strings.CutSuffix(dir, ":rw"); found {
		dir = rest
	}
	if !ok || label == "" || dir == "" {
		return namespace.Grant{}, usage("--grant %q: want LABEL=DIR or LABEL=DIR:ro", text)
	}
	return namespace.Grant{Dir: dir, Label: label, Kind: kind, Access: access}, nil
}

// canonicalDir resolves the links of a directory that the user named, once, at
// the start. Its errors hold no path: the caller adds the user's own spelling.
func canonicalDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", Condition(err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", Condition(err)
	}
	if !info.IsDir() {
		return "", syscall.ENOTDIR
	}
	return abs, nil
}

// Condition strips the path from an error of package os.
func Condition(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// workingDir is --cwd, else the namespace's default, else the root, where ls
// shows what is granted.
func (f Flags) workingDir(n *namespace.Namespace) (namespace.Path, error) {
	root := namespace.MustParse("/")
	if f.Cwd == "" {
		if dir, ok := n.Dir(); ok {
			return dir, nil
		}
		return root, nil
	}
	dir, err := namespace.Parse(root, f.Cwd)
	if err != nil {
		return namespace.Path{}, usage("--cwd %s: %v", namespace.Quote(f.Cwd), err)
	}
	return dir, nil
}

// FS makes the filesystem that a verb works on. It refuses a --cwd that is no
// directory here, instead of letting every name below it be missing.
func (w *Workspace) FS(opts policyfs.Options) (*policyfs.FS, error) {
	opts.Policy, opts.Dir = w.Policy.Compiled, w.Dir
	f := policyfs.New(w.Namespace, opts)
	if w.Dir.IsRoot() {
		return f, nil
	}
	info, err := f.Stat(w.Dir.String())
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "chdir", Path: w.Dir.String(), Err: syscall.ENOTDIR}
	}
	return f, nil
}
