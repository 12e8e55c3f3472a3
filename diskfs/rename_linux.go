package diskfs

import (
	"context"
	"strings"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// Rename moves oldname to newname; see [provider.Provider]. That an existing
// directory is not replaced is part of the rename itself where the storage has
// RENAME_NOREPLACE, and looked at before elsewhere.
func (d *FS) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	root, err := d.begin(ctx, true, oldname)
	if err != nil {
		return err
	}
	defer d.root.done()
	if err := d.checkName(root, newname); err != nil {
		return err
	}
	if oldname.IsRoot() || newname.IsRoot() {
		return unix.EBUSY
	}
	r := renaming{oldelem: oldname.Base(), newelem: newname.Base(), below: oldname != newname && oldname.Contains(newname), folds: !d.traits.caseSensitive}
	if r.olddir, err = d.parent(root, oldname); err != nil {
		return err
	}
	defer leave(root, r.olddir)
	if newname.Parent() == oldname.Parent() {
		r.newdir = r.olddir
	} else {
		if r.newdir, err = d.parent(root, newname); err != nil {
			return err
		}
		defer leave(root, r.newdir)
	}
	if d.traits.atomicRename {
		d.lock.mu.RLock()
		defer d.lock.mu.RUnlock()
	} else {
		d.lock.mu.Lock() // so that nobody in this process sees it half done
		defer d.lock.mu.Unlock()
	}
	switch {
	case opts.NotDir:
		return mapErrno(r.file(opts.NoReplace))
	case opts.NoReplace:
		return mapErrno(r.noReplace())
	}
	return mapErrno(r.any())
}

// renaming is one rename between two open directories.
type renaming struct {
	olddir, newdir   int
	oldelem, newelem string
	below            bool // newname lies below oldname
	folds            bool // the storage is not case-sensitive
}

// sameFolded reports whether both names are spellings of one entry, on storage
// that gives each spelling an inode of its own: the listing has one of them.
func (r *renaming) sameFolded() bool {
	if !r.folds || r.olddir != r.newdir || !strings.EqualFold(r.oldelem, r.newelem) {
		return false
	}
	listed := false
	e := eachName(r.newdir, func(name []byte) bool {
		listed = string(name) == r.newelem
		return !listed
	})
	return e == 0 && !listed
}

// file renames unless there is a directory at the old name.
func (r *renaming) file(noReplace bool) unix.Errno {
	var st unix.Stat_t
	if e := fstatat(r.olddir, r.oldelem, &st); e != 0 {
		return e
	}
	switch {
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return unix.EISDIR
	case noReplace:
		return r.noReplace()
	}
	return r.over()
}

// over renames something that is not a directory over whatever is there.
func (r *renaming) over() unix.Errno {
	switch e := renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, 0); e {
	case unix.EISDIR, unix.ENOTEMPTY, unix.EEXIST:
		return unix.EEXIST // a directory is there, an ancestor of the old name perhaps
	default:
		return e
	}
}

// any renames with the answers of package os. The attempt that replaces nothing
// is right for every type, and mostly the last one.
func (r *renaming) any() unix.Errno {
	e := renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, unix.RENAME_NOREPLACE)
	exclusive := !lacksFlags(e)
	if exclusive && e != unix.EEXIST {
		return e
	}
	var from, to unix.Stat_t
	if e := fstatat(r.olddir, r.oldelem, &from); e != 0 {
		return e
	}
	if from.Mode&unix.S_IFMT != unix.S_IFDIR {
		return r.over()
	}
	switch e := fstatat(r.newdir, r.newelem, &to); {
	case e == unix.ENOENT && exclusive:
		// What was there is gone again.
		return renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, unix.RENAME_NOREPLACE)
	case e == unix.ENOENT:
		// This storage cannot rename without replacing: between the look and
		// this, an empty directory may appear and be replaced.
		return renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, 0)
	case e != 0:
		return e
	case from.Dev == to.Dev && from.Ino == to.Ino, r.sameFolded():
		// The same directory: the name itself, or another case of it.
		return renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, 0)
	case to.Mode&unix.S_IFMT == unix.S_IFDIR:
		return unix.EEXIST // package os looks at this first
	case r.below:
		return unix.EINVAL
	}
	return unix.ENOTDIR
}

// lacksFlags reports whether e may mean that the storage knows no flags of
// renameat2.
func lacksFlags(e unix.Errno) bool {
	return e == unix.EINVAL || e == unix.ENOSYS || e == unix.EOPNOTSUPP
}

// noReplace renames unless anything is at the new name, in one step: with
// RENAME_NOREPLACE, else by taking the name first (a link for a file, an empty
// object where there are no links) and renaming over that.
func (r *renaming) noReplace() unix.Errno {
	e := renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, unix.RENAME_NOREPLACE)
	if !lacksFlags(e) || r.below {
		return e
	}
	var st unix.Stat_t
	if e := fstatat(r.olddir, r.oldelem, &st); e != 0 {
		return e
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		if e := mkdirat(r.newdir, r.newelem, 0o700); e != 0 {
			return e
		}
		e := renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, 0)
		if e != 0 {
			unlinkat(r.newdir, r.newelem, unix.AT_REMOVEDIR)
		}
		return e
	}
	switch e := linkat(r.olddir, r.oldelem, r.newdir, r.newelem, 0); e {
	case 0:
		e := unlinkat(r.olddir, r.oldelem, 0)
		if e != 0 {
			unlinkat(r.newdir, r.newelem, 0)
		}
		return e
	case unix.EPERM, unix.ENOSYS, unix.EOPNOTSUPP, unix.EMLINK:
	default:
		return e
	}
	fd, e := openat(r.newdir, r.newelem, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|openFlags, 0o600)
	if e != 0 {
		return e
	}
	closeFD(fd)
	if e = renameat2(r.olddir, r.oldelem, r.newdir, r.newelem, 0); e != 0 {
		unlinkat(r.newdir, r.newelem, 0)
	}
	return e
}
