package diskfs_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// operation is one way to reach a name.
type operation struct {
	name string
	do   func(ctx context.Context, p provider.Provider, name provider.Path) error
	last error // what a link as the last element answers; nil: it acts on the link
}

func opening(opts provider.OpenOptions) func(context.Context, provider.Provider, provider.Path) error {
	return func(ctx context.Context, p provider.Provider, name provider.Path) error {
		f, err := p.Open(ctx, name, opts)
		if err != nil {
			return err
		}
		if opts.Write && !opts.Append {
			_, err = f.WriteAt([]byte("written"), 0)
		}
		return errors.Join(err, f.Close())
	}
}

func replacing(opts provider.ReplaceOptions) func(context.Context, provider.Provider, provider.Path) error {
	return func(ctx context.Context, p provider.Provider, name provider.Path) error {
		_, err := p.Replace(ctx, name, strings.NewReader("replaced"), opts)
		return err
	}
}

// readInto reads a short file by the FileIntoReader of p, if it has one.
func readInto(ctx context.Context, p provider.Provider, name provider.Path) ([]byte, error) {
	r, ok := unwrapped(p).(provider.FileIntoReader)
	if !ok {
		return provider.ReadFile(ctx, p, name)
	}
	b := make([]byte, 64)
	n, err := r.ReadFileInto(ctx, name, b)
	return b[:n], err
}

// operations is used by every test about where an operation may lead.
var operations = []operation{
	{"open-read", opening(provider.OpenOptions{Read: true}), provider.ErrSymlink},
	{"open-write", opening(provider.OpenOptions{Write: true}), provider.ErrSymlink},
	{"open-read-write", opening(provider.OpenOptions{Read: true, Write: true}), provider.ErrSymlink},
	{"open-append", opening(provider.OpenOptions{Write: true, Append: true}), provider.ErrSymlink},
	{"open-truncate", opening(provider.OpenOptions{Read: true, Truncate: true}), provider.ErrSymlink},
	{"open-create", opening(provider.OpenOptions{Write: true, Create: true}), provider.ErrSymlink},
	{"open-exclusive", opening(provider.OpenOptions{Write: true, Create: true, Exclusive: true}), fs.ErrExist},
	{"open-directory", opening(provider.OpenOptions{Read: true, Directory: true}), provider.ErrSymlink},
	{"read-file", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		_, err := provider.ReadFile(ctx, unwrapped(p), name)
		return err
	}, provider.ErrSymlink},
	{"read-file-into", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		_, err := readInto(ctx, p, name)
		return err
	}, provider.ErrSymlink},
	{"stat", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		_, err := p.Stat(ctx, name)
		return err
	}, nil},
	{"mkdir", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Mkdir(ctx, name, 0o755)
	}, fs.ErrExist},
	{"remove", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Remove(ctx, name)
	}, nil},
	{"rename-from", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Rename(ctx, name, path("moved"), provider.RenameOptions{})
	}, nil},
	{"rename-to", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Rename(ctx, path("file"), name, provider.RenameOptions{NotDir: true})
	}, nil},
	{"rename-to-free", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Rename(ctx, path("file"), name, provider.RenameOptions{NoReplace: true})
	}, fs.ErrExist},
	{"rename-directory-to", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Rename(ctx, path("dir"), name, provider.RenameOptions{})
	}, syscall.ENOTDIR},
	{"replace", replacing(provider.ReplaceOptions{}), provider.ErrSymlink},
	{"replace-absent", replacing(provider.ReplaceOptions{If: provider.IfAbsent()}), provider.ErrConflict},
	{"replace-match", replacing(provider.ReplaceOptions{If: provider.IfMatch(provider.Digest{})}), provider.ErrSymlink},
	{"chmod", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Chmod(ctx, name, 0o700)
	}, provider.ErrSymlink},
	{"chtimes", func(ctx context.Context, p provider.Provider, name provider.Path) error {
		return p.Chtimes(ctx, name, time.Unix(1, 0), time.Unix(1, 0))
	}, provider.ErrSymlink},
}

// TestLinkMatrix crosses every operation with a link in every position and with
// every kind of target. Whatever is outside never changes; inside nothing
// changes but a link that is itself removed, moved or replaced.
func TestLinkMatrix(t *testing.T) {
	targets := []string{"OUT/secret", "OUT", "OUT/missing", "../" + "x", "file", "dir", ".", "..", "nowhere", "link", "dir/../file", "/"}
	inModes(t, func(t *testing.T, m mode) {
		keepsFDs(t)
		parent := tempDirIn(t, scratch(t))
		targets := targets
		if !long() {
			targets = targets[:size(3, 6, 0)]
		}
		for _, target := range targets {
			for _, op := range operations {
				for _, name := range []string{"link", "dir/link", "link/x", "dir/link/x", "link/sub/x", "dir/link/secret"} {
					checkLink(t, m, op, parent, name, target)
				}
			}
		}
	})
}

// checkLink runs one cell of the matrix in a fresh tree.
func checkLink(t *testing.T, m mode, op operation, parent, name, target string) {
	t.Helper()
	base := linkTree(t, parent, target)
	out, root := base+"/out", base+"/root"
	p, err := m.open(root, diskfs.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	outside, inside := snapshot(t, out), snapshot(t, root)
	err = op.do(t.Context(), p, path(name))
	want := provider.ErrSymlink
	if strings.HasSuffix(name, "link") {
		want = op.last
	}
	if op.name == "rename-directory-to" && name == "dir/link" {
		want = syscall.EINVAL // below itself, which is said before what is there
	}
	if want == nil && err != nil || want != nil && !errors.Is(err, want) {
		t.Errorf("%s %s (link to %s): %v, want %v", op.name, name, target, err, want)
	}
	if snapshot(t, out) != outside {
		t.Errorf("%s %s (link to %s) changed something outside", op.name, name, target)
	}
	if want != nil && snapshot(t, root) != inside {
		t.Errorf("%s %s (link to %s) failed and changed something", op.name, name, target)
	}
	removeTree(t, base)
}
