package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/afero"
)

// recordedFs is an afero.Fs that writes down its calls.
type recordedFs struct {
	afero.Fs
	tr *trial
}

// recordedLstater is a recordedFs of one that is an afero.Lstater.
type recordedLstater struct{ *recordedFs }

func recordFs(tr *trial, f afero.Fs) afero.Fs {
	r := &recordedFs{f, tr}
	if _, ok := f.(afero.Lstater); ok {
		return recordedLstater{r}
	}
	return r
}

func (r *recordedFs) call(err *error, format string, args ...any) func() {
	end := r.tr.calls.begin(format, args...)
	return func() { end(describe(*err)) }
}

func (r *recordedFs) file(f afero.File, end func(string), err error) (afero.File, error) {
	if err != nil {
		end(describe(err))
		return nil, err
	}
	if f == nil {
		end("nil, nil")
		return nil, errNilFile
	}
	n := r.tr.calls.nextFile()
	end(fmt.Sprintf("file %d", n))
	r.tr.cleanup(func() { f.Close() })
	file := &recordedAferoFile{f, r.tr, n}
	if d, ok := f.(fs.ReadDirFile); ok {
		return recordedReadDirFile{file, d}, nil
	}
	return file, nil
}

func (r *recordedFs) Create(name string) (afero.File, error) {
	end := r.tr.calls.begin("Create(%q)", shorten(name))
	f, err := r.Fs.Create(name)
	return r.file(f, end, err)
}

func (r *recordedFs) Open(name string) (afero.File, error) {
	end := r.tr.calls.begin("Open(%q)", shorten(name))
	f, err := r.Fs.Open(name)
	return r.file(f, end, err)
}

func (r *recordedFs) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	end := r.tr.calls.begin("OpenFile(%q, %s, %#o)", shorten(name), describeFlag(flag), uint32(perm))
	f, err := r.Fs.OpenFile(name, flag, perm)
	return r.file(f, end, err)
}

func (r *recordedFs) Mkdir(name string, perm os.FileMode) (err error) {
	defer r.call(&err, "Mkdir(%q, %#o)", shorten(name), uint32(perm))()
	return r.Fs.Mkdir(name, perm)
}

func (r *recordedFs) MkdirAll(name string, perm os.FileMode) (err error) {
	defer r.call(&err, "MkdirAll(%q, %#o)", shorten(name), uint32(perm))()
	return r.Fs.MkdirAll(name, perm)
}

func (r *recordedFs) Remove(name string) (err error) {
	defer r.call(&err, "Remove(%q)", shorten(name))()
	return r.Fs.Remove(name)
}

func (r *recordedFs) RemoveAll(name string) (err error) {
	defer r.call(&err, "RemoveAll(%q)", shorten(name))()
	return r.Fs.RemoveAll(name)
}

func (r *recordedFs) Rename(oldname, newname string) (err error) {
	defer r.call(&err, "Rename(%q, %q)", shorten(oldname), shorten(newname))()
	return r.Fs.Rename(oldname, newname)
}

func (r *recordedFs) Chmod(name string, mode os.FileMode) (err error) {
	defer r.call(&err, "Chmod(%q, %v)", shorten(name), mode)()
	return r.Fs.Chmod(name, mode)
}

func (r *recordedFs) Chtimes(name string, atime, mtime time.Time) (err error) {
	defer r.call(&err, "Chtimes(%q, %s, %s)", shorten(name), describeTime(atime), describeTime(mtime))()
	return r.Fs.Chtimes(name, atime, mtime)
}

func (r *recordedFs) Stat(name string) (os.FileInfo, error) {
	end := r.tr.calls.begin("Stat(%q)", shorten(name))
	info, err := r.Fs.Stat(name)
	end(describeStat(info, err))
	return info, err
}

func (r recordedLstater) LstatIfPossible(name string) (os.FileInfo, bool, error) {
	end := r.tr.calls.begin("LstatIfPossible(%q)", shorten(name))
	info, did, err := r.Fs.(afero.Lstater).LstatIfPossible(name)
	end(fmt.Sprintf("%s, %v", describeStat(info, err), did))
	return info, did, err
}

