package conformance

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func writeRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"WRITE-at-any-offset", "WriteAt changes exactly the bytes it names, within, across and at the end of what is there.", needInPlace, writeOffsets},
		{"WRITE-gap-reads-as-zero", "Bytes between the old end and the offset of a write read as zero.", needInPlace, writeGap},
		{"WRITE-nothing-changes-nothing", "Writing no bytes changes nothing, beyond the end too.", needInPlace, writeNothing},
		{"WRITE-negative-offset", "A write at a negative offset is syscall.EINVAL, without effect.", needInPlace, writeNegative},
		{"WRITE-beyond-any-size", "A write that would end beyond the largest offset fails at once, without effect and without allocating to it.", needInPlace, writeHuge},
		{"WRITE-far-beyond-the-end", "A write or Truncate far beyond the end leaves a hole, or is refused without effect: it never allocates up to there.", needInPlace, writeFar},
		{"WRITE-keeps-no-buffer", "The caller may change its buffer after a write.", needInPlace, writeKeepsNoBuffer},
		{"WRITE-large", "Large writes at odd offsets give what the same writes give on a byte slice.", needInPlace, writeLarge},
		{"WRITE-is-not-a-truncation", "A short write at the start leaves the rest of the file.", needInPlace, writeShort},
		{"WRITE-append-goes-to-the-end", "Append writes at the end, wherever that is at the moment, and returns the size after it.", needInPlace, writeAppend},
		{"WRITE-append-nothing", "Append of no bytes changes nothing and returns the size.", needInPlace, writeAppendNothing},
		{"WRITE-through-a-read-handle-changes-nothing", "A File opened without Write changes nothing, whatever is called on it.", needInPlace, writeReadOnlyHandle},
		{"WRITE-truncate-shrinks", "Truncate to a smaller size cuts the content there.", needInPlace, writeShrink},
		{"WRITE-truncate-grows-with-zeros", "Truncate to a larger size adds zeros, never bytes that were cut before.", needInPlace, writeGrow},
		{"WRITE-after-truncate", "A write beyond the end that Truncate made leaves zeros between, never bytes that were cut before.", needInPlace, writeAfterTruncate},
		{"WRITE-truncate-negative", "Truncate to a negative size is syscall.EINVAL, without effect.", needInPlace, writeTruncateNegative},
		{"WRITE-directory", "WriteAt, Append and Truncate of a directory are syscall.EISDIR, without effect.", needWrite, writeDirectory},
		{"WRITE-sync", "Sync succeeds on files and directories, opened for reading or writing.", 0, writeSync},
		{"WRITE-moves-the-modification-time", "A write sets the modification time; reading and looking do not.", needInPlace, writeMtime},
	}
}

func writeOffsets(c *probe) {
	c.build("f=")
	f := c.file("f", optWrite)
	var model []byte
	for i, w := range []struct{ off, n int }{{0, 10}, {5, 10}, {0, 1}, {14, 1}, {15, 5}, {3, 4}, {18, 4000}, {4000, 200}, {4095, 2}, {0, 70_000}, {65_530, 12}} {
		p := []byte(strings.Repeat(string(rune('a'+i)), w.n))
		n, err := f.WriteAt(p, int64(w.off))
		c.ok(err)
		c.expect(n == w.n, fmt.Sprintf("WriteAt returns %d", w.n), "%d", n)
		model = writeModel(model, p, w.off)
		c.handleHolds(f, "the File", string(model))
		info, err := f.Stat()
		c.ok(err)
		c.expect(info.Size() == int64(len(model)), fmt.Sprintf("Size is %d", len(model)), "%d", info.Size())
	}
	c.ok(f.Close())
	c.holdsContent("f", string(model))
}

// writeModel is what WriteAt does, on a byte slice.
func writeModel(b, p []byte, off int) []byte {
	if len(p) == 0 {
		return b
	}
	if end := off + len(p); end > len(b) {
		b = append(b, make([]byte, end-len(b))...)
	}
	copy(b[off:], p)
	return b
}

func writeGap(c *probe) {
	for _, gap := range []int{1, 3, 511, 4096, 70_000} {
		name := fmt.Sprintf("f%d", gap)
		f := c.file(name, optCreate)
		_, err := f.WriteAt([]byte("a"), 0)
		c.ok(err)
		_, err = f.WriteAt([]byte("z"), int64(1+gap))
		c.ok(err)
		c.holdsContent(name, "a"+strings.Repeat("\x00", gap)+"z")
	}
}

func writeNothing(c *probe) {
	c.build("f=abc")
	before := c.info("f").ModTime()
	f := c.file("f", optWrite)
	for _, off := range []int64{0, 2, 3, 100, 1 << 40} {
		for _, p := range [][]byte{nil, {}} {
			n, err := f.WriteAt(p, off)
			c.expect(n == 0 && err == nil, fmt.Sprintf("WriteAt of nothing at %d is 0, nil", off), "%d, %s", n, describe(err))
			c.holdsContent("f", "abc")
		}
	}
	c.expect(c.info("f").ModTime().Equal(before), "the modification time stays "+describeTime(before), "%s", describeTime(c.info("f").ModTime()))
}

