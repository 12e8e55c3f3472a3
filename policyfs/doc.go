// Package policyfs is the afero.Fs that agent tools hold: one filesystem over a
// namespace of mounts, in which nothing is seen or touched that the policy does
// not allow, by any method, spelling, handle or move.
//
//	fsys := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: policyfs.ReadWrite()})
//
// [New] binds a [namespace.Source] and a [Policy]. [FS] has the thirteen methods
// of afero.Fs and LstatIfPossible, so that a tool written against afero runs
// unchanged, and adds what agent tools need: [FS.ReadFile] and [FS.WriteFile]
// with content conditions, [FS.Walk], [FS.Glob] and [FS.Grep] that are blind to
// what is denied, [FS.Explain] and [FS.Authorize].
//
// # Paths
//
// Names are what namespace.Parse accepts: slashes on every platform, no "..",
// relative names start at the session directory ([Options.Dir], [FS.WithDir]).
// The string judged is the string used: nothing is trimmed, decoded or expanded.
// A name that ends in a slash, or in "/.", must be a directory, as for the
// kernel. A blank name is the session directory for reading and listing; what
// changes something refuses it with ENOENT, as package os does.
//
// # Policy
//
// Every call is judged before the mount table and before any I/O, so that the
// refusal of a named path says nothing about what exists there. The operation
// table of each method names the [Op] it asks for. A refusal is a
// [*DeniedError] inside the usual *fs.PathError or *os.LinkError.
//
// # Trees
//
// RemoveAll and Rename of a directory first plan: they look at every descendant,
// hidden ones too, and authorize all of them before anything is changed. A lock
// shared by all FS values over one provider keeps the agent's own parallel calls
// from changing the plan's ground. What a process outside does meanwhile can
// make a call fail; it cannot make it touch what was not planned.
//
// # Errors
//
// Methods return *fs.PathError, or *os.LinkError from Rename and Move, with the
// caller's own spelling. os.IsNotExist and os.IsExist answer as for package os.
// For a denial use errors.Is(err, fs.ErrPermission) or errors.As with
// *DeniedError; os.IsPermission does not see a typed reason. No host path appears
// in any error.
//
// # Limits
//
// This is no sandbox for code in the same process, nor for a shell. A process of
// the same user that renames directories inside the root can make a change land
// in a directory it moved away, and can undo a policy by renaming. Hard links and
// bind mounts made from outside are aliases that resolution cannot see.
// Permission to write reveals existence, type and size; ENOTEMPTY, quotas, free
// space and the times of directories reveal that something hidden exists.
// Conditions hold within a process, not across processes or overlapping roots.
// Rule texts show scope names to the caller. A Policy of another type must answer
// OpMoveTree itself. Key files without a telling name (id_rsa, *.pem) are ordinary
// unless denied.
//
// # Concurrency
//
// FS values are safe for concurrent use, and so are the Files they return. What
// derives (WithContext, WithDir, WithPolicy) returns a new value and leaves the
// old one as it is.
package policyfs
