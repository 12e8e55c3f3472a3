//go:build race

package diskfs_test

const raceEnabled = true
