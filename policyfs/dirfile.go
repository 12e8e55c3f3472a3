package policyfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// maxListing is the largest directory that is listed. A listing is sorted, so it
// has to be held as a whole.
const maxListing = 1 << 20

// dirStream is one listing of a directory: what the policy permits, sorted, and
// how much of it was given out.
type dirStream struct {
	dir     *File
	reader  provider.EntryReader // if the provider has one
	raw     []fs.DirEntry        // the provider's, as they came, if it has none
	entries []dirEntry
	next    int
}

// listedEntry is one permitted entry of a listing that is being made. Listings are
// made of many, so it is small: it finds the provider's entry by its place.
type listedEntry struct {
	name string
	typ  fs.FileMode
	at   int32 // in dirStream.raw, or one of the following
}

const (
	atMount = -1 // a mount point, which the provider does not list
	atName  = -2 // the provider describes entries by name
)

// dirEntry is one entry of a dirStream.
type dirEntry struct {
	listedEntry
	of *dirStream
}

var _ fs.DirEntry = (*dirEntry)(nil)

func (e *listedEntry) IsDir() bool { return e.typ.IsDir() }

func (e *dirEntry) Name() string               { return e.name }
func (e *dirEntry) Type() fs.FileMode          { return e.typ }
func (e *dirEntry) String() string             { return fs.FormatDirEntry(e) }
func (e *dirEntry) Info() (fs.FileInfo, error) { return e.of.dir.entryInfo(e) }

// entryInfo describes an entry: through the directory's handle, which resolves no
// path again. Once that is closed, and when the entry is no longer what was listed
// (a file in the place of a directory that is only passed through is not for the
// caller to see), through Lstat and the policy.
func (f *File) entryInfo(e *dirEntry) (fs.FileInfo, error) {
	info, err := e.ownInfo(new(provider.Info))
	switch {
	case info != nil:
		return info, nil
	case err != nil && !errors.Is(err, fs.ErrClosed):
		return nil, f.err("lstat", err)
	}
	p, err := f.path.Join(e.name)
	if err != nil {
		return nil, f.err("lstat", err)
	}
	info, err = f.fs.lstatPath(p)
	return info, f.err("lstat", err)
}

// ownInfo describes an entry through the directory's handle, in room where the
// provider takes it. It returns nil if that is closed, fails or has something else
// there than what was listed, and for a mount point.
func (e *dirEntry) ownInfo(room *provider.Info) (info fs.FileInfo, err error) {
	switch e.at {
	case atMount:
		return nil, nil
	case atName:
		info, err = room, e.of.reader.StatEntry(e.name, room)
	default:
		info, err = described(e.of.raw[e.at].Info())
	}
	if err != nil || info.Mode().Type() != e.typ {
		return nil, err
	}
	return publicInfo(info, e.name), nil
}

// ReadDir returns the next n entries that the policy permits, sorted by name; n
// <= 0 returns all that are left. With n > 0 an empty result comes with an error,
// io.EOF at the end. Refused entries are absent and do not count. The entries'
// Info may be called at any time.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) {
	page, err := f.page(n)
	if page == nil {
		return nil, f.err("readdirent", err)
	}
	list := make([]fs.DirEntry, len(page))
	for i := range page {
		list[i] = &page[i]
	}
	return list, f.err("readdirent", err)
}

// Readdir is ReadDir with the FileInfo of every entry. Entries that vanish
// meanwhile are left out, as in package os.
func (f *File) Readdir(n int) ([]fs.FileInfo, error) {
	for {
		page, err := f.page(n)
		if page == nil {
			return nil, f.err("readdirent", err)
		}
		list, ierr := f.infos(page)
		if ierr != nil {
			return list, ierr
		}
		if err != nil || n <= 0 || len(list) > 0 {
			return list, f.err("readdirent", err)
		}
	}
}

// infos describes entries, as many as it can before an error.
func (f *File) infos(page []dirEntry) ([]fs.FileInfo, error) {
	all := make([]fs.FileInfo, len(page))
	if len(page) > 0 && page[0].of.reader != nil {
		describeEntries(page, all)
	}
	list := all[:0]
	for i := range all {
		info := all[i]
		if info == nil {
			var err error
			if info, err = f.entryInfo(&page[i]); errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return list, err
			}
		}
		list = append(list, info)
	}
	return list, nil
}

const (
	// infoRoom is how many infos of a listing share an allocation.
	infoRoom = 128
	// manyInfos is how many are worth a second goroutine: describing one is a
	// system call, or a message to a server.
	manyInfos = 2 * infoRoom
)

// describeEntries fills in what the directory's handle knows of the entries, by several
// goroutines if they are many. Whatever is not so simple is left nil, for
// entryInfo: no policy is asked here, and nobody is told.
func describeEntries(page []dirEntry, infos []fs.FileInfo) {
	var next atomic.Int64
	work := func() {
		var ignored error // entryInfo meets it again, panics included, on the caller's goroutine
		defer catch(&ignored)
		for {
			end := int(next.Add(infoRoom))
			start := end - infoRoom
			if start >= len(page) {
				return
			}
			end = min(end, len(page))
			room := make([]provider.Info, end-start)
			for i := start; i < end; i++ {
				infos[i], _ = page[i].ownInfo(&room[i-start])
			}
		}
	}
	var helpers sync.WaitGroup
	if len(page) >= manyInfos {
		for range min(prefetchers(), len(page)/infoRoom-1) {
			helpers.Go(work)
		}
	}
	work()
	helpers.Wait()
}

