package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func readRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"READ-whole-content", "ReadAt gives back exactly the bytes of files of every size around the usual block sizes.", 0, readWhole},
		{"READ-any-offset", "ReadAt at any offset gives the bytes from there.", 0, readOffsets},
		{"READ-end-of-file", "A read that ends at or beyond the end returns the bytes there are, and io.EOF.", 0, readEOF},
		{"READ-short-counts-have-an-error", "ReadAt, WriteAt and Append return an error with every count that is too small.", 0, readCounts},
		{"READ-empty-buffer", "A read into no bytes returns 0 and harms nothing.", 0, readEmptyBuffer},
		{"READ-negative-offset", "A read at a negative offset is syscall.EINVAL.", 0, readNegative},
		{"READ-far-beyond-the-end", "A read far beyond the end is 0 bytes and io.EOF, at any offset.", 0, readFar},
		{"READ-directory", "ReadAt of a directory is syscall.EISDIR.", 0, readDirectory},
		{"READ-sees-writes-at-once", "What one File writes, another reads at once.", needInPlace, readSeesWrites},
		{"READ-FileReader-agrees", "ReadFile gives the content and the errors that Open and ReadAt give.", needFileReader, readFileReader},
		{"READ-FileReader-limit", "ReadFile of more than max bytes is syscall.EFBIG; of max bytes or fewer, the content; max <= 0 sets no bound.", needFileReader, readFileLimit},
		{"READ-FileReader-slice-is-the-callers", "The slice that ReadFile returns can be changed without changing the file.", needFileReader, readFileSlice},
		{"READ-FileIntoReader-agrees", "ReadFileInto gives the content and the errors that ReadFile gives with the room as max, and nothing of a file that does not fit.", needFileIntoReader, readFileInto},
		{"READ-FileIntoReader-writes-no-more", "ReadFileInto writes nothing behind the bytes it was given.", needFileIntoReader, readIntoBounds},
		{"READ-FileIntoReader-keeps-nothing", "What is done with the bytes after ReadFileInto changes nothing that is read later.", needFileIntoReader, readIntoKeeps},
		{"READ-helper-agrees", "provider.ReadFile gives the content, with and without a FileReader.", 0, readHelper},
	}
}

// pattern returns n bytes that differ from place to place and hold zeros, line
// ends and bytes that are no UTF-8.
func pattern(n int) string {
	b := make([]byte, n)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return string(b)
}

// sizes are file sizes around what implementations treat differently.
var sizes = []int{0, 1, 2, 511, 512, 513, 4095, 4096, 4097, 32767, 32768, 32769, 65535, 65536, 65537, 131072, 1<<20 + 3}

// sized builds a file of each size, full of its pattern, and calls check with them.
func (c *probe) sized(check func(name string, n int)) {
	var layout []string
	for _, n := range sizes {
		layout = append(layout, fmt.Sprintf("d/f%d=%s", n, pattern(n)))
	}
	c.build(layout...)
	for _, n := range sizes {
		c.calls.clear()
		check(fmt.Sprintf("d/f%d", n), n)
	}
}

func readWhole(c *probe) {
	c.sized(func(name string, n int) {
		c.holdsContent(name, pattern(n))
		c.expect(c.info(name).Size() == int64(n), fmt.Sprintf("Size is %d", n), "%d", c.info(name).Size())
	})
}

func readOffsets(c *probe) {
	const size = 70_000
	content := pattern(size)
	c.build("f=" + content)
	f := c.file("f", optRead)
	for _, off := range []int{0, 1, 511, 512, 4095, 4096, 32768, 65535, 65536, size - 1} {
		for _, n := range []int{1, 2, 512, 4096, 5000} {
			n = min(n, size-off)
			buf := make([]byte, n)
			got, err := f.ReadAt(buf, int64(off))
			if !errors.Is(err, io.EOF) {
				c.ok(err)
			}
			c.expect(got == n && string(buf) == content[off:off+n], fmt.Sprintf("%d bytes from offset %d", n, off), "%d bytes, right: %v", got, string(buf) == content[off:off+n])
		}
	}
}

