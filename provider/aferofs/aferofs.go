package aferofs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/provider"
)

// FS is a provider over an [afero.Fs]. It is safe for concurrent use if the
// backend is.
type FS struct {
	base     afero.Fs
	lstater  afero.Lstater // nil when the backend has none
	readOnly bool
	closed   atomic.Bool

	// mu is held by everything that changes names, from look to act, and
	// shared by opens.
	mu sync.RWMutex
	// content is held by Append, and shared by other writes, so that an append
	// finds the end where it looked for it.
	content sync.RWMutex
}

var _ provider.Provider = (*FS)(nil)

// New returns a provider over base, whose root "/" becomes the provider's root.
// To serve a directory, wrap base in [afero.NewBasePathFs]. The caller keeps
// base: Close does not touch it. Over an [afero.ReadOnlyFs] every mutation is
// syscall.EROFS.
func New(base afero.Fs) *FS {
	f := &FS{base: base}
	f.lstater, _ = base.(afero.Lstater)
	_, f.readOnly = base.(*afero.ReadOnlyFs)
	return f
}

// Features implements [provider.Provider]. It claims what an afero.Fs has
// methods for, and nothing else.
func (f *FS) Features() provider.Features {
	return provider.Features{Write: !f.readOnly, InPlace: !f.readOnly, Chmod: !f.readOnly, Chtimes: !f.readOnly}
}

// Close implements [provider.Provider]. The backend stays open.
func (f *FS) Close() error {
	if f.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}

// begin is the first step of every method.
func (f *FS) begin(ctx context.Context, names ...provider.Path) error {
	if f.closed.Load() {
		return fs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, name := range names {
		for elem := range name.Elems() {
			if isTemporary(elem) {
				return provider.ErrPath
			}
		}
	}
	return nil
}

// beginChange is begin for a mutation.
func (f *FS) beginChange(ctx context.Context, names ...provider.Path) error {
	if err := f.begin(ctx, names...); err != nil {
		return err
	}
	if f.readOnly {
		return syscall.EROFS
	}
	return nil
}

// native is the name as the backend knows it.
func native(name provider.Path) string {
	if name.IsRoot() {
		return string(filepath.Separator)
	}
	return filepath.FromSlash("/" + name.String())
}

// lstat describes what is at name, without following it where the backend can.
func (f *FS) lstat(name provider.Path) (fs.FileInfo, error) {
	var info fs.FileInfo
	var err error
	if f.lstater != nil {
		info, _, err = f.lstater.LstatIfPossible(native(name))
	} else {
		info, err = f.base.Stat(native(name))
	}
	if err != nil {
		return nil, bare(err)
	}
	return info, nil
}

// look describes what is at name, after it has seen that every parent is a
// directory and no link.
func (f *FS) look(name provider.Path) (fs.FileInfo, error) {
	if err := f.lookParents(name); err != nil {
		return nil, err
	}
	return f.lstat(name)
}

// lookParents checks the parents of name.
func (f *FS) lookParents(name provider.Path) error {
	var dir provider.Path
	for elem := range name.Parent().Elems() {
		var err error
		if dir, err = dir.Join(elem); err != nil {
			return err
		}
		info, err := f.lstat(dir)
		if err != nil {
			return err
		}
		if err := directory(info); err != nil {
			return err
		}
	}
	return nil
}

// directory refuses what is none.
func directory(info fs.FileInfo) error {
	switch {
	case isLink(info):
		return provider.ErrSymlink
	case !info.IsDir():
		return syscall.ENOTDIR
	}
	return nil
}

// isLink reports whether info is a link or another redirection.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// ordinary refuses what is neither a file nor a directory.
func ordinary(info fs.FileInfo) error {
	switch {
	case isLink(info):
		return provider.ErrSymlink
	case !info.IsDir() && !info.Mode().IsRegular():
		return provider.ErrIrregular
	}
	return nil
}

// plain copies a description, so that it is a snapshot and leads nowhere.
func plain(info fs.FileInfo, name string) fs.FileInfo {
	return provider.NewInfo(name, info.Size(), info.Mode(), info.ModTime())
}

// Stat implements [provider.Provider].
func (f *FS) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := f.begin(ctx, name); err != nil {
		return nil, err
	}
	info, err := f.look(name)
	if err != nil {
		return nil, err
	}
	return plain(info, name.Base()), nil
}

// Mkdir implements [provider.Provider].
func (f *FS) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := f.beginChange(ctx, name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.look(name); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := f.lookDir(name.Parent()); err != nil {
		return err
	}
	return bare(f.base.Mkdir(native(name), perm&fs.ModePerm))
}

// lookDir checks that name is a directory.
func (f *FS) lookDir(name provider.Path) error {
	info, err := f.look(name)
	if err != nil {
		return err
	}
	return directory(info)
}

// Remove implements [provider.Provider].
func (f *FS) Remove(ctx context.Context, name provider.Path) error {
	if err := f.beginChange(ctx, name); err != nil {
		return err
	}
	if name.IsRoot() {
		return syscall.EBUSY
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.look(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := f.isEmpty(name); err != nil {
			return err
		}
	}
	return bare(f.base.Remove(native(name)))
}

// isEmpty refuses a directory that holds anything, temporaries included: some
// backends remove what is below.
func (f *FS) isEmpty(name provider.Path) error {
	dir, err := f.base.Open(native(name))
	if err != nil {
		return bare(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1)
	if len(names) > 0 {
		return syscall.ENOTEMPTY
	}
	return bare(ignoreEOF(err))
}

// Rename implements [provider.Provider].
func (f *FS) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if err := f.beginChange(ctx, oldname, newname); err != nil {
		return err
	}
	if oldname.IsRoot() || newname.IsRoot() {
		return syscall.EBUSY
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from, err := f.look(oldname)
	if err != nil {
		return err
	}
	if opts.NotDir && from.IsDir() {
		return syscall.EISDIR
	}
	if oldname == newname {
		if opts.NoReplace {
			return fs.ErrExist
		}
		return nil
	}
	if err := f.lookDir(newname.Parent()); err != nil {
		return err
	}
	to, err := f.look(newname)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Another spelling of the same name is no target in the way.
	respelled := err == nil && os.SameFile(from, to) && strings.EqualFold(oldname.String(), newname.String())
	if err == nil && !respelled {
		switch {
		case opts.NoReplace, to.IsDir():
			return fs.ErrExist // package os looks at this first
		case from.IsDir() && oldname.Contains(newname):
			return syscall.EINVAL
		case from.IsDir():
			return syscall.ENOTDIR
		case os.SameFile(from, to):
			// Two hard links: POSIX would leave both names.
			return bare(f.base.Remove(native(oldname)))
		}
	}
	if from.IsDir() && oldname.Contains(newname) {
		return syscall.EINVAL
	}
	return bare(f.base.Rename(native(oldname), native(newname)))
}

// Chmod implements [provider.Provider].
func (f *FS) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := f.beginChange(ctx, name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.look(name)
	if err == nil {
		err = ordinary(info)
	}
	if err != nil {
		return err
	}
	return bare(f.base.Chmod(native(name), perm&fs.ModePerm))
}

// Chtimes implements [provider.Provider].
func (f *FS) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	if err := f.beginChange(ctx, name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.look(name)
	if err == nil {
		err = ordinary(info)
	}
	switch {
	case err != nil:
		return err
	case atime.IsZero() && mtime.IsZero():
		return nil
	case mtime.IsZero():
		mtime = info.ModTime() // some backends know no zero time
	}
	return bare(f.base.Chtimes(native(name), atime, mtime))
}
