package diskfs

// Options are the options of [Open]. The zero value opens a directory for
// reading and writing, durably, with everything mounted below it.
type Options struct {
	// ReadOnly makes every mutation syscall.EROFS. A directory on storage that
	// is mounted read-only behaves so without being asked.
	ReadOnly bool
	// OneFileSystem refuses names that lead through a mount point below the
	// root with syscall.EXDEV. Listings still show mount points.
	OneFileSystem bool
	// RejectHardLinks refuses with provider.ErrHardLink to open a regular file
	// that has more than one link for writing or truncation. Replace never
	// writes through a hard link, with or without this option.
	RejectHardLinks bool
	// NoSync makes Replace skip fsync; Features.Durable is false then.
	NoSync bool
}