func writeNegative(c *probe) {
	c.build("f=abc")
	f := c.file("f", optWrite)
	for _, off := range []int64{-1, -5, math.MinInt64} {
		_, err := f.WriteAt([]byte("x"), off)
		c.fails(err, fmt.Sprintf("WriteAt at %d", off), syscall.EINVAL)
		c.holdsContent("f", "abc")
	}
}

func writeHuge(c *probe) {
	c.build("f=abc")
	f := c.file("f", optWrite)
	for _, off := range []int64{math.MaxInt64, math.MaxInt64 - 1} {
		n, err := f.WriteAt([]byte("xyz"), off)
		c.expect(err != nil && n == 0, fmt.Sprintf("WriteAt at %d fails and writes nothing", off), "%d, %s", n, describe(err))
		c.holdsContent("f", "abc")
	}
}

// farWrite writes one byte at off, where a hole is all that storage can make.
func (c *probe) farWrite(f provider.File, off int64) {
	var n int
	var err error
	allocs := allocated(func() { n, err = f.WriteAt([]byte("x"), off) })
	c.expect(n == 0 || err == nil, "an error and nothing written, or neither", "%d, %s", n, describe(err))
	c.isHole(f, err, fmt.Sprintf("WriteAt at %d", off), off+1, allocs)
}

func writeFar(c *probe) {
	c.build("f=abc")
	f := c.file("f", optWrite)
	for _, off := range farSizes {
		c.farWrite(f, off)
		var err error
		allocs := allocated(func() { err = f.Truncate(off) })
		c.isHole(f, err, fmt.Sprintf("Truncate(%d)", off), off, allocs)
	}
}

func writeKeepsNoBuffer(c *probe) {
	for _, size := range []int{3, 5000, 70_000} {
		name := fmt.Sprintf("f%d", size)
		f := c.file(name, provider.OpenOptions{Read: true, Write: true, Append: true, Create: true})
		buf := []byte(pattern(size))
		_, err := f.WriteAt(buf, 0)
		c.ok(err)
		clear(buf)
		c.handleHolds(f, "the File", pattern(size))
		copy(buf, pattern(size))
		_, _, err = f.Append(buf)
		c.ok(err)
		clear(buf)
		c.handleHolds(f, "the File", pattern(size)+pattern(size))
	}
}

func writeLarge(c *probe) {
	f := c.file("f", optCreate)
	var model []byte
	x := uint32(1)
	for range 40 {
		x = x*1664525 + 1013904223
		off := int(x % 600_000)
		p := []byte(pattern(int(x>>8) % 150_000))
		n, err := f.WriteAt(p, int64(off))
		c.ok(err)
		c.expect(n == len(p), fmt.Sprintf("WriteAt returns %d", len(p)), "%d", n)
		model = writeModel(model, p, off)
	}
	got := []byte(c.readHandle(f))
	if !bytes.Equal(got, model) {
		at := 0
		for at < min(len(got), len(model)) && got[at] == model[at] {
			at++
		}
		c.failNow(fmt.Sprintf("%d bytes as written", len(model)), fmt.Sprintf("%d bytes, the first difference at %d", len(got), at))
	}
}

func writeShort(c *probe) {
	c.build("f=hello world")
	f := c.file("f", provider.OpenOptions{Write: true})
	_, err := f.WriteAt([]byte("J"), 0)
	c.ok(err)
	c.ok(f.Close())
	c.holdsContent("f", "Jello world")
}

func (c *probe) appends(f provider.File, p string, end int64) {
	n, got, err := f.Append([]byte(p))
	c.ok(err)
	c.expect(n == len(p) && got == end, fmt.Sprintf("Append(%q) returns %d and the size %d", p, len(p), end), "%d, %d", n, got)
}

func writeAppend(c *probe) {
	c.build("f=")
	a, b := c.file("f", optAppend), c.file("f", provider.OpenOptions{Write: true, Append: true})
	c.appends(a, "A", 1)
	c.appends(b, "BB", 3)
	c.appends(a, "C", 4)
	c.holdsContent("f", "ABBC")
	w := c.file("f", optWrite)
	_, err := w.WriteAt([]byte("wide"), 10)
	c.ok(err)
	c.appends(a, "D", 15)
	c.ok(w.Truncate(2))
	c.appends(b, "E", 3)
	c.holdsContent("f", "ABE")
	_, err = a.WriteAt([]byte("x"), 0)
	c.ok(err)
	c.holdsContent("f", "xBE")
	big := pattern(100_000)
	c.appends(a, big, 100_003)
	c.holdsContent("f", "xBE"+big)
}

