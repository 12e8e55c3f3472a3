package memfs

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"math"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// Replace implements [provider.Provider]. The new content counts against the
// limits in the place of the old one, which stays charged while it is open.
func (m *FS) Replace(ctx context.Context, name provider.Path, source io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if err := m.begin(ctx); err != nil {
		return provider.Digest{}, err
	}
	c, digest, err := m.readContent(ctx, source)
	if err != nil {
		return provider.Digest{}, err
	}
	if err := m.begin(ctx); err != nil {
		return provider.Digest{}, err
	}
	for tries := 0; ; tries++ {
		var seen *match
		if want, ok := opts.If.Match(); ok && tries < maxMatchTries {
			if seen, err = m.checkMatch(name, want); err != nil {
				return provider.Digest{}, err
			}
		}
		done, err := m.publish(name, c, opts, seen)
		if err != nil {
			return provider.Digest{}, err
		}
		if done {
			return digest, nil
		}
	}
}

// maxMatchTries bounds how often the digest of a file that keeps changing is
// computed without the lock; after that, it is with the lock held.
const maxMatchTries = 3

// match is a file whose digest was right at the sequence number seq.
type match struct {
	n   *inode
	seq uint32
}

// checkMatch compares the content at name with want.
func (m *FS) checkMatch(name provider.Path, want provider.Digest) (*match, error) {
	n, err := m.findLocked(name)
	if err != nil {
		return nil, err
	}
	defer n.mu.RUnlock()
	if err := n.compare(want); err != nil {
		return nil, err
	}
	return &match{n, n.seq.Load()}, nil
}

// compare returns ErrConflict unless want is the digest of the content, and
// syscall.EFBIG when that cannot be told in reasonable time. The caller holds n.mu.
func (n *inode) compare(want provider.Digest) error {
	if n.tooSparse() {
		return syscall.EFBIG
	}
	if n.digest() != want {
		return provider.ErrConflict
	}
	return nil
}

// digest returns the digest of the content. The caller holds n.mu.
func (n *inode) digest() provider.Digest {
	h := sha256.New()
	size := n.size.Load()
	var buf []byte
	for off := int64(0); off < size; {
		part := n.content.chunk(off / chunkSize)
		span := min(chunkSize, size-off)
		h.Write(part)
		if rest := span - int64(len(part)); rest > 0 {
			if buf == nil {
				buf = make([]byte, chunkSize)
			}
			h.Write(buf[:rest])
		}
		off += span
	}
	return provider.Digest(h.Sum(nil))
}

// publish puts a new file with the content c at name if the condition holds.
// seen is a match that was found before; when the file changed since, done is
// false.
func (m *FS) publish(name provider.Path, c *content, opts provider.ReplaceOptions, seen *match) (done bool, err error) {
	m.mu.lock()
	defer m.mu.unlock()
	d, key, old, err := m.ownParent(name)
	if err != nil {
		return false, err
	}
	if old != nil && opts.If.Absent() {
		return false, provider.ErrConflict
	}
	if old != nil {
		if err := isFile(old); err != nil {
			return false, err
		}
		m.forget(d, key) // before the comparison: nobody may see a write after it here
		m.openMu.Lock()
		defer m.openMu.Unlock()
	}
	if want, ok := opts.If.Match(); ok {
		if old == nil {
			return false, syscall.ENOENT
		}
		// Up to the end: what is written through a handle comes before the
		// comparison or after all of this, in the limits and the times too.
		old.mu.RLock()
		defer old.mu.RUnlock()
		if same, err := old.matches(want, seen); !same || err != nil {
			return false, err
		}
	}
	return true, m.put(d, key, old, c, name, opts)
}

// matches compares the content with want, or only looks whether it is still the
// one that was seen to be right: then the answer may be false without an error.
// The caller holds n.mu.
func (n *inode) matches(want provider.Digest, seen *match) (bool, error) {
	if seen != nil {
		return seen.n == n && seen.seq == n.seq.Load(), nil
	}
	if err := n.compare(want); err != nil {
		return false, err
	}
	return true, nil
}

