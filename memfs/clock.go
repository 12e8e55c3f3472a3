package memfs

import (
	"sync/atomic"
	"time"
)

// resync is how long the wall clock is extended by the monotonic one. It bounds
// for how long a step of the wall clock goes unseen.
const resync = 10 * time.Millisecond

// clock tells the wall time at half the cost of time.Now, which reads two clocks:
// between two looks at the wall clock it adds the monotonic time that passed.
type clock struct {
	start time.Time
	last  atomic.Pointer[instant]
}

// instant is one moment on both clocks.
type instant struct {
	mono time.Duration // since start
	wall int64         // Unix time in nanoseconds
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) now() int64 {
	mono := time.Since(c.start)
	if last := c.last.Load(); last != nil {
		if passed := mono - last.mono; 0 <= passed && passed < resync {
			return last.wall + int64(passed)
		}
	}
	now := time.Now()
	c.last.Store(&instant{now.Sub(c.start), now.UnixNano()})
	return now.UnixNano()
}
