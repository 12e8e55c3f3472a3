package namespace

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// Resolve is [Parse] and [Namespace.Lookup]: where does this name lead? An unset
// dir is the namespace's working directory, if it has one.
//
// One shorthand is applied, only in a Namespace that [FromGrants] made in
// Portable mode and only when nothing is mounted at /workspace: a name spelled
// "/workspace" or "/workspace/..." that no mount contains, and that is not at or
// below a synthetic directory other than the root, stands for the same name in
// the working directory. Then Target.Requested is what was spelled and
// Target.Path what it stands for. "/" always is the root.
//
// Errors are those of Parse and Lookup.
func (n *Namespace) Resolve(dir Path, name string) (Target, error) {
	dir = n.dirOr(dir)
	p, spelled, err := parse(dir, name)
	if err != nil {
		return Target{}, err
	}
	return n.lookup(dir, p, spelled)
}

// ResolveParsed is [Namespace.Resolve] for a caller that has judged p, the result
// of Parse(*dir, name), before it asks where p leads. It sets t, which after an
// error is anything.
func (n *Namespace) ResolveParsed(t *Target, dir *Path, p Path, name string) (err error) {
	if n != nil && n.shorthand {
		*t, err = n.Resolve(*dir, name)
		return err
	}
	return n.locate(t, p)
}

// dirOr returns dir, or the default when it is unset.
func (n *Namespace) dirOr(dir Path) Path {
	if dir.s == "" && n != nil {
		return n.dir
	}
	return dir
}

// lookup is [Namespace.Lookup] with the shorthand; spelled says that the name
// began with /workspace.
func (n *Namespace) lookup(dir, p Path, spelled bool) (Target, error) {
	if spelled && n != nil && n.shorthand && dir.s != "" && n.free(p) {
		stands, err := dir.joinRel(p.tree)
		if err != nil {
			return Target{}, err
		}
		t, err := n.Lookup(stands)
		if err != nil {
			return Target{}, err
		}
		t.Requested = p
		return t, nil
	}
	return n.Lookup(p)
}

// free reports whether the shorthand applies to p: no mount contains it, and the
// only synthetic directory at or above it is the root.
func (n *Namespace) free(p Path) bool {
	nd, _, _ := n.find(p)
	return nd == n.root && nd.mount == nil
}

// ResolveParents is [Namespace.Resolve] for names that hold "..", which it
// resolves as a kernel would: a ".." is the parent of the directory before it
// only if that exists and is a real directory. ok is asked first whether the
// caller may know that (whether the policy allows to stat the Target), so that
// an error tells nothing about a place that is refused anyway; its error is
// returned as it is.
//
// Errors besides those of Resolve: [fs.ErrNotExist] and syscall.ENOTDIR when a
// directory before ".." is missing or none, [provider.ErrSymlink] when it is
// reached through a link, [ErrOutside] for a ".." that leaves the tree, and what
// the provider or ctx reports. The result never holds "..". It is check-then-use:
// nothing keeps the directory in place afterwards, but the resulting Path is
// judged like any other.
func (n *Namespace) ResolveParents(ctx context.Context, dir Path, name string, ok func(Target) error) (Target, error) {
	dir = n.dirOr(dir)
	if len(name) > MaxName || !strings.Contains(name, "..") {
		return n.Resolve(dir, name)
	}
	if err := checkText(name); err != nil {
		return Target{}, err
	}
	w := parentWalk{n: n, dir: dir, at: root, ok: ok, absolute: true, strip: true}
	if !strings.HasPrefix(name, "/") {
		if dir.s == "" {
			return n.Resolve(dir, name)
		}
		w.at, w.absolute, w.strip = dir, false, false
		w.spelled = strings.HasPrefix(n.Display(dir), rootText)
	}
	for elem := range strings.SplitSeq(name, "/") {
		if err := w.step(ctx, elem); err != nil {
			return Target{}, err
		}
	}
	return w.lookup()
}

// parentWalk is the state of one ResolveParents.
type parentWalk struct {
	n        *Namespace
	dir, at  Path
	ok       func(Target) error
	absolute bool // the name is
	spelled  bool // the way to at begins with /workspace
	strip    bool // at the root, the element "workspace" is the root itself
}

// lookup looks at up.
func (w *parentWalk) lookup() (Target, error) {
	return w.n.lookup(w.dir, w.at, w.absolute && w.spelled)
}

// step takes one element of the name.
func (w *parentWalk) step(ctx context.Context, elem string) error {
	switch {
	case elem == "", elem == ".":
		return nil
	case elem == "..":
		return w.up(ctx)
	case w.strip && w.at.IsRoot() && elem == rootName:
		w.spelled, w.strip = true, false
		return nil
	}
	at, err := w.at.join(elem)
	w.at = at
	return err
}

// up makes at its parent, if at is a directory and the caller may know.
func (w *parentWalk) up(ctx context.Context) error {
	if w.at.IsRoot() {
		return ErrOutside
	}
	t, err := w.lookup()
	if err != nil {
		return err
	}
	if w.ok == nil {
		return fs.ErrPermission
	}
	if err := w.ok(t); err != nil {
		return err
	}
	if err := w.n.isDir(ctx, t); err != nil {
		return err
	}
	w.at, w.strip = w.at.Parent(), !w.spelled
	return nil
}

// isDir returns nil when t is a directory that no link leads to.
func (n *Namespace) isDir(ctx context.Context, t Target) error {
	if n.node(t.Path) != nil {
		return ctx.Err() // a mount point or an ancestor of one
	}
	info, err := t.Provider.Stat(ctx, t.Rel)
	switch {
	case err != nil:
		return err
	case info == nil:
		return errors.New("the provider returned neither a result nor an error")
	case info.Mode()&fs.ModeSymlink != 0:
		return provider.ErrSymlink
	case !info.IsDir():
		return syscall.ENOTDIR
	}
	return nil
}

// Display returns the spelling of p that the agent's shell has too, when it is
// started with [Namespace.BindMounts]: "/data/x" for a mount at "/data",
// "/workspace/app/x" for one at "/workspace/app". Resolve turns it into p again.
// The unset Path is "". It does not allocate.
func (n *Namespace) Display(p Path) string {
	if n == nil || n.root == nil || p.s == "" {
		return p.s
	}
	nd, rest, shadowed := n.find(p)
	switch {
	case shadowed:
		return p.s
	case nd.within != nil:
		if nd.within.bare {
			return p.s[len(rootText):]
		}
	case nd == n.root && rest == "":
		return "/"
	case nd != n.root && nd.bare:
		return p.s[len(rootText):]
	}
	return p.s
}
