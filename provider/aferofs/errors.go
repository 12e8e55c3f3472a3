package aferofs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/afero"
)

// bare takes an error out of its *fs.PathError, *os.LinkError or
// *os.SyscallError, whose text would show names of the host. What is no
// condition of the contract then becomes input/output error.
func bare(err error) error {
	var errno syscall.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &errno):
		if errno == syscall.ENOENT {
			return fs.ErrNotExist
		}
		return errno
	case errors.Is(err, afero.ErrFileClosed), errors.Is(err, os.ErrClosed):
		return fs.ErrClosed
	}
	for _, target := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, errors.ErrUnsupported, io.EOF} {
		if errors.Is(err, target) {
			return target
		}
	}
	return unknown{err}
}

// unknown is an error that the contract has no word for: it prints as EIO, and
// errors.Is and errors.As still find what it was.
type unknown struct{ cause error }

func (e unknown) Error() string { return syscall.EIO.Error() }

// Unwrap returns syscall.EIO and the cause.
func (e unknown) Unwrap() []error { return []error{syscall.EIO, e.cause} }

// ignoreEOF takes the end of a listing or a file for success.
func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
