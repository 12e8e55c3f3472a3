package policyfs

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

const (
	// minListing is the smallest bound on the raw entries of one directory that a
	// walk lists. It is above DefaultMaxWalk, because entries that the caller may
	// not see count here and not there.
	minListing = 1 << 18
	// maxAhead is how many entries the walker lists ahead of the caller. It
	// bounds its memory in trees of any size.
	maxAhead = 16 << 10
	// maxSpare is how many lists of items are kept to be used again, and
	// maxSpareItems how long one may be: all together hold no more than is listed
	// ahead.
	maxSpare      = 16
	maxSpareItems = maxAhead / maxSpare
	// maxPrefetchers is how many goroutines list ahead, at most.
	maxPrefetchers = 3
)

// walkFilter decides which permitted entries a walk is about. It is called on
// several goroutines at a time and must be a pure function.
type walkFilter interface {
	// open is called once for a directory that has been listed, before judge is
	// called for its entries, which are in no order here; scope is what judge
	// returned for it as child. It returns what judge is given as scope.
	open(d *walkDir, scope any, entries []listedEntry) any
	// judge says whether an entry is wanted, and whether a directory is entered;
	// scope belongs to the directory it is in, and child to the one it is.
	judge(d *walkDir, scope any, e *listedEntry) (keep, enter bool, child any)
}

// walkDir is a directory of a walk.
type walkDir struct {
	path  namespace.Path
	asked namespace.Path // the path as it was asked for, where the shorthand applied
	typ   fs.FileMode    // as the directory it is in said
	scope any            // from the filter, of the directory it is in
	keep  bool           // the filter wants it, not only what is below
	skip  bool           // the caller does not want what is below

	// What follows is guarded by walker.mu until listed is true, and then
	// belongs to the consumer.
	taken, listed bool
	items         []walkItem
	dirs          []*walkDir // those of items that the filter enters
	err           error
}

// walkItem is an entry of a walkDir that is permitted. Walks hold many, and each
// pointer that is written costs while the garbage collector runs.
type walkItem struct {
	name string
	typ  fs.FileMode
	dir  int32 // its place in dirs, counted from 1; 0 if it is not entered
}

// below returns the directory that an item of d is, or nil if it is none that the
// filter enters.
func (d *walkDir) below(item *walkItem) *walkDir {
	if item.dir == 0 {
		return nil
	}
	return d.dirs[item.dir-1]
}

// walker visits the permitted part of a tree in byte order of the full path,
// while other goroutines list ahead of it.
//
// Only directories that the policy shows are opened, each through the namespace
// and never through a link. Directories to be listed lie on a stack, the one that
// is needed next on top, so that whoever has time takes the right one. The
// consumer takes a directory itself when nobody has yet: it never waits for work
// that has not begun.
type walker struct {
	v      *view
	ctx    context.Context
	root   *walkDir
	filter walkFilter
	limit  int                 // entries that may be visited
	skip   func(*walkDir) bool // if set, decides on the consumer's goroutine which directories are not entered

	entered bool // the root was
	frames  []walkFrame
	visited int
	scratch listScratch
	spare   chan []walkItem // the items of directories that were visited

	mu      sync.Mutex
	changed sync.Cond // a directory was listed, or there is something to do
	stack   []*walkDir
	ahead   int // entries listed and not visited
	idle    int // prefetchers that wait
	helpers int // prefetchers started
	most    int // prefetchers that may be started
	closed  atomic.Bool
	wg      sync.WaitGroup
}

// walkFrame is a directory that is being visited, or one of its entries.
type walkFrame struct {
	dir   *walkDir
	next  int   // index of the next item
	later []int // directories visited, whose content is still to come
}

// newWalker prepares a walk below the directory t. Close must be called.
func newWalker(ctx context.Context, v *view, t *target, filter walkFilter, scope any) *walker {
	w := &walker{
		v:      v,
		ctx:    ctx,
		root:   &walkDir{path: t.Path, typ: fs.ModeDir, scope: scope},
		filter: filter,
		limit:  v.fs.maxWalk(),
		most:   prefetchers(),
		spare:  make(chan []walkItem, maxSpare),
	}
	if t.Requested != t.Path {
		w.root.asked = t.Requested
	}
	w.changed.L = &w.mu
	return w
}

// close stops the prefetchers and waits for them.
func (w *walker) close() {
	w.mu.Lock()
	w.closed.Store(true)
	w.changed.Broadcast()
	w.mu.Unlock()
	w.wg.Wait()
}

// stopped reports whether nobody waits for what is listed.
func (w *walker) stopped() bool { return w.closed.Load() || w.ctx.Err() != nil }

// walkStep is what a walk comes upon: an entry that the filter keeps, or a
// directory that could not be listed.
type walkStep struct {
	dir   *walkDir // the directory, or the one that holds the entry
	item  *walkItem
	below *walkDir // the entry, if the filter enters it
	err   error
}

// path returns the path of what a step is about. It is called before next is.
func (s *walkStep) path(j *namespace.Joiner) (namespace.Path, error) {
	switch {
	case s.item == nil:
		return s.dir.path, nil
	case s.below != nil:
		return s.below.path, nil
	}
	return j.Join(s.dir.path, s.item.name)
}

