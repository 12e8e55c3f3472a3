//go:build !linux

package diskfs

// FS is a provider over one host directory. It is made by [Open], safe for
// concurrent use, and must be closed.
type FS struct{ *portable }

// Open opens the host directory dir as a provider. dir is trusted: links in it
// are followed, once. From then on the provider holds the directory open.
//
// Errors are bare conditions without the host path. Nothing is written.
func Open(dir string, opts Options) (*FS, error) {
	p, err := openPortable(dir, opts)
	if err != nil {
		return nil, err
	}
	return &FS{p}, nil
}
