// Package aferofs makes any [afero.Fs] a provider, so that an existing backend
// can sit under a policy. It is the weaker way: package memfs and package diskfs
// do more, and promise more.
//
// # What it does
//
// An afero.Fs differs from the contract of package provider in many places, and
// from backend to backend. This package looks at every element of a name before
// it acts, so that links are refused (where the backend has
// [afero.Lstater]; elsewhere it has no links that could be seen), the errors are
// those of the contract, and what backends do about full directories, missing
// parents or occupied names does not matter. It takes one lock for every change,
// so that conditions, exclusive creation and renames without replacement hold
// among the callers of one FS.
//
// # What it cannot do
//
// It checks and then acts on a string. Between the two, another process (or
// another user of the same backend) can put a link in the place of a directory,
// and the backend will follow it: Features.RaceFree and LinkFree are never
// claimed. Nor are Durable, AtomicRename and CaseSensitive, of which an afero.Fs
// says nothing. A directory File of a backend that is not the operating system's
// lists by name, so it does not follow when the directory is renamed.
package aferofs