// Readdirnames is ReadDir with the names only.
func (f *File) Readdirnames(n int) ([]string, error) {
	page, err := f.page(n)
	if page == nil {
		return nil, f.err("readdirent", err)
	}
	names := make([]string, len(page))
	for i := range page {
		names[i] = page[i].name
	}
	return names, f.err("readdirent", err)
}

// page takes the next n entries (all that are left for n <= 0) of the listing,
// which is read when its first page is asked for. It returns nil only with an
// error.
func (f *File) page(n int) ([]dirEntry, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dir == nil {
		dir, err := f.list()
		if err != nil {
			return nil, err
		}
		f.dir = dir
	} else if err := f.alive(nil); err != nil {
		return nil, err
	}
	rest := f.dir.entries[f.dir.next:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	f.dir.next += len(rest)
	return slices.Clip(rest), nil
}

// listScratches lends the memory that a listing is made with.
var listScratches = sync.Pool{New: func() any { return new(listScratch) }}

// list reads the directory and keeps what the policy permits.
func (f *File) list() (*dirStream, error) {
	if !f.mode.read {
		return nil, f.alive(syscall.ENOTDIR)
	}
	s := listScratches.Get().(*listScratch)
	defer listScratches.Put(s)
	v, dir := f.view(), &dirStream{dir: f}
	found, err := v.visible(s, f.path, f.f, maxListing, dir)
	if err != nil {
		return nil, err
	}
	order := s.sort(found)
	dir.entries = make([]dirEntry, len(order))
	for i, at := range order {
		dir.entries[i] = dirEntry{found[at], dir}
	}
	clear(found) // they hold on to the listing
	return dir, nil
}

// visible lists the directory at p, open as dir, and returns what the policy
// permits and the mount points below it, in no order. More than limit entries are
// provider.ErrTooMany. The result is part of s; of, if not nil, gets what its
// entries need for their Info.
func (v *view) visible(s *listScratch, p namespace.Path, dir provider.File, limit int, of *dirStream) ([]listedEntry, error) {
	c := newCursor(v.pol, p)
	aliases := v.aliasCursors(p)
	mounts := v.ns.Children(p)
	found := s.found[:0]
	add := func(name string, typ fs.FileMode, at int32) {
		if !c.entry(name, typ.IsDir()) {
			return
		}
		for _, a := range aliases {
			if !a.entry(name, typ.IsDir()) {
				return
			}
		}
		if len(found) == cap(found) {
			found = slices.Grow(found, max(len(found), 64)) // as many again
		}
		found = append(found, listedEntry{name, typ, at})
	}
	// Where there is a mount point, it is what is there.
	below := func(name string) bool {
		return len(mounts) > 0 && (slices.Contains(mounts, name) || v.foldsLikeMount(p, name))
	}
	if r, ok := dir.(provider.EntryReader); ok {
		if of != nil {
			of.reader = r
		}
		err := r.ReadEntries(limit, func(name string, typ fs.FileMode) {
			if !below(name) {
				add(name, typ, atName)
			}
		})
		if err != nil {
			return nil, err
		}
	} else {
		raw, err := listed(dir.ReadDir(limit))
		if err != nil {
			return nil, err
		}
		if of != nil {
			of.raw = raw
		}
		for i, e := range raw {
			if name := e.Name(); !below(name) {
				add(name, e.Type(), int32(i))
			}
		}
	}
	for _, name := range mounts {
		if v.mountVisible(p, name) {
			add(name, fs.ModeDir, atMount)
		}
	}
	if cap(found) <= maxScratch {
		s.found = found
	}
	return found, nil
}

// mountVisible judges the mount point name below p at the other agent paths of
// what is mounted there.
func (v *view) mountVisible(p namespace.Path, name string) bool {
	q, err := p.Join(name)
	if err != nil {
		return false
	}
	for _, alias := range v.ns.Aliases(q) {
		if !check(v.pol, Request{OpList, alias}).Allow {
			return false
		}
	}
	return true
}

// foldsLikeMount reports whether the mount table refuses name below p, because
// it folds like a mount point without being one.
func (v *view) foldsLikeMount(p namespace.Path, name string) bool {
	q, err := p.Join(name)
	if err != nil {
		return true
	}
	_, err = v.ns.Lookup(q)
	return err != nil
}

// aliasCursors returns the cursors of the other agent paths of a directory.
func (v *view) aliasCursors(p namespace.Path) []cursor {
	aliases := v.ns.Aliases(p)
	if len(aliases) == 0 {
		return nil
	}
	cursors := make([]cursor, len(aliases))
	for i, a := range aliases {
		cursors[i] = newCursor(v.pol, a)
	}
	return cursors
}

// lstatPath is Lstat for a canonical path, judged like any other.
func (f *FS) lstatPath(p namespace.Path) (fs.FileInfo, error) {
	var v view
	if err := f.view(&v); err != nil {
		return nil, f.refuseAll(OpStat, p.String(), err)
	}
	return f.stat(&v, p.String(), false)
}
