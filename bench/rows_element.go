package main

import (
	"context"
	"io/fs"
	"os"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// The rows A11 compare what diskfs does on a Linux without openat2, one openat an
// element, with os.Root, which does that too. No face and no policy is between.

const elementWhat = "element walk instead of openat2, no policy: "

// elementRow compares an operation of the walk on one file.
func elementRow(id, what string, op func(d *diskfs.FS, name provider.Path) error, peerOp func(*os.Root, string) error) row {
	return row{ID: id, What: elementWhat + what, Peer: "os.Root", Goal: 0.95,
		Prepare: func(dir string) (side, side, func(), error) {
			name := deep(8)
			if err := plant(dir, name, 4096); err != nil {
				return nil, nil, nil, err
			}
			d, err := walking(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				d.Close()
				return nil, nil, nil, err
			}
			at := provider.MustPath(name)
			return repeat(func() error { return op(d, at) }), repeat(func() error { return peerOp(root, name) }),
				func() { d.Close(); root.Close() }, nil
		}}
}

func elementStat(d *diskfs.FS, name provider.Path) error {
	_, err := d.Stat(context.Background(), name)
	return err
}

func elementOpen(d *diskfs.FS, name provider.Path) error {
	f, err := d.Open(context.Background(), name, provider.OpenOptions{Read: true})
	if err != nil {
		return err
	}
	return f.Close()
}

// elementMkdirRow compares mkdir by the walk.
func elementMkdirRow(id, what string) row {
	return changesRow(id, elementWhat+what, "os.Root", 0.95, mkdir, elementPeer, rootPeer)
}

// elementPeer makes changes by the walk.
func elementPeer(dir string) (mutator, string, func(), error) {
	d, err := walking(dir)
	if err != nil {
		return nil, "", nil, err
	}
	return byName{d}, "", func() { d.Close() }, nil
}

// byName is a provider for names that are no Path yet.
type byName struct{ d *diskfs.FS }

func (n byName) Mkdir(name string, perm fs.FileMode) error {
	at, err := provider.ParsePath(name)
	if err != nil {
		return err
	}
	return n.d.Mkdir(context.Background(), at, perm)
}

func (n byName) Remove(name string) error {
	at, err := provider.ParsePath(name)
	if err != nil {
		return err
	}
	return n.d.Remove(context.Background(), at)
}
