package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func quotaRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"QUOTA-write", "A write beyond the limit is provider.ErrQuota; what was there stays readable.", needQuota | needInPlace, quotaWrite},
		{"QUOTA-append", "An Append beyond the limit is provider.ErrQuota, and the file stays whole.", needQuota | needInPlace, quotaAppend},
		{"QUOTA-replace", "A Replace beyond the limit is provider.ErrQuota; the old content stays and nothing is left behind.", needQuota | needWrite, quotaReplace},
		{"QUOTA-far-write", "A write at a far offset is refused, or leaves a hole: it never allocates up to there.", needQuota | needInPlace, quotaFar},
		{"QUOTA-truncate", "Truncate to a far size is refused, or leaves a hole: it never allocates up to there.", needQuota | needInPlace, quotaTruncate},
		{"QUOTA-is-given-back", "Space comes back when files are removed, replaced and truncated, as often as one likes.", needQuota | needWrite, quotaGivenBack},
		{"QUOTA-full-storage-works", "At the limit, everything that needs no space still works.", needQuota | needWrite, quotaFull},
	}
}

const (
	quotaChunk = 1 << 20
	// quotaMost is what a harness promises to be beyond its limit.
	quotaMost = 64 << 20
)

// zeros gives n bytes without holding them.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func (c *probe) replaceZeros(name string, n int64) error {
	_, err := c.p.Replace(c.ctx, provider.MustPath(name), zeros(n), provider.ReplaceOptions{})
	return err
}

// isQuota ends the check unless err is ErrQuota.
func (c *probe) isQuota(err error, what string) { c.fails(err, what, provider.ErrQuota) }

// fill writes files until the limit, and returns their names.
func (c *probe) fill() (names []string) {
	for i := range quotaMost / quotaChunk {
		name := fmt.Sprintf("fill%d", i)
		err := c.replaceZeros(name, quotaChunk)
		if err != nil {
			c.isQuota(err, "Replace at the limit")
			c.absent(name)
			return names
		}
		names = append(names, name)
	}
	c.failNow(fmt.Sprintf("the limit is reached within %d bytes", quotaMost), "it was not")
	return nil
}

func quotaWrite(c *probe) {
	f := c.file("f", optCreate)
	chunk := []byte(pattern(quotaChunk))
	size := int64(0)
	for size < 2*quotaMost {
		n, err := f.WriteAt(chunk, size)
		if err != nil {
			c.isQuota(err, "WriteAt at the limit")
			size += int64(n)
			break
		}
		size += int64(n)
	}
	c.expect(size < 2*quotaMost, "the limit is reached", "%d bytes written", size)
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.Size() == size, fmt.Sprintf("the file has the %d bytes that were reported as written", size), "%d", info.Size())
	buf := make([]byte, 100)
	_, err = f.ReadAt(buf, 0)
	c.ok(err)
	c.expect(string(buf) == string(chunk[:100]), "the first bytes as written", "others")
	_, err = f.WriteAt([]byte("x"), 0)
	c.ok(err)
}

func quotaAppend(c *probe) {
	f := c.file("f", provider.OpenOptions{Read: true, Write: true, Append: true, Create: true})
	chunk := []byte(pattern(quotaChunk))
	size := int64(0)
	for size < 2*quotaMost {
		n, end, err := f.Append(chunk)
		size += int64(n)
		if err != nil {
			c.isQuota(err, "Append at the limit")
			break
		}
		c.expect(end == size, fmt.Sprintf("the size %d", size), "%d", end)
	}
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.Size() == size, fmt.Sprintf("the file has the %d bytes that were reported as written", size), "%d", info.Size())
}

func quotaReplace(c *probe) {
	_, err := c.replace("f", "old content")
	c.ok(err)
	c.isQuota(c.replaceZeros("f", quotaMost), "Replace of a file by 64 MiB")
	c.isQuota(c.replaceZeros("new", quotaMost), "Replace of a missing name by 64 MiB")
	c.holdsTree(".", "f=old content")
	c.ok(c.replaceZeros("g", quotaChunk))
}

// farSizes are beyond every limit that a harness sets.
var farSizes = []int64{quotaMost, 1 << 40, 1 << 62}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// isHole checks a file of three bytes that was made very large, or the error
// that refused it.
func (c *probe) isHole(f provider.File, err error, what string, size int64, allocs uint64) {
	c.expect(allocs < quotaMost/2, what+" allocates next to nothing", "%d bytes", allocs)
	if err != nil {
		c.fails(err, what+", unless it leaves a hole,", provider.ErrQuota, syscall.EFBIG, syscall.EINVAL, syscall.ENOSPC)
		c.holdsContent("f", "abc")
		return
	}
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.Size() == size, fmt.Sprintf("%s makes the size %d", what, size), "%d", info.Size())
	buf := make([]byte, 8)
	_, err = f.ReadAt(buf, 0)
	c.ok(err)
	c.expect(string(buf) == "abc\x00\x00\x00\x00\x00", "the three bytes and a hole", "%q", buf)
	c.ok(f.Truncate(3))
	c.holdsContent("f", "abc")
}

func quotaFar(c *probe) {
	c.build("f=abc")
	f := c.file("f", optWrite)
	for _, off := range farSizes {
		c.farWrite(f, off)
	}
}

func quotaTruncate(c *probe) {
	c.build("f=abc")
	f := c.file("f", optWrite)
	for _, size := range farSizes {
		var err error
		allocs := allocated(func() { err = f.Truncate(size) })
		c.isHole(f, err, fmt.Sprintf("Truncate(%d)", size), size, allocs)
	}
}

func quotaGivenBack(c *probe) {
	for range 3 {
		for _, name := range c.fill() {
			c.ok(c.remove(name))
		}
		c.holdsTree(".")
	}
	const n = 8 << 20
	for range 20 {
		c.ok(c.replaceZeros("f", n))
	}
	for range 20 {
		c.ok(c.replaceZeros("next", quotaChunk))
		c.ok(c.rename("next", "f"))
	}
	if c.features.InPlace {
		f := c.file("f", optWrite)
		for range 20 {
			c.ok(f.Truncate(0))
			_, err := f.WriteAt(make([]byte, n), 0)
			c.ok(err)
		}
		for range 20 {
			c.ok(c.tryOpen("f", optTrunc))
			_, err := f.WriteAt(make([]byte, n), 0)
			c.ok(err)
		}
		c.ok(f.Close())
	}
	for range 20 {
		f := c.file("f", optRead)
		c.ok(c.remove("f"))
		c.ok(f.Close())
		c.ok(c.replaceZeros("f", n))
	}
}

func quotaFull(c *probe) {
	c.build("d/keep=kept")
	filled := c.fill()
	// The last bytes of the limit, too.
	for n := int64(quotaChunk / 2); n > 0; n /= 2 {
		if err := c.replaceZeros(fmt.Sprintf("rest%d", n), n); err != nil {
			c.isQuota(err, "Replace at the limit")
		}
	}
	c.holdsContent("d/keep", "kept")
	c.list(".")
	c.ok(c.rename("d/keep", "d/kept"))
	err := c.remove("d")
	if !errors.Is(err, syscall.ENOTEMPTY) {
		c.fails(err, "Remove of a full directory", syscall.ENOTEMPTY)
	}
	c.ok(c.remove(filled[0]))
	c.ok(c.replaceZeros(filled[0], quotaChunk/2))
	c.fails(c.remove("missing"), "Remove of a missing name", fs.ErrNotExist)
}
