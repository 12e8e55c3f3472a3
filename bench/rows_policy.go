package main

import (
	"path"
	"runtime"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// rowsPolicy are the rows C of the goals: one decision, depth 8.
func rowsPolicy() []row {
	check := func(p policyfs.Policy) side {
		r := policyfs.Request{Op: policyfs.OpRead, Path: namespace.MustParse(deep(8))}
		return repeat(func() error {
			if !p.Check(r).Allow {
				return errDenied
			}
			return nil
		})
	}
	return []row{
		{ID: "C1", What: "Policy.Check, depth 8, 20 rules", Peer: "path.Clean of the same path", Goal: 1.7,
			Prepare: func(string) (side, side, func(), error) {
				name := "/workspace/" + deep(8)
				return check(policyOf(20)), repeat(func() error { runtime.KeepAlive(path.Clean(name)); return nil }), func() {}, nil
			}},
		{ID: "C2", What: "Policy.Check, depth 8, 2,000 rules", Peer: "20 rules", Goal: 1.2,
			Prepare: func(string) (side, side, func(), error) {
				return check(policyOf(2000)), check(policyOf(20)), func() {}, nil
			}},
	}
}
