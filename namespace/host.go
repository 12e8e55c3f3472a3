package namespace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// sameDirer is what a provider over a host directory offers: whether dir is,
// now, the directory that it serves.
type sameDirer interface{ SameDir(dir string) bool }

// ToHost returns the host path of p: the mount's HostDir and the rest of p. It
// does no I/O and checks nothing: the object may be missing, a link, or no
// longer the one that the provider serves, and no policy is asked. Tools that
// must call the operating system want HostPath of package policyfs. ok is false
// when p lies in no mount with a HostDir, and on Windows when an element means
// something else there ([provider.PortableElem]).
func (n *Namespace) ToHost(p Path) (host string, ok bool) {
	m := n.mountOf(p)
	if m == nil || m.hostDir == "" {
		return "", false
	}
	rel, _ := m.at.tree.Cut(p.tree)
	if rel.IsRoot() {
		return m.hostDir, true
	}
	if runtime.GOOS == "windows" {
		for elem := range rel.Elems() {
			if provider.PortableElem(elem) != nil {
				return "", false
			}
		}
	}
	return joinHost(m.hostDir, filepath.FromSlash(rel.String())), true
}

// joinHost appends a clean relative path to a directory.
func joinHost(dir, rel string) string {
	if rel == "" {
		return dir
	}
	return strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator) + rel
}

// mountOf returns the mount that contains p, or nil.
func (n *Namespace) mountOf(p Path) *mount {
	if n == nil || n.root == nil || p.s == "" {
		return nil
	}
	if nd, _, shadowed := n.find(p); !shadowed {
		return nd.within
	}
	return nil
}

// FromHost returns the agent path of an absolute host path. Links and ".." in
// host are resolved as the kernel would, so the result names the object that is
// really there; elements at the end that do not exist are fine. Of several
// mounts that contain it, the one with the most specific host directory counts.
// ok is false when no mount contains it, when an element on the way cannot be
// inspected, and when no agent can spell it. host must come from a trusted
// place: the walk looks at directories outside of every mount.
func (n *Namespace) FromHost(host string) (p Path, ok bool) {
	w, err := resolveHost(context.Background(), host)
	if err != nil {
		return Path{}, false
	}
	p, err = n.fromResolved(w.path())
	return p, err == nil
}

// DirFromHost returns the agent path of a host directory, to be the working
// directory of a session. cwd is absolute and may hold links and "link/..": it
// is first turned into the directory that a shell started there is really in,
// and then the innermost mount that contains it is found. A directory outside
// every mount is [ErrOutside]; the parent that its spelling suggests is never
// looked at instead.
//
// What the kernel would report, [fs.ErrNotExist], syscall.ENOTDIR, syscall.ELOOP
// and the like, is reported only where it is found in a mount; elsewhere it is
// ErrOutside, so that the answer tells nothing about the host. A directory that
// no agent can spell is [provider.ErrPath].
func (n *Namespace) DirFromHost(ctx context.Context, cwd string) (Path, error) {
	w, err := resolveHost(ctx, cwd)
	if err == nil {
		switch {
		case w.tail != "":
			err = fs.ErrNotExist
		case !w.dir:
			err = syscall.ENOTDIR
		}
	}
	switch {
	case ctx.Err() != nil:
		return Path{}, ctx.Err()
	case w.at == "":
		return Path{}, err // not absolute: nothing was looked at
	case err == nil:
		return n.fromResolved(w.at)
	}
	if m, _ := n.hostMount(w.at); m == nil {
		return Path{}, ErrOutside
	}
	return Path{}, err
}

// fromResolved maps a host path without links.
func (n *Namespace) fromResolved(host string) (Path, error) {
	m, rel := n.hostMount(host)
	if m == nil {
		return Path{}, ErrOutside
	}
	if rel == "" {
		return m.at, nil
	}
	p, err := m.at.join(filepath.ToSlash(rel))
	if err != nil {
		return Path{}, err
	}
	if n.mountOf(p) != m {
		return Path{}, ErrOutside // another mount covers it
	}
	return p, nil
}

// hostMount finds the mount with the innermost host directory at or above host,
// which holds no links, and what of host is below. Directories are compared by
// identity, so that bind mounts and the case rules of the system do not matter.
// It returns nil when there is none and when an element cannot be inspected.
func (n *Namespace) hostMount(host string) (m *mount, rel string) {
	if n == nil {
		return nil, ""
	}
	for dir := host; ; {
		info, err := os.Lstat(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, ""
		}
		if m := n.mountAtHost(dir, info); m != nil {
			return m, rel
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, ""
		}
		rel = filepath.Join(filepath.Base(dir), rel)
		dir = parent
	}
}

// mountAtHost returns the mount whose host directory dir is: one that was asked
// for before one that follows from overlaps. info is nil when dir is missing.
func (n *Namespace) mountAtHost(dir string, info fs.FileInfo) *mount {
	var found *mount
	for _, m := range n.mounts {
		if m.hostDir != "" && (found == nil || found.compiled && !m.compiled) && m.isHost(dir, info) {
			found = m
		}
	}
	return found
}

// isHost reports whether dir is the host directory of m.
func (m *mount) isHost(dir string, info fs.FileInfo) bool {
	if info == nil {
		// Nothing there: only the name of a directory that nobody pinned counts.
		_, pinned := m.provider.(sameDirer)
		return !pinned && m.identity == nil && m.hostDir == dir
	}
	if m.identity != nil && !os.SameFile(m.identity, info) {
		return false
	}
	if p, ok := m.provider.(sameDirer); ok {
		return p.SameDir(dir)
	}
	if m.identity != nil || m.hostDir == dir {
		return true
	}
	own, err := os.Stat(m.hostDir)
	return err == nil && os.SameFile(own, info)
}

// CheckHost returns nil when the host directory of the mount that holds p still
// is the one that the mount's provider serves: no link leads to it and it has
// not been replaced. It returns [ErrOutside] when p lies in no mount with a
// HostDir, what the system reports for a directory that is gone, and an error
// that is [fs.ErrPermission] for another directory. Whoever passes a path from
// ToHost to the operating system checks first; it is check-then-use all the
// same.
func (n *Namespace) CheckHost(p Path) error {
	m := n.mountOf(p)
	if m == nil || m.hostDir == "" {
		return ErrOutside
	}
	return m.checkHost()
}

func (m *mount) checkHost() error {
	w, err := resolveHost(context.Background(), m.hostDir)
	if err != nil {
		return err
	}
	if w.tail != "" {
		return fs.ErrNotExist
	}
	info, err := os.Lstat(w.at)
	if err != nil {
		return bareError(err)
	}
	if len(w.links) > 0 || !info.IsDir() || !m.isHost(m.hostDir, info) {
		return errMoved
	}
	return nil
}

// errMoved: a host directory is not the one that a provider serves. It is
// [fs.ErrPermission].
var errMoved error = movedError{}

type movedError struct{}

func (movedError) Error() string { return "the host directory is no longer the mounted one" }

// Unwrap returns the broader condition.
func (movedError) Unwrap() error { return fs.ErrPermission }
