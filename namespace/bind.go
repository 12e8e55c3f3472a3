package namespace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// BindMount is one directory that a container or sandbox must show at a path,
// for its shell to see what the file tools see there.
type BindMount struct {
	// HostDir is the host directory.
	HostDir string
	// At is the absolute path inside.
	At string
	// ReadOnly asks for a mount that refuses writes, to everything mounted
	// below it too.
	ReadOnly bool
}

// bind is a BindMount with the mount that it mirrors.
type bind struct {
	BindMount
	mount *mount
}

// BindMounts returns what a shell must be given so that it has the same
// directories at the same paths with the same access as the file tools: one
// entry for each mount with a HostDir, sorted so that a mount comes after those
// around it. A mount nested in another that is spelled in the other way, like
// "/data" in "/workspace", is also listed as "/workspace/data" if the outer
// directory has one; that look at the host is the only I/O.
//
// Where the outer directory of a nested mount has no directory to mount it on,
// the sandbox makes one there, or fails if it may not. A shell knows no policy:
// what only a policy denies, hides or protects, it can reach. And it sees the
// real host tree: links work there.
func (n *Namespace) BindMounts() []BindMount {
	binds := n.binds()
	out := make([]BindMount, len(binds))
	for i, b := range binds {
		out[i] = b.BindMount
	}
	return out
}

func (n *Namespace) binds() []bind {
	if n == nil {
		return nil
	}
	var binds []bind
	add := func(m *mount, bare bool) {
		at := m.at.s
		if bare {
			at = at[len(rootText):]
		}
		binds = append(binds, bind{BindMount{m.hostDir, at, m.access == ReadOnly}, m})
	}
	for _, m := range n.mounts {
		if m.hostDir == "" {
			continue
		}
		add(m, m.bare)
		outer := n.mountOf(m.at.Parent())
		if m.at.IsRoot() || outer == nil || outer.hostDir == "" || outer.bare == m.bare {
			continue
		}
		if rel, ok := outer.at.tree.Cut(m.at.tree); ok {
			info, err := os.Lstat(joinHost(outer.hostDir, filepath.FromSlash(rel.String())))
			if err == nil && info.IsDir() {
				add(m, outer.bare)
			}
		}
	}
	slices.SortStableFunc(binds, func(a, b bind) int { return strings.Compare(a.At, b.At) })
	return binds
}

// BubblewrapArgs renders [Namespace.BindMounts] as options of bwrap(1), to be
// put after those that make its root and before the command.
//
// Where a provider has a method RootFile() (*os.File, error) that duplicates its
// root descriptor, as that of diskfs has, the directory is handed over by
// descriptor (--bind-fd, --ro-bind-fd): then shell and file tools provably have
// the same directory, whatever happens to its path. files are those descriptors,
// numbered from firstFD on: with os/exec they are Cmd.ExtraFiles and firstFD is 3
// when nothing else is in there. The caller closes them once the process runs.
//
// Every directory is first checked as [Namespace.CheckHost] does; on an error
// nothing stays open. Paths are whole arguments that begin with a slash, so none
// can be taken for an option.
func (n *Namespace) BubblewrapArgs(firstFD int) (args []string, files []*os.File, err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			args, files = nil, nil
		}
	}()
	for _, b := range n.binds() {
		if err := b.check(); err != nil {
			return args, files, err
		}
		option, source := "--bind", b.HostDir
		if b.ReadOnly {
			option = "--ro-bind"
		}
		if p, ok := b.mount.provider.(rootFiler); ok {
			f, err := p.RootFile()
			if err != nil {
				return args, files, b.fail(bareError(err))
			}
			option, source = option+"-fd", strconv.Itoa(firstFD+len(files))
			files = append(files, f)
		}
		args = append(args, option, source, b.At)
	}
	return args, files, nil
}

// rootFiler is what a provider over a host directory offers: a duplicate of the
// descriptor that pins its root. The caller closes it.
type rootFiler interface{ RootFile() (*os.File, error) }

// check is [Namespace.CheckHost], and refuses what no argument can hold.
func (b bind) check() error {
	if err := b.mount.checkHost(); err != nil {
		return b.fail(err)
	}
	if !filepath.IsAbs(b.HostDir) || strings.IndexByte(b.HostDir, 0) >= 0 {
		return b.fail(invalid("the host directory is not absolute"))
	}
	return nil
}

// fail is an error about b that does not name the host directory.
func (b bind) fail(err error) error { return fmt.Errorf("mount %s: %w", b.mount.at.s, err) }

// DockerArgs renders [Namespace.BindMounts] as options of docker run: a "--mount"
// and its value for each, in CSV as docker reads it. Read-only mounts are so
// recursively, or docker fails on kernels that cannot do that.
//
// Every directory is first checked as [Namespace.CheckHost] does; docker then
// resolves the path again, so whoever can replace the directory meanwhile wins.
// A directory that CSV cannot carry unchanged (one with a carriage return) is
// [fs.ErrInvalid].
func (n *Namespace) DockerArgs() ([]string, error) {
	var args []string
	for _, b := range n.binds() {
		if err := b.check(); err != nil {
			return nil, err
		}
		fields := []string{"type=bind", "source=" + b.HostDir, "target=" + b.At}
		if b.ReadOnly {
			fields = append(fields, "readonly", "bind-propagation=rprivate", "bind-recursive=readonly")
		}
		value, err := csvRecord(fields)
		if err != nil {
			return nil, b.fail(err)
		}
		args = append(args, "--mount", value)
	}
	return args, nil
}

// csvRecord is one line of CSV that reads back as exactly these fields.
func csvRecord(fields []string) (string, error) {
	var out strings.Builder
	w := csv.NewWriter(&out)
	err := w.Write(fields)
	w.Flush()
	if err := errors.Join(err, w.Error()); err != nil {
		return "", err
	}
	record := strings.TrimSuffix(out.String(), "\n")
	if back, err := csv.NewReader(strings.NewReader(record)).Read(); err != nil || !slices.Equal(back, fields) {
		return "", invalid("the host directory cannot be written as CSV")
	}
	return record, nil
}
