package policyfs

import (
	"errors"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

const (
	// partSize is the length of the parts in which several goroutines search a
	// large file.
	partSize = 8 << 20
	// partBatches is how many batches a part holds before its turn has come. Lines
	// as they are match seldom enough for it to hold all of a part's.
	partBatches = 16
)

// grepWorker searches files on one goroutine.
type grepWorker struct {
	r      *grep
	search *fileSearch
	batch  grepBatch
	size   int // bytes of Text in the batch
	out    chan<- grepBatch
	path   namespace.Path
	name   string
	look   func(text []byte) // searches a whole file in place, made once
	unfit  error             // why that file is left out
}

// newSearch returns what a goroutine searches with.
func (r *grep) newSearch() *fileSearch {
	g := &fileSearch{
		s:       r.e.newScanner(),
		buf:     make([]byte, fileBuffer),
		longest: maxLineBuffer,
		before:  r.q.Before,
		after:   r.q.After,
		max:     r.q.MaxMatches,
		cut:     min(r.q.MaxLineBytes, maxText),
		stop:    &r.stop,
		bytes:   &r.bytes,
	}
	g.s.stop = &r.stop
	return g
}

// newWorker returns a worker that searches with g.
func (r *grep) newWorker(g *fileSearch) *grepWorker {
	w := &grepWorker{r: r, search: g}
	g.emit = w.emit
	w.look = func(text []byte) {
		if w.unfit = r.judge(text); w.unfit == nil {
			g.whole(text)
		}
	}
	return w
}

// work is the life of a worker.
func (r *grep) work() {
	w := r.newWorker(r.newSearch())
	for job := range r.jobs {
		w.job(job)
	}
}

// job searches the files of a job and ends it with its last batch.
func (w *grepWorker) job(job *grepJob) {
	w.out = job.out
	w.batch = grepBatch{skipped: job.skipped}
	w.size = 0
	files := int64(0)
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
		files++
	}
	w.r.files.Add(files)
	w.r.bytes.Add(w.search.small)
	w.search.small = 0
	w.batch.err, w.batch.last = job.err, true
	w.flush()
}

// emit adds a line to the batch.
func (w *grepWorker) emit(line, column int, offset int64, text string) bool {
	if len(w.batch.matches) == cap(w.batch.matches) {
		w.grow()
	}
	w.batch.matches = append(w.batch.matches, Match{
		Path: w.path, Name: w.name,
		Line: line, Column: column, Offset: offset, Text: text,
		Context: column == 0,
	})
	w.size += len(text)
	if len(w.batch.matches) >= batchLines || w.size >= batchBytes {
		return w.flush()
	}
	return true
}

// grow makes room for more lines: in the memory of a batch that was consumed, if
// there is one. The first batches, which are small in most searches, grow.
func (w *grepWorker) grow() {
	have := w.batch.matches
	var room []Match
	select {
	case room = <-w.r.consumed:
	default:
		room = make([]Match, 0, min(max(4, 4*cap(have)), batchLines))
	}
	w.batch.matches = append(room, have...)
}

// flush hands the batch over. It returns false when the search is over.
func (w *grepWorker) flush() bool {
	b := w.batch
	w.batch, w.size = grepBatch{}, 0
	return w.pass(b)
}

