package policyfs

import (
	"io/fs"
	"iter"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
)

// errSwapped is why a walk or a search ends when the namespace table it began
// with has been replaced.
const errSwapped = syscall.ESTALE

// Entry is what [FS.Walk] comes upon.
type Entry struct {
	// Path is the canonical path.
	Path namespace.Path
	// Name is the display spelling of Path, which every method takes.
	Name string
	// DirEntry describes it. Its Info asks the storage anew, under the policy and
	// the context of the walk; it may be called at any time.
	DirEntry fs.DirEntry
}

// WalkOptions are the options of [FS.Walk].
type WalkOptions struct {
	// Skip, if set, is asked about each directory below the root before it is
	// entered: true leaves out its content, the directory itself is yielded all
	// the same. It is called on the iterating goroutine, once for each directory,
	// at some time before its content comes.
	Skip func(Entry) bool
	// Ignore leaves out what the .gitignore files of the tree exclude, as far as
	// the policy lets the caller read those files. The root is never left out.
	Ignore bool
	// Progress, if set, is called on the iterating goroutine, at most ten times
	// a second and once at the end.
	Progress func(Progress)
}

// Walk yields root and everything below it that the policy permits, in byte order
// of the full path: "a-b" and "a.b" come between "a" and "a/z". It never goes
// through a link, and opens no directory that the policy refuses; links and
// irregular files are entries like others. There may be one WalkOptions.
//
// root asks for OpRead or OpList, like opening it. An error comes with the Entry
// it is about and the walk goes on: a directory that cannot be listed is yielded
// once by itself and once with the error. Three errors end the walk and come with
// an Entry that names no path: that of a context that is done, a *DeniedError
// when more than Options.MaxWalk entries were visited, and syscall.ESTALE when the
// namespace table was swapped meanwhile.
//
// Directories are listed by a few goroutines ahead of the iteration; all of them
// have ended when the iteration ends.
func (f *FS) Walk(root string, opts ...WalkOptions) iter.Seq2[Entry, error] {
	var o WalkOptions
	if len(opts) > 0 {
		o = opts[0]
	}
	return func(yield func(Entry, error) bool) {
		v, t, info, err := f.walkRoot(root)
		if err != nil {
			yield(Entry{}, pathErr("walk", root, err))
			return
		}
		err = v.walk(&t, info, o, yield)
		v.done(OpList, &t, err)
		if err != nil {
			yield(Entry{}, pathErr("walk", root, err))
		}
	}
}

// walkRoot authorizes the root of a walk or a search, and describes it.
func (f *FS) walkRoot(root string) (v view, t target, info fs.FileInfo, err error) {
	err = f.view(&v)
	if err != nil {
		return v, t, nil, f.refuseAll(OpList, root, err)
	}
	err = f.resolve(&v, &t, root, &needs{ops: [3]Op{OpRead}, instead: OpList})
	if err != nil {
		return v, t, nil, err
	}
	if info, err = v.statTarget(&t, true); err != nil {
		v.done(OpList, &t, err)
	}
	return v, t, info, err
}

// walk yields the tree at t. It returns what ended it early, and nil when the
// caller did.
func (v *view) walk(t *target, info fs.FileInfo, o WalkOptions, yield func(Entry, error) bool) error {
	meter := newProgressMeter(o.Progress)
	made := walkEntries{v: v}
	if !yield(Entry{t.Path, v.ns.Display(t.Path), made.entry(t.Path, info.Mode().Type())}, nil) {
		return nil
	}
	if !info.IsDir() {
		meter.add(1, 0)
		meter.end()
		return nil
	}
	w := newWalker(v.fs.context(), v, t, walkAll{}, nil)
	if o.Ignore {
		w.ignore(t)
	}
	if o.Skip != nil {
		asked := walkEntries{v: v} // with memory of its own
		w.skip = func(d *walkDir) bool {
			return o.Skip(Entry{d.path, v.ns.Display(d.path), asked.entry(d.path, d.typ)})
		}
	}
	defer w.close()
	var joiner namespace.Joiner
	files := int64(0)
	for {
		step, ok := w.next()
		if !ok {
			break
		}
		if step.dir == nil {
			return step.err
		}
		p, err := step.path(&joiner)
		if err != nil {
			continue // no path can spell it, so nobody can be told of it
		}
		typ := step.dir.typ
		if step.item != nil {
			typ = step.item.typ
		}
		e := Entry{p, v.ns.Display(p), made.entry(p, typ)}
		if step.item == nil {
			err = pathErr("open", e.Name, step.err)
		}
		if !yield(e, err) {
			return nil
		}
		if step.item != nil && !step.item.typ.IsDir() {
			files++
		}
		if files >= 32 || step.item == nil || step.item.typ.IsDir() {
			meter.add(files, 0)
			files = 0
		}
	}
	meter.add(files, 0)
	meter.end()
	return nil
}

// walkAll keeps everything.
type walkAll struct{}

func (walkAll) open(*walkDir, any, []listedEntry) any { return nil }

func (walkAll) judge(*walkDir, any, *listedEntry) (keep, enter bool, child any) {
	return true, true, nil
}

// walkEntries makes the Entries of a walk.
type walkEntries struct {
	v    *view
	kind *walkKind   // of the last one
	slab []walkEntry // for those to come
}

func (m *walkEntries) entry(p namespace.Path, typ fs.FileMode) *walkEntry {
	if len(m.slab) == 0 {
		m.slab = make([]walkEntry, walkSlab)
	}
	if m.kind == nil || m.kind.typ != typ {
		m.kind = &walkKind{m.v, typ}
	}
	e := &m.slab[0]
	m.slab = m.slab[1:]
	e.walkKind, e.path = m.kind, p.String()
	return e
}

// walkSlab is how many walkEntries share an allocation: 1 KiB with what the runtime
// adds. Whoever keeps one keeps so much, and the texts of the other paths.
const walkSlab = 42

// walkEntry is the fs.DirEntry of an Entry. Walks make many, so it is small.
type walkEntry struct {
	*walkKind
	path string // canonical
}

// walkKind is what entries one after the other have in common.
type walkKind struct {
	v   *view
	typ fs.FileMode
}

var _ fs.DirEntry = (*walkEntry)(nil)

func (e *walkEntry) Name() string      { return e.path[strings.LastIndexByte(e.path, '/')+1:] }
func (e *walkEntry) IsDir() bool       { return e.typ.IsDir() }
func (e *walkEntry) Type() fs.FileMode { return e.typ }
func (e *walkEntry) String() string    { return fs.FormatDirEntry(e) }

// Info describes what is there now, judged like any other Lstat.
func (e *walkEntry) Info() (fs.FileInfo, error) {
	info, err := e.v.fs.stat(e.v, e.path, false)
	if err == nil {
		return info, nil
	}
	p, _ := namespace.Parse(namespace.Path{}, e.path)
	return nil, pathErr("lstat", e.v.ns.Display(p), err)
}
