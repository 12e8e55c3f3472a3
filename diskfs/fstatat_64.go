//go:build linux && (amd64 || arm64 || riscv64 || ppc64 || ppc64le || s390x)

package diskfs

import "golang.org/x/sys/unix"

// sysFstatat and sysFstat fill a unix.Stat_t, here without the wrappers of x/sys,
// of which the first allocates.
const (
	sysFstatat = unix.SYS_NEWFSTATAT
	sysFstat   = unix.SYS_FSTAT
)
