//go:build unix

package policyfs_test

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// canSpecial: the platform has FIFOs and sockets in the filesystem.
const canSpecial = true

// hostSpecial makes a FIFO or a socket.
func hostSpecial(t testing.TB, kind, path string) {
	t.Helper()
	if kind == "fifo" {
		if err := unix.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// hostUmask sets the umask of the process.
func hostUmask(mask int) int { return syscall.Umask(mask) }
