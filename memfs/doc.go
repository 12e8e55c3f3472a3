// Package memfs keeps a workspace tree in memory.
//
// An [FS] is a [provider.Provider] that answers as a real directory under
// package os does, without a disk: names, handles, modes, times and errors are
// the same, so a test may use it in the place of package diskfs. On top of the
// contract it has limits ([Options]), clones that cost nothing ([FS.Clone]) and
// planted links ([FS.Symlink]) to test that links are refused.
//
// # Names
//
// Parents must exist: nothing is created on the way to a name. Names are case
// sensitive unless [Options.CaseInsensitive] says otherwise; then they keep the
// spelling they were created with. There is no link unless trusted code plants
// one, and no method follows it.
//
// # Files
//
// A handle stays on its object when the name is renamed, removed or replaced.
// Content is copied in and out: no buffer of a caller is kept, and none of the
// tree's is handed out, except to a [provider.ContentViewer] while it looks; then a
// write to the file goes to a copy. Bytes never written are holes; they read as zero
// and cost no memory. Permission bits are kept as asked (there is no umask) and
// reported, but not enforced: the process owns the tree. Access times are accepted
// and not kept, because nothing reports them.
//
// # Limits
//
// [Options.MaxBytes] is charged by the bytes that the tree retains: what was
// written or lies between written bytes of one chunk, not the holes. What is
// removed stays charged while a handle holds it open. A limit that would be
// exceeded is [provider.ErrQuota], and nothing is changed.
//
// # Coming from afero.MemMapFs
//
// Tests that use afero.NewMemMapFs get the same interface, with right answers,
// from
//
//	policyfs.New(
//		namespace.Workspace(memfs.New(memfs.Options{})),
//		policyfs.Options{Policy: policyfs.ReadWrite(), CreateParents: true},
//	)
//
// What is different is what MemMapFs answers unlike a disk:
//   - The parent of a new file must exist: syscall.ENOENT. CreateParents makes
//     it, as MemMapFs does.
//   - A directory that holds anything is not removed by Remove
//     (syscall.ENOTEMPTY) nor replaced by Rename (fs.ErrExist), and a file is not
//     replaced by a directory (syscall.ENOTDIR).
//   - Flags count: a handle opened for reading does not write, an append goes to
//     the end whoever wrote last, O_EXCL refuses what exists, and handles on one
//     file have positions of their own.
//   - Closed handles answer fs.ErrClosed, negative offsets syscall.EINVAL, short
//     reads io.EOF; nothing panics.
//   - Errors are those of package os, in *fs.PathError and *os.LinkError.
//   - Modes are what was asked for; times of directories change with their
//     entries.
//   - Links are refused, and ".." is, unless policyfs is told to resolve it.
//   - The policy is asked: ReadWrite protects hidden names, and RemoveAll of a
//     tree needs AllowRecursiveDelete.
//
// afero.TempFile and afero.TempDir with an empty directory use the host's
// temporary directory, usually /tmp, as a name in this tree: make it first
// (MkdirAll("/tmp", 0o755)), or name a directory.
//
// # Concurrency
//
// Everything is safe for concurrent use and every operation is atomic:
// concurrent ones have the effect of some order in which each takes effect
// between its call and its return.
package memfs
