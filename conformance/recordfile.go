package conformance

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/workspacefs/workspacefs/provider"
)

// recordedFile is a File that writes down its calls.
type recordedFile struct {
	r     *recorder
	inner provider.File
	id    int
	name  provider.Path
}

var _ provider.File = (*recordedFile)(nil)

// recordedRemover is a recordedFile of a File that has an EntryRemover.
type recordedRemover struct{ *recordedFile }

var _ provider.EntryRemover = recordedRemover{}

func (f *recordedFile) begin(format string, args ...any) func(string) {
	return f.r.tr.calls.begin("file %d."+format, append([]any{f.id}, args...)...)
}

// counted notes the result of a call that returns a count beside an error.
func (f *recordedFile) counted(end func(string), op string, n, asked int, err error) (int, error) {
	end(fmt.Sprintf("%d, %s", n, describe(err)))
	f.r.inv.count(op, n, asked, err)
	f.r.inv.err(op, err)
	return n, err
}

// ReadAt implements [provider.File].
func (f *recordedFile) ReadAt(p []byte, off int64) (int, error) {
	end := f.begin("ReadAt(%d bytes, %d)", len(p), off)
	n, err := f.inner.ReadAt(p, off)
	n, err = f.counted(end, "ReadAt", n, len(p), err)
	if n == 0 && err == nil && len(p) > 0 {
		err = io.ErrNoProgress // noted above; a check that reads to the end must get there
	}
	return n, err
}

// WriteAt implements [provider.File].
func (f *recordedFile) WriteAt(p []byte, off int64) (int, error) {
	end := f.begin("WriteAt(%s, %d)", describeBytes(p), off)
	n, err := f.inner.WriteAt(p, off)
	return f.counted(end, "WriteAt", n, len(p), err)
}

// Append implements [provider.File].
func (f *recordedFile) Append(p []byte) (n int, size int64, err error) {
	end := f.begin("Append(%s)", describeBytes(p))
	n, size, err = f.inner.Append(p)
	end(fmt.Sprintf("%d, %d, %s", n, size, describe(err)))
	f.r.inv.count("Append", n, len(p), err)
	f.r.inv.err("Append", err)
	return n, size, err
}

// Close implements [provider.File].
func (f *recordedFile) Close() error {
	end := f.begin("Close()")
	return f.r.done(end, "File.Close", f.inner.Close())
}

// Truncate implements [provider.File].
func (f *recordedFile) Truncate(size int64) error {
	end := f.begin("Truncate(%d)", size)
	return f.r.done(end, "Truncate", f.inner.Truncate(size))
}

// Sync implements [provider.File].
func (f *recordedFile) Sync() error {
	end := f.begin("Sync()")
	return f.r.done(end, "Sync", f.inner.Sync())
}

// Stat implements [provider.File].
func (f *recordedFile) Stat() (fs.FileInfo, error) {
	end := f.begin("Stat()")
	info, err := f.inner.Stat()
	return f.r.info(end, "File.Stat", f.name.Base(), info, err)
}

// ReadDir implements [provider.File].
func (f *recordedFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	end := f.begin("ReadDir(%d)", limit)
	entries, err := f.inner.ReadDir(limit)
	if err != nil {
		f.r.done(end, "ReadDir", err)
		f.r.inv.nilBeside("ReadDir", len(entries) > 0)
		return nil, err
	}
	end(describeEntries(entries))
	f.r.inv.entries(entries)
	recorded := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		recorded[i] = recordedEntry{DirEntry: e, f: f}
	}
	return recorded, nil
}

// RemoveEntry implements [provider.EntryRemover].
func (f recordedRemover) RemoveEntry(elem string, dir bool) error {
	end := f.begin("RemoveEntry(%q, %v)", elem, dir)
	return f.r.done(end, "RemoveEntry", f.inner.(provider.EntryRemover).RemoveEntry(elem, dir))
}

// recordedEntry is a DirEntry whose Info is written down.
type recordedEntry struct {
	fs.DirEntry
	f *recordedFile
}

// Info implements [fs.DirEntry].
func (e recordedEntry) Info() (fs.FileInfo, error) {
	end := e.f.begin("entry %q.Info()", e.Name())
	info, err := e.DirEntry.Info()
	return e.f.r.info(end, "DirEntry.Info", e.Name(), info, err)
}
