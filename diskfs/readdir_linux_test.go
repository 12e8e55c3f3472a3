package diskfs

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// record is what the kernel writes for one name: it leaves the padding behind the
// NUL as it was.
func record(name string, typ byte) []byte {
	rec := []byte(strings.Repeat("?", (19+len(name)+1+7)&^7))
	binary.NativeEndian.PutUint16(rec[16:], uint16(len(rec)))
	rec[18] = typ
	copy(rec[19:], name+"\x00")
	return rec
}

func TestDirents(t *testing.T) {
	var buf []byte
	var want []string
	buf = append(append(buf, record(".", 4)...), record("..", 4)...)
	for n := range 256 {
		if n == 0 {
			continue
		}
		name := "." + strings.Repeat("x", n-1)
		if n == 1 {
			name = "a"
		}
		buf = append(buf, record(name, byte(n%15))...)
		want = append(want, fmt.Sprint(name, n%15))
	}
	list := func(buf []byte) (got []string) {
		for name, typ := range dirents(buf) {
			got = append(got, fmt.Sprint(string(name), typ))
		}
		return got
	}
	if got := list(buf); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	// What no kernel writes ends the listing and does no harm.
	bad := record("name", 8)
	for cut := range len(bad) {
		if got := list(bad[:cut]); len(got) != 0 {
			t.Errorf("%d bytes of a record: %v", cut, got)
		}
	}
	for _, reclen := range []uint16{0, 1, 19, 20, 23, 65535} {
		binary.NativeEndian.PutUint16(bad[16:], reclen)
		for _, name := range list(bad) {
			if len(name) > len("name8") {
				t.Errorf("record length %d: %q", reclen, name)
			}
		}
	}
}

// TestChunkInfo: each room of a chunk is given out once, however often its entries
// are asked.
func TestChunkInfo(t *testing.T) {
	c := &chunk{entries: make([]dirEntry, 2)}
	seen := map[*info]bool{}
	for range 4 {
		seen[c.info()] = true
	}
	if len(seen) != 4 || c.used.Load() != 2 {
		t.Errorf("%d infos of 4 calls, %d given out of 2", len(seen), c.used.Load())
	}
}
