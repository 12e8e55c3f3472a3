package policyfs_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const canExchange = true

// hostExchange swaps two names, in one step where the storage can.
func hostExchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if err != unix.EINVAL {
		return err
	}
	aside := b + "-aside"
	return errors.Join(os.Rename(a, aside), os.Rename(b, a), os.Rename(aside, b))
}

// enoughSwaps is how often a race must have swapped; it goes on until then, for
// storage may be so fast that the attempts are over before the swapper has run.
const enoughSwaps = 20

// race repeats a call while another goroutine swaps a directory for a link to
// the directory of the same name in O, and says what the call returned.
func (r *attackRun) race(call, flip []any) string {
	rounds := scale(1000, 5000, 20_000)
	dir := r.host(str(flip[1]))
	link := r.host("P/swap")
	target := r.host("O" + str(flip[1])[1:])
	if _, err := os.Stat(target); err != nil {
		target = r.host("O/" + str(flip[1])[len("W/d/"):])
	}
	r.must(os.Symlink(target, link))
	var stop atomic.Bool
	var swaps atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			if hostExchange(dir, link) == nil {
				swaps.Add(1)
			}
		}
	})
	texts := map[string]int{}
	deadline := time.Now().Add(time.Minute)
	for i := 0; i < rounds || swaps.Load() < enoughSwaps && time.Now().Before(deadline); i++ {
		if str(call[0]) == "removeall" || str(call[0]) == "rename" {
			if i%50 != 0 {
				continue
			}
			r.refill(str(call[0]), dir)
		}
		res := r.do(call)
		if res.panics != nil {
			r.t.Fatal(res.panics)
		}
		key := res.text
		if res.err != nil {
			key = "error: " + withoutArgs(res.err.Error(), res.args)
		}
		texts[key]++
	}
	stop.Store(true)
	wg.Wait()
	r.t.Logf("%s: %d swaps; results %v", r.c.Name, swaps.Load(), texts)
	if swaps.Load() < enoughSwaps {
		r.t.Error("hardly anything was swapped: the race did not happen")
	}
	return fmt.Sprint(texts)
}

// refill puts back what the call consumes.
func (r *attackRun) refill(call, dir string) {
	if call == "rename" {
		os.WriteFile(r.host("W/x"), []byte("X"), 0o644)
		return
	}
	os.MkdirAll(r.host("W/d"), 0o755)
	if _, err := os.Lstat(dir); err != nil {
		os.MkdirAll(dir, 0o755)
	}
	if _, err := os.Lstat(r.host("P/swap")); err != nil {
		os.Symlink(r.host("O/s"), r.host("P/swap"))
	}
	os.WriteFile(r.host("P/swap")+"/f", []byte("x"), 0o644)
}
