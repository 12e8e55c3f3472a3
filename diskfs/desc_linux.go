package diskfs

import (
	"io/fs"
	"sync/atomic"
	"syscall"
)

// desc owns one file descriptor. Its users count themselves in and out, so that
// the descriptor is closed by the last of them and a number that the kernel
// gives to somebody else is never used: the guarantee of internal/poll.FD
// without its poller. It must not be copied after open.
type desc struct {
	fd    int
	state atomic.Int64 // users, plus closedBit once close was called
}

const closedBit = 1 << 62

// use counts the caller in; every true answer needs one done.
func (d *desc) use() (fd int, ok bool) {
	for {
		s := d.state.Load()
		if s&closedBit != 0 {
			return -1, false
		}
		if d.state.CompareAndSwap(s, s+1) {
			return d.fd, true
		}
	}
}

// done counts the caller out.
func (d *desc) done() {
	if d.state.Add(-1) == closedBit {
		closeFD(d.fd)
	}
}

// close refuses new users; the descriptor goes with the last present one. A
// second close is fs.ErrClosed.
func (d *desc) close() error {
	for {
		s := d.state.Load()
		if s&closedBit != 0 {
			return fs.ErrClosed
		}
		if !d.state.CompareAndSwap(s, s|closedBit) {
			continue
		}
		if s == 0 {
			// EINTR from close means closed on Linux; EIO is reported.
			if err := syscall.Close(d.fd); err != nil && err != syscall.EINTR {
				return err
			}
		}
		return nil
	}
}
