//go:build !linux

package policyfs_test

import "errors"

const canExchange = false

const enoughSwaps = 0

func hostExchange(a, b string) error { return errors.ErrUnsupported }

func (r *attackRun) race(call, flip []any) string {
	r.t.Skip("swapping a directory for a link in one step needs renameat2")
	return ""
}
