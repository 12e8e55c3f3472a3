//go:build linux && (amd64 || arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64)

package diskfs

import "golang.org/x/sys/unix"

// sysFstatat fills a unix.Stat_t, here without a wrapper that allocates.
const sysFstatat = unix.SYS_NEWFSTATAT
