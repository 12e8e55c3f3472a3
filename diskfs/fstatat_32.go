//go:build linux && (386 || arm)

package diskfs

import "golang.org/x/sys/unix"

// sysFstatat and sysFstat fill a unix.Stat_t, here without the wrappers of x/sys,
// of which the first allocates.
const (
	sysFstatat = unix.SYS_FSTATAT64
	sysFstat   = unix.SYS_FSTAT64
)
