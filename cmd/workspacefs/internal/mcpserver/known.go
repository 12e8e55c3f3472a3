package mcpserver

import (
	"container/list"
	"sync"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// Limits of what a session remembers. The content of small files is kept to show
// what changed when a write conflicts.
const (
	maxKnown        = 10_000
	maxKeptFile     = 64 << 10
	maxKeptContents = 16 << 20
)

// known remembers the content that a session last read or wrote, by canonical
// path: the least recently used is forgotten first, which only means that a file
// has to be read again. The zero value is empty.
type known struct {
	mu    sync.Mutex // guards the rest
	byKey map[namespace.Path]*list.Element
	order list.List // of *seen, most recent first
	bytes int
}

// seen is one file as the session knows it.
type seen struct {
	path    namespace.Path
	digest  provider.Digest
	content []byte // nil: not kept
}

func (k *known) get(p namespace.Path) (seen, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.byKey[p]
	if !ok {
		return seen{}, false
	}
	k.order.MoveToFront(e)
	return *e.Value.(*seen), true
}

// put remembers content, which must not change afterwards.
func (k *known) put(p namespace.Path, d provider.Digest, content []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(p)
	s := &seen{path: p, digest: d}
	if len(content) <= maxKeptFile {
		s.content = content
		k.bytes += len(content)
	}
	if k.byKey == nil {
		k.byKey = map[namespace.Path]*list.Element{}
	}
	k.byKey[p] = k.order.PushFront(s)
	for k.order.Len() > maxKnown || k.bytes > maxKeptContents {
		k.remove(k.order.Back().Value.(*seen).path)
	}
}

// forget drops p and everything below it.
func (k *known) forget(p namespace.Path) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.remove(p)
	for e := k.order.Front(); e != nil; {
		next := e.Next()
		if s := e.Value.(*seen); p.Contains(s.path) {
			k.remove(s.path)
		}
		e = next
	}
}

// remove drops one entry; the caller holds mu.
func (k *known) remove(p namespace.Path) {
	if e, ok := k.byKey[p]; ok {
		k.bytes -= len(e.Value.(*seen).content)
		k.order.Remove(e)
		delete(k.byKey, p)
	}
}