func describeStat(info fs.FileInfo, err error) string {
	if err != nil || info == nil {
		return describe(err)
	}
	return describeInfo(info)
}

// recordedAferoFile is an afero.File that writes down its calls.
type recordedAferoFile struct {
	afero.File
	tr *trial
	id int
}

func (f *recordedAferoFile) begin(format string, args ...any) func(string) {
	return f.tr.calls.begin("file %d."+format, append([]any{f.id}, args...)...)
}

func (f *recordedAferoFile) counted(end func(string), n int, err error) (int, error) {
	end(fmt.Sprintf("%d, %s", n, describe(err)))
	return n, err
}

func (f *recordedAferoFile) Read(p []byte) (int, error) {
	end := f.begin("Read(%d bytes)", len(p))
	n, err := f.File.Read(p)
	return f.counted(end, n, err)
}

func (f *recordedAferoFile) ReadAt(p []byte, off int64) (int, error) {
	end := f.begin("ReadAt(%d bytes, %d)", len(p), off)
	n, err := f.File.ReadAt(p, off)
	return f.counted(end, n, err)
}

func (f *recordedAferoFile) Write(p []byte) (int, error) {
	end := f.begin("Write(%s)", describeBytes(p))
	n, err := f.File.Write(p)
	return f.counted(end, n, err)
}

func (f *recordedAferoFile) WriteAt(p []byte, off int64) (int, error) {
	end := f.begin("WriteAt(%s, %d)", describeBytes(p), off)
	n, err := f.File.WriteAt(p, off)
	return f.counted(end, n, err)
}

func (f *recordedAferoFile) WriteString(s string) (int, error) {
	end := f.begin("WriteString(%s)", describeBytes([]byte(s)))
	n, err := f.File.WriteString(s)
	return f.counted(end, n, err)
}

func (f *recordedAferoFile) Seek(offset int64, whence int) (int64, error) {
	end := f.begin("Seek(%d, %d)", offset, whence)
	n, err := f.File.Seek(offset, whence)
	end(fmt.Sprintf("%d, %s", n, describe(err)))
	return n, err
}

func (f *recordedAferoFile) Truncate(size int64) error {
	end := f.begin("Truncate(%d)", size)
	err := f.File.Truncate(size)
	end(describe(err))
	return err
}

func (f *recordedAferoFile) Sync() error {
	end := f.begin("Sync()")
	err := f.File.Sync()
	end(describe(err))
	return err
}

func (f *recordedAferoFile) Close() error {
	end := f.begin("Close()")
	err := f.File.Close()
	end(describe(err))
	return err
}

func (f *recordedAferoFile) Stat() (os.FileInfo, error) {
	end := f.begin("Stat()")
	info, err := f.File.Stat()
	end(describeStat(info, err))
	return info, err
}

func (f *recordedAferoFile) Readdir(n int) ([]os.FileInfo, error) {
	end := f.begin("Readdir(%d)", n)
	infos, err := f.File.Readdir(n)
	end(fmt.Sprintf("%d entries, %s", len(infos), describe(err)))
	return infos, err
}

func (f *recordedAferoFile) Readdirnames(n int) ([]string, error) {
	end := f.begin("Readdirnames(%d)", n)
	names, err := f.File.Readdirnames(n)
	end(fmt.Sprintf("%d names, %s", len(names), describe(err)))
	return names, err
}

// recordedReadDirFile is a file that has ReadDir, as *os.File does.
type recordedReadDirFile struct {
	*recordedAferoFile
	dir fs.ReadDirFile
}

func (f recordedReadDirFile) ReadDir(n int) ([]fs.DirEntry, error) {
	end := f.begin("ReadDir(%d)", n)
	entries, err := f.dir.ReadDir(n)
	end(fmt.Sprintf("%d entries, %s", len(entries), describe(err)))
	return entries, err
}
