package diskfs

import (
	"encoding/binary"
	"io/fs"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// direntBuf is the size of one read of a directory: about 2,000 entries.
const direntBuf = 64 << 10

// direntBufs lends the buffers; a listing holds them only while it reads.
var direntBufs = sync.Pool{New: func() any { return new([direntBuf]byte) }}

// getdents reads entries at the descriptor's position. A removed directory has
// none.
func getdents(fd int, buf []byte) (int, unix.Errno) {
	for {
		n, err := unix.Getdents(fd, buf)
		switch e := errno(err); e {
		case unix.EINTR:
		case unix.ENOENT:
			return 0, 0
		default:
			return max(n, 0), e
		}
	}
}

// dirents yields names and types (DT_*) of the records in buf, without "." and
// "..". The names lie in buf.
func dirents(buf []byte) iter.Seq2[[]byte, uint8] {
	const (
		reclenAt = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
		typeAt   = int(unsafe.Offsetof(unix.Dirent{}.Type))
		nameAt   = int(unsafe.Offsetof(unix.Dirent{}.Name))
	)
	return func(yield func([]byte, uint8) bool) {
		for len(buf) > nameAt {
			reclen := int(binary.NativeEndian.Uint16(buf[reclenAt:]))
			if reclen <= nameAt || reclen > len(buf) {
				return // no kernel writes this
			}
			rec := buf[:reclen]
			buf = buf[reclen:]
			// Records are as long as their name, its NUL and the padding to
			// eight bytes need, so the NUL is among the last eight.
			last := binary.LittleEndian.Uint64(rec[reclen-8:])
			if reclen-8 < nameAt { // what stands before the name is none of it
				last |= 1<<(8*(nameAt-(reclen-8))) - 1
			}
			name := rec[nameAt : reclen-8+firstZero(last)]
			if len(name) <= 2 && (string(name) == "." || string(name) == "..") {
				continue
			}
			if !yield(name, rec[typeAt]) {
				return
			}
		}
	}
}

// firstZero returns the place of the first byte of w that is zero, the lowest being
// the first, and 8 when there is none.
func firstZero(w uint64) int {
	const ones = 0x0101010101010101
	return bits.TrailingZeros64((w-ones)&^w&(0x80*ones)) / 8
}

// ReadEntries lists the directory; see [provider.EntryReader].
func (f *file) ReadEntries(limit int, visit func(name string, typ fs.FileMode)) error {
	fd, ok := f.desc.use()
	if !ok {
		return fs.ErrClosed
	}
	defer f.desc.done()
	if !f.dir {
		return unix.ENOTDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed {
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return err
		}
	}
	f.listed = true
	clear(f.tildes)
	buf, text := direntBufs.Get().(*[direntBuf]byte), direntBufs.Get().(*[direntBuf]byte)
	defer direntBufs.Put(buf)
	defer direntBufs.Put(text)
	for count := 0; ; {
		n, e := getdents(fd, buf[:])
		if e != 0 {
			return mapErrno(e)
		}
		if n == 0 {
			return nil
		}
		if err := f.visitEntries(fd, buf[:n], text[:0], limit, &count, visit); err != nil {
			return err
		}
	}
}

// visitEntries visits the entries that one read brought, and counts them. All
// their names share one string, which is put together in text.
func (f *file) visitEntries(fd int, buf, text []byte, limit int, count *int, visit func(name string, typ fs.FileMode)) error {
	for name := range dirents(buf) {
		text = append(text, name...)
	}
	names := string(text)
	for raw, typ := range dirents(buf) {
		name := names[:len(raw)]
		names = names[len(raw):]
		if f.fs.reserved(name) {
			continue
		}
		if typ == unix.DT_UNKNOWN {
			// Storage without types in its directories.
			var st unix.Stat_t
			switch e := fstatat(fd, name, &st); e {
			case 0:
				typ = uint8(st.Mode & unix.S_IFMT >> 12)
			case unix.ENOENT:
				continue
			default:
				return mapErrno(e)
			}
		}
		if limit > 0 && *count == limit {
			return provider.ErrTooMany
		}
		*count++
		if f.fs.traits.aliases && mayBeAlias(name) {
			if f.tildes == nil {
				f.tildes = make(map[string]struct{})
			}
			f.tildes[name] = struct{}{}
		}
		visit(name, typeMode(uint32(typ)<<12))
	}
	return nil
}

// StatEntry describes one entry of the directory; see [provider.EntryReader].
func (f *file) StatEntry(elem string, info *provider.Info) error {
	fd, ok := f.desc.use()
	if !ok {
		return fs.ErrClosed
	}
	defer f.desc.done()
	if !f.hasListed(elem) {
		if err := f.checkElem(fd, elem); err != nil {
			return err
		}
	}
	return statEntry(fd, elem, info)
}

// hasListed reports whether the last listing had elem, which looks like a short name:
// then it is none, and to look through the directory once more for each of many
// such entries would take a time that is the square of their number. Of an entry
// removed since, the name may by now be short for another one, which is described
// then, as by the Info of a listed entry.
func (f *file) hasListed(elem string) bool {
	if !f.fs.traits.aliases || !mayBeAlias(elem) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.tildes[elem]
	return ok
}

func statEntry(fd int, elem string, info *provider.Info) error {
	var st unix.Stat_t
	if e := fstatat(fd, elem, &st); e != 0 {
		return mapErrno(e)
	}
	fillInfo(info, elem, &st)
	return nil
}

// checkElem refuses what is no entry of a directory that may be named.
func (f *file) checkElem(fd int, elem string) error {
	if !f.dir {
		return unix.ENOTDIR
	}
	if !oneElem(elem) || f.fs.reserved(elem) {
		return provider.ErrPath
	}
	return f.fs.checkAlias(fd, elem)
}

// ReadDir lists the directory; see [provider.File].
func (f *file) ReadDir(limit int) ([]fs.DirEntry, error) {
	list := entryList{dir: f, out: []fs.DirEntry{}}
	if err := f.ReadEntries(limit, list.add); err != nil {
		return nil, err
	}
	return list.out, nil
}

// entryList is a listing that is being made.
type entryList struct {
	dir  *file
	out  []fs.DirEntry
	last *chunk
}

// minChunk and maxChunk bound how many entries share one allocation.
const (
	minChunk = 8
	maxChunk = 128
)

// add appends one entry.
func (l *entryList) add(name string, typ fs.FileMode) {
	c := l.last
	if c == nil || len(c.entries) == cap(c.entries) {
		c = &chunk{dir: l.dir, entries: make([]dirEntry, 0, min(max(2*len(l.out), minChunk), maxChunk))}
		l.last = c
	}
	if len(l.out) == cap(l.out) {
		l.out = slices.Grow(l.out, max(len(l.out), minChunk)) // doubling beats append's growth for the sizes that matter here
	}
	i := len(c.entries)
	c.entries = c.entries[:i+1]
	ent := &c.entries[i]
	ent.name, ent.of, ent.typ = name, c, typ
	l.out = append(l.out, ent)
}

// chunk is a block of entries of one listing, with room for an info of each, which
// is made when the first is asked for.
type chunk struct {
	dir     *file
	entries []dirEntry
	once    sync.Once
	infos   []info
	used    atomic.Int32
}

// info returns room for an info.
func (c *chunk) info() *info {
	c.once.Do(func() { c.infos = make([]info, len(c.entries)) })
	if int(c.used.Load()) < len(c.infos) { // it must not count until it is negative, and zero again
		if i := int(c.used.Add(1)) - 1; i < len(c.infos) {
			return &c.infos[i]
		}
	}
	return new(info) // of an entry that is asked again
}

// dirEntry is one name in a directory. Its Info looks the name up in the
// directory's descriptor, when asked.
type dirEntry struct {
	name string
	of   *chunk
	typ  fs.FileMode
}

var _ fs.DirEntry = (*dirEntry)(nil)

func (e *dirEntry) Name() string      { return e.name }
func (e *dirEntry) IsDir() bool       { return e.typ.IsDir() }
func (e *dirEntry) Type() fs.FileMode { return e.typ }

// String formats e as package fs does.
func (e *dirEntry) String() string { return fs.FormatDirEntry(e) }

// Info describes what the name holds now.
func (e *dirEntry) Info() (fs.FileInfo, error) {
	dir := e.of.dir
	fd, ok := dir.desc.use()
	if !ok {
		return nil, fs.ErrClosed
	}
	defer dir.desc.done()
	i := e.of.info()
	if err := statEntry(fd, e.name, i); err != nil {
		return nil, err
	}
	return i, nil
}

// RemoveEntry removes one entry of the directory; see [provider.EntryRemover].
// For a directory it also removes stale temporaries in it, when it holds
// nothing else (package comment, section Temporaries).
func (f *file) RemoveEntry(elem string, dir bool) error {
	fd, ok := f.desc.use()
	if !ok {
		return fs.ErrClosed
	}
	defer f.desc.done()
	if f.fs.readOnly {
		return unix.EROFS
	}
	if err := f.checkElem(fd, elem); err != nil {
		return err
	}
	f.fs.lock.mu.RLock()
	defer f.fs.lock.mu.RUnlock()
	if dir {
		return f.fs.rmdirAt(fd, elem)
	}
	return mapErrno(unlinkFile(fd, elem))
}

// oneElem reports whether elem names one entry for the kernel.
func oneElem(elem string) bool {
	return elem != "" && elem != "." && elem != ".." && strings.IndexByte(elem, '/') < 0 && strings.IndexByte(elem, 0) < 0
}
