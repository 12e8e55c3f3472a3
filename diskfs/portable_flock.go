//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package diskfs

import (
	"os"
	"syscall"
)

// lockFile tries to take the lock that a temporary has while its writer lives.
func lockFile(f *os.File) lockState {
	state := lockNone
	conn, err := f.SyscallConn()
	if err != nil {
		return state
	}
	err = conn.Control(func(fd uintptr) {
		for {
			switch syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) {
			case nil:
				state = lockHeld
			case syscall.EWOULDBLOCK:
				state = lockBusy
			case syscall.EINTR:
				continue
			}
			return
		}
	})
	if err != nil {
		return lockNone
	}
	return state
}