func writeAppendNothing(c *probe) {
	c.build("f=abc")
	f := c.file("f", optAppend)
	c.appends(f, "", 3)
	c.holdsContent("f", "abc")
}

func writeReadOnlyHandle(c *probe) {
	c.build("f=abc")
	for _, o := range []provider.OpenOptions{optRead, {Read: true, Append: true}, {Read: true, Create: true}} {
		f := c.file("f", o)
		f.WriteAt([]byte("X"), 0)
		f.Append([]byte("X"))
		f.Truncate(0)
		c.holdsContent("f", "abc")
	}
}

func writeShrink(c *probe) {
	content := pattern(70_000)
	c.build("f=" + content)
	f := c.file("f", optWrite)
	for _, size := range []int{70_000, 65_536, 65_535, 4096, 100, 1, 0} {
		c.ok(f.Truncate(int64(size)))
		c.handleHolds(f, "the File", content[:size])
		c.expect(c.info("f").Size() == int64(size), fmt.Sprintf("Size is %d", size), "%d", c.info("f").Size())
	}
}

func writeGrow(c *probe) {
	for _, size := range []int{3, 6, 5000, 70_000} {
		name := fmt.Sprintf("f%d", size)
		f := c.file(name, optCreate)
		_, err := f.WriteAt([]byte(strings.Repeat("secret", size/6+1)[:size]), 0)
		c.ok(err)
		c.ok(f.Truncate(2))
		c.ok(f.Truncate(int64(size)))
		c.handleHolds(f, "the File", "se"+strings.Repeat("\x00", size-2))
	}
}

func writeAfterTruncate(c *probe) {
	f := c.file("f", optCreate)
	_, err := f.WriteAt([]byte("abcdef"), 0)
	c.ok(err)
	c.ok(f.Truncate(1))
	_, err = f.WriteAt([]byte("Z"), 6)
	c.ok(err)
	c.handleHolds(f, "the File", "a\x00\x00\x00\x00\x00Z")
	_, err = f.WriteAt([]byte(strings.Repeat("s", 70_000)), 0)
	c.ok(err)
	c.ok(f.Truncate(10))
	_, err = f.WriteAt([]byte("Z"), 69_999)
	c.ok(err)
	c.handleHolds(f, "the File", strings.Repeat("s", 10)+strings.Repeat("\x00", 69_989)+"Z")
}

func writeTruncateNegative(c *probe) {
	c.build("f=abc")
	f := c.file("f", optWrite)
	for _, size := range []int64{-1, math.MinInt64} {
		c.fails(f.Truncate(size), fmt.Sprintf("Truncate(%d)", size), syscall.EINVAL)
		c.holdsContent("f", "abc")
	}
}

func writeDirectory(c *probe) {
	c.build("d/f=x")
	f := c.file("d", optDir)
	c.unchanged(".", func() {
		_, err := f.WriteAt([]byte("x"), 0)
		c.fails(err, "WriteAt of a directory", syscall.EISDIR)
		_, _, err = f.Append([]byte("x"))
		c.fails(err, "Append of a directory", syscall.EISDIR)
		c.fails(f.Truncate(0), "Truncate of a directory", syscall.EISDIR)
	})
}

func writeSync(c *probe) {
	c.build("d/f=x")
	for _, name := range []string{"d/f", "d", "."} {
		c.ok(c.file(name, optRead).Sync())
	}
	if !c.features.Write || !c.features.InPlace {
		return
	}
	f := c.file("d/f", optWrite)
	_, err := f.WriteAt([]byte("y"), 0)
	c.ok(err)
	c.ok(f.Sync())
	c.holdsContent("d/f", "y")
}

func writeMtime(c *probe) {
	c.build("f=abc")
	first := c.info("f").ModTime()
	c.holdsContent("f", "abc")
	c.expect(c.info("f").ModTime().Equal(first), "reading leaves the modification time at "+describeTime(first), "%s", describeTime(c.info("f").ModTime()))
	f := c.file("f", optAppend)
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"WriteAt", func() error { _, err := f.WriteAt([]byte("x"), 0); return err }},
		{"Append", func() error { _, _, err := f.Append([]byte("x")); return err }},
		{"Truncate", func() error { return f.Truncate(1) }},
	} {
		before := c.info("f").ModTime()
		c.eventually(change.what+" moves the modification time forward from "+describeTime(before), func() bool {
			c.ok(change.do())
			return c.info("f").ModTime().After(before)
		})
	}
}

// patient is how long a check waits for what comes by itself.
const patient = 2 * time.Second

// eventually repeats f until it is true: clocks of storage may be coarse.
func (c *probe) eventually(expected string, f func() bool) {
	for deadline := time.Now().Add(patient); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.failNow(expected, fmt.Sprintf("it has not within %v", patient))
		}
	}
}
