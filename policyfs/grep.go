package policyfs

import (
	"context"
	"iter"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// Match is one line of a search.
type Match struct {
	// Path is the canonical path of the file, Name its display spelling.
	Path namespace.Path
	Name string
	// Line is the number of the line, from 1. Column is where in the line the
	// leftmost match begins, in bytes from 1; it is 0 for a line of context.
	Line, Column int
	// Offset is where the line begins in the file, in bytes.
	Offset int64
	// Text is the line without its line end, cut at Query.MaxLineBytes.
	Text string
	// Context marks a line that does not match, or is beyond Query.MaxMatches,
	// and surrounds one that does. It is yielded once where windows overlap or
	// touch.
	Context bool
}

// Grep yields the lines below root, or in the file root, that match q, in byte
// order of the full path and in the order of the file. It opens no file and no
// directory that the policy refuses, and goes through no link.
//
// Lines end at LF; a CR before it is dropped, one at the end of the file is not,
// and there is no empty line after the last LF. Files with a NUL in their first
// 8 KiB, files over q.MaxFileBytes, and files and directories that cannot be
// read are left out and told to q.Skipped. A file that changes while it is read
// never makes the search fail. Text that is not UTF-8 is matched as package regexp
// does: each byte that belongs to no rune is U+FFFD.
//
// An error ends the iteration. It is a pattern that is no RE2 or too large, and a
// filter that is no doublestar pattern ([fs.ErrInvalid]), before anything is
// opened; what opening root for reading fails with; the error of a context that is
// done; a *DeniedError when more than Options.MaxWalk entries were visited; and
// syscall.ESTALE when the namespace table was swapped meanwhile.
//
// Files are searched by as many goroutines as there are processors, at most
// eight, and large ones in parts by several. All of them have ended when the
// iteration ends.
//
// [fs.ErrInvalid]: https://pkg.go.dev/io/fs#ErrInvalid
func (f *FS) Grep(root string, q Query) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		fail := func(err error) { yield(Match{}, pathErr("grep", root, err)) }
		r, err := newGrep(q)
		if err != nil {
			fail(&textError{err})
			return
		}
		v, t, info, err := f.walkRoot(root)
		if err != nil {
			fail(err)
			return
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			v.done(OpList, &t, provider.ErrIrregular)
			fail(provider.ErrIrregular)
			return
		}
		err = r.run(&v, &t, info.IsDir(), yield)
		v.done(OpList, &t, err)
		if err != nil {
			fail(err)
		}
	}
}

// run searches the tree at t. It returns what ended the search early, and nil when
// the caller did.
func (r *grep) run(v *view, t *target, dir bool, yield func(Match, error) bool) error {
	ctx, cancel := context.WithCancel(v.fs.context())
	r.v, r.ctx = v, ctx
	defer r.wg.Wait()
	defer context.AfterFunc(ctx, func() { r.stop.Store(true) })()
	defer r.stop.Store(true)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	r.begin(t, dir)

	c := grepConsumer{r: r, yield: yield, meter: newProgressMeter(r.q.Progress)}
	if r.q.Progress != nil {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		c.ticks = ticker.C
	}
	err := c.consume()
	rethrow(err)
	if err == nil && !c.broken {
		c.progress()
		c.meter.end()
	}
	return err
}

// grepConsumer hands out, on the iterating goroutine, what the workers found.
type grepConsumer struct {
	r      *grep
	yield  func(Match, error) bool
	meter  progressMeter
	ticks  <-chan time.Time // nil without a Progress callback
	found  int
	last   Match // the last matching line, with MaxMatches
	broken bool  // the caller has ended the iteration
	over   bool  // everything wanted was yielded
}

// consume takes the jobs in the order of the walk.
func (c *grepConsumer) consume() error {
	for {
		job, ok, err := receive(c, c.r.order)
		if err != nil {
			return err
		}
		if !ok {
			return c.r.ctx.Err()
		}
		if !c.r.v.current() {
			return errSwapped
		}
		for {
			b, ok, err := receive(c, job.out)
			if err != nil {
				return err
			}
			if !ok {
				return syscall.EIO // a worker never closes this channel
			}
			if c.deliver(&b); c.broken || c.over {
				return nil
			}
			if b.err != nil {
				return b.err
			}
			if b.last {
				break
			}
		}
		c.r.recycle(job)
	}
}

// receive waits for a value, reports progress meanwhile, and gives up when the
// context is done.
func receive[T any](c *grepConsumer, from <-chan T) (v T, ok bool, err error) {
	select {
	case v, ok = <-from:
		return v, ok, c.r.v.fs.context().Err()
	default:
	}
	for {
		select {
		case v, ok = <-from:
			return v, ok, nil
		case <-c.ticks:
			c.progress()
			c.meter.tick()
		case <-c.r.ctx.Done():
			return v, false, c.r.ctx.Err()
		}
	}
}

// progress brings the meter up to date.
func (c *grepConsumer) progress() {
	c.meter.total = Progress{Files: c.r.files.Load(), Bytes: c.r.bytes.Load()}
}

// deliver yields a batch.
func (c *grepConsumer) deliver(b *grepBatch) {
	for _, s := range b.skipped {
		if c.r.q.Skipped != nil {
			c.r.q.Skipped(s.name, s.reason)
		}
	}
	for i := range b.matches {
		m := &b.matches[i]
		if c.r.q.MaxMatches > 0 && !c.admit(m) {
			return
		}
		if !c.yield(*m, nil) {
			c.broken = true
			return
		}
	}
	if cap(b.matches) == batchLines {
		select {
		case c.r.consumed <- b.matches[:0]:
		default:
		}
	}
	if c.ticks != nil {
		c.progress()
		c.meter.tick()
	}
}

// admit applies MaxMatches. Of what follows the last match wanted, only its own
// lines of context are yielded.
func (c *grepConsumer) admit(m *Match) bool {
	if c.found >= c.r.q.MaxMatches {
		if m.Path != c.last.Path || m.Line > c.last.Line+c.r.q.After {
			c.over = true
			return false
		}
		m.Context, m.Column = true, 0
		return true
	}
	if !m.Context {
		c.found++
		c.last = *m
		c.over = c.found == c.r.q.MaxMatches && c.r.q.After == 0
	}
	return true
}
