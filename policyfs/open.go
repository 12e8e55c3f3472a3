package policyfs

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/provider"
)

// Create is OpenFile with O_RDWR|O_CREATE|O_TRUNC and mode 0666, as in package os.
func (f *FS) Create(name string) (afero.File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open opens a file or directory for reading.
func (f *FS) Open(name string) (afero.File, error) {
	return f.OpenFile(name, os.O_RDONLY, 0)
}

// OpenFile opens name with the flags of package os and the meaning they have
// there. The result is a [*File].
//
// It asks for OpRead if the handle is readable (or OpList, which opens
// directories only), OpCreate for O_CREATE, and OpWrite for every other flag
// that writes, O_CREATE without O_EXCL included. Access mode 3 and unknown flags
// are syscall.EINVAL. Links are provider.ErrSymlink, FIFOs, sockets and devices
// provider.ErrIrregular, without blocking.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	file, err := f.open(name, flag, perm)
	if err != nil {
		return nil, pathErr("open", name, err)
	}
	return file, nil
}

func (f *FS) open(name string, flag int, perm fs.FileMode) (*File, error) {
	opts, err := provider.ParseFlag(flag, perm)
	if err != nil {
		return nil, err
	}
	var v view
	if err := f.view(&v); err != nil {
		return nil, f.refuseAll(OpRead, name, err)
	}
	var t target
	needs := openNeeds(opts)
	if err := f.resolve(&v, &t, name, &needs); err != nil {
		return nil, err
	}
	pf, err := v.openTarget(&t, opts)
	v.done(openOp(opts), &t, err)
	if err != nil {
		return nil, err
	}
	return newFile(&v, &t, pf, opts, flag), nil
}

// openNeeds translates the flags into what they ask of the policy.
func openNeeds(o provider.OpenOptions) needs {
	mutates := o.Mutates() || o.Exclusive
	if o.Read && !mutates { // as most opens are
		return needs{ops: [3]Op{OpRead}, instead: OpList}
	}
	var n needs
	i := 0
	add := func(op Op) { n.ops[i] = op; i++ }
	if o.Read {
		add(OpRead)
	}
	exclusive := o.Create && o.Exclusive
	if o.Create {
		add(OpCreate)
	}
	if mutates && !exclusive {
		add(OpWrite)
	}
	if o.Mutates() {
		n.mount, n.blank = syscall.EISDIR, true
		if exclusive {
			n.mount = syscall.EEXIST
		}
	}
	return n
}

// openOp is the Op that the outcome of an open is reported under.
func openOp(o provider.OpenOptions) Op {
	switch {
	case o.Create:
		return OpCreate
	case o.Mutates():
		return OpWrite
	}
	return OpRead
}

// openTarget opens what was authorized.
func (v *view) openTarget(t *target, opts provider.OpenOptions) (provider.File, error) {
	// O_APPEND without write access changes nothing, and a directory may be
	// opened with it; the policy was asked as for a write all the same.
	opts.Append = opts.Append && opts.Write
	if !opts.Mutates() {
		opts.Directory = t.traverse || t.mustDir
		return v.openForReading(t, opts)
	}
	if t.mustDir {
		// To make a file under a name spelled as a directory, says the kernel,
		// is EISDIR, whatever is there.
		if opts.Create {
			return nil, syscall.EISDIR
		}
		info, err := described(t.Provider.Stat(v.fs.context(), t.rel()))
		if err == nil && !info.IsDir() {
			err = notDir(info)
		}
		if err == nil {
			err = syscall.EISDIR
		}
		return nil, err
	}
	lock, err := v.lockShared(t)
	if err != nil {
		return nil, err
	}
	defer lock.unlock()
	pf, err := opened(t.Provider.Open(v.fs.context(), t.rel(), opts))
	if opts.Create && v.fs.opts.CreateParents && errors.Is(err, fs.ErrNotExist) {
		if perr := v.makeParents(t, 0o777); perr != nil {
			return nil, perr
		}
		pf, err = opened(t.Provider.Open(v.fs.context(), t.rel(), opts))
	}
	return pf, err
}

// openForReading opens a file or directory. What may only be traversed and is no
// directory does not exist for the caller.
func (v *view) openForReading(t *target, opts provider.OpenOptions) (provider.File, error) {
	overlay := v.isOverlay(t)
	opts.Directory = opts.Directory || overlay
	pf, err := opened(t.Provider.Open(v.fs.context(), t.rel(), opts))
	if err == nil {
		return pf, nil
	}
	if overlay {
		// A directory that leads to a mount point exists, whatever the
		// provider has there.
		return newOverlayDir(t.Path.Base()), nil
	}
	return nil, v.unseen(t, err)
}

// isOverlay reports whether t is a directory because a mount point lies below it,
// while the mount that contains it may have anything, or nothing, there.
func (v *view) isOverlay(t *target) bool {
	return !t.rel().IsRoot() && v.ns.IsAncestor(t.Path)
}

// isTypeError reports whether err says that an object is there and is no directory.
func isTypeError(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, provider.ErrSymlink) || errors.Is(err, provider.ErrIrregular)
}

// notDir is the error for an object that the name says is a directory.
func notDir(info fs.FileInfo) error {
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return provider.ErrSymlink
	}
	return syscall.ENOTDIR
}

// refuseAll announces a refusal that no snapshot was there for, and returns it.
func (f *FS) refuseAll(op Op, name string, err error) error {
	denied, ok := err.(*DeniedError)
	if !ok {
		return err
	}
	denied.Op = op
	f.audit(Event{Request: Request{Op: op}, Decision: Decision{Rule: denied.Rule}, Name: name, Err: denied.Cause})
	return denied
}
