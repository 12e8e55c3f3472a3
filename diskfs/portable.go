package diskfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// portable is the provider for systems whose kernel has no openat2: one walk
// over os.Root. It is built everywhere, so that the suite also runs it on Linux.
//
// What it promises less than Linux does: a rename between two directories, a
// change of times, and of the mode of a file that may not be read, go through
// os.Root by name after a check, so a link swapped in just then is followed,
// inside the root.
type portable struct {
	root          *os.Root
	opts          Options
	lock          *rootLock
	caseSensitive bool
	dev           uint64 // of the root, 0 when the system does not tell
	feat          provider.Features
	closed        atomic.Bool
}

var _ provider.Provider = (*portable)(nil)

const (
	onWindows = runtime.GOOS == "windows"
	onWasm    = runtime.GOOS == "js" || runtime.GOOS == "wasip1"
)

func openPortable(dir string, opts Options) (*portable, error) {
	if dir == "" {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		if fi, serr := os.Stat(dir); serr == nil && !fi.IsDir() {
			return nil, syscall.ENOTDIR // os.Root says it in words only
		}
		if errors.Is(err, syscall.ELOOP) {
			return nil, syscall.ELOOP // links on the way to the root are followed
		}
		return nil, bare(err)
	}
	info, err := root.Stat(".")
	if err != nil {
		root.Close()
		return nil, bare(err)
	}
	p := &portable{root: root, opts: opts, lock: lockFor(info)}
	p.dev, _ = deviceOf(info)
	p.caseSensitive = p.probeCase()
	write := !opts.ReadOnly
	p.feat = provider.Features{
		Write: write, InPlace: write,
		CaseSensitive: p.caseSensitive,
		// js resolves by path, and neither js nor wasip1 has file identities
		// to compare in every runtime.
		RaceFree: !onWasm,
		// Windows knows one read-only bit, wasip1 no modes.
		Chmod:        write && !onWindows && runtime.GOOS != "wasip1",
		Chtimes:      write,
		AtomicRename: !onWindows && !onWasm,
		// Windows does not sync directories.
		Durable: !onWindows && !onWasm && !opts.NoSync,
	}
	return p, nil
}

// probeCase reports whether names are case-sensitive, as far as can be seen
// without writing; see the package comment.
func (p *portable) probeCase() bool {
	unknown := !onWindows && !onWasm && runtime.GOOS != "darwin" && runtime.GOOS != "ios"
	dir, err := p.root.Open(".")
	if err != nil {
		return false
	}
	defer dir.Close()
	const probeEntries = 256
	entries, _ := dir.ReadDir(probeEntries)
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	for name := range names {
		flipped := flipCase(name)
		if flipped == name || names[flipped] {
			continue
		}
		switch other, err := p.root.Lstat(flipped); {
		case errors.Is(err, fs.ErrNotExist):
			return true
		case err == nil:
			if own, err := p.root.Lstat(name); err != nil || os.SameFile(own, other) {
				return false
			}
		}
	}
	return unknown
}

// Features says what this directory's storage promises.
func (p *portable) Features() provider.Features { return p.feat }

// Close releases the directory. Open files stay usable.
func (p *portable) Close() error {
	if p.closed.Swap(true) {
		return fs.ErrClosed
	}
	return bare(p.root.Close())
}

// RootFile returns a new handle of the root directory, for trusted code that
// hands the same directory to a sandbox or a child process. The caller closes it.
func (p *portable) RootFile() (*os.File, error) {
	f, err := p.root.Open(".")
	return f, bare(err)
}

// SameDir reports whether the host path dir, links followed, names the
// directory that p holds, now.
func (p *portable) SameDir(dir string) bool {
	own, err := p.root.Stat(".")
	if err != nil {
		return false
	}
	other, err := os.Stat(dir)
	return err == nil && os.SameFile(own, other)
}

// begin is what every operation on names starts with.
func (p *portable) begin(ctx context.Context, mutation bool, names ...provider.Path) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.closed.Load() {
		return fs.ErrClosed
	}
	if mutation && p.opts.ReadOnly {
		return syscall.EROFS
	}
	for _, name := range names {
		if err := p.checkName(name); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses reserved names, on Windows what it would take for another
// name or a device, and short-name aliases; see FS.checkName on Linux.
func (p *portable) checkName(name provider.Path) error {
	if err := checkReserved(name, p.caseSensitive); err != nil {
		return err
	}
	if onWindows {
		for elem := range name.Elems() {
			if err := provider.PortableElem(elem); err != nil {
				return err
			}
		}
	}
	if p.caseSensitive || !mayBeAlias(name.String()) {
		return nil
	}
	parent := provider.Path{}
	for elem := range name.Elems() {
		next, err := parent.Join(elem)
		if err != nil {
			return err
		}
		if mayBeAlias(elem) {
			if err := p.checkAlias(parent, elem); err != nil {
				return err
			}
		}
		parent = next
	}
	return nil
}

// checkAlias refuses elem when it exists in parent and the listing lacks it.
func (p *portable) checkAlias(parent provider.Path, elem string) error {
	dir, err := p.walk(parent)
	if err != nil {
		return nil // the operation itself will say so
	}
	defer p.leave(dir)
	if _, err := dir.Lstat(elem); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := dir.Open(".")
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return bare(err)
	}
	for _, name := range names {
		if strings.EqualFold(name, elem) {
			return nil
		}
	}
	return provider.ErrPath
}

// Stat describes what is at name, a link itself included.
func (p *portable) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := p.begin(ctx, false, name); err != nil {
		return nil, err
	}
	dir, err := p.walk(name.Parent())
	if err != nil {
		return nil, err
	}
	defer p.leave(dir)
	fi, err := dir.Lstat(name.Base())
	if err != nil {
		return nil, bare(err)
	}
	return copyInfo(name.Base(), fi), nil
}

