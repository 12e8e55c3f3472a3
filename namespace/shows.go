package namespace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ShowsHost reports whether agents could reach a file of the host, or make it
// where it does not exist yet, through some mount: for whoever keeps a policy or an
// audit log out of their reach. Links in path are followed. Directories are
// compared by identity, and on Linux with the kernel's table of mounts too, so that
// a bind mount of either side, or of a part of it, hides nothing. Hard links are
// not seen: a file with one may have another name in a mount.
//
// An error, without a host path, means that the answer is not known. path must
// come from a trusted place.
func (n *Namespace) ShowsHost(path string) (bool, error) {
	if n == nil {
		return false, nil // nothing is mounted
	}
	w, err := resolveHost(context.Background(), path)
	if err != nil {
		return false, err
	}
	table, err := readMountTable()
	if err != nil {
		return false, err
	}
	return n.shows(w.at, table)
}

// shows is ShowsHost of a path without links, with the table of mounts, which is
// empty where a system has none.
func (n *Namespace) shows(path string, table mountTable) (bool, error) {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return false, bareError(err)
		}
		if n.mountAtHost(dir, info) != nil {
			return true, nil
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	at := table.locate(path)
	for _, m := range n.mounts {
		if m.hostDir == "" {
			continue
		}
		dir, err := resolveHost(context.Background(), m.hostDir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && dir.tail != "" {
			continue // what is gone shows nothing
		}
		if err != nil {
			return false, err
		}
		for _, v := range table.views(dir.at) {
			if _, ok := v.place.cut(at); ok {
				return true, nil
			}
		}
	}
	return false, nil
}
