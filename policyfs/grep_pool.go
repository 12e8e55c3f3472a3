package policyfs

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/workspacefs/workspacefs/namespace"
)

const (
	// maxGrepWorkers bounds the memory of a search: each has a buffer and the
	// caches of two automata, and there are as many helpers.
	maxGrepWorkers = 8
	// jobFiles is how many files are handed to a worker at a time.
	jobFiles = 32
	// jobsAhead is how many jobs may be under way before the first has been
	// consumed.
	jobsAhead = 64
	// batchLines and batchBytes are how many lines, and bytes of Text, a worker
	// gathers before it hands them over.
	batchLines = 256
	batchBytes = 64 << 10
)

// grep is one search. A goroutine walks the tree and makes jobs of its files;
// workers search them; the iterating goroutine takes the results job by job, in
// order. A worker that is ahead of the consumer waits with its second batch, so
// that memory is bounded; the job that the consumer is at is always with a
// worker, because workers take jobs in order.
type grep struct {
	q      Query
	e      *engine
	filter *queryFilter
	v      *view
	ctx    context.Context
	stop   atomic.Bool // the search is over, for loops that cannot ask ctx
	files  atomic.Int64
	bytes  atomic.Int64

	jobs     chan *grepJob    // to the workers
	order    chan *grepJob    // to the consumer, the same jobs in the same order
	helpers  chan *fileSearch // what more goroutines may search parts of files with; nil where none has yet
	consumed chan []Match     // memory of batches that were
	workers  int
	wg       sync.WaitGroup
	pool     sync.Pool // of *grepJob
}

// grepJob is some files that follow each other in the walk.
type grepJob struct {
	files   []namespace.Path
	skipped []grepSkip
	err     error // ends the search
	out     chan grepBatch
}

// grepSkip is a call of Query.Skipped.
type grepSkip struct {
	name   string
	reason error
}

// grepBatch is a part of the results of a job.
type grepBatch struct {
	matches []Match
	skipped []grepSkip
	err     error
	last    bool
}

// newGrep validates a query.
func newGrep(q Query) (*grep, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	e, err := compileEngine(&q)
	if err != nil {
		return nil, err
	}
	filter, err := newQueryFilter(&q)
	if err != nil {
		return nil, err
	}
	r := &grep{q: q, e: e, filter: filter, workers: min(runtime.GOMAXPROCS(0), maxGrepWorkers)}
	r.pool.New = func() any { return &grepJob{out: make(chan grepBatch, 1)} }
	return r, nil
}

// recycle takes back a job that has been consumed.
func (r *grep) recycle(job *grepJob) {
	clear(job.files)
	job.files = job.files[:0]
	job.skipped, job.err = nil, nil
	r.pool.Put(job)
}

// begin starts the goroutines.
func (r *grep) begin(t *target, dir bool) {
	r.jobs = make(chan *grepJob, jobsAhead)
	r.order = make(chan *grepJob, jobsAhead)
	r.consumed = make(chan []Match, 2*partBatches)
	r.helpers = make(chan *fileSearch, r.workers)
	for range r.workers {
		r.helpers <- nil
	}
	if dir {
		w := newWalker(r.ctx, r.v, t, &grepFilter{r.filter, len(t.Path.String()) + 1}, nil)
		if r.q.Ignore {
			w.ignore(t)
		}
		r.wg.Go(func() { r.walk(w) })
	} else {
		base := t.Path.Base()
		job := r.pool.Get().(*grepJob)
		if r.filter.keeps(base, base) {
			job.files = append(job.files, t.Path)
		}
		r.hand(job)
		close(r.jobs)
		close(r.order)
	}
	for range r.workers {
		r.wg.Go(r.work)
	}
}

// hand passes a job on. It returns false when the search is over.
func (r *grep) hand(job *grepJob) bool {
	select {
	case r.order <- job:
	case <-r.ctx.Done():
		return false
	}
	select {
	case r.jobs <- job:
	case <-r.ctx.Done():
		return false
	}
	return true
}

// walk makes jobs of the files that the walker finds. The first jobs are small, so
// that the first results come soon.
func (r *grep) walk(w *walker) {
	defer close(r.jobs)
	defer close(r.order)
	defer w.close()
	var joiner namespace.Joiner
	size := 1
	job := r.pool.Get().(*grepJob)
	next := func() (step walkStep, ok bool) {
		defer catch(&step.err) // a step without dir ends the search
		return w.next()
	}
	for {
		step, ok := next()
		if step.err != nil && step.dir == nil {
			ok = true
		}
		if !ok {
			break
		}
		if step.dir == nil {
			job.err = step.err
			break
		}
		path, err := step.path(&joiner)
		switch {
		case err != nil: // no path can spell it
		case step.item == nil:
			job.skipped = append(job.skipped, grepSkip{r.v.ns.Display(path), clean(step.err)})
		default:
			job.files = append(job.files, path)
		}
		if len(job.files)+len(job.skipped) >= size {
			size = min(2*size, jobFiles)
			if !r.hand(job) {
				return
			}
			job = r.pool.Get().(*grepJob)
		}
	}
	r.hand(job)
}

// grepFilter keeps the regular files that the query's filters keep.
type grepFilter struct {
	*queryFilter
	root int // length of the root's path and the slash behind it
}

func (f *grepFilter) open(*walkDir, any, []listedEntry) any { return nil }

func (f *grepFilter) judge(d *walkDir, _ any, e *listedEntry) (keep, enter bool, child any) {
	if e.IsDir() {
		return false, !f.prunes(f.rel(d, e.name), e.name), nil
	}
	return e.typ == 0 && f.keeps(f.rel(d, e.name), e.name), false, nil
}

// rel returns the path of an entry below the root of the search, if a pattern needs
// it.
func (f *grepFilter) rel(d *walkDir, name string) string {
	if !f.paths {
		return name
	}
	dir := d.path.String()
	if len(dir) < f.root {
		return name
	}
	return strings.Join([]string{dir[f.root:], name}, "/")
}
