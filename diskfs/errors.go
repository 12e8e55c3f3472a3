package diskfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// bare strips what package os puts around a condition: its text would show a
// host path.
func bare(err error) error {
	for {
		switch e := err.(type) {
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return known(err)
		}
	}
}

// known passes the conditions that the contract allows, and turns a text that
// could say anything into EIO.
func known(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(syscall.Errno); ok {
		if e == syscall.ELOOP { // os.Root met a link that was gone when it read where that leads
			return provider.ErrSymlink
		}
		if onWindows {
			return windowsErrno(e)
		}
		return e
	}
	for _, is := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrClosed, fs.ErrInvalid, errors.ErrUnsupported} {
		if errors.Is(err, is) {
			return is
		}
	}
	if err.Error() == rootEscapes {
		return provider.ErrSymlink
	}
	return syscall.EIO
}

// rootEscapes is the text of os.Root's own error, which has no name, for a link
// that leads out.
const rootEscapes = "path escapes from parent"
