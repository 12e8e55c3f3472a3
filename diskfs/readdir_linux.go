package diskfs

import (
	"encoding/binary"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// direntBuf is the size of one read of a directory: about 2,000 entries.
const direntBuf = 64 << 10

// direntBufs lends the buffers; a listing holds one only while it reads.
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
			end := max(reclen-8, nameAt)
			for end < reclen && rec[end] != 0 {
				end++
			}
			name := rec[nameAt:end]
			if len(name) <= 2 && (string(name) == "." || string(name) == "..") {
				continue
			}
			if !yield(name, rec[typeAt]) {
				return
			}
		}
	}
}

// entryChunk is how many entries share one allocation, and how many infos.
const entryChunk = 128

// chunk is a block of entries of one listing.
type chunk struct {
	dir     *file
	entries []dirEntry
	infos   atomic.Pointer[[entryChunk]info]
}

// info returns room for entry i's first info; other calls get their own.
func (c *chunk) info(i int) *info {
	slots := c.infos.Load()
	if slots == nil {
		slots = new([entryChunk]info)
		if !c.infos.CompareAndSwap(nil, slots) {
			slots = c.infos.Load()
		}
	}
	return &slots[i]
}

// dirEntry is one name in a directory. Its Info looks the name up in the
// directory's descriptor, when asked.
type dirEntry struct {
	name  string
	of    *chunk
	index uint8
	typ   uint8 // DT_*
	used  atomic.Bool
}

var _ fs.DirEntry = (*dirEntry)(nil)

func (e *dirEntry) Name() string      { return e.name }
func (e *dirEntry) IsDir() bool       { return e.typ == unix.DT_DIR }
func (e *dirEntry) Type() fs.FileMode { return typeMode(uint32(e.typ) << 12) }

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
	var st unix.Stat_t
	if en := fstatat(fd, e.name, &st); en != 0 {
		return nil, mapErrno(en)
	}
	var i *info
	if e.used.CompareAndSwap(false, true) {
		i = e.of.info(int(e.index))
	} else {
		i = new(info)
	}
	fillInfo(i, e.name, &st)
	return i, nil
}

// ReadDir lists the directory; see [provider.File].
func (f *file) ReadDir(limit int) ([]fs.DirEntry, error) {
	fd, ok := f.desc.use()
	if !ok {
		return nil, fs.ErrClosed
	}
	defer f.desc.done()
	if !f.dir {
		return nil, unix.ENOTDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listed {
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			return nil, err
		}
	}
	f.listed = true
	buf := direntBufs.Get().(*[direntBuf]byte)
	defer direntBufs.Put(buf)
	out := []fs.DirEntry{}
	for {
		n, e := getdents(fd, buf[:])
		if e != 0 {
			return nil, mapErrno(e)
		}
		if n == 0 {
			return out, nil
		}
		var err error
		if out, err = f.appendEntries(out, fd, buf[:n], limit); err != nil {
			return nil, err
		}
	}
}

// appendEntries adds the entries that one read brought. All their names share
// one string, and every entryChunk of them one block.
func (f *file) appendEntries(out []fs.DirEntry, fd int, buf []byte, limit int) ([]fs.DirEntry, error) {
	count, size := 0, 0
	for name := range dirents(buf) {
		count++
		size += len(name)
	}
	if count == 0 {
		return out, nil
	}
	var text strings.Builder
	text.Grow(size)
	for name := range dirents(buf) {
		text.Write(name)
	}
	names := text.String()
	if cap(out)-len(out) < count {
		// Doubling beats append's growth for the sizes that matter here.
		grown := make([]fs.DirEntry, len(out), max(2*cap(out), len(out)+count))
		copy(grown, out)
		out = grown
	}
	var c *chunk
	at := 0
	for raw, typ := range dirents(buf) {
		name := names[at : at+len(raw)]
		at += len(raw)
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
				return nil, mapErrno(e)
			}
		}
		if limit > 0 && len(out) == limit {
			return nil, provider.ErrTooMany
		}
		if c == nil || len(c.entries) == cap(c.entries) {
			c = &chunk{dir: f, entries: make([]dirEntry, 0, min(entryChunk, count))}
		}
		count--
		i := len(c.entries)
		c.entries = c.entries[:i+1]
		ent := &c.entries[i]
		ent.name, ent.of, ent.index, ent.typ = name, c, uint8(i), typ
		out = append(out, ent)
	}
	return out, nil
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
	if !f.dir {
		return unix.ENOTDIR
	}
	if !oneElem(elem) || f.fs.reserved(elem) {
		return provider.ErrPath
	}
	if err := f.fs.checkAlias(fd, elem); err != nil {
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
	if elem == "" || elem == "." || elem == ".." {
		return false
	}
	for i := range len(elem) {
		if elem[i] == '/' || elem[i] == 0 {
			return false
		}
	}
	return true
}
