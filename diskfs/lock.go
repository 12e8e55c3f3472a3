package diskfs

import (
	"io/fs"
	"os"
	"sync"
	"weak"
)

// rootLock orders the checked step of Replace against every other change that
// this process makes below one root directory, through however many instances:
// Replace holds mu exclusively from checking its condition to publishing, all
// other changes hold it shared. It is never held while content is read from a
// caller or synced.
type rootLock struct {
	mu sync.RWMutex
}

// rootLocks finds the lock of a root directory that is open already.
//
// It is package-level state, against the rule of the house, because two
// instances that the program opened independently on one directory have nothing
// else in common. It holds locks weakly: an entry goes when the last instance
// and the last open file of that root are gone.
var rootLocks struct {
	mu      sync.Mutex // guards entries
	entries []rootEntry
}

// rootEntry is the identity of a root and its lock.
type rootEntry struct {
	info fs.FileInfo
	lock weak.Pointer[rootLock]
}

// lockFor returns the lock shared by all instances whose root is the directory
// that info describes.
func lockFor(info fs.FileInfo) *rootLock {
	rootLocks.mu.Lock()
	defer rootLocks.mu.Unlock()
	var found *rootLock
	live := rootLocks.entries[:0]
	for _, e := range rootLocks.entries {
		l := e.lock.Value()
		if l == nil {
			continue
		}
		if os.SameFile(e.info, info) {
			found = l
		}
		live = append(live, e)
	}
	clear(rootLocks.entries[len(live):])
	rootLocks.entries = live
	if found == nil {
		found = new(rootLock)
		rootLocks.entries = append(live, rootEntry{info, weak.Make(found)})
	}
	return found
}