func readEOF(c *probe) {
	c.build("f=abc", "empty=")
	f := c.file("f", optRead)
	for _, tt := range []struct {
		n    int
		off  int64
		want string
	}{{3, 0, "abc"}, {4, 0, "abc"}, {5, 1, "bc"}, {1, 2, "c"}, {2, 2, "c"}, {1, 3, ""}, {9, 4, ""}, {1, 1 << 20, ""}} {
		buf := make([]byte, tt.n)
		n, err := f.ReadAt(buf, tt.off)
		c.expect(string(buf[:max(n, 0)]) == tt.want, fmt.Sprintf("ReadAt(%d bytes, %d) reads %q", tt.n, tt.off, tt.want), "%q", buf[:max(n, 0)])
		if n < tt.n || err != nil {
			c.fails(err, fmt.Sprintf("ReadAt(%d bytes, %d) at the end", tt.n, tt.off), io.EOF)
		}
	}
	n, err := c.file("empty", optRead).ReadAt(make([]byte, 1), 0)
	c.expect(n == 0, "no bytes from an empty file", "%d", n)
	c.fails(err, "a read of an empty file", io.EOF)
}

// readCounts makes calls with every kind of count; the recorder checks them.
func readCounts(c *probe) {
	content := pattern(10_000)
	c.build("f=" + content)
	opts := optRead
	if c.features.Write && c.features.InPlace {
		opts = optAppend
	}
	f := c.file("f", opts)
	for _, off := range []int64{0, 1, 5000, 9999, 10_000, 20_000} {
		for _, n := range []int{0, 1, 4096, 10_000, 20_000} {
			f.ReadAt(make([]byte, n), off)
		}
	}
	if opts.Write {
		for _, n := range []int{0, 1, 4096, 100_000} {
			f.WriteAt(make([]byte, n), 100)
			f.Append(make([]byte, n))
		}
	}
}

func readEmptyBuffer(c *probe) {
	c.build("f=abc")
	f := c.file("f", optRead)
	for _, off := range []int64{0, 3, 100} {
		n, err := f.ReadAt(nil, off)
		c.expect(n == 0 && (err == nil || errors.Is(err, io.EOF)), "0 bytes, and nil or io.EOF", "%d, %s", n, describe(err))
	}
	c.handleHolds(f, "the File", "abc")
}

func readNegative(c *probe) {
	c.build("f=abc")
	f := c.file("f", optRead)
	for _, off := range []int64{-1, -4096, -1 << 63} {
		_, err := f.ReadAt(make([]byte, 2), off)
		c.fails(err, fmt.Sprintf("ReadAt at %d", off), syscall.EINVAL)
	}
	c.handleHolds(f, "the File", "abc")
}

func readFar(c *probe) {
	c.build("f=abc")
	f := c.file("f", optRead)
	for _, off := range []int64{1 << 32, 1 << 40, 1<<62 - 1, 1<<63 - 4096} {
		n, err := f.ReadAt(make([]byte, 16), off)
		c.expect(n == 0, fmt.Sprintf("no bytes at offset %d", off), "%d", n)
		c.fails(err, fmt.Sprintf("ReadAt at %d", off), io.EOF)
	}
}

func readDirectory(c *probe) {
	c.build("d/f=abc")
	for _, o := range []provider.OpenOptions{optRead, optDir} {
		f := c.file("d", o)
		_, err := f.ReadAt(make([]byte, 8), 0)
		c.fails(err, "ReadAt of a directory", syscall.EISDIR)
	}
}

func readSeesWrites(c *probe) {
	c.build("f=old content")
	reader, writer := c.file("f", optRead), c.file("f", optWrite)
	_, err := writer.WriteAt([]byte("NEW"), 0)
	c.ok(err)
	c.handleHolds(reader, "the other File", "NEW content")
	_, err = writer.WriteAt([]byte("!"), 11)
	c.ok(err)
	c.handleHolds(reader, "the other File", "NEW content!")
	c.ok(writer.Truncate(3))
	c.handleHolds(reader, "the other File", "NEW")
	c.holdsContent("f", "NEW")
}

// buildToRead builds files, and names that no content can be read from, and returns
// them all.
func (c *probe) buildToRead() (names []string) {
	layout := []string{"empty=", "f=abc", "d/f=x", "big=" + pattern(200_003)}
	names = []string{"empty", "f", "d/f", "big", "d", ".", "missing", "missing/x", "f/x", repeatName(255)}
	if c.h.Plant != nil || c.hostDir != "" {
		layout = append(layout, "l => f", "ld => d", "dangling => nothing")
		names = append(names, "l", "ld", "ld/f", "dangling")
	}
	c.build(layout...)
	return names
}

