package mcpserver

import "github.com/aymanbagabas/go-udiff"

// maxDifference bounds the part of a conflict that shows what changed.
const maxDifference = 4 << 10

// difference is the unified diff from what a session knew to what is there now.
func difference(old, now []byte) string {
	d := udiff.Unified("as read", "now", string(old), string(now))
	if len(d) > maxDifference {
		return d[:maxDifference] + "\n... the diff goes on"
	}
	return d
}