// next returns the next step. It returns false at the end of the tree. A failure
// of the whole walk (the context, the limit, the table) is a step without dir.
func (w *walker) next() (walkStep, bool) {
	if !w.entered {
		w.entered = true // once, also when it fails
		if step, ok := w.enter(w.root); ok {
			return step, true
		}
	}
	for len(w.frames) > 0 {
		f := &w.frames[len(w.frames)-1]
		items := f.dir.items
		if n := len(f.later); n > 0 {
			i := f.later[n-1]
			if f.next == len(items) || contentFirst(items[i].name, items[f.next].name) {
				f.later = f.later[:n-1]
				dir := f.dir.below(&items[i])
				f.dir.dirs[items[i].dir-1] = nil // what was visited is garbage
				if step, ok := w.enter(dir); ok {
					return step, true
				}
				continue
			}
		}
		if f.next == len(items) {
			f.dir.items, f.dir.dirs = nil, nil
			w.recycle(items)
			w.frames = w.frames[:len(w.frames)-1]
			continue
		}
		if w.visited++; w.visited > w.limit {
			return walkStep{err: tooMany(w.limit, w.root.path)}, true
		}
		if w.visited%64 == 0 {
			if err := w.ctx.Err(); err != nil {
				return walkStep{err: err}, true
			}
		}
		item := &items[f.next]
		below := f.dir.below(item)
		switch {
		case below == nil:
		case below.skip:
			f.dir.dirs[item.dir-1] = nil // what is not visited, too
		default:
			f.later = append(f.later, f.next)
		}
		f.next++
		if below == nil || below.keep {
			return walkStep{dir: f.dir, item: item, below: below}, true
		}
	}
	return walkStep{}, false
}

// contentFirst reports whether the content of the directory named dir comes before
// its sibling next, in byte order of the full path: "a-b" lies between "a" and
// "a/z".
func contentFirst(dir, next string) bool {
	rest, ok := strings.CutPrefix(next, dir)
	return !ok || rest[0] > '/'
}

// tooMany is the refusal to go beyond MaxWalk.
func tooMany(limit int, root namespace.Path) error {
	rule := fmt.Sprintf("more than %d entries (MaxWalk)", limit)
	return &DeniedError{Op: OpList, Path: root, Rule: rule, Cause: provider.ErrTooMany}
}

// enter begins the visit of a directory. It returns a step when that fails.
func (w *walker) enter(d *walkDir) (walkStep, bool) {
	if err := w.ctx.Err(); err != nil {
		return walkStep{err: err}, true
	}
	if !w.v.current() {
		return walkStep{err: errSwapped}, true
	}
	w.await(d)
	if d.err != nil {
		rethrow(d.err)
		if err := w.ctx.Err(); err != nil {
			return walkStep{err: err}, true
		}
		return walkStep{dir: d, err: d.err}, true
	}
	if w.skip != nil {
		for _, below := range d.dirs {
			below.skip = w.skip(below)
		}
		w.mu.Lock()
		w.offer(d)
		w.mu.Unlock()
	}
	w.frames = append(w.frames, walkFrame{dir: d})
	return walkStep{}, false
}

// list reads a directory and judges its entries. It does not panic: enter does, on
// the goroutine of the caller.
func (w *walker) list(d *walkDir, s *listScratch) {
	defer catch(&d.err)
	d.items, d.dirs, d.err = w.read(d, s)
}

func (w *walker) read(d *walkDir, s *listScratch) (items []walkItem, dirs []*walkDir, err error) {
	entries, err := w.visible(d, s)
	if err != nil {
		return nil, nil, err
	}
	if d.asked != (namespace.Path{}) {
		entries = w.alsoAsked(d, entries)
	}
	scope := w.filter.open(d, d.scope, entries)
	order := s.sort(entries)
	items = w.room(len(order))
	for i, at := range order {
		if i%8 == 7 && w.stopped() { // a filter may take its time
			return nil, nil, w.ctx.Err()
		}
		e := &entries[at]
		item := walkItem{name: e.name, typ: e.typ}
		keep, enter, child := w.filter.judge(d, scope, e)
		if enter && e.IsDir() {
			if below := w.child(d, e.name, child); below != nil {
				below.typ, below.keep = e.typ, keep
				dirs = append(dirs, below)
				item.dir = int32(len(dirs))
			}
		}
		if keep || item.dir != 0 {
			items = append(items, item)
		}
	}
	return items, dirs, nil
}

// visible returns what the policy permits of d, in no order.
func (w *walker) visible(d *walkDir, s *listScratch) ([]listedEntry, error) {
	at, err := w.v.ns.Lookup(d.path)
	if err != nil {
		return nil, err
	}
	t := target{Target: at, traverse: !check(w.v.pol, Request{OpRead, d.path}).Allow}
	f, err := w.v.openForReading(&t, provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return w.v.visible(s, d.path, f, min(max(minListing, w.limit), maxListing), nil)
}

// recycle takes the items of a directory that was visited.
func (w *walker) recycle(items []walkItem) {
	if cap(items) <= maxSpareItems {
		select {
		case w.spare <- items[:0]:
		default:
		}
	}
}

// room returns an empty list with room for n items, and not for many more: it may
// be long until the directory is visited.
func (w *walker) room(n int) []walkItem {
	select {
	case items := <-w.spare:
		if n <= cap(items) && cap(items) <= 4*n {
			return items
		}
	default:
	}
	return make([]walkItem, 0, n)
}

// child returns the directory name below d, or nil when that is no path.
func (w *walker) child(d *walkDir, name string, scope any) *walkDir {
	path, err := d.path.Join(name)
	if err != nil {
		return nil
	}
	c := &walkDir{path: path, scope: scope}
	if d.asked != (namespace.Path{}) {
		if c.asked, err = d.asked.Join(name); err != nil {
			return nil
		}
	}
	return c
}

// alsoAsked keeps the entries that the policy shows at the path as it was asked
// for, too: the shorthand needs both.
func (w *walker) alsoAsked(d *walkDir, entries []listedEntry) []listedEntry {
	c := newCursor(w.v.pol, d.asked)
	kept := entries[:0]
	for _, e := range entries {
		if c.entry(e.name, e.IsDir()) {
			kept = append(kept, e)
		}
	}
	return kept
}
