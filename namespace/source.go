package namespace

import (
	"sync/atomic"
)

// Source gives the table that one operation works with. Every operation asks
// once and keeps what it got to its end. A Source that fails, or that returns
// nil or a Namespace without mounts, denies the operation.
type Source interface {
	// Namespace returns the current table. It is safe for concurrent use.
	Namespace() (*Namespace, error)
}

var (
	_ Source = (*Namespace)(nil)
	_ Source = (*Live)(nil)
	_ Source = SourceFunc(nil)
)

// errNoTable: a Source has no table to give. It is [ErrOutside].
var errNoTable error = noTableError{}

type noTableError struct{}

func (noTableError) Error() string { return "no mounts" }

// Unwrap returns the broader condition.
func (noTableError) Unwrap() error { return ErrOutside }

// Namespace returns n itself, and an error that is [ErrOutside] when n is nil or
// has no mounts.
func (n *Namespace) Namespace() (*Namespace, error) {
	if n == nil || n.root == nil {
		return nil, errNoTable
	}
	return n, nil
}

// Live is a Source whose table can be swapped while it is in use: a swap takes
// effect for operations that begin after it. The zero Live has no table and
// denies everything. It must not be copied after first use.
type Live struct{ current atomic.Pointer[Namespace] }

// Store makes n the current table. Storing nil denies everything from then on.
// The former table is not closed: operations and files that began with it go on.
func (l *Live) Store(n *Namespace) { l.current.Store(n) }

// Namespace returns the current table, and an error that is [ErrOutside] when
// there is none or it has no mounts.
func (l *Live) Namespace() (*Namespace, error) {
	if l == nil {
		return nil, errNoTable
	}
	return l.current.Load().Namespace()
}

// SourceFunc is a function as a Source, for callers that choose the table for
// each operation. It must return the same Namespace as long as nothing has
// changed: walks and searches ask again on their way, and end when they get another
// one. A nil SourceFunc denies everything.
type SourceFunc func() (*Namespace, error)

// Namespace calls f. What f returns besides an error is not passed on with it,
// and a table without mounts is an error that is [ErrOutside].
func (f SourceFunc) Namespace() (*Namespace, error) {
	if f == nil {
		return nil, errNoTable
	}
	n, err := f()
	if err != nil {
		return nil, err
	}
	return n.Namespace()
}
