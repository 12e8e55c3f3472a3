package policyfs

import (
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// overlayDir is a directory that exists only because a mount point lies below
// it: its listing is what the namespace adds, and the provider's part is empty.
type overlayDir struct {
	name   string
	closed atomic.Bool
}

var _ provider.File = (*overlayDir)(nil)

func newOverlayDir(name string) *overlayDir { return &overlayDir{name: name} }

// check returns err, or that the directory is closed.
func (d *overlayDir) check(err error) error {
	if d.closed.Load() {
		return fs.ErrClosed
	}
	return err
}

func (d *overlayDir) ReadAt([]byte, int64) (int, error)  { return 0, d.check(syscall.EISDIR) }
func (d *overlayDir) WriteAt([]byte, int64) (int, error) { return 0, d.check(syscall.EISDIR) }
func (d *overlayDir) Truncate(int64) error               { return d.check(syscall.EISDIR) }
func (d *overlayDir) Sync() error                        { return d.check(nil) }

func (d *overlayDir) Append([]byte) (int, int64, error) { return 0, 0, d.check(syscall.EISDIR) }

func (d *overlayDir) ReadDir(int) ([]fs.DirEntry, error) { return nil, d.check(nil) }

func (d *overlayDir) Stat() (fs.FileInfo, error) { return overlayInfo(d.name), d.check(nil) }

func (d *overlayDir) Close() error {
	if d.closed.Swap(true) {
		return fs.ErrClosed
	}
	return nil
}