func readFileReader(c *probe) {
	for _, name := range c.buildToRead() {
		c.calls.clear()
		slow, slowErr := provider.ReadFile(c.ctx, withoutReader(c.p), provider.MustPath(name))
		fast, fastErr := c.p.(provider.FileReader).ReadFile(c.ctx, provider.MustPath(name), 0)
		expected := fmt.Sprintf("ReadFile(%q) gives what Open and ReadAt give: %s, %s", shorten(name), describeBytes(slow), describe(slowErr))
		c.expect(string(fast) == string(slow) && sameCondition(fastErr, slowErr), expected, "%s, %s", describeBytes(fast), describe(fastErr))
	}
}

// sameCondition reports whether two errors are the same to every caller.
func sameCondition(a, b error) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	for _, n := range namedErrors {
		if errors.Is(a, n.err) != errors.Is(b, n.err) {
			return false
		}
	}
	return true
}

func readFileLimit(c *probe) {
	c.build("f=0123456789", "empty=")
	r := c.p.(provider.FileReader)
	for _, tt := range []struct {
		name  string
		limit int64
		want  string
		ok    bool
	}{
		{"f", 10, "0123456789", true}, {"f", 11, "0123456789", true}, {"f", 1 << 40, "0123456789", true}, {"f", 0, "0123456789", true}, {"f", -1, "0123456789", true},
		{"f", 9, "", false}, {"f", 1, "", false}, {"empty", 1, "", true},
	} {
		data, err := r.ReadFile(c.ctx, provider.MustPath(tt.name), tt.limit)
		call := fmt.Sprintf("ReadFile(%q, %d)", tt.name, tt.limit)
		if !tt.ok {
			c.fails(err, call, syscall.EFBIG)
			continue
		}
		c.ok(err)
		c.expect(string(data) == tt.want, fmt.Sprintf("%s is %q", call, tt.want), "%q", data)
	}
}

func readFileSlice(c *probe) {
	c.build("f=abc", "big="+pattern(100_000))
	for _, name := range []string{"f", "big"} {
		r := c.p.(provider.FileReader)
		before, err := r.ReadFile(c.ctx, provider.MustPath(name), 0)
		c.ok(err)
		content := string(before)
		clear(before)
		_ = append(before, "more"...)
		c.holdsContent(name, content)
	}
}

func readFileInto(c *probe) {
	for _, name := range c.buildToRead() {
		content, cannot := provider.ReadFile(c.ctx, withoutReader(c.p), provider.MustPath(name))
		for _, room := range []int{0, 1, 2, 3, 4, 4096, 200_002, 200_003, 200_004} {
			c.calls.clear()
			p := make([]byte, room)
			n, err := c.p.(provider.FileIntoReader).ReadFileInto(c.ctx, provider.MustPath(name), p)
			call := fmt.Sprintf("ReadFileInto(%q, %d bytes)", shorten(name), room)
			switch {
			case cannot != nil:
				c.expect(sameCondition(err, cannot), call+" fails as Open and ReadAt do: "+describe(cannot), "%s", describe(err))
			case room < len(content):
				c.fails(err, call+", fewer than there are", syscall.EFBIG)
			default:
				c.ok(err)
				got := p[:min(max(n, 0), room)]
				c.expect(n == len(content) && string(got) == string(content), call+" reads "+describeBytes(content), "%d, %s", n, describeBytes(got))
			}
		}
	}
}

func readIntoBounds(c *probe) {
	c.build("f=" + pattern(10_000))
	for _, n := range []int{0, 1, 4095, 4096, 5000, 9999, 10_000} {
		buf := bytes.Repeat([]byte("~"), 20_000)
		c.p.(provider.FileIntoReader).ReadFileInto(c.ctx, provider.MustPath("f"), buf[:n])
		c.expect(strings.Trim(string(buf[n:]), "~") == "", fmt.Sprintf("ReadFileInto(%d bytes) leaves what is behind them", n), "changed")
	}
}

func readIntoKeeps(c *probe) {
	c.build("f=abc", "big="+pattern(100_000))
	for _, name := range []string{"f", "big"} {
		p := make([]byte, 100_000)
		n, err := c.p.(provider.FileIntoReader).ReadFileInto(c.ctx, provider.MustPath(name), p)
		c.ok(err)
		content := string(p[:n])
		clear(p)
		c.holdsContent(name, content)
	}
}

func readHelper(c *probe) {
	c.build("f=abc", "empty=", "d/f=x")
	for name, want := range sorted(map[string]string{"f": "abc", "empty": "", "d/f": "x"}) {
		c.holdsContent(name, want)
	}
	_, err := provider.ReadFile(c.ctx, c.p, provider.MustPath("d"))
	c.fails(err, "provider.ReadFile of a directory", syscall.EISDIR)
}
