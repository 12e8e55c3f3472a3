package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/avfs/avfs"
	avfsmem "github.com/avfs/avfs/vfs/memfs"
	"github.com/go-git/go-billy/v5"
	billymem "github.com/go-git/go-billy/v5/memfs"
	billyutil "github.com/go-git/go-billy/v5/util"
	"github.com/hack-pad/hackpadfs"
	hackpadmem "github.com/hack-pad/hackpadfs/mem"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// A memoryPeer is the memory filesystem of another library, as much of it as the
// rows use. Names are as afero.MemMapFs has them, "/dir1/file.txt".
type memoryPeer interface {
	mkdirAll(name string) error
	write(name string, data []byte) error
	open(name string) (io.ReadCloser, error)
	stat(name string) error
	// list returns the number of entries, all of which it read in sorted order.
	list(name string) (int, error)
}

// billyFS is memfs of go-billy.
type billyFS struct{ billy.Filesystem }

func (f billyFS) mkdirAll(name string) error { return f.MkdirAll(name, 0o755) }

func (f billyFS) write(name string, data []byte) error {
	return billyutil.WriteFile(f.Filesystem, name, data, 0o644)
}

func (f billyFS) open(name string) (io.ReadCloser, error) { return f.Open(name) }

func (f billyFS) stat(name string) error { _, err := f.Stat(name); return err }

func (f billyFS) list(name string) (int, error) {
	list, err := f.ReadDir(name)
	return len(list), err
}

// hackpadFS is mem of hackpadfs, whose names are those of package io/fs.
type hackpadFS struct{ *hackpadmem.FS }

func (f hackpadFS) mkdirAll(name string) error { return f.MkdirAll(name[1:], 0o755) }

func (f hackpadFS) write(name string, data []byte) error {
	return hackpadfs.WriteFullFile(f.FS, name[1:], data, 0o644)
}

func (f hackpadFS) open(name string) (io.ReadCloser, error) { return f.Open(name[1:]) }

func (f hackpadFS) stat(name string) error { _, err := f.Stat(name[1:]); return err }

func (f hackpadFS) list(name string) (int, error) {
	list, err := hackpadfs.ReadDir(f.FS, name[1:])
	return len(list), err
}

// avfsFS is memfs of avfs.
type avfsFS struct{ avfs.VFS }

func (f avfsFS) mkdirAll(name string) error { return f.MkdirAll(name, 0o755) }

func (f avfsFS) write(name string, data []byte) error { return f.WriteFile(name, data, 0o644) }

func (f avfsFS) open(name string) (io.ReadCloser, error) { return f.Open(name) }

func (f avfsFS) stat(name string) error { _, err := f.Stat(name); return err }

func (f avfsFS) list(name string) (int, error) {
	list, err := f.ReadDir(name)
	return len(list), err
}

// memoryPeers are the libraries, each with a function that makes an empty one.
var memoryPeers = []struct {
	id, name string
	make     func() (memoryPeer, error)
}{
	{"billy", "go-billy memfs", func() (memoryPeer, error) { return billyFS{billymem.New()}, nil }},
	{"hackpad", "hackpadfs mem", func() (memoryPeer, error) {
		f, err := hackpadmem.NewFS()
		return hackpadFS{f}, err
	}},
	{"avfs", "avfs memfs", func() (memoryPeer, error) { return avfsFS{avfsmem.New()}, nil }},
}

// rowsPeers are the rows B1, B6 and B7 against the other libraries.
func rowsPeers() []row {
	var rows []row
	for _, p := range memoryPeers {
		rows = append(rows,
			peerRow("B1s."+p.id, "memfs: stat, depth 8", p.name, p.make, memoryPeer.stat, memStat),
			peerRow("B1o."+p.id, "memfs: open + close, depth 8", p.name, p.make, peerOpen, memOpen),
			peerRow("B1r."+p.id, "memfs: open + read 4 KiB + close, depth 8", p.name, p.make, peerRead, memRead),
			peerListRow("B7."+p.id, p.name, p.make),
		)
	}
	return append(rows, billyAppendRow())
}

func peerOpen(f memoryPeer, name string) error {
	file, err := f.open(name)
	if err != nil {
		return err
	}
	return file.Close()
}

func peerRead(f memoryPeer, name string) error {
	file, err := f.open(name)
	if err != nil {
		return err
	}
	_, err = io.ReadFull(file, into)
	return errors.Join(err, file.Close())
}

// peerRow is memRow against another library.
func peerRow(id, what, peerName string, makePeer func() (memoryPeer, error), peerOp func(memoryPeer, string) error, op memOp) row {
	return row{ID: id, What: what, Peer: peerName, Goal: 0.8,
		Prepare: func(string) (side, side, func(), error) {
			f, m := memory()
			peer, err := makePeer()
			if err != nil {
				return nil, nil, nil, err
			}
			name := "/" + deep(8)
			dir := name[:strings.LastIndexByte(name, '/')]
			if err := errors.Join(plantIn(f, name, 4096), peer.mkdirAll(dir), peer.write(name, block)); err != nil {
				return nil, nil, nil, err
			}
			p := provider.MustPath(name[1:])
			return repeat(func() error { return op(m, p) }), repeat(func() error { return peerOp(peer, name) }), func() {}, nil
		}}
}

// peerListRow is listMemRow against another library.
func peerListRow(id, peerName string, makePeer func() (memoryPeer, error)) row {
	return row{ID: id, What: listMemWhat, Peer: peerName, Goal: 0.2,
		Prepare: func(string) (side, side, func(), error) {
			m := memfs.New(memfs.Options{})
			ctx, top := context.Background(), provider.MustPath("list")
			peer, err := makePeer()
			if err := errors.Join(err, m.Mkdir(ctx, top, 0o755)); err != nil {
				return nil, nil, nil, err
			}
			if err := peer.mkdirAll("/list"); err != nil {
				return nil, nil, nil, err
			}
			for i := range listMemEntries {
				name := fmt.Sprintf("list/f%06d", i)
				if err := errors.Join(provider.WriteFile(ctx, m, provider.MustPath(name), nil, 0), peer.write("/"+name, nil)); err != nil {
					return nil, nil, nil, err
				}
			}
			theirs := func() error {
				n, err := peer.list("/list")
				if err == nil && n != listMemEntries {
					err = fmt.Errorf("peer listed %d entries, want %d", n, listMemEntries)
				}
				return err
			}
			return repeat(func() error { return listMem(m) }), repeat(theirs), func() {}, nil
		}}
}

// billyAppendRow is appendRow against go-billy, of all peers the one that appends
// fastest.
func billyAppendRow() row {
	return row{ID: "B6.billy", What: appendWhat, Peer: "go-billy memfs", Goal: 0.25,
		Prepare: func(string) (side, side, func(), error) {
			f, _ := memory()
			peer := billymem.New()
			ours := appendTo(func() (io.WriteCloser, error) { return f.Create("/big") }, func() error { return f.Remove("/big") })
			theirs := appendTo(func() (io.WriteCloser, error) { return peer.Create("/big") }, func() error { return peer.Remove("/big") })
			return repeat(ours), repeat(theirs), func() {}, nil
		}}
}
