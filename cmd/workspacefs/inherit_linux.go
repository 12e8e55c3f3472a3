package main

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
)

// keepDescriptors makes descriptors that this process has inherited and knows
// nothing about stay behind when a command is started.
func keepDescriptors() error {
	err := unix.CloseRange(firstFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return errors.New("the kernel is too old to keep open descriptors from the command (Linux 5.11 can)")
	}
	return err
}
