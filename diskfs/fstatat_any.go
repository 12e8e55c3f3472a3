//go:build linux && !(amd64 || arm64 || riscv64 || ppc64 || ppc64le || s390x || 386 || arm)

package diskfs

// sysFstatat and sysFstat are 0: x/sys has to translate the kernel's structure here.
const (
	sysFstatat = 0
	sysFstat   = 0
)
