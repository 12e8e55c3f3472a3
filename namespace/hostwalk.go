package namespace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// maxLinks is how many links the Linux kernel follows in one path.
const maxLinks = 40

// hostWalk resolves a path of the host as its kernel does: links are followed,
// and ".." is the parent of the directory that was really reached. It trusts
// whoever names the path, and is check-then-use.
type hostWalk struct {
	// at is what was reached so far, without links and ".."; the names are those
	// that the storage lists, where spelling does not decide.
	at string
	// tail is what of the path does not exist below at, "" when all of it does.
	tail string
	// dir says that at is a directory.
	dir bool
	// links are the directories in which links were followed.
	links []string

	pending []string // elements still to take, the next one last
}

// resolveHost walks an absolute path. With an error, the walk tells how far it
// came. Missing elements are no error when nothing but plain names follows.
func resolveHost(ctx context.Context, path string) (*hostWalk, error) {
	w := &hostWalk{}
	if !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
		return w, refusal("host path is not absolute")
	}
	w.restart(path)
	for len(w.pending) > 0 {
		if err := ctx.Err(); err != nil {
			return w, err
		}
		elem := w.pending[len(w.pending)-1]
		w.pending = w.pending[:len(w.pending)-1]
		if err := w.step(elem); err != nil {
			return w, err
		}
	}
	return w, nil
}

// restart makes an absolute path what is still to take.
func (w *hostWalk) restart(path string) {
	volume := filepath.VolumeName(path)
	w.at, w.dir = volume+string(filepath.Separator), true
	w.push(path[len(volume):])
}

// push puts the elements of path before those that are still to take.
func (w *hostWalk) push(path string) {
	elems := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	if path != "" && os.IsPathSeparator(path[len(path)-1]) {
		elems = append(elems, ".") // "f/" is only a directory
	}
	slices.Reverse(elems)
	w.pending = append(w.pending, elems...)
}

// step takes one element.
func (w *hostWalk) step(elem string) error {
	switch {
	case !w.dir:
		return syscall.ENOTDIR
	case elem == ".":
		return nil
	case elem == "..":
		w.at = filepath.Dir(w.at)
		return nil
	}
	next := filepath.Join(w.at, elem)
	info, err := os.Lstat(next)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(elem)
	case err != nil:
		return bareError(err)
	case info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0:
		return w.follow(next)
	}
	w.at, w.dir = filepath.Join(w.at, storedName(w.at, elem)), info.IsDir()
	return nil
}

// missing ends the walk at an element that does not exist.
func (w *hostWalk) missing(elem string) error {
	rest := slices.Clone(w.pending)
	slices.Reverse(rest)
	if slices.Contains(rest, "..") {
		return fs.ErrNotExist
	}
	w.tail = filepath.Join(append([]string{elem}, rest...)...)
	w.pending = nil
	return nil
}

// follow replaces a link by its target.
func (w *hostWalk) follow(link string) error {
	if len(w.links) == maxLinks {
		return syscall.ELOOP
	}
	target, err := os.Readlink(link)
	if err != nil {
		return bareError(err)
	}
	w.links = append(w.links, w.at)
	if filepath.IsAbs(target) {
		w.restart(target)
		return nil
	}
	w.push(target)
	return nil
}

// path returns what the walk reached, with what does not exist.
func (w *hostWalk) path() string {
	if w.tail == "" {
		return w.at
	}
	return filepath.Join(w.at, w.tail)
}

// storedName returns the name under which dir lists elem, which exists. Storage
// that ignores case may give every spelling an identity of its own (exfat-fuse
// does), so that only one spelling may be used.
func storedName(dir, elem string) string {
	other := strings.Map(flipCase, elem)
	if other == elem {
		return elem
	}
	if _, err := os.Lstat(filepath.Join(dir, other)); err != nil {
		return elem
	}
	names, err := readNames(dir)
	if err != nil || slices.Contains(names, elem) {
		return elem
	}
	for _, name := range names {
		if strings.EqualFold(name, elem) {
			return name
		}
	}
	return elem
}

// flipCase exchanges upper and lower case.
func flipCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// bareError strips what package os puts around a condition, which names a path
// of the host.
func bareError(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return known
		}
	}
	return hiddenError{err}
}

// hiddenError keeps the text of an unknown error, which may name a path of the
// host, out of messages.
type hiddenError struct{ cause error }

func (hiddenError) Error() string { return "input/output error" }

func (e hiddenError) Unwrap() error { return e.cause }
