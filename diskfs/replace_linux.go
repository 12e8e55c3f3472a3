package diskfs

import (
	"context"
	"io"
	"io/fs"
	"math"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// Replace stages content beside name, syncs it, checks opts.If, publishes it in
// one step and syncs the directory; see [provider.Provider]. The umask of the
// moment when the FS was opened applies to new files where the storage has no
// unnamed files. An existing file's owner is kept where the process may; its
// extended attributes are not.
//
// An error after the publish (the directory's sync failed) is returned although
// the content has been replaced: it may not survive a crash.
func (d *FS) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	root, err := d.begin(ctx, true, name)
	if err != nil {
		return provider.Digest{}, err
	}
	defer d.root.done()
	if name.IsRoot() {
		if opts.If.Absent() {
			return provider.Digest{}, provider.ErrConflict
		}
		return provider.Digest{}, unix.EISDIR
	}
	r := replacing{d: d, ctx: ctx, root: root, name: name, elem: name.Base(), opts: opts}
	if r.dir, err = d.parent(root, name); err != nil {
		return provider.Digest{}, err
	}
	defer leave(root, r.dir)
	return r.run(content)
}

// replacing is one Replace.
type replacing struct {
	d    *FS
	ctx  context.Context
	root int
	name provider.Path
	dir  int // the parent
	elem string
	opts provider.ReplaceOptions

	old   unix.Stat_t // what was at the name when looked at last
	isNew bool        // nothing was

	stage   stage
	changed bool // the stage has the attributes of an old file
}

func (r *replacing) run(content io.Reader) (provider.Digest, error) {
	// What can be refused without reading the content is.
	if err := r.look(); err != nil {
		return provider.Digest{}, err
	}
	// The directory is opened for its sync before anything changes: a failure
	// then still is one without effect.
	dirfd, err := r.openForSync()
	if err != nil {
		return provider.Digest{}, err
	}
	if dirfd >= 0 {
		defer closeFD(dirfd)
	}
	if err := r.newStage(); err != nil {
		return provider.Digest{}, err
	}
	defer r.stage.discard()
	digest, err := copyContent(r.ctx, fdIO(r.stage.fd), content)
	if err != nil {
		return provider.Digest{}, err
	}
	if err := r.finish(); err != nil {
		return provider.Digest{}, err
	}
	if err := r.publish(); err != nil {
		return provider.Digest{}, err
	}
	if !r.d.opts.NoSync {
		if e := r.syncDir(dirfd); e != 0 {
			return digest, e
		}
	}
	if dirfd >= 0 {
		r.d.sweep(dirfd)
	}
	return digest, nil
}

// look notes what is at the name and refuses what Replace never replaces.
func (r *replacing) look() error {
	switch e := fstatat(r.dir, r.elem, &r.old); e {
	case 0:
	case unix.ENOENT:
		r.isNew = true
		if _, match := r.opts.If.Match(); match {
			return fs.ErrNotExist
		}
		return nil
	default:
		return mapErrno(e)
	}
	r.isNew = false
	if r.opts.If.Absent() {
		return provider.ErrConflict
	}
	switch r.old.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return unix.EISDIR
	case unix.S_IFLNK:
		return provider.ErrSymlink
	default:
		return provider.ErrIrregular
	}
	if dev := uint64(r.old.Dev); dev != r.d.dev {
		// Another filesystem: a bind-mounted file is EBUSY in the end, one of
		// proc is refused by its kind.
		fd, err := r.d.openAt(r.dir, r.elem, pathAny, 0, r.d.resolve)
		if err != nil {
			return err
		}
		defer closeFD(fd)
		var st unix.Stat_t
		if _, err := r.d.checkObject(fd, &st); err != nil {
			return err
		}
	}
	return nil
}

// openForSync opens the parent readable, for fsync and to look for stale
// temporaries. -1 without error: it may not be read, and the whole filesystem
// is synced instead.
func (r *replacing) openForSync() (int, error) {
	fd, e := openat(r.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|openFlags, 0)
	switch e {
	case 0:
		return fd, nil
	case unix.EACCES:
		return -1, nil
	}
	return -1, mapErrno(e)
}

// syncDir makes the publish durable.
func (r *replacing) syncDir(dirfd int) unix.Errno {
	if dirfd < 0 {
		return errno(unix.Syncfs(r.stage.fd))
	}
	return fsyncDir(dirfd)
}

// finish gives the staged file its mode and owner and syncs it.
func (r *replacing) finish() error {
	if err := r.setAttributes(); err != nil {
		return err
	}
	if r.d.opts.NoSync {
		return nil
	}
	return mapErrno(fsync(r.stage.fd))
}

// setAttributes makes the staged file's mode and owner those of the file it
// replaces, or those of a new file.
func (r *replacing) setAttributes() error {
	mode := uint32(r.opts.FileMode())
	switch {
	case !r.isNew:
		mode = r.old.Mode & 0o777
		r.stage.owner(r.old.Uid, r.old.Gid)
		r.changed = true
	case r.stage.unnamed && !r.changed:
		return nil // the kernel applied perm, umask and default ACL
	default:
		mode &^= r.d.umask
	}
	return r.stage.chmod(mode)
}

// publish checks the condition and gives the stage its name, in one step as far
// as this process goes; in the eyes of others the second half is atomic.
func (r *replacing) publish() error {
	// publishTries bounds how often the name may change its kind under us.
	const publishTries = 16
	for range publishTries {
		again, err := r.tryPublish()
		if !again {
			return err
		}
		// The file is another one now: take over its mode, outside the lock.
		if err := r.finish(); err != nil {
			return err
		}
	}
	return unix.EBUSY
}

