//go:build !unix

package policyfs_test

import "time"

// ownCPU is not measured here.
func ownCPU() time.Duration { return 0 }