// put makes a file with the content c the entry of d under key, in the place of
// old, which is forgotten already; if there is one, the caller holds openMu.
func (m *FS) put(d *dir, key string, old *inode, c *content, name provider.Path, opts provider.ReplaceOptions) error {
	perm := opts.FileMode()
	if old == nil {
		if err := m.mayCreate(name); err != nil {
			return err
		}
	} else {
		perm = old.attr().mode.Perm()
	}
	if err := m.chargeReplace(old, c); err != nil {
		return err
	}
	now := m.now()
	made := newInode(m.owner, perm, now)
	if c.bytes > 0 {
		c.adopt(m.owner)
		made.content = c
	}
	made.size.Store(c.bytes)
	if old == nil {
		m.link(d, key, made, now)
		return nil
	}
	d.entries.set(m.owner, key, made)
	d.touch(now)
	return nil
}

// chargeReplace makes room for c in the place of old (nil for none), or changes
// nothing. The caller is put.
func (m *FS) chargeReplace(old *inode, c *content) error {
	if m.opts.MaxFileBytes > 0 && c.bytes > m.opts.MaxFileBytes {
		return provider.ErrQuota
	}
	if old == nil {
		return m.quota.reserve(c.charge())
	}
	if m.idle(old) {
		return m.quota.reserve(c.charge() - old.content.charge())
	}
	// Its handles keep it: from now on there are two.
	if err := m.quota.mayAdd(); err != nil {
		return err
	}
	if err := m.quota.reserve(c.charge()); err != nil {
		return err
	}
	m.quota.files.Add(1)
	m.orphanLocked(old)
	return nil
}

// adopt makes content that was made aside belong to o.
func (c *content) adopt(o *owner) {
	c.owner = o
	if c.chunks == nil {
		return
	}
	for _, ch := range c.chunks.all {
		ch.owner = o
	}
}

// readContent reads source to its end, up to what the limits could allow.
func (m *FS) readContent(ctx context.Context, source io.Reader) (*content, provider.Digest, error) {
	limit := int64(math.MaxInt64)
	if m.opts.MaxFileBytes > 0 {
		limit = m.opts.MaxFileBytes
	}
	if m.opts.MaxBytes > 0 {
		limit = min(limit, m.opts.MaxBytes)
	}
	s := stage{c: &content{owner: new(owner)}, hash: sha256.New()}
	buf := make([]byte, bufferSize(source))
	for empty := 0; ; {
		n, err := source.Read(buf)
		if n < 0 || n > len(buf) {
			return nil, provider.Digest{}, io.ErrNoProgress
		}
		if int64(n) > limit-s.c.bytes {
			return nil, provider.Digest{}, provider.ErrQuota
		}
		s.write(buf[:n])
		switch {
		case err == io.EOF:
			s.c.trim()
			return s.c, provider.Digest(s.hash.Sum(nil)), nil
		case err != nil:
			return nil, provider.Digest{}, err
		case ctx.Err() != nil:
			return nil, provider.Digest{}, ctx.Err()
		case n > 0:
			empty = 0
		default:
			if empty++; empty > maxEmptyReads {
				return nil, provider.Digest{}, io.ErrNoProgress
			}
		}
	}
}

// maxEmptyReads bounds reads that return neither data nor an error, as package
// bufio does.
const maxEmptyReads = 100

// bufferSize returns how much to read at once.
func bufferSize(source io.Reader) int {
	const most, unknown = 32 << 10, 8 << 10
	if s, ok := source.(interface{ Len() int }); ok {
		return max(1, min(s.Len(), most))
	}
	return unknown
}

// stage collects content that is not in the tree yet.
type stage struct {
	c    *content
	hash hash.Hash
}

func (s *stage) write(p []byte) {
	if len(p) == 0 {
		return
	}
	s.hash.Write(p)
	off := s.c.bytes
	s.c.bytes, s.c.count = s.c.growth(off, len(p))
	s.c.writeAt(p, off)
}
