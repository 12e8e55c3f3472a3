package main

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/workspacefs/workspacefs/diskfs"
)

// walking opens dir as on a kernel without openat2. The provider looks for the
// call once, when it is opened, so that happens on a thread of its own under a
// filter that answers ENOSYS; the thread ends with the goroutine, and all others
// stay as they are.
func walking(dir string) (d *diskfs.FS, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked
		if err = denyOpenat2(); err == nil {
			d, err = diskfs.Open(dir, diskfs.Options{})
		}
	}()
	<-done
	return d, err
}

// denyOpenat2 filters the calling thread.
func denyOpenat2() error {
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: unix.SYS_OPENAT2},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("seccomp: %w", errors.Join(errSkip, err))
	}
	if _, _, e := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter))); e != 0 {
		return fmt.Errorf("seccomp: %w", errors.Join(errSkip, e))
	}
	if _, err := unix.Openat2(unix.AT_FDCWD, ".", &unix.OpenHow{Flags: unix.O_PATH}); err != unix.ENOSYS {
		return fmt.Errorf("openat2 under a filter: %v", err)
	}
	return nil
}
