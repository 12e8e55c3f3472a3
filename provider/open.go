package provider

import (
	"io/fs"
	"os"
	"syscall"
)

// DefaultPerm is the mode of a new file whose options leave it open.
const DefaultPerm fs.FileMode = 0o644

// OpenOptions says how [Provider.Open] opens. At least one of Read and Write
// must be set, else Open is syscall.EINVAL.
type OpenOptions struct {
	// Read and Write are the access mode.
	Read, Write bool
	// Append makes [File.Append] available; without Write it changes nothing.
	Append bool
	// Create makes a missing file, with Perm.
	Create bool
	// Exclusive, with Create, refuses anything that exists, links included;
	// without Create it changes nothing.
	Exclusive bool
	// Truncate empties an existing regular file. It needs the storage's
	// permission to write even without Write.
	Truncate bool
	// Directory refuses all but a directory with syscall.ENOTDIR, without side
	// effect. It does not go with Write, Append, Create and Truncate:
	// syscall.EINVAL.
	Directory bool
	// Perm is the mode of a created file: 0 is [DefaultPerm], bits outside
	// 0o777 are dropped. A provider over a disk also applies the umask.
	Perm fs.FileMode
}

// Mutates reports whether opening this way can change the storage.
func (o OpenOptions) Mutates() bool { return o.Write || o.Append || o.Create || o.Truncate }

// Check returns syscall.EINVAL for a combination that no provider serves, so
// that all of them refuse the same ones.
func (o OpenOptions) Check() error {
	if !o.Read && !o.Write || o.Directory && (o.Mutates() || !o.Read) {
		return syscall.EINVAL
	}
	return nil
}

// FileMode returns the permission bits for a file that these options create.
func (o OpenOptions) FileMode() fs.FileMode { return filePerm(o.Perm) }

// FileMode returns the permission bits for a file that these options create.
func (o ReplaceOptions) FileMode() fs.FileMode { return filePerm(o.Perm) }

// filePerm masks perm and puts the default in the place of 0.
func filePerm(perm fs.FileMode) fs.FileMode {
	if perm == 0 {
		return DefaultPerm
	}
	return perm & fs.ModePerm
}

// knownFlags are the flags of package os that ParseFlag understands.
const knownFlags = os.O_RDONLY | os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREATE | os.O_EXCL | os.O_TRUNC | os.O_SYNC

// ParseFlag translates the flags of os.OpenFile. Access mode 3
// (O_WRONLY|O_RDWR) and bits that package os does not define are
// syscall.EINVAL. os.O_SYNC is accepted and left to the caller, which has to
// call [File.Sync] after each write.
func ParseFlag(flag int, perm fs.FileMode) (OpenOptions, error) {
	const access = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	if flag&^knownFlags != 0 || flag&access == os.O_WRONLY|os.O_RDWR {
		return OpenOptions{}, syscall.EINVAL
	}
	return OpenOptions{
		Read:      flag&access != os.O_WRONLY,
		Write:     flag&access != os.O_RDONLY,
		Append:    flag&os.O_APPEND != 0,
		Create:    flag&os.O_CREATE != 0,
		Exclusive: flag&os.O_EXCL != 0,
		Truncate:  flag&os.O_TRUNC != 0,
		Perm:      perm & fs.ModePerm,
	}, nil
}
