//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuMeasured: the system tells how much CPU time a process has used.
const cpuMeasured = true

// ownCPU is the CPU time that this process has used, user and system.
func ownCPU() time.Duration { return cpuOf(syscall.RUSAGE_SELF) }

// childCPU is that of the children that have ended.
func childCPU() time.Duration { return cpuOf(syscall.RUSAGE_CHILDREN) }

func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err) // it has no error but for an unknown who
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
