package policyfs

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/workspacefs/workspacefs/provider"
)

// structLock is the structure lock of one provider: what creates, removes or
// publishes a name holds it shared from finding the parent to acting, what moves
// or removes a tree holds it exclusively from plan to act. Without it a file
// published into a directory that another call of the agent renames meanwhile
// lands at a name where the policy would have refused it.
//
// It is no sync.RWMutex, because whoever waits for it must stop when its context
// is done: storage may be slow, and one slow write would hold up everything else
// as soon as a tree operation waits for it. The lock is granted in the order in
// which it was asked for. structLocks.mu guards all of it.
type structLock struct {
	shared    int // operations that hold it shared
	exclusive bool
	queue     []*lockWaiter
}

// lockWaiter is an operation that waits for a structLock.
type lockWaiter struct {
	exclusive bool
	granted   chan struct{} // closed when the lock is its
}

// structLocks finds the lock of a provider. It is state of the package, because
// FS values over one provider that know nothing of each other must share it; it
// holds an entry only while an operation is under way, so nothing is kept alive.
var structLocks = struct {
	mu   sync.Mutex // guards everything here and in the locks; held for moments
	held map[provider.Provider]*structLock
	// one is the lock of oneKey, if not nil, which is not in held: while only one
	// storage is changed, as mostly, no map is.
	one    *structLock
	oneKey provider.Provider
	free   []*structLock // at most maxFreeLocks, so that an operation allocates none
}{held: map[provider.Provider]*structLock{}}

// heldFor returns the lock of key, or nil. structLocks.mu is held.
func heldFor(key provider.Provider) *structLock {
	if structLocks.one != nil && structLocks.oneKey == key {
		return structLocks.one
	}
	if len(structLocks.held) == 0 {
		return nil
	}
	return structLocks.held[key]
}

// hold makes l the lock of key, which has none. structLocks.mu is held.
func hold(key provider.Provider, l *structLock) {
	if structLocks.one == nil {
		structLocks.one, structLocks.oneKey = l, key
		return
	}
	structLocks.held[key] = l
}

// forget ends what hold began. structLocks.mu is held.
func forget(key provider.Provider, l *structLock) {
	if structLocks.one == l {
		structLocks.one, structLocks.oneKey = nil, nil
		return
	}
	delete(structLocks.held, key)
}

// maxFreeLocks bounds the locks kept for the next operations.
const maxFreeLocks = 64

// lockKey returns p if it can be a map key. Providers whose values cannot be
// compared share one lock, which is slower and never wrong.
func lockKey(p provider.Provider) provider.Provider {
	if !reflect.TypeOf(p).Comparable() || reflect.TypeOf(p).Kind() != reflect.Pointer && !reflect.ValueOf(p).Comparable() {
		return nil
	}
	return p
}

// heldLock is a lock that an operation holds; unlock releases it.
type heldLock struct {
	key       provider.Provider
	l         *structLock
	exclusive bool
}

// lockStruct locks the structure of p: shared for an operation on one name,
// exclusively for one on a tree. It fails only with the error of ctx.
func lockStruct(ctx context.Context, p provider.Provider, exclusive bool) (heldLock, error) {
	h := heldLock{key: lockKey(p), exclusive: exclusive}
	w := h.ask()
	if w == nil {
		return h, nil
	}
	select {
	case <-w.granted:
		return h, nil
	case <-ctx.Done():
		h.abandon(w)
		return heldLock{}, ctx.Err()
	}
}

// ask takes the lock, or queues for it and returns the waiter.
func (h *heldLock) ask() *lockWaiter {
	structLocks.mu.Lock()
	defer structLocks.mu.Unlock()
	l := heldFor(h.key)
	if l == nil {
		if n := len(structLocks.free); n > 0 {
			l, structLocks.free = structLocks.free[n-1], structLocks.free[:n-1]
		} else {
			l = new(structLock)
		}
		hold(h.key, l)
	}
	h.l = l
	if len(l.queue) == 0 && l.take(h.exclusive) {
		return nil
	}
	w := &lockWaiter{h.exclusive, make(chan struct{})}
	l.queue = append(l.queue, w)
	return w
}

// take makes the caller a holder, if those there are leave room for it.
func (l *structLock) take(exclusive bool) bool {
	if l.exclusive || exclusive && l.shared > 0 {
		return false
	}
	if exclusive {
		l.exclusive = true
	} else {
		l.shared++
	}
	return true
}

// unlock releases the lock.
func (h heldLock) unlock() {
	structLocks.mu.Lock()
	defer structLocks.mu.Unlock()
	h.give()
}

// give releases the lock and settles what follows. structLocks.mu is held.
func (h heldLock) give() {
	if h.exclusive {
		h.l.exclusive = false
	} else {
		h.l.shared--
	}
	h.settle()
}

// settle grants the lock to those who are next, and forgets it when nobody is
// left. structLocks.mu is held.
func (h heldLock) settle() {
	l := h.l
	for len(l.queue) > 0 && l.take(l.queue[0].exclusive) {
		close(l.queue[0].granted)
		l.queue = slices.Delete(l.queue, 0, 1)
	}
	if l.shared == 0 && !l.exclusive { // then nobody waits either
		forget(h.key, l)
		if len(structLocks.free) < maxFreeLocks {
			structLocks.free = append(structLocks.free, l)
		}
	}
}

// abandon ends the wait of w, which may just have been granted the lock.
func (h heldLock) abandon(w *lockWaiter) {
	structLocks.mu.Lock()
	defer structLocks.mu.Unlock()
	if i := slices.Index(h.l.queue, w); i >= 0 {
		h.l.queue = slices.Delete(h.l.queue, i, i+1)
		h.settle()
	} else {
		h.give()
	}
}
