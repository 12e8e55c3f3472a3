// Package provider is the contract between the workspace layers and storage.
//
// A [Provider] is a tree of regular files and directories addressed by [Path].
// It knows nothing about agents, sessions, policies or afero: those live in
// packages namespace and policyfs, which hold a Provider and are the only
// callers that matter. Package memfs keeps a tree in memory, package diskfs
// maps one onto a host directory, and package conformance states and tests what
// an implementation must do.
//
// # Paths
//
// A Path is relative to the provider's root, spelled as package io/fs spells
// names: elements joined by single slashes, "." for the root, never an empty
// element, "." or "..". It can only be made by [ParsePath] and [Path.Join], so a
// provider never sees a name that nobody checked.
//
// # Links
//
// No method follows a symbolic link (or a reparse point) in any element of a
// name. The refusal must be part of the system call that acts: a check followed
// by an act on the same string is a race that somebody wins. Links are reported
// by Stat and listings, removed by Remove and moved by Rename; everything else
// answers [ErrSymlink].
//
// # Errors
//
// Methods return bare conditions: a [syscall.Errno], an io/fs sentinel, one of
// the sentinels of this package, a context error or [errors.ErrUnsupported].
// The face that agents use wraps them once, with the caller's own spelling; a
// *fs.PathError around them is allowed and is stripped. No error text may hold a
// path of the host: it would reach a model.
//
// # Concurrency
//
// Providers and Files are safe for concurrent use, Close included.
package provider
