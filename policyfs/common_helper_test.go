package policyfs_test

import (
	"os"
	"testing"
	"time"
)

// fixedTime is a time that every storage can keep.
var fixedTime = time.Unix(1_700_000_000, 0)

// scale picks a size: small under -short, large when WORKSPACEFS_LONG is set, as
// .ci/long does.
func scale(short, normal, long int) int {
	switch {
	case os.Getenv("WORKSPACEFS_LONG") != "":
		return long
	case testing.Short():
		return short
	}
	return normal
}
