package provider

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Provider is a tree of regular files and directories.
//
// What holds for every method:
//   - It is safe for concurrent use, with all methods of all open Files.
//   - It never follows a link in any element of a name: [ErrSymlink]. Three
//     exceptions act on a link itself when it is the last element: Stat reports
//     it, Remove unlinks it, Rename moves it.
//   - It never blocks on a FIFO, socket or device. Stat and listings report
//     every type, Remove and Rename work on every type, all else is
//     [ErrIrregular].
//   - A missing name is [fs.ErrNotExist]; an element that is no directory is
//     syscall.ENOTDIR; a name longer than the storage can hold is
//     syscall.ENAMETOOLONG.
//   - A context that is done is its error, before anything is changed.
//   - It fails without effect, unless the method says otherwise.
//   - Methods return bare conditions (package comment, section Errors).
//   - On a read-only provider (Features.Write false) every mutation is
//     syscall.EROFS, whether the name exists or not; an Open with any of Write,
//     Append, Create or Truncate is a mutation.
//   - After Close every method is [fs.ErrClosed]; open Files stay usable.
type Provider interface {
	// Open opens a file, or a directory for listing (with Read, and none of
	// Write, Append, Create and Truncate: else syscall.EISDIR). ctx also
	// governs the life of the File: once it is done, operations may fail with
	// its error. With Create the parent must exist; with Exclusive besides,
	// anything at name, links included, is [fs.ErrExist]. Truncate takes effect
	// only when the open succeeds. [ErrSymlink] for a link anywhere, dangling
	// or not; [ErrQuota] when a new file exceeds a limit. Opening the root with
	// Create|Exclusive is fs.ErrExist.
	Open(ctx context.Context, name Path, opts OpenOptions) (File, error)

	// Stat describes what is at name without following a link there. The
	// result is a snapshot: Name is name.Base(), Sys is nil, Mode has the type
	// bits of package fs, Size is the byte length of a regular file and
	// unspecified for other types.
	Stat(ctx context.Context, name Path) (fs.FileInfo, error)

	// Mkdir makes one directory with the permission bits perm&0o777. The
	// parent must exist. Anything at name, links and the root included, is
	// [fs.ErrExist].
	Mkdir(ctx context.Context, name Path, perm fs.FileMode) error

	// Remove unlinks a file, a link or an empty directory. A directory that
	// holds anything is syscall.ENOTEMPTY, the root and a mount point
	// syscall.EBUSY. Open Files of the removed object stay usable.
	Remove(ctx context.Context, name Path) error

	// Rename moves oldname to newname in one step for other callers. Over a
	// file or a link it replaces it; over an existing directory it is
	// [fs.ErrExist], as in package os; a directory over a file is
	// syscall.ENOTDIR. A directory moved to a name below itself that is no
	// existing directory is syscall.EINVAL. The root at either end is
	// syscall.EBUSY, storage borders are syscall.EXDEV. Renaming a name to itself
	// succeeds and changes nothing (with NoReplace: fs.ErrExist). Open Files stay
	// usable. The parent of newname must exist.
	Rename(ctx context.Context, oldname, newname Path, opts RenameOptions) error

	// Replace makes content the whole content of name, so that every reader
	// and every crash sees the old content or the new, whole. It reads content
	// to its end before it takes effect; an error from content is returned and
	// nothing is changed. A new file gets opts.Perm, an existing one keeps its
	// permission bits. A directory at name is syscall.EISDIR, a link
	// [ErrSymlink]. opts.If is checked in the same step as the change:
	// [ErrConflict] when it fails, [fs.ErrNotExist] for IfMatch on a missing
	// name. It returns the digest of the content written. Files open on the
	// old content keep it.
	Replace(ctx context.Context, name Path, content io.Reader, opts ReplaceOptions) (Digest, error)

	// Chmod sets the permission bits perm&0o777 of a file or directory.
	// [errors.ErrUnsupported] when Features.Chmod is false.
	Chmod(ctx context.Context, name Path, perm fs.FileMode) error

	// Chtimes sets the access and modification times of a file or directory;
	// a zero Time leaves that one alone, as in package os. Precision and range
	// are the storage's. [errors.ErrUnsupported] when Features.Chtimes is false.
	Chtimes(ctx context.Context, name Path, atime, mtime time.Time) error

	// Features says what this storage promises. It does no I/O and never
	// changes during the life of the Provider.
	Features() Features

	// Close releases the Provider. Open Files stay usable. A second Close is
	// [fs.ErrClosed].
	Close() error
}

