package memfs

import (
	"io"
	"math"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

const (
	// chunkSize is the unit in which content beyond the first chunk is held: big
	// enough that a large file is few of them, small enough that the free part
	// of the last one, and copying one after a clone, do not matter.
	chunkSize = 256 << 10
	// fragmentCharge is the least that a chunk after the first is charged on
	// average: about what it costs beside its bytes. It makes no difference to
	// files without holes; without it, single bytes far apart would retain many
	// times what they are charged.
	fragmentCharge = 64
	// slack is the free capacity that is not worth giving back.
	slack = 64
)

// content is the bytes of a file that are there; all others up to the size of
// the inode are zero. The nil content is all holes. It is guarded by the mu of its
// inode while it bears the owner of that, and never changes else. While it is lent it
// does not change either: who writes then leaves it to those who look at it.
type content struct {
	owner  *owner
	head   []byte               // the bytes from 0, at most chunkSize
	chunks *tree[int64, *chunk] // chunk i > 0 begins at i*chunkSize
	bytes  int64                // in head and chunks
	count  int64                // of head (unless empty) and chunks
	lent   atomic.Int32         // how many look at head; raised under mu, lowered without
}

// chunk holds the first bytes of its part of the file, at most chunkSize.
type chunk struct {
	owner *owner
	buf   []byte
}

// charge returns what the content counts against a quota.
func (c *content) charge() int64 {
	if c == nil {
		return 0
	}
	return charge(c.bytes, c.count)
}

// charge never rises when bytes or count fall, so that giving up content always
// succeeds.
func charge(bytes, count int64) int64 {
	return max(bytes, fragmentCharge*(count-1))
}

// chunk returns the bytes that are there of chunk i.
func (c *content) chunk(i int64) []byte {
	switch {
	case c == nil:
		return nil
	case i == 0:
		return c.head
	case c.chunks == nil:
		return nil
	}
	if ch, ok := c.chunks.get(i); ok {
		return ch.buf
	}
	return nil
}

// readAt fills p, which lies within the size of the file.
func (c *content) readAt(p []byte, off int64) {
	if c != nil && off+int64(len(p)) <= int64(len(c.head)) {
		copy(p, c.head[off:])
		return
	}
	for len(p) > 0 {
		i, at := off/chunkSize, int(off%chunkSize)
		part := p[:min(len(p), chunkSize-at)]
		n := 0
		if buf := c.chunk(i); at < len(buf) {
			n = copy(part, buf[at:])
		}
		clear(part[n:])
		p = p[len(part):]
		off += int64(len(part))
	}
}

// growth returns the bytes and the count of chunks after a write of n > 0 bytes
// at off.
func (c *content) growth(off int64, n int) (bytes, count int64) {
	if c != nil {
		bytes, count = c.bytes, c.count
	}
	for end := off + int64(n); off < end; {
		i := off / chunkSize
		stop := off + min(end-off, chunkSize-off%chunkSize) // not (i+1)*chunkSize, which the last chunk of all overflows
		had := int64(len(c.chunk(i)))
		if had == 0 {
			count++
		}
		bytes += max(0, stop-i*chunkSize-had)
		off = stop
	}
	return bytes, count
}

// writeAt writes p. The caller sets bytes and count to the growth. c belongs to
// its inode.
func (c *content) writeAt(p []byte, off int64) {
	for len(p) > 0 {
		i, at := off/chunkSize, int(off%chunkSize)
		part := p[:min(len(p), chunkSize-at)]
		if i == 0 {
			c.head = overlay(c.head, part, at, 0)
		} else {
			c.writeChunk(i, part, at)
		}
		p = p[len(part):]
		off += int64(len(part))
	}
}

func (c *content) writeChunk(i int64, part []byte, at int) {
	if c.chunks == nil {
		c.chunks = &tree[int64, *chunk]{}
	}
	old, _ := c.chunks.get(i)
	if old != nil && old.owner == c.owner {
		old.buf = overlay(old.buf, part, at, 0)
		return
	}
	made := &chunk{owner: c.owner}
	room := 0
	if old != nil {
		// Copying what the part replaces would be wasted.
		room = max(len(old.buf), at+len(part))
		made.buf = append(make([]byte, 0, room), old.buf...)
	} else if at == 0 && len(c.chunk(i-1)) == chunkSize {
		room = chunkSize // the file is being written from front to back
	}
	made.buf = overlay(made.buf, part, at, room)
	c.chunks.set(c.owner, i, made)
}

// overlay returns buf with part written at at, zeros before it where buf is
// shorter. A new buffer has the capacity room at least.
func overlay(buf, part []byte, at, room int) []byte {
	had, end := len(buf), at+len(part)
	if end > cap(buf) {
		room = min(max(room, end, 2*cap(buf)), chunkSize)
		buf = append(make([]byte, 0, room), buf...)
	}
	buf = buf[:max(had, end)]
	if at > had {
		clear(buf[had:at]) // the capacity may hold what was truncated away
	}
	copy(buf[at:], part)
	return buf
}

// cut takes away all bytes from size on. c belongs to its inode.
func (c *content) cut(size int64) {
	keep, at := size/chunkSize, int(size%chunkSize)
	if size < chunkSize {
		c.chunks = nil
		if len(c.head) > at {
			c.head = c.head[:at]
		}
	} else if c.chunks != nil {
		c.cutChunks(keep, at)
	}
	c.recount()
}

func (c *content) cutChunks(keep int64, at int) {
	for {
		i, ok := c.chunks.last()
		if !ok || i < keep || i == keep && at > 0 {
			break
		}
		c.chunks.delete(c.owner, i)
	}
	if old, ok := c.chunks.get(keep); ok && len(old.buf) > at {
		// A copy, since what it frees may be most of a chunk.
		c.chunks.set(c.owner, keep, &chunk{owner: c.owner, buf: append(make([]byte, 0, at), old.buf[:at]...)})
	}
}

// recount sets bytes and count from what is there.
func (c *content) recount() {
	c.bytes, c.count = int64(len(c.head)), int64(min(1, len(c.head)))
	if c.chunks != nil {
		for _, ch := range c.chunks.all {
			c.bytes += int64(len(ch.buf))
			c.count++
		}
	}
}

// trim gives free capacity back: of head, and of the last chunk, the only one
// that can have much. c belongs to its inode.
func (c *content) trim() {
	if n := len(c.head); cap(c.head) > 2*n+slack {
		c.head = append(make([]byte, 0, n), c.head...)
	}
	if c.chunks == nil {
		return
	}
	i, ok := c.chunks.last()
	if !ok {
		return
	}
	last, _ := c.chunks.get(i)
	if n := len(last.buf); last.owner == c.owner && cap(last.buf) > 2*n+slack {
		last.buf = append(make([]byte, 0, n), last.buf...)
	}
}

// ownContent returns the content of n for changing it. The caller holds n.mu, or
// n is not published yet.
func (n *inode) ownContent() *content {
	switch c := n.content; {
	case c == nil:
		n.content = &content{owner: n.owner}
	case n.shares(c):
		own := &content{owner: n.owner, bytes: c.bytes, count: c.count}
		own.head = append(make([]byte, 0, len(c.head)), c.head...)
		if c.chunks != nil {
			chunks := *c.chunks
			own.chunks = &chunks
		}
		n.content = own
	}
	return n.content
}

// shares reports whether others see c, the content of n, and must not see a change of
// it. The caller holds n.mu, for writing: then nobody can begin to look at it.
func (n *inode) shares(c *content) bool { return c.owner != n.owner || c.lent.Load() > 0 }

// lend returns the content, and all its bytes, if they lie in one piece of at most
// limit bytes; else nil. They stay as they are until the caller lowers content.lent.
// The caller holds n.mu.
func (n *inode) lend(limit int) (*content, []byte) {
	c, size := n.content, n.size.Load()
	if c == nil && size == 0 {
		c = &content{}
	}
	if c == nil || int64(len(c.head)) != size || size > int64(limit) {
		return nil, nil
	}
	c.lent.Add(1)
	return c, c.head[:size:size]
}

// read copies content to p as an io.ReaderAt does. The caller holds n.mu.
func (n *inode) read(p []byte, off int64) (int, error) {
	size := n.size.Load()
	switch {
	case off < 0:
		return 0, syscall.EINVAL
	case len(p) == 0:
		return 0, nil
	case off >= size:
		return 0, io.EOF
	}
	var err error
	if int64(len(p)) > size-off {
		p, err = p[:size-off], io.EOF
	}
	n.content.readAt(p, off)
	return len(p), err
}

// write writes p, which is not empty, at off >= 0, wholly or not at all. The
// caller holds n.mu.
func (n *inode) write(m *FS, p []byte, off int64) error {
	if int64(len(p)) > math.MaxInt64-off {
		return syscall.EFBIG
	}
	size := max(n.size.Load(), off+int64(len(p)))
	if err := m.checkSize(size, n.size.Load()); err != nil {
		return err
	}
	bytes, count := n.content.growth(off, len(p))
	if err := m.quota.reserve(charge(bytes, count) - n.content.charge()); err != nil {
		return err
	}
	c := n.ownContent()
	c.writeAt(p, off)
	c.bytes, c.count = bytes, count
	n.resized(m, size)
	return nil
}

// truncate sets the size, which is not negative. The caller holds n.mu.
func (n *inode) truncate(m *FS, size int64) error {
	old := n.size.Load()
	if err := m.checkSize(size, old); err != nil {
		return err
	}
	if size < old && n.content != nil {
		before := n.content.charge()
		if size == 0 && n.shares(n.content) {
			n.content = nil // nothing of what is shared is needed
		} else {
			n.ownContent().cut(size)
		}
		m.quota.bytes.Add(n.content.charge() - before)
	}
	n.resized(m, size)
	return nil
}

// resized stores the size after a change of the content, at the time of it.
func (n *inode) resized(m *FS, size int64) {
	a := n.loadAttr()
	a.size, a.mtime = size, m.now()
	n.setAttr(a)
}

// checkSize reports whether a file of the size old may get the size size.
func (m *FS) checkSize(size, old int64) error {
	if m.opts.MaxFileBytes > 0 && size > m.opts.MaxFileBytes && size > old {
		return provider.ErrQuota
	}
	return nil
}
