package diskfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// Open opens a regular file, or a directory for listing.
func (p *portable) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if err := p.begin(ctx, opts.Mutates(), name); err != nil {
		return nil, err
	}
	if name.IsRoot() && opts.Create {
		if opts.Exclusive {
			return nil, fs.ErrExist
		}
		return nil, syscall.EISDIR
	}
	dir, err := p.walk(name.Parent())
	if err != nil {
		return nil, err
	}
	defer p.leave(dir)
	if opts.Mutates() {
		p.lock.mu.RLock()
		defer p.lock.mu.RUnlock()
	}
	f, fi, err := p.openOrCreate(dir, name.Base(), opts)
	if err == provider.ErrIrregular && opts.Directory {
		return nil, syscall.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	if err := p.prepare(f, fi, opts); err != nil {
		f.Close()
		return nil, err
	}
	pf := &portableFile{f: f, p: p, name: name.Base(), dir: fi.IsDir(), read: opts.Read, write: opts.Write}
	if opts.Append && opts.Write {
		if pf.end, err = p.openEnd(dir, name.Base(), fi); err != nil {
			f.Close()
			return nil, err
		}
	}
	return pf, nil
}

// openEnd opens a second handle of the file that fi describes, for appends:
// package os refuses WriteAt on one opened with O_APPEND.
func (p *portable) openEnd(dir *os.Root, base string, fi fs.FileInfo) (*os.File, error) {
	f, again, err := p.openObject(dir, base, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(fi, again) {
		f.Close()
		return nil, syscall.ESTALE // another file took the name in between
	}
	return f, nil
}

// openFlag translates opts, without creation and truncation.
func openFlag(opts provider.OpenOptions) int {
	flag := os.O_RDONLY
	switch {
	case opts.Write && opts.Read, opts.Truncate && !opts.Write:
		flag = os.O_RDWR // truncation needs a writable handle
	case opts.Write:
		flag = os.O_WRONLY
	}
	return flag
}

// openOrCreate creates only with O_EXCL, which follows no link.
func (p *portable) openOrCreate(dir *os.Root, base string, opts provider.OpenOptions) (*os.File, fs.FileInfo, error) {
	flag := openFlag(opts)
	for range swapTries {
		if !opts.Create || !opts.Exclusive {
			f, fi, err := p.openObject(dir, base, flag)
			if !opts.Create || !errors.Is(err, fs.ErrNotExist) {
				return f, fi, err
			}
		}
		f, err := dir.OpenFile(base, flag|os.O_CREATE|os.O_EXCL|openNonblock, opts.FileMode())
		if err == nil {
			fi, err := f.Stat()
			if err != nil {
				f.Close()
				return nil, nil, bare(err)
			}
			return f, fi, nil
		}
		if err = bare(err); opts.Exclusive || !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
	}
	return nil, nil, syscall.EBUSY
}

// prepare checks what was opened against opts, and truncates it if asked.
func (p *portable) prepare(f *os.File, fi fs.FileInfo, opts provider.OpenOptions) error {
	switch {
	case opts.Directory && !fi.IsDir():
		return syscall.ENOTDIR
	case fi.IsDir() && opts.Mutates():
		return syscall.EISDIR
	case fi.IsDir():
		return nil
	case p.opts.RejectHardLinks && (opts.Write || opts.Truncate):
		if n, ok := linksOf(f, fi); !ok || n > 1 {
			return provider.ErrHardLink
		}
	}
	if opts.Truncate {
		return bare(f.Truncate(0))
	}
	return nil
}

// portableFile is an open regular file or directory of package os.
type portableFile struct {
	f                *os.File
	end              *os.File // for appends, nil without
	p                *portable
	name             string
	dir, read, write bool
	closed           atomic.Bool
	mu               sync.Mutex // guards the positions, for listings and appends
}

var _ provider.File = (*portableFile)(nil)

// check is what every operation starts with.
func (f *portableFile) check() error {
	if f.closed.Load() {
		return fs.ErrClosed
	}
	return nil
}

func (f *portableFile) Close() error {
	if f.closed.Swap(true) {
		return fs.ErrClosed
	}
	if f.end != nil {
		f.end.Close()
	}
	return bare(f.f.Close())
}

func (f *portableFile) Stat() (fs.FileInfo, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	fi, err := f.f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	return copyInfo(f.name, fi), nil
}

func (f *portableFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	switch {
	case f.dir:
		return 0, syscall.EISDIR
	case off < 0:
		return 0, syscall.EINVAL
	case !f.read:
		return 0, syscall.EBADF
	}
	short := int64(len(b)) > math.MaxInt64-off
	if short {
		b = b[:math.MaxInt64-off]
	}
	n, err := f.f.ReadAt(b, off)
	if err == nil && short {
		err = io.EOF
	}
	return n, keepEOF(err)
}

// keepEOF is bare for readers.
func keepEOF(err error) error {
	if err == io.EOF {
		return err
	}
	return bare(err)
}

// WriteAt writes all of b. When it fails, package os does not say how much of
// the last piece was written: the count is too low then.
func (f *portableFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	switch {
	case f.dir:
		return 0, syscall.EISDIR
	case !f.write:
		return 0, syscall.EBADF
	case off < 0:
		return 0, syscall.EINVAL
	case int64(len(b)) > math.MaxInt64-off:
		return 0, syscall.EFBIG
	case len(b) == 0:
		return 0, nil
	}
	f.p.lock.mu.RLock()
	defer f.p.lock.mu.RUnlock()
	n, err := f.f.WriteAt(b, off)
	return n, bare(err)
}

func (f *portableFile) Append(b []byte) (int, int64, error) {
	if err := f.check(); err != nil {
		return 0, 0, err
	}
	switch {
	case f.dir:
		return 0, 0, syscall.EISDIR
	case f.end == nil:
		return 0, 0, syscall.EBADF
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.p.lock.mu.RLock()
	defer f.p.lock.mu.RUnlock()
	n, err := f.end.Write(b)
	var end int64
	if n > 0 && !onWindows && !onWasm {
		end, _ = f.end.Seek(0, io.SeekCurrent) // where this append ended
	} else if fi, serr := f.f.Stat(); serr == nil {
		end = fi.Size() // another process's append may count, too
	}
	return n, end, bare(err)
}

func (f *portableFile) Truncate(size int64) error {
	if err := f.check(); err != nil {
		return err
	}
	switch {
	case f.dir:
		return syscall.EISDIR
	case !f.write:
		return syscall.EBADF
	case size < 0:
		return syscall.EINVAL
	}
	f.p.lock.mu.RLock()
	defer f.p.lock.mu.RUnlock()
	return bare(f.f.Truncate(size))
}

func (f *portableFile) Sync() error {
	if err := f.check(); err != nil {
		return err
	}
	err := bare(f.f.Sync())
	if f.dir && (err == syscall.EINVAL || err == syscall.ENOSYS || onWindows) {
		return nil // no such thing here
	}
	return err
}

// ReadDir lists the directory.
func (f *portableFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if !f.dir {
		return nil, syscall.ENOTDIR
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		return nil, bare(err)
	}
	const batch = 1024
	out := []fs.DirEntry{}
	for {
		entries, err := f.f.ReadDir(batch)
		for _, e := range entries {
			if f.p.reserved(e.Name()) {
				continue
			}
			if limit > 0 && len(out) == limit {
				return nil, provider.ErrTooMany
			}
			out = append(out, &portableEntry{e, f})
		}
		switch {
		case err == nil:
		case err == io.EOF, errors.Is(err, fs.ErrNotExist): // the directory itself was removed
			return out, nil
		default:
			return nil, bare(err)
		}
	}
}

// reserved reports whether elem is, or may reach, a reserved temporary.
func (p *portable) reserved(elem string) bool {
	return isReserved(elem) || !p.caseSensitive && foldReserved(elem)
}

// portableEntry is an entry of a file that was opened through os.Root: its Info
// uses the directory's handle where the system can.
type portableEntry struct {
	fs.DirEntry
	dir *portableFile
}

func (e *portableEntry) Info() (fs.FileInfo, error) {
	if err := e.dir.check(); err != nil {
		return nil, err
	}
	fi, err := e.DirEntry.Info()
	if err != nil {
		return nil, bare(err)
	}
	return copyInfo(e.Name(), fi), nil
}