// File is an open file or directory without a cursor.
//
// Position, paging, append mode and the errors of the access mode are kept
// once, in policyfs.File: a caller of this interface never writes to a File
// opened without Write, so what then happens is unspecified as long as nothing
// changes. A File is safe for concurrent use, Close included: an operation that
// races with Close either completes or is [fs.ErrClosed], and never reaches
// another file. It stays on its object when that is renamed or removed.
//
// On a directory everything but ReadDir, Stat, Sync and Close is
// syscall.EISDIR. On a file ReadDir is syscall.ENOTDIR.
type File interface {
	// ReadAt is io.ReaderAt: fewer bytes than asked come with an error, which
	// is io.EOF at the end. A negative offset is syscall.EINVAL.
	io.ReaderAt
	// WriteAt is io.WriterAt. Bytes between the old end and off read as zero.
	// Writing nothing changes nothing, beyond the end too. A write that a limit
	// forbids is [ErrQuota] (or the errno of the storage) and reports how many
	// bytes were written; memory providers write none. A negative offset is
	// syscall.EINVAL.
	io.WriterAt
	// Close releases the File. A second Close is [fs.ErrClosed].
	io.Closer

	// Append writes p at the end of the file in one step: concurrent Appends
	// never overlap. end is the size of the file right after it. Only a File
	// opened with Append and Write has it.
	Append(p []byte) (n int, end int64, err error)

	// ReadDir lists the directory as it is now, in any order, each time from
	// the beginning. More than max entries (max > 0) is [ErrTooMany] with no
	// entries; max <= 0 sets no bound. Names that no [Path] can spell are
	// included; "." and "..", and temporaries that the provider reserves, are
	// not. Entries report links as fs.ModeSymlink. Their Info describes the
	// object of that name in this directory, without ever resolving a path
	// again, and may be called until Close; one that vanished is
	// [fs.ErrNotExist].
	ReadDir(max int) ([]fs.DirEntry, error)

	// Stat describes the open object as it is now; see [Provider.Stat]. Name
	// is the base name it was opened with.
	Stat() (fs.FileInfo, error)

	// Truncate sets the size; growth reads as zero. A negative size is
	// syscall.EINVAL.
	Truncate(size int64) error

	// Sync makes the content durable where Features.Durable says so, and
	// succeeds where there is nothing to do.
	Sync() error
}

// RenameOptions are the options of [Provider.Rename]; the zero value renames as
// package os does.
type RenameOptions struct {
	// NoReplace refuses with fs.ErrExist when anything, links included, is at
	// newname, in the same step as the rename.
	NoReplace bool
	// NotDir refuses with syscall.EISDIR when oldname is a directory; nothing
	// is moved then. It lets a caller ask "rename this if it is a file" without
	// looking first.
	NotDir bool
}

// ReplaceOptions are the options of [Provider.Replace].
type ReplaceOptions struct {
	// Perm is the mode of a new file; 0 is 0o644, bits outside 0o777 are
	// dropped. An existing file keeps its permission bits, never setuid,
	// setgid or sticky.
	Perm fs.FileMode
	// If must hold for the change to happen; the zero Condition always holds.
	If Condition
}

