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
// tree's is handed out. Bytes never written are holes; they read as zero and
// cost no memory. Permission bits are kept as asked (there is no umask) and
// reported, but not enforced: the process owns the tree. Access times are
// accepted and not kept, because nothing reports them.
//
// # Limits
//
// [Options.MaxBytes] is charged by the bytes that the tree retains: what was
// written or lies between written bytes of one chunk, not the holes. What is
// removed stays charged while a handle holds it open. A limit that would be
// exceeded is [provider.ErrQuota], and nothing is changed.
//
// # Concurrency
//
// Everything is safe for concurrent use and every operation is atomic:
// concurrent ones have the effect of some order in which each takes effect
// between its call and its return.
package memfs
