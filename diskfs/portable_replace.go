package diskfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// Replace stages content beside name, syncs it, checks opts.If, publishes it by
// rename (a new name by link, where there are links) and syncs the directory.
func (p *portable) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if err := p.begin(ctx, true, name); err != nil {
		return provider.Digest{}, err
	}
	if name.IsRoot() {
		if opts.If.Absent() {
			return provider.Digest{}, provider.ErrConflict
		}
		return provider.Digest{}, syscall.EISDIR
	}
	dir, err := p.walk(name.Parent())
	if err != nil {
		return provider.Digest{}, err
	}
	defer p.leave(dir)
	r := portableReplacing{p: p, ctx: ctx, name: name, dir: dir, elem: name.Base(), opts: opts}
	return r.run(content)
}

// portableReplacing is one Replace.
type portableReplacing struct {
	p    *portable
	ctx  context.Context
	name provider.Path
	dir  *os.Root
	elem string
	opts provider.ReplaceOptions

	old  fs.FileInfo // what was at the name when looked at last; nil: nothing
	mode fs.FileMode // of a new file, after the umask
	f    *os.File    // the stage
	temp string      // its reserved name, "" once it has another
}

func (r *portableReplacing) run(content io.Reader) (provider.Digest, error) {
	if err := r.look(); err != nil {
		return provider.Digest{}, err
	}
	if err := r.newStage(); err != nil {
		return provider.Digest{}, err
	}
	defer r.discard()
	digest, err := copyContent(r.ctx, r.f, content)
	if err != nil {
		return provider.Digest{}, stageError(err)
	}
	if err := r.publish(); err != nil {
		return provider.Digest{}, err
	}
	if d, err := r.dir.Open("."); err == nil {
		if !r.p.opts.NoSync {
			// Systems that cannot sync a directory say so in their own words.
			if err := bare(d.Sync()); err == syscall.EIO {
				d.Close()
				return digest, err
			}
		}
		d.Close()
	}
	r.p.sweep(r.dir)
	return digest, nil
}

// stageError passes errors of the caller's reader and strips those of the stage.
func stageError(err error) error {
	switch err.(type) {
	case *fs.PathError, *os.SyscallError:
		return bare(err)
	}
	return err
}

// look notes what is at the name and refuses what Replace never replaces.
func (r *portableReplacing) look() error {
	fi, err := r.dir.Lstat(r.elem)
	_, match := r.opts.If.Match()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.old = nil
		if match {
			return fs.ErrNotExist
		}
		return nil
	case err != nil:
		return bare(err)
	case r.opts.If.Absent():
		return provider.ErrConflict
	}
	if err := refuseType(fi); err != nil {
		return err
	}
	if fi.IsDir() {
		return syscall.EISDIR
	}
	r.old = fi
	return nil
}

// newStage makes a locked temporary. It is created with the mode of a new file,
// to see what the umask leaves of it, and closed to others while it has content.
func (r *portableReplacing) newStage() error {
	const stageTries = 8
	for range stageTries {
		name := tempName()
		f, err := r.dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, r.opts.FileMode())
		if err != nil {
			return bare(err)
		}
		r.f, r.temp = f, name
		fi, err := f.Stat()
		if err != nil {
			r.discard()
			return bare(err)
		}
		r.mode = fi.Mode() & fs.ModePerm
		if err := r.chmod(0o600); err != nil {
			r.discard()
			return err
		}
		// A sweeper that met the file before the lock may have removed it.
		if lockFile(f) != lockBusy && r.p.unchanged(r.dir, name, fi) {
			return nil
		}
		r.discard()
	}
	return syscall.EBUSY
}

// chmod sets the stage's mode, where there are modes.
func (r *portableReplacing) chmod(mode fs.FileMode) error {
	if !r.p.feat.Chmod {
		return nil
	}
	return bare(r.f.Chmod(mode))
}

// discard closes the stage, and removes its reserved name if it still has one.
func (r *portableReplacing) discard() {
	if r.f != nil {
		r.f.Close()
		r.f = nil
	}
	if r.temp != "" {
		r.dir.Remove(r.temp)
		r.temp = ""
	}
}

// finish gives the stage its mode and syncs it.
func (r *portableReplacing) finish() error {
	mode := r.mode
	if r.old != nil {
		mode = r.old.Mode() & fs.ModePerm
	}
	if err := r.chmod(mode); err != nil {
		return err
	}
	if r.p.opts.NoSync {
		return nil
	}
	return bare(r.f.Sync())
}

