//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package conformance

import "syscall"

// canFIFO says whether the suite can make what is neither file nor directory.
const canFIFO = true

func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o644) }
