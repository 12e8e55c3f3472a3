package namespace

import (
	"os"
	"testing"
)

// What the tests of package namespace_test share with those of this package.
var (
	Need     = need
	Dirs     = dirs
	OpenDisk = openDisk
)

// need skips a test that cannot run here, and fails it where everything must.
func need(t *testing.T, ok bool, what string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
		t.Fatal("needs " + what)
	}
	t.Skip("needs " + what)
}
