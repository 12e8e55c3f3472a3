package main

import (
	"path"
	"runtime"
	"slices"

	"github.com/workspacefs/workspacefs/provider"
)

// rows are all comparisons, in the order of the printed table.
func rows() []row {
	return slices.Concat([]row{parsePath()}, rowsPolicy(), rowsDisk(), rowsMemory(), rowsPeers(), rowsSearch())
}

// parsePath compares the check of a name with the cheapest thing that a path
// library does to one.
func parsePath() row {
	return row{
		ID: "path.parse", What: "provider.ParsePath, depth 8", Peer: "path.Clean",
		Prepare: func(string) (side, side, func(), error) {
			const name = "src/internal/server/handlers/api/v1/users/list.go"
			ours := func() error { _, err := provider.ParsePath(name); return err }
			peer := func() error { runtime.KeepAlive(path.Clean(name)); return nil }
			return repeat(ours), repeat(peer), func() {}, nil
		},
	}
}
