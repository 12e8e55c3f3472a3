package diskfs

import (
	"strings"

	"github.com/workspacefs/workspacefs/provider"
	"golang.org/x/sys/unix"
)

// checkName refuses names that this provider reserves, and on storage that may
// have them short-name aliases ("LONGFI~1.TXT").
func (d *FS) checkName(root int, name provider.Path) error {
	if err := checkReserved(name, d.traits.caseSensitive); err != nil {
		return err
	}
	if !d.traits.aliases || !mayBeAlias(name.String()) {
		return nil
	}
	parent := provider.Path{}
	for elem := range name.Elems() {
		if mayBeAlias(elem) {
			// Checked, then used: an alias appears only when somebody makes
			// the long name meanwhile.
			dir, err := d.openAt(root, parent.String(), unix.O_RDONLY|unix.O_DIRECTORY|openFlags, 0, d.resolve)
			if err == unix.ENOENT || err == unix.ENOTDIR {
				return nil // the operation itself will say so
			}
			if err != nil {
				return err
			}
			err = d.checkAlias(dir, elem)
			closeFD(dir)
			if err != nil {
				return err
			}
		}
		next, err := parent.Join(elem)
		if err != nil {
			return err
		}
		parent = next
	}
	return nil
}

// checkAlias refuses elem with provider.ErrPath when it may be a short-name
// alias: it exists in dir, and the listing does not have it.
func (t *tree) checkAlias(dir int, elem string) error {
	if !t.traits.aliases || !mayBeAlias(elem) {
		return nil
	}
	var st unix.Stat_t
	if e := fstatat(dir, elem, &st); e == unix.ENOENT {
		return nil
	}
	found := false
	e := eachName(dir, func(name []byte) bool {
		found = strings.EqualFold(string(name), elem)
		return !found
	})
	switch {
	case e != 0:
		return e
	case !found:
		return provider.ErrPath
	}
	return nil
}

// eachName calls visit with every name in dir until it returns false. It uses a
// descriptor of its own, so that dir may be O_PATH and its position does not
// matter.
func eachName(dir int, visit func(name []byte) bool) unix.Errno {
	fd, e := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|openFlags, 0)
	if e != 0 {
		return e
	}
	defer closeFD(fd)
	buf := direntBufs.Get().(*[direntBuf]byte)
	defer direntBufs.Put(buf)
	for {
		n, e := getdents(fd, buf[:])
		if e != 0 || n == 0 {
			return e
		}
		for name := range dirents(buf[:n]) {
			if !visit(name) {
				return 0
			}
		}
	}
}
