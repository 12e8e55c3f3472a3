//go:build linux && !(amd64 || arm64 || riscv64 || ppc64 || ppc64le || s390x || loong64 || 386 || arm)

package diskfs

// sysFstatat is 0: x/sys has to translate the kernel's structure here.
const sysFstatat = 0
