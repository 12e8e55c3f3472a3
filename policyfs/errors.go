package policyfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// DeniedError is the reason of a refusal by policy, by the access of a mount, by
// a limit of Options or by a namespace source that failed. It comes inside an
// *fs.PathError or *os.LinkError and is [fs.ErrPermission].
type DeniedError struct {
	// Op is what was asked for.
	Op Op
	// Path is the canonical path that was judged: not always the one the caller
	// named. It is unset when no namespace was there to give it a meaning.
	Path namespace.Path
	// Rule says which rule decided, in the words of the Spec.
	Rule string
	// Cause is what a failing Source returned, or the condition behind a limit.
	// errors.Is sees it; the message does not show it, because its text may name
	// things of the host.
	Cause error
}

// Error names the operation, the agent path and the rule.
func (e *DeniedError) Error() string {
	if p := e.Path.String(); p != "" {
		return fmt.Sprintf("not allowed to %s %s: %s", e.Op, namespace.Quote(p), e.Rule)
	}
	return fmt.Sprintf("not allowed to %s: %s", e.Op, e.Rule)
}

// Unwrap makes errors.Is(e, fs.ErrPermission) hold, and finds Cause.
func (e *DeniedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{fs.ErrPermission}
	}
	return []error{fs.ErrPermission, e.Cause}
}

// PartialError reports a tree operation that failed half-way. It wraps the
// condition that stopped it.
type PartialError struct {
	// Done and Planned count entries: Done were removed, Planned were to be.
	Done, Planned int
	// Left is the agent path that could not be removed; it and what the plan
	// held after it is still there.
	Left namespace.Path
	// Err is the condition that stopped the operation.
	Err error
}

// Error says what stopped the operation, and how far it came.
func (e *PartialError) Error() string {
	return fmt.Sprintf("%v at %s: partly done, %d of %d entries removed", e.Err, namespace.Quote(e.Left.String()), e.Done, e.Planned)
}

// Unwrap returns the condition that stopped the operation.
func (e *PartialError) Unwrap() error { return e.Err }

// opaqueError hides the text of a foreign error, which may hold a host path, and
// keeps the error itself reachable.
type opaqueError struct{ err error }

func (e *opaqueError) Error() string { return syscall.EIO.Error() }

// Unwrap returns the foreign error.
func (e *opaqueError) Unwrap() error { return e.err }

// pathErr is the one place where an error gets the caller's name for it.
func pathErr(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return newPathErr(op, name, err)
}

func newPathErr(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: namespace.Quote(name), Err: clean(err)}
}

// linkErr is pathErr for operations on two names.
func linkErr(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: namespace.Quote(oldname), New: namespace.Quote(newname), Err: clean(err)}
}

// clean strips what layers below wrapped around a condition, and hides the text
// of everything that is not one of the conditions of DESIGN section 7: only
// those are known to hold no host path.
func clean(err error) error {
	for {
		switch e := err.(type) {
		case *fs.PathError:
			err = e.Err
			continue
		case *os.LinkError:
			err = e.Err
			continue
		case *os.SyscallError:
			err = e.Err
			continue
		case syscall.Errno, *DeniedError, *opaqueError, *textError:
			return err
		case *PartialError:
			shown := *e
			shown.Err = clean(e.Err)
			return &shown
		}
		switch {
		case err == nil:
			return syscall.EIO // a layer wrapped nothing
		case err == fs.ErrNotExist:
			return syscall.ENOENT // the same condition, with the text of package os
		case err == fs.ErrExist:
			return syscall.EEXIST
		case safeText(err):
			return err
		}
		return &opaqueError{err}
	}
}

// safeSentinels are the conditions that are returned as they are.
var safeSentinels = []error{
	fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed,
	provider.ErrPath, provider.ErrSymlink, provider.ErrIrregular, provider.ErrQuota,
	provider.ErrConflict, provider.ErrHardLink, provider.ErrTooMany,
	namespace.ErrOutside, context.Canceled, context.DeadlineExceeded,
	errors.ErrUnsupported, path.ErrBadPattern, io.EOF, io.ErrUnexpectedEOF,
}

// safeText reports whether err is one of the sentinels itself: text around one may
// be anybody's.
func safeText(err error) bool {
	for _, s := range safeSentinels {
		if err == s {
			return true
		}
	}
	return false
}

// textError marks an error whose text this module made itself, so that it may be
// shown: why a name is no path, or what a limit is.
type textError struct{ err error }

func (e *textError) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *textError) Unwrap() error { return e.err }
