package conformance_test

import (
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
)

func BenchmarkMemfs(b *testing.B) { conformance.Bench(b, memHarness(memfs.Options{})) }

func BenchmarkDiskfs(b *testing.B) {
	conformance.Bench(b, diskHarness(openDisk(diskfs.Options{NoSync: true})))
}
