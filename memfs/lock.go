package memfs

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// maxShards bounds what a writer has to lock.
const maxShards = 8

// treeLock is a reader-writer lock whose readers do not share a cache line: a
// reader locks one shard, a writer all of them. With a single sync.RWMutex two
// readers slow each other down by the half (measured), since all they do below
// it takes less time than moving the line between the cores.
type treeLock struct {
	shards []lockShard // fixed by init
	near   sync.Pool   // of *lockShard: the pool is per processor, and so are they
}

type lockShard struct {
	sync.RWMutex
	_ [104]byte // two cache lines with the lock: processors fetch them in pairs
}

func (l *treeLock) init() {
	l.shards = make([]lockShard, min(runtime.GOMAXPROCS(0), maxShards))
	var next atomic.Uint32
	l.near.New = func() any { return &l.shards[next.Add(1)%uint32(len(l.shards))] }
}

// rlock locks for reading and returns what runlock wants.
func (l *treeLock) rlock() *lockShard {
	s := l.near.Get().(*lockShard)
	s.RLock()
	return s
}

func (l *treeLock) runlock(s *lockShard) {
	s.RUnlock()
	l.near.Put(s)
}

func (l *treeLock) lock() {
	for i := range l.shards {
		l.shards[i].Lock()
	}
}

func (l *treeLock) unlock() {
	for i := range l.shards {
		l.shards[i].Unlock()
	}
}