// publish checks the condition and gives the stage its name.
func (r *portableReplacing) publish() error {
	const publishTries = 16
	for range publishTries {
		if err := r.finish(); err != nil {
			return err
		}
		again, err := r.tryPublish()
		if !again {
			return err
		}
	}
	return syscall.EBUSY
}

// tryPublish asks to be called again when the name holds another object than
// the one whose mode the stage has.
func (r *portableReplacing) tryPublish() (again bool, err error) {
	r.p.lock.mu.Lock()
	defer r.p.lock.mu.Unlock()
	if err := r.ctx.Err(); err != nil {
		return false, err
	}
	if err := r.checkParent(); err != nil {
		return false, err
	}
	before := r.old
	if err := r.look(); err != nil {
		return false, err
	}
	if want, ok := r.opts.If.Match(); ok {
		if err := r.checkMatch(want); err != nil {
			return false, err
		}
	}
	if (before == nil) != (r.old == nil) || before != nil && before.Mode() != r.old.Mode() {
		return true, nil
	}
	if onWindows {
		r.f.Close() // an open file is not renamed there
	}
	err = r.place()
	if errors.Is(err, fs.ErrExist) {
		if r.opts.If.Absent() {
			return false, provider.ErrConflict
		}
		return !onWindows, err
	}
	return false, err
}

// checkParent refuses when name's parent is no longer the directory that holds
// the stage.
func (r *portableReplacing) checkParent() error {
	now, err := r.p.walk(r.name.Parent())
	if err != nil {
		return err
	}
	defer r.p.leave(now)
	a, err := now.Stat(".")
	if err != nil {
		return bare(err)
	}
	b, err := r.dir.Stat(".")
	if err != nil {
		return bare(err)
	}
	if !os.SameFile(a, b) {
		return syscall.ESTALE
	}
	return nil
}

// checkMatch compares the content at the name with what the caller read.
func (r *portableReplacing) checkMatch(want provider.Digest) error {
	f, _, err := r.p.openObject(r.dir, r.elem, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	got, err := digestOf(r.ctx, f)
	if err != nil {
		return stageError(err)
	}
	if got != want {
		return provider.ErrConflict
	}
	return nil
}

// place gives the stage the name: over a file by rename, where nothing is
// without replacing anything. Where there are no links, a rename follows the
// creation of an empty file.
func (r *portableReplacing) place() error {
	if r.old == nil {
		err := bare(r.dir.Link(r.temp, r.elem))
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err // discard removes the other name
		}
		f, err := r.dir.OpenFile(r.elem, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return bare(err)
		}
		f.Close()
		if err := bare(r.dir.Rename(r.temp, r.elem)); err != nil {
			r.dir.Remove(r.elem)
			return err
		}
		r.temp = ""
		return nil
	}
	if err := bare(r.dir.Rename(r.temp, r.elem)); err != nil {
		return err
	}
	r.temp = ""
	return nil
}

// sweep removes stale temporaries from dir; see the package comment.
func (p *portable) sweep(dir *os.Root) {
	names, _ := p.temporaries(dir)
	for _, name := range names {
		p.sweepStale(dir, name)
	}
}

// temporaries lists the reserved names in dir, and whether there is nothing
// else.
func (p *portable) temporaries(dir *os.Root) (names []string, only bool) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, false
	}
	defer f.Close()
	only = true
	for {
		const batch = 1024
		some, err := f.Readdirnames(batch)
		for _, name := range some {
			if p.reserved(name) {
				names = append(names, name)
			} else {
				only = false
			}
		}
		if err != nil {
			return names, only && err == io.EOF
		}
	}
}

// sweepAll removes the temporaries of the directory elem of dir if it holds
// nothing else and all of them are stale. It reports whether it removed any.
func (p *portable) sweepAll(dir *os.Root, elem string) bool {
	d, err := p.step(dir, elem)
	if err != nil {
		return false
	}
	defer d.Close()
	names, only := p.temporaries(d)
	if !only {
		return false
	}
	for _, name := range names {
		if !p.sweepStale(d, name) {
			return false
		}
	}
	return len(names) > 0
}

// sweepStale removes a temporary whose writer is gone: a regular file with one
// link, of our own user, whose lock is free. Where there are no locks, no
// temporary is known to be stale.
func (p *portable) sweepStale(dir *os.Root, name string) bool {
	f, fi, err := p.openObject(dir, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	if n, ok := linksOf(f, fi); !ok || n != 1 || !fi.Mode().IsRegular() || !isOwn(fi) {
		return false
	}
	if lockFile(f) != lockHeld || !p.unchanged(dir, name, fi) {
		return false
	}
	return dir.Remove(name) == nil
}