// pass hands a batch over. It returns false when the search is over.
func (w *grepWorker) pass(b grepBatch) bool {
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
	if r, ok := at.Provider.(provider.FileIntoReader); ok {
		if ok, err := w.small(r, at.Rel); ok || err != nil {
			return err
		}
	}
	f, err := opened(at.Provider.Open(w.r.ctx, at.Rel, provider.OpenOptions{Read: true}))
	if err != nil {
		return err
	}
	defer f.Close()
	g := w.search
	g.begin(f)
	if v, ok := f.(provider.ContentViewer); ok {
		if ok, err := w.view(v); ok || err != nil {
			return err
		}
	}
	n, err := f.ReadAt(g.buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := w.r.judge(g.buf[:n]); err != nil {
		return err
	}
	if err != nil {
		g.whole(g.buf[:n])
		return nil
	}
	info, err := described(f.Stat())
	if err != nil {
		return err
	}
	if limit := w.r.q.MaxFileBytes; limit > 0 && info.Size() > limit {
		return syscall.EFBIG
	}
	if w.r.workers > 1 && g.before == 0 && g.after == 0 && info.Size() >= 2*partSize {
		return w.parts(f, info.Size())
	}
	return g.run(0, -1)
}

// small searches a file that fits the buffer, as most do. It leaves larger ones alone.
func (w *grepWorker) small(r provider.FileIntoReader, name provider.Path) (ok bool, err error) {
	g := w.search
	room, limited := g.buf, false
	if limit := w.r.q.MaxFileBytes; limit > 0 && limit < int64(len(room)) {
		room, limited = room[:limit], true
	}
	n, err := r.ReadFileInto(w.r.ctx, name, room)
	if errors.Is(err, syscall.EFBIG) && !limited {
		return false, nil
	}
	if err == nil {
		err = w.r.judge(room[:n])
	}
	if err != nil {
		return false, err
	}
	g.begin(nil)
	g.whole(room[:n])
	return true, nil
}

// view searches a file where it lies in memory, if all of it does. Lines may be handed
// over meanwhile, and a caller may write to the file between two of them: nobody waits
// for who looks at it, and it stays as it is.
func (w *grepWorker) view(v provider.ContentViewer) (ok bool, err error) {
	if ok, err = v.ViewContent(len(w.search.buf), w.look); ok {
		err = w.unfit
	}
	return ok, err
}

// judge returns why a file that begins with text is left out, or nil.
func (r *grep) judge(text []byte) error {
	limit := r.q.MaxFileBytes
	switch {
	case limit > 0 && int64(len(text)) > limit:
		return syscall.EFBIG
	case isBinary(text):
		return ErrBinary
	}
	return nil
}

// filePart is a part of a large file: the lines that begin in it.
type filePart struct {
	start, end int64          // end -1: of the file
	out        chan grepBatch // closed when the part has been searched

	// Set before out is closed.
	lines int // how many lines end in it
	err   error
}

// parts has a large file searched in parts, by one goroutine that takes this
// worker's place and, as far as grep.helpers allows, by others. It passes their
// results on in order.
func (w *grepWorker) parts(f provider.File, size int64) error {
	// The last part reaches to the end of the file, whatever that is: the size may be
	// any number, that of a hole for instance.
	count := int(min((size-1)/partSize+1, math.MaxInt32))
	ahead := w.r.workers + 1
	queue := make(chan *filePart, ahead)
	var (
		wg    sync.WaitGroup
		over  atomic.Bool
		open  []*filePart
		hands int
	)
	search := func(g *fileSearch) {
		stand := w.r.newWorker(g)
		stand.path, stand.name = w.path, w.name
		for p := range queue {
			if over.Load() {
				close(p.out)
			} else {
				stand.part(p, f)
			}
		}
	}
	wg.Go(func() { search(w.search) })
	defer func() {
		// Nobody may be at the file when it is closed.
		over.Store(true)
		close(queue)
		for _, p := range open {
			for range p.out {
			}
		}
		wg.Wait()
		w.search.emit = w.emit
	}()
	line, found := 0, 0
	for i, offered := 0, 0; i < count; i++ {
		for ; offered < min(count, i+ahead); offered++ {
			p := newPart(offered, count)
			open = append(open, p)
			queue <- p // never blocks: it holds no more than open does
		}
		if hands < min(w.r.workers, count)-1 {
			select {
			case g := <-w.r.helpers:
				hands++
				wg.Go(func() {
					defer func() { w.r.helpers <- g }()
					if g == nil {
						g = w.r.newSearch()
					}
					search(g)
				})
			default:
			}
		}
		p := open[0]
		for b := range p.out {
			for i := range b.matches {
				b.matches[i].Line += line
			}
			found += len(b.matches)
			if len(w.batch.matches)+len(w.batch.skipped) > 0 && !w.flush() || !w.pass(b) {
				return nil
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

// newPart makes part i of count. All but the first begin one byte behind a page,
// because the byte before a part is read too: where a page is copied to a place
// whose offset in its page is a little larger, copying takes twice as long.
func newPart(i, count int) *filePart {
	p := &filePart{start: int64(i)*partSize + 1, end: int64(i+1)*partSize + 1, out: make(chan grepBatch, partBatches)}
	if i == 0 {
		p.start = 0
	}
	if i == count-1 {
		p.end = -1
	}
	return p
}

// part searches a part of a file.
func (w *grepWorker) part(p *filePart, f io.ReaderAt) {
	defer close(p.out)
	defer catch(&p.err)
	w.out = p.out
	w.batch, w.size = grepBatch{}, 0
	g := w.search
	g.begin(f)
	p.err = g.run(p.start, p.end)
	p.lines = g.line - 1
	if len(w.batch.matches) > 0 {
		w.flush()
	}
}
