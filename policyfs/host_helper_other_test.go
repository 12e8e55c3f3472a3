//go:build !unix

package policyfs_test

import "testing"

const canSpecial = false

// hostSpecial makes a FIFO or a socket.
func hostSpecial(t testing.TB, kind, path string) {
	t.Helper()
	t.Fatalf("no %s on this platform", kind)
}

func hostUmask(mask int) int { return mask }
