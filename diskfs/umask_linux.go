package diskfs

import (
	"bytes"
	"os"
	"strconv"
)

// currentUmask returns the process's file mode creation mask, which only /proc
// tells without changing it. Without /proc nothing is granted to others.
func currentUmask() uint32 {
	const unknown = 0o077
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return unknown
	}
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte("Umask:")); ok {
			mask, err := strconv.ParseUint(string(bytes.TrimSpace(v)), 8, 32)
			if err != nil {
				return unknown
			}
			return uint32(mask) & 0o777
		}
	}
	return unknown
}
