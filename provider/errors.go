package provider

import (
	"errors"
	"io/fs"
)

// The conditions that errno and package io/fs have no word for. Compare with
// [errors.Is]: each of them also is the condition of package io/fs (or the
// errno) that a caller who has never heard of this package would look for.
var (
	// ErrPath: the text is no name here. It is [fs.ErrInvalid].
	ErrPath error = &condition{"invalid path", fs.ErrInvalid}
	// ErrSymlink: an element is a symbolic link or another kind of redirection.
	// It is [fs.ErrPermission].
	ErrSymlink error = &condition{"symbolic link refused", fs.ErrPermission}
	// ErrIrregular: the object is neither a regular file nor a directory (a
	// FIFO, socket, device, or a file of proc, sysfs and their like). It is
	// [fs.ErrPermission].
	ErrIrregular error = &condition{"not a regular file or directory", fs.ErrPermission}
	// ErrQuota: a limit of the storage is reached, and nothing was changed. It
	// is syscall.EDQUOT where the platform has one.
	ErrQuota error = &condition{"quota exceeded", quotaErrno}
	// ErrConflict: a [Condition] does not hold, and nothing was changed. It is
	// [fs.ErrExist].
	ErrConflict error = &condition{"content changed since it was read", fs.ErrExist}
	// ErrHardLink: the file has more than one hard link and may not be written
	// in place. It is [fs.ErrPermission].
	ErrHardLink error = &condition{"file has several hard links", fs.ErrPermission}
	// ErrTooMany: a directory holds more entries than the caller's bound.
	ErrTooMany = errors.New("too many directory entries")
)

// condition is a sentinel that also is a broader one under errors.Is.
type condition struct {
	text string
	is   error
}

func (c *condition) Error() string { return c.text }

// Unwrap returns the broader condition.
func (c *condition) Unwrap() error { return c.is }

// pathError is ErrPath with the reason why the text is no path.
type pathError string

func (e pathError) Error() string { return ErrPath.Error() + ": " + string(e) }

// Unwrap makes errors.Is(e, ErrPath), and with it fs.ErrInvalid, hold.
func (e pathError) Unwrap() error { return ErrPath }
