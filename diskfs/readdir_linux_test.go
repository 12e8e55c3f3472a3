package diskfs

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
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

// TestDirentsByteByByte: whatever records hold, the name found in each is the one that
// looking at one byte after the other finds. Of a short record the last eight bytes hold
// its length and type too, in which a zero ends no name: types are zero on storage that
// does not tell them.
func TestDirentsByteByByte(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const chars = "\x00\x00\x01\x7f\x80\x81\xff./a"
	for range 20_000 {
		var buf []byte
		var want []string
		for range r.IntN(4) {
			rec := make([]byte, 20+r.IntN(14))
			for i := range rec {
				rec[i] = chars[r.IntN(len(chars))]
			}
			binary.NativeEndian.PutUint16(rec[16:], uint16(len(rec)))
			buf = append(buf, rec...)
			end := max(len(rec)-8, 19)
			for end < len(rec) && rec[end] != 0 {
				end++
			}
			if name := string(rec[19:end]); name != "." && name != ".." {
				want = append(want, fmt.Sprintf("%q %d", name, rec[18]))
			}
		}
		var got []string
		for name, typ := range dirents(buf) {
			got = append(got, fmt.Sprintf("%q %d", name, typ))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%x:\n got %q\nwant %q", buf, got, want)
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

// TestListedNamesAreNoAliases: on storage that may have short names, describing the
// many entries of a listing that look like some does not read the directory once more
// for each; what the last listing did not have is looked for all the same.
func TestListedNamesAreNoAliases(t *testing.T) {
	const n = 3000
	d, dir := openTemp(t)
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("name~%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := d.Open(t.Context(), provider.Path{}, provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := f.(*file)
	list := func() (names []string) {
		if err := r.ReadEntries(0, func(name string, _ fs.FileMode) { names = append(names, name) }); err != nil {
			t.Fatal(err)
		}
		return names
	}
	// once is how long it takes to describe all entries.
	once := func(names []string) time.Duration {
		start := time.Now()
		for _, name := range names {
			if err := r.StatEntry(name, new(provider.Info)); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(start)
	}
	names := list()
	without := once(names)
	if r.tildes != nil {
		t.Error("names are kept on storage without short names")
	}
	d.traits.aliases = true
	names = list()
	if with := once(names); with > 20*without { // measured: 1.2 times, and 300 times when each reads the directory
		t.Errorf("%d entries are described in %v, and in %v where there are no aliases", len(names), with, without)
	}
	if !r.hasListed("name~7") || r.hasListed("NAME~7") || r.hasListed("name") || r.hasListed("missing~1") {
		t.Error("what is taken for listed was not, or the other way round")
	}
	if err := os.Remove(filepath.Join(dir, "name~7")); err != nil {
		t.Fatal(err)
	}
	if list(); r.hasListed("name~7") {
		t.Error("what only an earlier listing had is taken for listed")
	}
}