// Features says what a storage promises. The zero value claims nothing; a claim
// that does not hold is a fault that package conformance finds.
type Features struct {
	// Write: Mkdir, Remove, Rename, Replace and creating files work. Without
	// it, every mutation is syscall.EROFS.
	Write bool
	// InPlace: opening for writing works, and WriteAt, Truncate and Append do.
	// Without it (but with Write) they are errors.ErrUnsupported.
	InPlace bool
	// CaseSensitive: two spellings are two files, everywhere in the tree.
	CaseSensitive bool
	// LinkFree: no link can appear from outside.
	LinkFree bool
	// RaceFree: reads and opens stay inside the root while other processes
	// rename and link below it.
	RaceFree bool
	// Chmod and Chtimes: the method of that name works.
	Chmod, Chtimes bool
	// AtomicRename: others see the old name or the new one, never both or none.
	AtomicRename bool
	// Durable: what Sync and Replace report as done survives a crash.
	Durable bool
	// Quota: limits are enforced with ErrQuota.
	Quota bool
}

// EntryRemover is an optional interface of a directory [File]: it removes one
// entry without resolving a path. dir says what the caller saw there: a
// directory (removed if empty, else syscall.ENOTEMPTY) or anything else
// (unlinked); when the type has changed since, syscall.ENOTDIR or
// syscall.EISDIR. elem must be a name that ReadDir gave, or one element of a
// [Path]; anything with a slash, and "." and "..", is [ErrPath].
type EntryRemover interface {
	RemoveEntry(elem string, dir bool) error
}

// EntryReader is an optional interface of a directory [File]: it lists in fewer
// allocations than ReadDir and the entries' Info, with the same results.
//
// ReadEntries calls visit, on the goroutine of its caller, with the name and the
// type of every entry that ReadDir(max) returns, in any order, and returns its
// error; some entries may have been visited then. visit may keep the name and must
// not call the File.
//
// StatEntry makes info describe the entry elem as it is now, as its Info would; in
// the place of a name that is gone it is fs.ErrNotExist. elem is as for
// [EntryRemover]; info is changed only when there is no error. Like all of a File it
// is safe for concurrent use: several goroutines describe one listing.
//
// Both are fs.ErrClosed after Close, and syscall.ENOTDIR on what is no directory.
type EntryReader interface {
	ReadEntries(max int, visit func(name string, typ fs.FileMode)) error
	StatEntry(elem string, info *Info) error
}

// ContentViewer is an optional interface of a regular [File]: it shows content that
// lies in memory without copying it.
//
// If the whole content lies there in one piece of at most max bytes, as that of an
// empty file always does, ViewContent calls fn with it once, on the goroutine of its
// caller, and ok is true. Else fn is not called: a larger file, or one in several
// pieces, has to be read.
//
// content is what ReadAt would give at one moment of the call. fn must neither write to
// it nor keep it. It stays as it is while fn runs, and nobody waits for fn: what is
// written to the file meanwhile takes effect at once, beside it. So fn may take long,
// wait for others, and use the File. When fn panics, so does ViewContent.
//
// Errors are those of ReadAt: fs.ErrClosed after Close, syscall.EISDIR on a directory.
// ok is false then.
type ContentViewer interface {
	ViewContent(max int, fn func(content []byte)) (ok bool, err error)
}

// FileReader is an optional interface of a [Provider]: it reads a whole file in
// fewer steps than Open, Stat, ReadAt and Close. More than max bytes (max > 0)
// is syscall.EFBIG, noticed before the content is allocated where the size is
// known; max <= 0 sets no bound. The slice belongs to the caller.
type FileReader interface {
	ReadFile(ctx context.Context, name Path, max int64) ([]byte, error)
}

// FileIntoReader is a [FileReader] that can also read a whole file into memory of the
// caller, for those who read many files.
//
// ReadFileInto reads the whole file into p and returns its size. A file of more than
// len(p) bytes is syscall.EFBIG, noticed before anything is read where the size is
// known; for an empty file p may be empty. Other errors are those of ReadFile. All of
// p may be used as scratch space, also when it fails; nothing behind it is, and p is
// not kept.
type FileIntoReader interface {
	FileReader
	ReadFileInto(ctx context.Context, name Path, p []byte) (n int, err error)
}
