package diskfs

// OpenWalk opens dir without openat2.
func OpenWalk(dir string, opts Options) (*FS, error) { return open(dir, opts, true) }

// Walks reports whether d resolves element by element.
func (d *FS) Walks() bool { return d.walk }
