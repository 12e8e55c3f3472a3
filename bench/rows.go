package main

import (
	"path"

	"github.com/workspacefs/workspacefs/provider"
)

// rows are all comparisons, in the order of the printed table.
func rows() []row {
	return []row{parsePath()}
}

// parsePath compares the check of a name with the cheapest thing that a path
// library does to one.
func parsePath() row {
	return row{
		ID: "path.parse", What: "provider.ParsePath, depth 8", Peer: "path.Clean",
		Prepare: func(string) (ours, peer func(int) error, release func(), err error) {
			const name = "src/internal/server/handlers/api/v1/users/list.go"
			ours = func(n int) error {
				for range n {
					if _, err := provider.ParsePath(name); err != nil {
						return err
					}
				}
				return nil
			}
			peer = func(n int) error {
				for range n {
					sink = path.Clean(name)
				}
				return nil
			}
			return ours, peer, func() {}, nil
		},
	}
}

// sink keeps the compiler from dropping a peer's work.
var sink string
