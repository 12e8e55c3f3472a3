package policyfs

import (
	"runtime"
	"slices"
)

// prefetchers returns how many goroutines may list ahead of one walk: with the
// consumer, as many as there are processors. On one processor there are none: to
// take turns costs more than what is gained while the storage is waited for.
func prefetchers() int { return min(runtime.GOMAXPROCS(0)-1, maxPrefetchers) }

// await returns when d has been listed. It lists d itself unless somebody is at it.
func (w *walker) await(d *walkDir) {
	w.mu.Lock()
	if !d.taken {
		d.taken = true
		// d is what was needed next, so it lies on top, below nothing but what
		// others have taken.
		for n := len(w.stack); n > 0 && w.stack[n-1].taken; n-- {
			w.stack[n-1] = nil
			w.stack = w.stack[:n-1]
		}
		w.take(d, &w.scratch)
	}
	for !d.listed {
		// Somebody is at d. Help with what comes after it.
		if next := w.pop(); next != nil {
			w.take(next, &w.scratch)
		} else {
			w.changed.Wait()
		}
	}
	w.ahead -= len(d.items)
	if w.idle > 0 && len(w.stack) > 0 {
		w.changed.Broadcast()
	}
	w.mu.Unlock()
}

// offer puts the subdirectories of d on the stack, the first one on top. w.mu is
// held.
func (w *walker) offer(d *walkDir) {
	before := len(w.stack)
	for _, dir := range slices.Backward(d.dirs) {
		if !dir.skip {
			w.stack = append(w.stack, dir)
		}
	}
	added := len(w.stack) - before
	if added == 0 || w.closed.Load() {
		return
	}
	if w.idle > 0 {
		w.changed.Broadcast()
	}
	// A walk of few directories starts few goroutines, or none.
	for w.helpers < w.most && added > 1 {
		w.helpers++
		added--
		w.wg.Go(w.prefetch)
	}
}

// prefetch lists directories until the walk is over.
func (w *walker) prefetch() {
	var scratch listScratch
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		d := w.pop()
		if d == nil {
			if w.closed.Load() {
				return
			}
			w.idle++
			w.changed.Wait()
			w.idle--
			continue
		}
		w.take(d, &scratch)
		w.changed.Broadcast()
	}
}

// take lists d. w.mu is held, but not meanwhile.
func (w *walker) take(d *walkDir, s *listScratch) {
	d.taken = true
	w.mu.Unlock()
	w.list(d, s)
	w.mu.Lock()
	d.listed = true
	w.ahead += len(d.items)
	if w.skip == nil {
		w.offer(d)
	}
}

// pop returns the directory that is needed next and that nobody has taken, or nil
// when there is none or enough is listed ahead. w.mu is held.
func (w *walker) pop() *walkDir {
	if w.closed.Load() || w.ahead >= maxAhead || w.ctx.Err() != nil {
		return nil
	}
	for n := len(w.stack); n > 0; n-- {
		d := w.stack[n-1]
		w.stack[n-1] = nil
		w.stack = w.stack[:n-1]
		if !d.taken {
			return d
		}
	}
	return nil
}
