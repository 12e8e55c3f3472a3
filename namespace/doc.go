// Package namespace turns the names that agents use into places in storage.
//
// An agent knows one tree. [Parse] turns what it spells into a [Path], and a
// [Namespace] says which provider serves that Path, and under which name. This
// package knows neither policies nor agents: package policyfs puts an afero.Fs on
// top, which resolves, judges by policy and opens in one step, and which most
// programs use instead of the methods here.
//
// # A tool
//
// The table is made once. Directories are opened by diskfs, or by whatever else
// makes a [provider.Provider]:
//
//	open := func(dir string, access namespace.Access) (provider.Provider, error) {
//		return diskfs.Open(dir, diskfs.Options{ReadOnly: access == namespace.ReadOnly})
//	}
//	ns, err := namespace.FromGrants(namespace.Portable, open,
//		namespace.Grant{Dir: "/srv/app", Label: "App", Access: namespace.ReadWrite},
//		namespace.Grant{Dir: "/srv/notes", Label: "Notes", Kind: namespace.KindFolder})
//	// the agent has /workspace/app and, read-only, /mnt/notes
//
// A session has a directory, which relative names start at; unset, it is the
// table's own ([Namespace.Dir]):
//
//	session, err := ns.DirFromHost(ctx, "/srv/app/src") // a Path: /workspace/app/src
//
// And a tool resolves each name that it is given against it:
//
//	func read(ctx context.Context, ns *namespace.Namespace, session namespace.Path, name string) (string, error) {
//		target, err := ns.Resolve(session, name) // "x.go", "/workspace/app/src/x.go", "/mnt/notes/plan"
//		if err != nil {
//			return "", fmt.Errorf("read %s: %w", namespace.Quote(name), err)
//		}
//		data, err := provider.ReadFile(ctx, target.Provider, target.Rel)
//		if err != nil {
//			return "", fmt.Errorf("read %s: %w", ns.Display(target.Path), err)
//		}
//		return string(data), nil
//	}
//
// A tool that writes looks at target.Access first, and one that serves agents
// whom not everything is allowed uses policyfs.
//
// # Paths
//
// "/workspace" is the name of the tree's root and may be left out of absolute
// names: src/x, /src/x and /workspace/src/x are the same Path for an agent that
// works in the root. Other mounts are attached in the same tree: a mount at
// "/data" is the tree's data, also reachable as /workspace/data. With grants and
// nothing mounted at /workspace itself, a /workspace/src that no mount holds is
// short for src in the session's directory ([Namespace.Resolve]).
//
// Spelling is exact, nothing is trimmed, expanded or decoded, and ".." is refused,
// because what is above a directory is only known by looking
// ([Namespace.ResolveParents]).
//
// # Mounts
//
// [New] mounts providers, [Workspace] one of them at /workspace, and [FromGrants]
// makes the table of host directories that somebody granted. The innermost mount
// wins. The directories on the way to a mount point exist always, and can be
// neither removed nor renamed ([Namespace.MountPoint]); where no mount holds them,
// the Namespace serves them itself, read-only. A path that no mount contains is
// [ErrOutside]. So is a name that, folded as case-insensitive storage folds, is
// that of a mount point nested in another mount: the outer storage might open
// what the mount covers.
//
// Rights follow the host directory: where one granted directory lies inside
// another, also through a link or a bind mount, its own access holds at both
// agent paths, and [Namespace.Aliases] tells the other paths of an object, so that
// a policy is asked about all of them.
//
// A Namespace never changes. A program whose grants change while it runs swaps
// whole tables through a [Live], or chooses one for each operation with a
// [SourceFunc]; an operation keeps the table that it began with. A [Source] that
// fails, and one that has no table, denies everything.
//
// # Sessions
//
// One Namespace serves many sessions: the working directory is an argument, not
// a state. [Namespace.Dir] is the default one; [Namespace.DirFromHost] finds the
// one of a session that starts in a host directory, links and all.
//
// # Host paths
//
// [Namespace.ToHost] and [Namespace.FromHost] translate, for other programs that
// know the same files by their host paths; neither grants anything.
// [Namespace.Display] gives the spelling that a shell has too, when it runs in a
// sandbox made of [Namespace.BindMounts], [Namespace.BubblewrapArgs] or
// [Namespace.DockerArgs]: the same directories, at the same paths, with the same
// access. The rules of a policy hold for the file tools only.
//
// # Terms
//
// Other systems call these things otherwise:
//
//	allowed directory, root, folder, permission   Grant (a host directory), Mount (any provider)
//	access mode, read-only flag                   Access
//	agent path, virtual path, sandbox path        Path; the place of a mount is Grant.At, Mount.At
//	workspace label, folder name                  Grant.Label, MountName
//	current directory of a session                the dir argument of Parse and Resolve
//	path helper: is this allowed, where is it     Resolve, Lookup
//	path helper: virtual path to real path        ToHost; with a policy: policyfs HostPath
//	path helper: real path to virtual path        FromHost, DirFromHost
//	sandbox binds, container volumes              BindMounts
//	validation middleware around a tool           policyfs Guard
//	dynamic permissions, roots/list_changed       Live, SourceFunc
//
// # Security
//
// Parse is the only way from text to a Path, and Lookup the only one from a Path
// to a provider; both do no I/O, so they tell nothing about what exists. What
// keeps a provider inside its directory is the provider's business. The table
// relies on three facts about the host that it checks when it is made: each
// directory is the one that was opened, none of them lies in another without the
// table knowing, and no path to one goes through a link that an agent could
// replace. CheckHost, and with it every renderer, checks the first again. Hard
// links, and bind mounts made later, are aliases that nobody sees.
//
// # Errors
//
// Names that are no path are [provider.ErrPath], with the reason; paths in no
// mount are [ErrOutside], which is fs.ErrPermission. Mistakes of the program that
// builds a table are fs.ErrInvalid. No error holds a path of the host, unless in
// Host mode, where agents share those.
package namespace
