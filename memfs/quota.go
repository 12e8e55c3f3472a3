package memfs

import (
	"sync/atomic"

	"github.com/workspacefs/workspacefs/provider"
)

// quota counts what a tree retains.
type quota struct {
	maxBytes, maxFiles int64 // 0 is no limit
	bytes, files       atomic.Int64
}

// Usage is what an [FS] retains, as its limits count it.
type Usage struct {
	Bytes int64 // against Options.MaxBytes
	Files int64 // against Options.MaxFiles
}

// Usage returns what is charged at the moment. Removed objects that are still
// open are included. A clone is charged for all it holds, shared or not.
func (m *FS) Usage() Usage {
	return Usage{Bytes: m.quota.bytes.Load(), Files: m.quota.files.Load()}
}

// reserve charges delta bytes, which may be negative, or charges nothing and
// returns ErrQuota.
func (q *quota) reserve(delta int64) error {
	if delta <= 0 || q.maxBytes == 0 {
		if delta != 0 {
			q.bytes.Add(delta)
		}
		return nil
	}
	for {
		used := q.bytes.Load()
		if delta > q.maxBytes-used {
			return provider.ErrQuota
		}
		if q.charge(used, delta) {
			return nil
		}
	}
}

// charge charges delta bytes if used is what is charged still, and reports whether.
func (q *quota) charge(used, delta int64) bool { return q.bytes.CompareAndSwap(used, used+delta) }

// mayAdd reports whether one more object is allowed. Objects are added under
// FS.mu held for writing, so the answer holds until then.
func (q *quota) mayAdd() error {
	if q.maxFiles > 0 && q.files.Load() >= q.maxFiles {
		return provider.ErrQuota
	}
	return nil
}

// release takes off what an object is charged that nothing can reach any more.
func (q *quota) release(n *inode) {
	if charge := n.content.charge(); charge != 0 {
		q.bytes.Add(-charge)
	}
	q.files.Add(-1)
}
