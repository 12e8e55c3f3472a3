package policyfs

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestStructLocksAreToldApart: whatever the order in which storages are locked and
// released, each has one lock while it is held, and none is remembered afterwards.
func TestStructLocksAreToldApart(t *testing.T) {
	type uncomparable struct {
		*memfs.FS
		_ []int
	}
	keys := []provider.Provider{memfs.New(memfs.Options{}), memfs.New(memfs.Options{}), memfs.New(memfs.Options{}), uncomparable{FS: memfs.New(memfs.Options{})}}
	r := rand.New(rand.NewPCG(4, 2))
	held := make([][]heldLock, len(keys))
	ended, cancel := context.WithCancel(context.Background())
	cancel() // so that whoever would have to wait says so
	for range 2000 {
		i := r.IntN(len(keys))
		if n := len(held[i]); n > 0 && r.IntN(2) == 0 {
			held[i][n-1].unlock()
			held[i] = held[i][:n-1]
			continue
		}
		exclusive := r.IntN(3) == 0
		h, err := lockStruct(ended, keys[i], exclusive)
		mustWait := len(held[i]) > 0 && (exclusive || held[i][0].exclusive)
		if (err != nil) != mustWait {
			t.Fatalf("storage %d, exclusive %v, beside %d holders: %v", i, exclusive, len(held[i]), err)
		}
		if err == nil {
			held[i] = append(held[i], h)
		}
		for j := range held {
			for _, h := range held[j] {
				if h.l != held[j][0].l || j != i && len(held[i]) > 0 && h.l == held[i][0].l {
					t.Fatalf("storages %d and %d: one lock too many or too few", i, j)
				}
			}
		}
	}
	for i := range held {
		for _, h := range held[i] {
			h.unlock()
		}
	}
	structLocks.mu.Lock()
	defer structLocks.mu.Unlock()
	if structLocks.one != nil || structLocks.oneKey != nil || len(structLocks.held) > 0 {
		t.Errorf("locks that nobody holds are remembered: %v, %v", structLocks.oneKey, structLocks.held)
	}
}
