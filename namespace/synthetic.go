package namespace

import (
	"context"
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// synthetic serves the ancestors of mount points: read-only directories that
// hold nothing but the way to the mounts. Whoever would change one gets
// syscall.EBUSY. The Namespace owns it; Close of the provider does nothing.
type synthetic struct {
	root *node
	made time.Time // modification time of every directory: when the table was made
}

var _ provider.Provider = (*synthetic)(nil)

func newSynthetic(root *node) *synthetic { return &synthetic{root: root, made: time.Now()} }

// at returns the node of that name.
func (s *synthetic) at(ctx context.Context, name provider.Path) (*node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	nd := s.root
	for elem := range name.Elems() {
		if nd = nd.children[elem]; nd == nil {
			return nil, fs.ErrNotExist
		}
	}
	return nd, nil
}

// busy is the answer to every mutation.
func busy(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return syscall.EBUSY
}

func (s *synthetic) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := opts.Check(); err != nil {
		return nil, err
	}
	if opts.Mutates() {
		return nil, busy(ctx)
	}
	nd, err := s.at(ctx, name)
	if err != nil {
		return nil, err
	}
	return &syntheticDir{info: s.info(nd), node: nd, provider: s, ctx: ctx}, nil
}

func (s *synthetic) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	nd, err := s.at(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.info(nd), nil
}

func (s *synthetic) Mkdir(ctx context.Context, _ provider.Path, _ fs.FileMode) error {
	return busy(ctx)
}

func (s *synthetic) Remove(ctx context.Context, _ provider.Path) error { return busy(ctx) }

func (s *synthetic) Rename(ctx context.Context, _, _ provider.Path, _ provider.RenameOptions) error {
	return busy(ctx)
}

func (s *synthetic) Replace(ctx context.Context, _ provider.Path, _ io.Reader, _ provider.ReplaceOptions) (provider.Digest, error) {
	return provider.Digest{}, busy(ctx)
}

func (s *synthetic) Chmod(ctx context.Context, _ provider.Path, _ fs.FileMode) error {
	return busy(ctx)
}

func (s *synthetic) Chtimes(ctx context.Context, _ provider.Path, _, _ time.Time) error {
	return busy(ctx)
}

// Features: nothing can be written, and there is nothing but directories.
func (s *synthetic) Features() provider.Features {
	return provider.Features{CaseSensitive: true, LinkFree: true, RaceFree: true}
}

func (s *synthetic) Close() error { return nil }

// info describes a node. A mount point shows the access of its mount.
func (s *synthetic) info(nd *node) syntheticInfo {
	info := syntheticInfo{name: nd.elem, mode: fs.ModeDir | 0o555, made: s.made}
	if nd == s.root {
		info.name = "." // provider.Path.Base of a root
	}
	if nd.mount != nil && nd.mount.access == ReadWrite {
		info.mode |= 0o200
	}
	return info
}

// syntheticDir is an open synthetic directory.
type syntheticDir struct {
	info     syntheticInfo
	node     *node
	provider *synthetic
	ctx      context.Context // of the Open: it governs the life of the File
	closed   atomic.Bool
}

var _ provider.File = (*syntheticDir)(nil)

// live returns why the directory cannot be used, else otherwise.
func (d *syntheticDir) live(otherwise error) error {
	if d.closed.Load() {
		return fs.ErrClosed
	}
	if err := d.ctx.Err(); err != nil {
		return err
	}
	return otherwise
}

func (d *syntheticDir) ReadAt([]byte, int64) (int, error)  { return 0, d.live(syscall.EISDIR) }
func (d *syntheticDir) WriteAt([]byte, int64) (int, error) { return 0, d.live(syscall.EISDIR) }
func (d *syntheticDir) Append([]byte) (int, int64, error)  { return 0, 0, d.live(syscall.EISDIR) }
func (d *syntheticDir) Truncate(int64) error               { return d.live(syscall.EISDIR) }
func (d *syntheticDir) Sync() error                        { return d.live(nil) }

func (d *syntheticDir) Stat() (fs.FileInfo, error) {
	if err := d.live(nil); err != nil {
		return nil, err
	}
	return d.info, nil
}

func (d *syntheticDir) ReadDir(limit int) ([]fs.DirEntry, error) {
	if err := d.live(nil); err != nil {
		return nil, err
	}
	if limit > 0 && len(d.node.names) > limit {
		return nil, provider.ErrTooMany
	}
	entries := make([]fs.DirEntry, len(d.node.names))
	for i, name := range d.node.names {
		entries[i] = fs.FileInfoToDirEntry(d.provider.info(d.node.children[name]))
	}
	return entries, nil
}

func (d *syntheticDir) Close() error {
	if d.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}

// syntheticInfo describes a synthetic directory or a mount point.
type syntheticInfo struct {
	name string
	mode fs.FileMode
	made time.Time
}

var _ fs.FileInfo = syntheticInfo{}

func (i syntheticInfo) Name() string       { return i.name }
func (i syntheticInfo) Size() int64        { return 0 }
func (i syntheticInfo) Mode() fs.FileMode  { return i.mode }
func (i syntheticInfo) ModTime() time.Time { return i.made }
func (i syntheticInfo) IsDir() bool        { return true }
func (i syntheticInfo) Sys() any           { return nil }