// Mkdir makes one directory; the process's umask applies where there is one.
func (p *portable) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := p.begin(ctx, true, name); err != nil {
		return err
	}
	if name.IsRoot() {
		return fs.ErrExist
	}
	dir, err := p.walk(name.Parent())
	if err != nil {
		return err
	}
	defer p.leave(dir)
	return bare(dir.Mkdir(name.Base(), perm&fs.ModePerm))
}

// Remove unlinks a file, a link or an empty directory. A directory that holds
// nothing but stale temporaries counts as empty.
func (p *portable) Remove(ctx context.Context, name provider.Path) error {
	if err := p.begin(ctx, true, name); err != nil {
		return err
	}
	if name.IsRoot() {
		return syscall.EBUSY
	}
	dir, err := p.walk(name.Parent())
	if err != nil {
		return err
	}
	defer p.leave(dir)
	p.lock.mu.RLock()
	defer p.lock.mu.RUnlock()
	err = notEmpty(bare(dir.Remove(name.Base())))
	if err == syscall.ENOTEMPTY && p.sweepAll(dir, name.Base()) {
		err = notEmpty(bare(dir.Remove(name.Base())))
	}
	return err
}

// notEmpty is the answer about a directory that is not empty: POSIX also allows
// EEXIST.
func notEmpty(err error) error {
	if err == syscall.EEXIST {
		return syscall.ENOTEMPTY
	}
	return err
}

// Rename moves oldname to newname.
func (p *portable) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if err := p.begin(ctx, true, oldname, newname); err != nil {
		return err
	}
	if oldname.IsRoot() || newname.IsRoot() {
		return syscall.EBUSY
	}
	olddir, err := p.walk(oldname.Parent())
	if err != nil {
		return err
	}
	defer p.leave(olddir)
	newdir, err := p.walk(newname.Parent())
	if err != nil {
		return err
	}
	defer p.leave(newdir)
	p.lock.mu.Lock() // looks, then acts: nobody else in this process meanwhile
	defer p.lock.mu.Unlock()
	from, err := olddir.Lstat(oldname.Base())
	if err != nil {
		return bare(err)
	}
	if from.IsDir() && opts.NotDir {
		return syscall.EISDIR
	}
	to, err := newdir.Lstat(newname.Base())
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return bare(err)
	case opts.NoReplace:
		return fs.ErrExist
	case oldname == newname:
		return nil
	case os.SameFile(from, to) && from.IsDir():
		return p.recase(oldname, newname)
	case to.IsDir():
		return fs.ErrExist // package os looks at this first
	case from.IsDir() && oldname.Contains(newname):
		return syscall.EINVAL
	case from.IsDir():
		return syscall.ENOTDIR
	}
	if from.IsDir() && oldname != newname && oldname.Contains(newname) {
		return syscall.EINVAL
	}
	move := p.root.Rename
	link, unlink := p.root.Link, p.root.Remove
	oldspell, newspell := oldname.String(), newname.String()
	if oldname.Parent() == newname.Parent() {
		move, link, unlink = olddir.Rename, olddir.Link, olddir.Remove
		oldspell, newspell = oldname.Base(), newname.Base()
	}
	if opts.NoReplace && from.Mode().IsRegular() {
		// A link replaces nothing, whoever else is at work.
		switch err := bare(link(oldspell, newspell)); {
		case err == nil:
			if err = bare(unlink(oldspell)); err != nil {
				unlink(newspell)
			}
			return err
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return bare(move(oldspell, newspell))
}

// recase renames a directory to another spelling that the storage takes for the
// same name, by way of a reserved one: os.Root sees a directory in the way.
func (p *portable) recase(oldname, newname provider.Path) error {
	between, err := newname.Parent().Join(tempName())
	if err != nil {
		return err
	}
	if err := bare(p.root.Rename(oldname.String(), between.String())); err != nil {
		return err
	}
	err = bare(p.root.Rename(between.String(), newname.String()))
	if err != nil {
		p.root.Rename(between.String(), oldname.String())
	}
	return err
}

// Chmod sets the permission bits: of the open object where it may be opened.
func (p *portable) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	return p.withObject(ctx, name, func(dir *os.Root, base string) error {
		if !p.feat.Chmod {
			return errors.ErrUnsupported
		}
		f, _, err := p.openObject(dir, base, os.O_RDONLY)
		if errors.Is(err, fs.ErrPermission) && !errors.Is(err, provider.ErrSymlink) && !errors.Is(err, provider.ErrIrregular) {
			return bare(dir.Chmod(base, perm&fs.ModePerm)) // may not be read
		}
		if err != nil {
			return err
		}
		defer f.Close()
		return bare(f.Chmod(perm & fs.ModePerm))
	})
}

// Chtimes sets the times, by name.
func (p *portable) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	return p.withObject(ctx, name, func(dir *os.Root, base string) error {
		return bare(dir.Chtimes(base, atime, mtime))
	})
}

// withObject calls change with the parent and base name of the regular file or
// directory at name.
func (p *portable) withObject(ctx context.Context, name provider.Path, change func(dir *os.Root, base string) error) error {
	if err := p.begin(ctx, true, name); err != nil {
		return err
	}
	dir, err := p.walk(name.Parent())
	if err != nil {
		return err
	}
	defer p.leave(dir)
	fi, err := dir.Lstat(name.Base())
	if err != nil {
		return bare(err)
	}
	if err := refuseType(fi); err != nil {
		return err
	}
	return change(dir, name.Base())
}
