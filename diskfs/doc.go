// Package diskfs is a provider over one host directory, contained by the kernel.
//
// # Containment
//
// [Open] pins the directory by descriptor. From then on no host path is used:
// every name is resolved from that descriptor by the system call that acts on
// it, and that call refuses links.
//
// On Linux this is openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, or,
// where a probe at Open finds no openat2, one openat with O_NOFOLLOW per
// element. Whatever needs no descriptor of the object itself opens the parent
// so and then acts on one element of it, with a call that follows no link there.
// A link swapped in at any moment is never followed, in either mode.
//
// What remains: a process of the same user that renames directories inside the
// root can move one away between the opening of the parent and the act on its
// element, so that the act lands in the directory where it now is. A hard link
// or a bind mount made from outside is an object of this tree like any other;
// see Options for what can be refused.
//
// Elsewhere every element is looked at, opened through os.Root and compared
// with what is there after the open. That refuses links after the fact, and
// Chmod and Chtimes are weaker: Features.RaceFree says where.
//
// # Types
//
// Only regular files and directories are opened. FIFOs, sockets and devices are
// refused without blocking, and on Linux everything on proc, sysfs and other
// filesystems whose files are interfaces of the kernel.
//
// # Temporaries
//
// Replace stages content that replaces a file under a reserved name in the same
// directory (".uncommitted-", 40 digits, ".tmp"), locked while its writer lives.
// Names of this pattern are never listed, and are [provider.ErrPath] when
// addressed. A writer that is killed leaves one behind. A stale one (regular,
// one link, same user, lock free) is removed only
//   - by a Replace in the same directory, and
//   - by Remove and RemoveEntry of a directory that holds nothing else: for
//     them such a directory is empty. A tree removal that deletes the entries it
//     listed and then the directory therefore needs to know nothing about
//     temporaries, and one whose directory has a live temporary in it fails
//     with ENOTEMPTY.
//
// # Case
//
// Whether names are case-sensitive is found out at Open, without writing: by the
// type of the filesystem and by looking up entries of the root in another case.
// A directory of another kind deeper in the tree goes unnoticed. Where names are
// not case-sensitive, and on NTFS and FUSE anyway, an existing element with a
// tilde and a digit that its parent's listing lacks is a short-name alias, and
// [provider.ErrPath].
//
// # Errors
//
// Errors are bare conditions: an errno, an io/fs sentinel, a sentinel of package
// provider or the context's error. None holds a path.
package diskfs
