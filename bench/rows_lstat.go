package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/afero"
)

// lstatFs is what tools do that have nothing better: Lstat every element, then
// act on the same string. It is slower and it can be raced.
type lstatFs struct {
	afero.OsFs
	root string
}

// check looks at every element and returns the host path. The last may be missing.
func (l lstatFs) check(name string) (at string, err error) {
	at = l.root
	for elem := range strings.SplitSeq(name, "/") {
		at += "/" + elem
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) && len(at) == len(l.root)+1+len(name) {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", fs.ErrPermission
		}
	}
	return at, nil
}

func (l lstatFs) Open(name string) (afero.File, error) {
	at, err := l.check(name)
	if err != nil {
		return nil, err
	}
	return l.OsFs.Open(at)
}

func (l lstatFs) Create(name string) (afero.File, error) {
	at, err := l.check(name)
	if err != nil {
		return nil, err
	}
	return l.OsFs.Create(at)
}

func (l lstatFs) Stat(name string) (fs.FileInfo, error) {
	at, err := l.check(name)
	if err != nil {
		return nil, err
	}
	return l.OsFs.Stat(at)
}

func (l lstatFs) Mkdir(name string, perm fs.FileMode) error {
	at, err := l.check(name)
	if err != nil {
		return err
	}
	return l.OsFs.Mkdir(at, perm)
}

func (l lstatFs) Remove(name string) error {
	at, err := l.check(name)
	if err != nil {
		return err
	}
	return l.OsFs.Remove(at)
}

func (l lstatFs) Rename(oldname, newname string) error {
	from, err1 := l.check(oldname)
	to, err2 := l.check(newname)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return l.OsFs.Rename(from, to)
}

// lstatPeerName is what the rows say of it.
const lstatPeerName = "Lstat of every element, then package os"

// lstatRow compares with the check of every element by Lstat.
func lstatRow(id, what string, goal float64, op fileOp) row {
	return row{ID: id, What: what, Peer: lstatPeerName, Goal: goal,
		Prepare: func(dir string) (side, side, func(), error) {
			f, name, release, err := diskWithFile(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			agent, peer := "/workspace/"+name, lstatFs{root: dir}
			return repeat(func() error { return op(f, agent) }), repeat(func() error { return op(peer, name) }), release, nil
		}}
}
