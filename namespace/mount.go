package namespace

import (
	"io/fs"

	"github.com/workspacefs/workspacefs/provider"
)

// Access is what a mount lets agents do, before any policy. The zero Access is
// ReadOnly.
type Access uint8

const (
	// ReadOnly refuses every mutation.
	ReadOnly Access = iota
	// ReadWrite leaves mutations to the policy and the provider.
	ReadWrite
)

// String returns "read-only" or "read-write".
func (a Access) String() string {
	if a == ReadWrite {
		return "read-write"
	}
	return "read-only"
}

// Kind is what a granted directory is to the agent; it chooses the agent root
// in Portable mode.
type Kind uint8

const (
	// KindWorkspace is a directory to work in, at /workspace/<name>.
	KindWorkspace Kind = iota
	// KindData is the session's data directory, at /data.
	KindData
	// KindFolder is any other directory, at /mnt/<name>.
	KindFolder
)

// String returns "workspace", "data" or "folder".
func (k Kind) String() string {
	switch k {
	case KindWorkspace:
		return "workspace"
	case KindData:
		return "data"
	case KindFolder:
		return "folder"
	}
	return "unknown"
}

// Mount attaches a provider's root to the tree.
type Mount struct {
	// At is the absolute agent path of the mount point: "/workspace", "/data",
	// "/mnt/notes". "/" is "/workspace". It is also the spelling that
	// [Namespace.Display] uses.
	At string
	// Access is what agents may do below At; the zero value is ReadOnly.
	Access Access
	// Provider serves the tree below At. The Namespace does not close it.
	Provider provider.Provider
	// HostDir is the absolute host directory that Provider serves, without "."
	// and ".." elements. It is trusted, optional, and enables ToHost, FromHost,
	// DirFromHost and the bind mounts for this mount. When it goes through a
	// link, CheckHost and with it the renderers refuse it.
	HostDir string
}

// MountInfo describes one mount: what a prompt may show.
type MountInfo struct {
	// At is the mount point.
	At Path
	// Label is the grant's label, safe in a line of text ([Quote]); empty for
	// mounts that were not granted.
	Label string
	// Kind is the grant's kind.
	Kind Kind
	// Access is the effective access, which a conflict between grants may have
	// lowered.
	Access Access
}

// Target is where a name leads: an object below a provider's root.
type Target struct {
	// Requested is the Path that the name spells, Path the one it stands for.
	// They differ only for the /workspace shorthand ([Namespace.Resolve]), and
	// then a policy must allow both.
	Requested, Path Path
	// Mount is the mount point that holds Path. Nothing can be renamed between
	// two Targets with different Mounts: syscall.EXDEV.
	Mount Path
	// Provider is never nil in a Target returned without error.
	Provider provider.Provider
	// Rel is Path relative to the mount point.
	Rel provider.Path
	// Access is that of the mount.
	Access Access
}

// At makes t the Target of p, a path that the same mount holds: without looking
// for the mount again, and without checking text. ok is false, and t as it was,
// where the mount point does not contain p. That no other mount covers p is for the
// caller to know.
func (t *Target) At(p Path) (ok bool) {
	if !t.Mount.Contains(p) {
		return false
	}
	t.Requested, t.Path = p, p
	t.Rel, _ = t.Mount.tree.Cut(p.tree)
	return true
}

// ErrOutside: no mount contains the path. It is [fs.ErrPermission].
var ErrOutside error = outsideError{}

type outsideError struct{}

func (outsideError) Error() string { return "outside every mount of the workspace" }

// Unwrap returns the broader condition.
func (outsideError) Unwrap() error { return fs.ErrPermission }
