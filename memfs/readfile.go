package memfs

import (
	"context"
	"math"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// ReadFile implements [provider.FileReader]. A file with more than 1 GiB of
// holes is syscall.EFBIG without a limit, too.
func (m *FS) ReadFile(ctx context.Context, name provider.Path, limit int64) ([]byte, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	n, err := m.findLocked(name)
	if err != nil {
		return nil, err
	}
	defer n.mu.RUnlock()
	return n.whole(limit)
}

// findLocked returns the file at name with its mu held for reading. mu is taken
// before FS.mu is given back, so that what is read is what was at the name at
// that moment, and others are not kept from the tree while it is read.
func (m *FS) findLocked(name provider.Path) (*inode, error) {
	shard := m.mu.rlock()
	defer m.mu.runlock(shard)
	n, err := m.find(name)
	if err != nil {
		return nil, err
	}
	if err := isFile(n); err != nil {
		return nil, err
	}
	n.mu.RLock()
	return n, nil
}

// isFile returns the error for content of anything but a regular file.
func isFile(n *inode) error {
	switch {
	case n.dir != nil:
		return syscall.EISDIR
	case n.kind() != 0:
		return provider.ErrSymlink
	}
	return nil
}

// maxHole bounds the zeros that reading a whole file makes out of holes: a file of
// many tebibytes may cost nothing, and the buffer for it would end the process.
const maxHole = 1 << 30

// tooSparse reports whether the holes of n are over maxHole. The caller holds n.mu.
func (n *inode) tooSparse() bool {
	held := int64(0)
	if n.content != nil {
		held = n.content.bytes
	}
	return n.size.Load()-held > maxHole
}

// whole returns a copy of all content. The caller holds n.mu.
func (n *inode) whole(limit int64) ([]byte, error) {
	size := n.size.Load()
	if limit > 0 && size > limit || n.tooSparse() || size > math.MaxInt {
		return nil, syscall.EFBIG
	}
	if n.content != nil && int64(len(n.content.head)) == size {
		return append([]byte{}, n.content.head...), nil
	}
	data := make([]byte, size)
	n.content.readAt(data, 0)
	return data, nil
}
