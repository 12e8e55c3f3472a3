package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A row compares one operation of ours with the same operation of a peer.
type row struct {
	ID   string  // as in DESIGN.md section 9 and the README
	What string  // the operation, for a reader
	Peer string  // what 1.0 is
	Goal float64 // the ratio must not exceed it; 0 prints without judging
	// Cores is how many free cores the figure needs, 1 or 2; with fewer the row is
	// printed and never judged.
	Cores int
	// CPU compares CPU time as well, as a row of its own with the same goal. The
	// peer is a program then, which this process starts and waits for.
	CPU bool
	// Fixed, if not nil, prepares a part of our operation that no implementation can
	// make faster, called FixedIs; a nil side says that there is none here. How much
	// of the peer's time it takes depends on the machine; where it leaves less than
	// FixedLeaves of the goal for the rest, the goal is what it takes and FixedLeaves.
	// It is not for rows with CPU.
	Fixed       func(dir string) (fixed side, release func(), err error)
	FixedIs     string
	FixedLeaves float64
	// Prepare builds both sides. The pair is used by one goroutine and released by
	// the last function.
	Prepare func(dir string) (ours, peer side, release func(), err error)
}

// A side runs its operation n times and returns how long that took, without what
// it had to do between operations to set the next one up.
type side func(n int) (time.Duration, error)

