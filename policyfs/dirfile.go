package policyfs

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"syscall"

	"github.com/workspacefs/workspacefs/namespace"
)

// maxListing is the largest directory that is listed. A listing is sorted, so it
// has to be held as a whole.
const maxListing = 1 << 20

// dirStream is one listing of a directory: what the policy permits, sorted, and
// how much of it was given out.
type dirStream struct {
	dir     *File
	raw     []fs.DirEntry // the provider's, as they came
	entries []dirEntry
	next    int
}

// dirEntry is one permitted entry of a listing. Listings are made of many, so it
// is small: it finds the provider's entry by its place.
type dirEntry struct {
	name string
	of   *dirStream // nil in a walk, which keeps no more than name and type
	typ  fs.FileMode
	at   int32 // in of.raw; -1 for a mount point
}

var _ fs.DirEntry = (*dirEntry)(nil)

func (e *dirEntry) Name() string               { return e.name }
func (e *dirEntry) IsDir() bool                { return e.typ.IsDir() }
func (e *dirEntry) Type() fs.FileMode          { return e.typ }
func (e *dirEntry) String() string             { return fs.FormatDirEntry(e) }
func (e *dirEntry) Info() (fs.FileInfo, error) { return e.of.dir.entryInfo(e) }

// entryInfo describes an entry: through the directory's handle, which resolves no
// path again. Once that is closed, and when the entry is no longer what was listed
// (a file in the place of a directory that is only passed through is not for the
// caller to see), through Lstat and the policy.
func (f *File) entryInfo(e *dirEntry) (fs.FileInfo, error) {
	if e.at >= 0 {
		info, err := described(e.of.raw[e.at].Info())
		if err == nil && info.Mode().Type() == e.typ {
			return publicInfo(info, e.name), nil
		}
		if err != nil && !errors.Is(err, fs.ErrClosed) {
			return nil, f.err("lstat", err)
		}
	}
	p, err := f.path.Join(e.name)
	if err != nil {
		return nil, f.err("lstat", err)
	}
	info, err := f.fs.lstatPath(p)
	return info, f.err("lstat", err)
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
		list := make([]fs.FileInfo, 0, len(page))
		for i := range page {
			info, err := page[i].Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return list, err
			}
			list = append(list, info)
		}
		if err != nil || n <= 0 || len(list) > 0 {
			return list, f.err("readdirent", err)
		}
	}
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
	raw, err := listed(f.f.ReadDir(maxListing))
	if err != nil {
		return nil, err
	}
	s := listScratches.Get().(*listScratch)
	defer listScratches.Put(s)
	dir := &dirStream{dir: f, raw: raw}
	v := f.view()
	found := v.visible(s, f.path, raw, dir)
	dir.entries = s.sort(make([]dirEntry, 0, len(found)), found)
	clear(found) // they hold on to the listing
	return dir, nil
}

// visible filters the entries of the directory at p and adds the mount points
// below it, in no order. The result is part of s.
func (v *view) visible(s *listScratch, p namespace.Path, raw []fs.DirEntry, of *dirStream) []dirEntry {
	c := newCursor(v.pol, p)
	aliases := v.aliasCursors(p)
	mounts := v.ns.Children(p)
	keep := func(name string, isDir bool) bool {
		if !c.entry(name, isDir) {
			return false
		}
		for _, a := range aliases {
			if !a.entry(name, isDir) {
				return false
			}
		}
		return true
	}
	found := room(&s.found, len(raw)+len(mounts))
	for i, e := range raw {
		name, typ := e.Name(), e.Type()
		if len(mounts) > 0 && (slices.Contains(mounts, name) || v.foldsLikeMount(p, name)) {
			continue // the mount point is what is there
		}
		if keep(name, typ.IsDir()) {
			found = append(found, dirEntry{name, of, typ, int32(i)})
		}
	}
	for _, name := range mounts {
		if keep(name, true) && v.mountVisible(p, name) {
			found = append(found, dirEntry{name, of, fs.ModeDir, -1})
		}
	}
	return found
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
