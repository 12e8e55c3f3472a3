package policyfs

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// partSize is the length of the parts in which several workers search a large
// file.
const partSize = 8 << 20

// grepWorker searches files on one goroutine.
type grepWorker struct {
	r      *grep
	search fileSearch
	batch  grepBatch
	size   int // bytes of Text in the batch
	out    chan<- grepBatch
	path   namespace.Path
	name   string
}

// work is the life of a worker.
func (r *grep) work() {
	w := &grepWorker{r: r}
	w.search = fileSearch{
		s:       r.e.newScanner(),
		buf:     make([]byte, fileBuffer),
		longest: maxLineBuffer,
		before:  r.q.Before,
		after:   r.q.After,
		max:     r.q.MaxMatches,
		cut:     min(r.q.MaxLineBytes, maxText),
		emit:    w.emit,
		stop:    &r.stop,
		bytes:   &r.bytes,
	}
	w.search.s.stop = &r.stop
	for {
		// Parts of a file that somebody is at come first: everybody else waits
		// for that file.
		select {
		case p := <-r.parts:
			w.part(p)
			continue
		default:
		}
		select {
		case p := <-r.parts:
			w.part(p)
		case job, ok := <-r.jobs:
			if !ok {
				return
			}
			w.job(job)
		}
	}
}

// job searches the files of a job and ends it with its last batch.
func (w *grepWorker) job(job *grepJob) {
	w.out = job.out
	w.batch = grepBatch{skipped: job.skipped}
	w.size = 0
	for _, path := range job.files {
		if w.r.stop.Load() {
			break
		}
		w.path, w.name = path, w.r.v.ns.Display(path)
		if err := w.file(); err != nil {
			if caught, ok := err.(*caughtPanic); ok {
				job.err = caught
				break
			}
			if err != ErrBinary {
				err = clean(err)
			}
			w.batch.skipped = append(w.batch.skipped, grepSkip{w.name, err})
		}
		w.r.files.Add(1)
	}
	w.batch.err, w.batch.last = job.err, true
	w.flush()
}

// emit adds a line to the batch.
func (w *grepWorker) emit(m Match) bool {
	m.Path, m.Name = w.path, w.name
	w.batch.matches = append(w.batch.matches, m)
	w.size += len(m.Text)
	if len(w.batch.matches) >= batchLines || w.size >= batchBytes {
		return w.flush()
	}
	return true
}

// flush hands the batch over. It returns false when the search is over.
func (w *grepWorker) flush() bool {
	b := w.batch
	w.batch = grepBatch{}
	w.size = 0
	select {
	case w.out <- b:
		return true
	case <-w.r.ctx.Done():
		return false
	}
}

// file searches one file. Its error is why the file was left out, or a panic.
func (w *grepWorker) file() (err error) {
	defer catch(&err)
	v := w.r.v
	at, err := v.ns.Lookup(w.path)
	if err != nil {
		return err
	}
	if d := v.allowed(OpRead, &at); !d.Allow {
		return &DeniedError{Op: OpRead, Path: w.path, Rule: d.Rule}
	}
	f, err := opened(at.Provider.Open(w.r.ctx, at.Rel, provider.OpenOptions{Read: true}))
	if err != nil {
		return err
	}
	defer f.Close()
	g := &w.search
	g.begin(f)
	n, err := f.ReadAt(g.buf, 0)
	limit := w.r.q.MaxFileBytes
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case limit > 0 && int64(n) > limit:
		return syscall.EFBIG
	case isBinary(g.buf[:n]):
		return ErrBinary
	case err != nil:
		g.whole(g.buf[:n])
		return nil
	}
	info, err := described(f.Stat())
	if err != nil {
		return err
	}
	if limit > 0 && info.Size() > limit {
		return syscall.EFBIG
	}
	if w.r.workers > 1 && g.before == 0 && g.after == 0 && info.Size() >= 2*partSize {
		return w.parts(f, info)
	}
	return g.run(0, -1)
}

// filePart is a part of a large file: the lines that begin in it.
type filePart struct {
	file       io.ReaderAt
	path       namespace.Path
	name       string
	start, end int64 // end -1: of the file
	taken      atomic.Bool
	out        chan grepBatch // closed when the part has been searched

	// Set before out is closed.
	lines int // how many lines end in it
	err   error
}

// parts has a large file searched in parts: by a goroutine that takes this
// worker's place, and by workers that have nothing better to do. It passes their
// results on in order.
func (w *grepWorker) parts(f provider.File, info fs.FileInfo) error {
	count := int((info.Size() + partSize - 1) / partSize)
	ahead := w.r.workers + 1
	own := make(chan *filePart, ahead)
	stand := &grepWorker{r: w.r, search: w.search}
	stand.search.emit = stand.emit
	var wg sync.WaitGroup
	wg.Go(func() {
		for p := range own {
			stand.part(p)
		}
	})
	var open []*filePart
	defer func() {
		// Nobody may be at the file when it is closed.
		for _, p := range open {
			if !p.taken.CompareAndSwap(false, true) {
				for range p.out {
				}
			}
		}
		close(own)
		wg.Wait()
		w.search = stand.search
		w.search.emit = w.emit
	}()
	line, found := 0, 0
	for i, offered := 0, 0; i < count; i++ {
		for ; offered < min(count, i+ahead); offered++ {
			p := w.newPart(f, offered, count)
			open = append(open, p)
			own <- p // never blocks: it holds no more than open does
			select {
			case w.r.parts <- p:
			default:
			}
		}
		p := open[0]
		for b := range p.out {
			for _, m := range b.matches {
				m.Line += line
				found++
				if !w.emit(m) {
					return nil
				}
			}
		}
		open = open[1:]
		if p.err != nil {
			return p.err
		}
		line += p.lines
		if w.r.stop.Load() || w.r.q.MaxMatches > 0 && found >= w.r.q.MaxMatches {
			return nil
		}
	}
	return nil
}

// newPart makes part i of count.
func (w *grepWorker) newPart(f provider.File, i, count int) *filePart {
	p := &filePart{file: f, path: w.path, name: w.name, start: int64(i) * partSize, end: int64(i+1) * partSize, out: make(chan grepBatch, 1)}
	if i == count-1 {
		p.end = -1
	}
	return p
}

// part searches a part of a file, unless somebody does.
func (w *grepWorker) part(p *filePart) {
	if !p.taken.CompareAndSwap(false, true) {
		return
	}
	defer close(p.out)
	defer catch(&p.err)
	w.out, w.path, w.name = p.out, p.path, p.name
	w.batch, w.size = grepBatch{}, 0
	g := &w.search
	g.begin(p.file)
	p.err = g.run(p.start, p.end)
	p.lines = g.line - 1
	if len(w.batch.matches) > 0 {
		w.flush()
	}
}