// repeat makes a side of one operation.
func repeat(op func() error) side {
	return func(n int) (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := op(); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

// fixed makes what row.Fixed is of one operation that needs nothing.
func fixed(op func() error) func(string) (side, func(), error) {
	return func(string) (side, func(), error) { return repeat(op), func() {}, nil }
}

// repeatAfter makes a side of one operation that needs setup, which is not timed,
// before each time.
func repeatAfter(setup, op func() error) side {
	return func(n int) (total time.Duration, err error) {
		for range n {
			if err := setup(); err != nil {
				return 0, err
			}
			start := time.Now()
			if err := op(); err != nil {
				return 0, err
			}
			total += time.Since(start)
		}
		return total, nil
	}
}

// repeatOver makes a side of an operation that needs a name of its own each time:
// the i-th is prepared by before and brought back by after, which are not timed and
// may be nil.
func repeatOver(before, op, after func(i int) error) side {
	all := func(n int, f func(int) error) error {
		for i := range n {
			if f == nil {
				break
			}
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	return func(n int) (time.Duration, error) {
		if err := all(n, before); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := all(n, op); err != nil {
			return 0, err
		}
		total := time.Since(start)
		return total, all(n, after)
	}
}

// A result is one measured row. Times are nanoseconds an operation.
type result struct {
	ID     string  `json:"id"`
	What   string  `json:"what"`
	Peer   string  `json:"peer"`
	Ours   float64 `json:"ours_ns"`
	Theirs float64 `json:"peer_ns"`
	Ratio  float64 `json:"ratio"`
	Spread float64 `json:"spread"` // half the interquartile range of the rounds' ratios
	Goal   float64 `json:"goal,omitempty"`
	Fixed  float64 `json:"fixed,omitempty"` // the part of Ratio that row.Fixed takes
	Rounds int     `json:"rounds"`
	Judged bool    `json:"judged"`
	Absent string  `json:"absent,omitempty"` // the peer that is not installed
	Error  string  `json:"error,omitempty"`
}

// missed reports whether the goal is missed by more than the spread.
func (r result) missed() bool {
	return r.Error != "" || r.Judged && r.Goal > 0 && r.Ratio-r.Spread > r.Goal
}

// measure runs the two sides in turn, so that whatever else the machine does
// falls on both, and takes the median of the per-round ratios. It returns a
// second result when the row compares CPU time as well, and on an error the first
// without figures.
func measure(r row, dir string, rounds int, slice time.Duration) ([]result, error) {
	res := result{ID: r.ID, What: r.What, Peer: r.Peer, Goal: r.Goal, Rounds: rounds, Judged: r.Cores <= runtime.NumCPU()}
	blank := []result{res}
	ours, peer, release, err := r.Prepare(dir)
	if err != nil {
		return blank, fmt.Errorf("%s: %w", r.ID, err)
	}
	defer release()
	n, err := calibrate(peer, slice)
	if err != nil {
		return blank, fmt.Errorf("%s: peer: %w", r.ID, err)
	}
	if _, err := timed(ours, 1+n/10, ownCPU); err != nil {
		return blank, fmt.Errorf("%s: %w", r.ID, err)
	}
	var part side
	if r.Fixed != nil {
		var done func()
		if part, done, err = r.Fixed(dir); err != nil {
			return blank, fmt.Errorf("%s: %s: %w", r.ID, r.FixedIs, err)
		}
		defer done()
	}
	var wall, cpu, cores, parts series
	for round := range rounds {
		var a, b cost
		var err1, err2 error
		if round%2 == 0 {
			a, err1 = timed(ours, n, ownCPU)
			b, err2 = timed(peer, n, childCPU)
		} else {
			b, err2 = timed(peer, n, childCPU)
			a, err1 = timed(ours, n, ownCPU)
		}
		if err := cmp.Or(err1, err2); err != nil {
			return blank, fmt.Errorf("%s: %w", r.ID, err)
		}
		wall.add(a.wall, b.wall)
		cpu.add(a.cpu, b.cpu)
		if r.Cores > 1 {
			cores.add(spin(2), spin(1))
		}
		if part != nil {
			f, err := timed(part, n, ownCPU)
			if err != nil {
				return blank, fmt.Errorf("%s: %s: %w", r.ID, r.FixedIs, err)
			}
			parts.add(f.wall, b.wall)
		}
	}
	if part != nil && r.Goal > 0 {
		res.Fixed = quantile(parts.ratios, 0.5)
		res.What += fmt.Sprintf(" (%s alone: %.3g)", r.FixedIs, res.Fixed)
		res.Goal = max(res.Goal, res.Fixed+r.FixedLeaves)
	}
	if r.Cores > 1 && quantile(cores.ratios, 0.5) > oneCore {
		res.Judged = false
	}
	results := []result{wall.summary(res)}
	if r.CPU {
		res.ID, res.What = res.ID+"c", res.What+", CPU time"
		if cpuMeasured {
			res = cpu.summary(res)
		} else {
			res.Absent = "CPU time is not told on " + runtime.GOOS
		}
		results = append(results, res)
	}
	return results, nil
}

// oneCore: what two goroutines share takes more than this of the time that one
// needs, so nothing ran beside it. Whatever else the machine does takes the second
// core away from both sides, and from a figure that needs it all its meaning.
const oneCore = 1 / 1.3

// spin is the control of rows that need a second core: work that touches no memory,
// shared by the workers. It returns the time.
func spin(workers int) float64 {
	const work = 2 << 20
	var sums [2]uint64
	var wg sync.WaitGroup
	start := time.Now()
	for w := range workers {
		wg.Go(func() {
			sum := uint64(w)
			for range work / workers {
				sum = sum*6364136223846793005 + 1442695040888963407
			}
			sums[w] = sum // or there would be nothing to compute
		})
	}
	wg.Wait()
	return float64(time.Since(start))
}

// A series is the figures of all rounds.
type series struct{ ours, peer, ratios []float64 }

func (s *series) add(ours, peer float64) {
	s.ours, s.peer, s.ratios = append(s.ours, ours), append(s.peer, peer), append(s.ratios, ours/peer)
}

// summary puts the medians and the spread into a copy of a result.
func (s *series) summary(res result) result {
	res.Ours, res.Theirs, res.Ratio = quantile(s.ours, 0.5), quantile(s.peer, 0.5), quantile(s.ratios, 0.5)
	res.Spread = (quantile(s.ratios, 0.75) - quantile(s.ratios, 0.25)) / 2
	return res
}

// calibrate finds how many operations fill one slice.
func calibrate(f side, slice time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		d, err := f(n)
		if err != nil {
			return 0, err
		}
		if d >= slice/2 || n >= 1<<24 {
			return max(1, int(float64(n)*float64(slice)/float64(max(d, 1)))), nil
		}
	}
}

// A cost is nanoseconds an operation.
type cost struct{ wall, cpu float64 }

// timed runs n operations; meter reads the CPU time that they add to. The garbage
// of whoever ran before is collected first: each side pays for its own.
func timed(f side, n int, meter func() time.Duration) (cost, error) {
	runtime.GC()
	before := meter()
	d, err := f(n)
	used := meter() - before
	return cost{float64(d.Nanoseconds()) / float64(n), float64(used.Nanoseconds()) / float64(n)}, err
}

// quantile of a copy, by nearest rank.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
