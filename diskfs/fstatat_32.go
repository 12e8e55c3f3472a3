//go:build linux && (386 || arm)

package diskfs

import "golang.org/x/sys/unix"

// sysFstatat fills a unix.Stat_t, here without a wrapper that allocates.
const sysFstatat = unix.SYS_FSTATAT64
