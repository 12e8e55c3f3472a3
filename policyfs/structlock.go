package policyfs

import (
	"reflect"
	"sync"

	"github.com/workspacefs/workspacefs/provider"
)

// structLock is the structure lock of one provider: what creates, removes or
// publishes a name holds it shared from finding the parent to acting, what moves
// or removes a tree holds it exclusively from plan to act. Without it a file
// published into a directory that another call of the agent renames meanwhile
// lands at a name where the policy would have refused it.
type structLock struct {
	sync.RWMutex
	users int // operations that hold or want it; guarded by structLocks.mu
}

// structLocks finds the lock of a provider. It is state of the package, because
// FS values over one provider that know nothing of each other must share it; it
// holds an entry only while an operation is under way, so nothing is kept alive.
var structLocks = struct {
	mu   sync.Mutex // guards held and users; never held while waiting for a structLock
	held map[provider.Provider]*structLock
	free []*structLock // at most maxFreeLocks, so that an operation allocates none
}{held: map[provider.Provider]*structLock{}}

// maxFreeLocks bounds the locks kept for the next operations.
const maxFreeLocks = 64

// acquire returns the lock of p, still unlocked, and counts the caller.
func acquire(p provider.Provider) *structLock {
	p = lockKey(p)
	structLocks.mu.Lock()
	defer structLocks.mu.Unlock()
	l := structLocks.held[p]
	if l == nil {
		if n := len(structLocks.free); n > 0 {
			l, structLocks.free = structLocks.free[n-1], structLocks.free[:n-1]
		} else {
			l = new(structLock)
		}
		structLocks.held[p] = l
	}
	l.users++
	return l
}

// release forgets the lock of p with its last user.
func release(p provider.Provider, l *structLock) {
	p = lockKey(p)
	structLocks.mu.Lock()
	defer structLocks.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(structLocks.held, p)
		if len(structLocks.free) < maxFreeLocks {
			structLocks.free = append(structLocks.free, l)
		}
	}
}

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
	p         provider.Provider
	l         *structLock
	exclusive bool
}

// lockShared locks the structure of p for an operation on one name.
func lockShared(p provider.Provider) heldLock {
	l := acquire(p)
	l.RLock()
	return heldLock{p, l, false}
}

// lockTree locks the structure of p for an operation on a tree.
func lockTree(p provider.Provider) heldLock {
	l := acquire(p)
	l.Lock()
	return heldLock{p, l, true}
}

// unlock releases the lock.
func (h heldLock) unlock() {
	if h.exclusive {
		h.l.Unlock()
	} else {
		h.l.RUnlock()
	}
	release(h.p, h.l)
}
