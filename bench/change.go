package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/afero"
)

// A change is an operation on a name that has to be prepared before, or cleared
// away after, in the host's spelling.
type change struct {
	do            func(m mutator, name string) error
	before, after func(host string) error
}

// A mutator is what a change is made through: any afero.Fs, and *os.Root.
type mutator interface {
	Mkdir(name string, perm fs.FileMode) error
	Remove(name string) error
}

var (
	mkdir  = change{do: func(m mutator, name string) error { return m.Mkdir(name, 0o755) }, after: os.Remove}
	remove = change{do: mutator.Remove, before: func(host string) error { return os.WriteFile(host, nil, 0o644) }}
	rmdir  = change{do: mutator.Remove, before: func(host string) error { return os.Mkdir(host, 0o755) }}
)

// side makes c on names that begin with prefix, and with host in the host's spelling.
func (c change) side(m mutator, prefix, host string) side {
	names, hosts := numbered(prefix), numbered(host)
	at := func(f func(string) error) func(int) error {
		if f == nil {
			return nil
		}
		return func(i int) error { return f(hosts(i)) }
	}
	timed := repeatOver(at(c.before), func(i int) error { return c.do(m, names(i)) }, at(c.after))
	return func(n int) (time.Duration, error) {
		names(n) // before the clock starts
		return timed(n)
	}
}

// A peerDir opens a directory as a peer does. Names begin with prefix there.
type peerDir func(dir string) (m mutator, prefix string, release func(), err error)

func hostPeer(dir string) (mutator, string, func(), error) {
	return afero.NewOsFs(), dir + "/", func() {}, nil
}

func rootPeer(dir string) (mutator, string, func(), error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", nil, err
	}
	return root, "", func() { root.Close() }, nil
}

func lstatPeer(dir string) (mutator, string, func(), error) {
	return lstatFs{root: dir}, "", func() {}, nil
}

func stackPeer(dir string) (mutator, string, func(), error) {
	f, release, err := disk(dir)
	return f, "/workspace/", release, err
}

// changeRow compares a change made by the whole stack with a peer's.
func changeRow(id, what, peerName string, goal float64, c change, peer peerDir) row {
	return changesRow(id, what, peerName, goal, c, stackPeer, peer)
}

// changesRow compares a change at depth 8 made by two.
func changesRow(id, what, peerName string, goal float64, c change, ours, peer peerDir) row {
	return row{ID: id, What: what, Peer: peerName, Goal: goal,
		Prepare: func(dir string) (side, side, func(), error) {
			below := path.Dir(deep(8))
			host := filepath.Join(dir, below)
			if err := os.MkdirAll(host, 0o755); err != nil {
				return nil, nil, nil, err
			}
			a, aPrefix, aRelease, err := ours(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			b, bPrefix, bRelease, err := peer(dir)
			if err != nil {
				aRelease()
				return nil, nil, nil, err
			}
			return c.side(a, aPrefix+below+"/ours", host+"/ours"), c.side(b, bPrefix+below+"/peer", host+"/peer"),
				func() { aRelease(); bRelease() }, nil
		}}
}