// tryPublish asks to be called again when the name holds another object than
// the one whose attributes the stage has.
func (r *replacing) tryPublish() (again bool, err error) {
	r.d.lock.mu.Lock()
	defer r.d.lock.mu.Unlock()
	if err := r.ctx.Err(); err != nil {
		return false, err
	}
	if err := r.checkParent(); err != nil {
		return false, err
	}
	before, wasNew := r.old, r.isNew
	if err := r.look(); err != nil {
		return false, err
	}
	if err := r.checkMatch(); err != nil {
		return false, err
	}
	if r.isNew != wasNew || !r.isNew && (r.old.Mode != before.Mode || r.old.Uid != before.Uid || r.old.Gid != before.Gid) {
		return true, nil
	}
	e := r.place()
	if e == unix.EEXIST && !r.opts.If.Absent() {
		return true, nil // another process was faster; look again
	}
	switch {
	case e == unix.EEXIST:
		return false, provider.ErrConflict
	case e == unix.ENOTDIR || e == unix.ENOTEMPTY:
		return false, unix.EISDIR
	}
	return false, mapErrno(e)
}

// checkParent refuses when name's parent is no longer the directory that holds
// the stage: a rename moved it away while content was read.
func (r *replacing) checkParent() error {
	if r.name.Parent().IsRoot() {
		return nil
	}
	now, err := r.d.parent(r.root, r.name)
	if err != nil {
		return err
	}
	defer closeFD(now)
	var a, b unix.Stat_t
	if e := fstat(now, &a); e != 0 {
		return e
	}
	if e := fstat(r.dir, &b); e != 0 {
		return e
	}
	if a.Dev != b.Dev || a.Ino != b.Ino {
		return unix.ESTALE
	}
	return nil
}

// checkMatch compares the content at the name with what the caller read.
func (r *replacing) checkMatch() error {
	want, ok := r.opts.If.Match()
	if !ok {
		return nil
	}
	fd, err := r.d.openAt(r.dir, r.elem, unix.O_RDONLY|openFlags, 0, r.d.resolve)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	var st unix.Stat_t
	if _, err := r.d.checkObject(fd, &st); err != nil {
		return err
	}
	if st.Dev != r.old.Dev || st.Ino != r.old.Ino && r.d.traits.exact {
		return provider.ErrConflict
	}
	got, err := digestOf(r.ctx, fdIO(fd))
	if err != nil {
		return err
	}
	if got != want {
		return provider.ErrConflict
	}
	return nil
}

// place gives the stage the name: over a file by rename, where nothing is
// without replacing anything.
func (r *replacing) place() unix.Errno {
	if !r.isNew {
		if r.stage.unnamed {
			// A file appeared since; an unnamed file cannot replace one, but
			// one with a reserved name can.
			if e := r.stage.link(r.d, r.dir); e != 0 {
				return e
			}
		}
		e := renameat2(r.dir, r.stage.temp, r.dir, r.elem, 0)
		if e == 0 {
			r.stage.temp = ""
		}
		return e
	}
	return r.placeNew()
}

// placeNew is the ladder of ways to create the name with its content in one
// step. The last rung is none: others may see the file while it grows, and a
// crash may leave part of it; Features.Durable is false on storage that needs
// it.
func (r *replacing) placeNew() unix.Errno {
	if r.stage.unnamed {
		e := r.stage.linkAs(r.dir, r.elem)
		switch {
		case e == 0, e == unix.EEXIST, !lacksLinks(e):
			return e
		case isDead(r.dir):
			return unix.ENOENT
		}
		r.d.noTmp.Store(true)
		if e := r.restage(); e != 0 {
			return e
		}
	}
	e := renameat2(r.dir, r.stage.temp, r.dir, r.elem, unix.RENAME_NOREPLACE)
	if !lacksFlags(e) {
		if e == 0 {
			r.stage.temp = ""
		}
		return e
	}
	e = linkat(r.dir, r.stage.temp, r.dir, r.elem, 0)
	if !lacksLinks(e) {
		return e // discard unlinks the other name
	}
	fd, e := openat(r.dir, r.elem, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|openFlags, 0o600)
	if e != 0 {
		return e
	}
	closeFD(fd)
	if e = renameat2(r.dir, r.stage.temp, r.dir, r.elem, 0); e != 0 {
		unlinkat(r.dir, r.elem, 0)
		return e
	}
	r.stage.temp = ""
	return 0
}

// lacksLinks reports whether e may mean that the storage has no hard links, or
// the kernel no way to give this file a name.
func lacksLinks(e unix.Errno) bool {
	switch e {
	case unix.EPERM, unix.ENOSYS, unix.EOPNOTSUPP, unix.EMLINK, unix.ENOENT, unix.EINVAL, unix.EXDEV, unix.EACCES:
		return true
	}
	return false
}

// restage moves the content of an unnamed stage, which cannot get a name here,
// to one with a reserved name.
func (r *replacing) restage() unix.Errno {
	from := r.stage
	defer from.discard()
	var st unix.Stat_t
	if e := fstat(from.fd, &st); e != 0 {
		return e
	}
	next, e := namedStage(r.dir)
	if e != 0 {
		r.stage = stage{fd: -1}
		return e
	}
	r.stage = next
	if _, err := copyContent(context.WithoutCancel(r.ctx), fdIO(next.fd), io.NewSectionReader(fdIO(from.fd), 0, math.MaxInt64)); err != nil {
		return errno(err)
	}
	if err := next.chmod(st.Mode & 0o777); err != nil {
		return errno(err)
	}
	if r.d.opts.NoSync {
		return 0
	}
	return fsync(next.fd)
}
