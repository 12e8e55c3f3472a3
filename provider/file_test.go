package provider_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// liar is a provider with one file whose Stat says any size. Everything that
// the helpers do not call panics through the nil interface.
type liar struct {
	provider.Provider
	content string
	size    int64
	dir     bool
	readErr error // after content
	noEOF   bool  // nothing and no error after content
	opens   int
	closes  int
	wrote   bytes.Buffer
}

func (l *liar) Open(_ context.Context, _ provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if opts != (provider.OpenOptions{Read: true}) {
		return nil, syscall.EINVAL
	}
	l.opens++
	return &liarFile{l: l}, nil
}

func (l *liar) Replace(_ context.Context, _ provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if opts.Perm != 0o640 || opts.If != (provider.Condition{}) {
		return provider.Digest{}, syscall.EINVAL
	}
	_, err := l.wrote.ReadFrom(content)
	return sha256.Sum256(l.wrote.Bytes()), err
}

type liarFile struct {
	provider.File
	l *liar
}

func (f *liarFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := strings.NewReader(f.l.content).ReadAt(p, off)
	switch {
	case errors.Is(err, io.EOF) && f.l.noEOF:
		err = nil
	case errors.Is(err, io.EOF) && f.l.readErr != nil:
		err = f.l.readErr
	}
	return n, err
}
func (f *liarFile) Stat() (fs.FileInfo, error) { return liarInfo{f.l}, nil }
func (f *liarFile) Close() error               { f.l.closes++; return nil }

type liarInfo struct{ l *liar }

func (i liarInfo) Name() string       { return "f" }
func (i liarInfo) Size() int64        { return i.l.size }
func (i liarInfo) IsDir() bool        { return i.l.dir }
func (i liarInfo) ModTime() time.Time { return time.Time{} }
func (i liarInfo) Sys() any           { return nil }
func (i liarInfo) Mode() fs.FileMode {
	if i.l.dir {
		return fs.ModeDir
	}
	return 0
}

// TestReadFileLyingSize reads files whose size is only a hint.
func TestReadFileLyingSize(t *testing.T) {
	const chunk = 64 << 10
	name := provider.MustPath("f")
	for _, n := range []int{0, 1, 511, 512, 513, 4096, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
		content := strings.Repeat("x", n)
		for _, size := range []int64{0, -1, int64(n), int64(n) - 1, int64(n) + 1, 1, 10 * chunk} {
			l := &liar{content: content, size: size}
			got, err := provider.ReadFile(t.Context(), l, name)
			if err != nil || string(got) != content {
				t.Errorf("%d bytes, Stat says %d: read %d bytes, %v", n, size, len(got), err)
			}
			if got == nil || cap(got) != len(got) {
				t.Errorf("%d bytes, Stat says %d: nil or with spare capacity, which an append would share", n, size)
			}
			if l.opens != 1 || l.closes != 1 {
				t.Errorf("%d opens, %d closes", l.opens, l.closes)
			}
		}
	}
}

func TestReadFileMax(t *testing.T) {
	name := provider.MustPath("f")
	for _, tt := range []struct {
		n           int
		size, limit int64
		ok          bool
	}{
		{10, 10, 0, true},
		{10, 10, -1, true},
		{10, 10, 10, true},
		{10, 10, 11, true},
		{10, 10, 9, false},
		{10, 0, 9, false},   // noticed while reading: the size lies
		{10, 0, 10, true},   //
		{10, 1, 9, false},   //
		{10, 11, 10, false}, // the size alone decides, before allocation
	} {
		l := &liar{content: strings.Repeat("x", tt.n), size: tt.size}
		got, err := provider.ReadFileMax(t.Context(), l, name, tt.limit)
		if tt.ok && (err != nil || len(got) != tt.n) {
			t.Errorf("%+v: %d bytes, %v", tt, len(got), err)
		}
		if !tt.ok && (!errors.Is(err, syscall.EFBIG) || got != nil) {
			t.Errorf("%+v: %d bytes, %v; want EFBIG", tt, len(got), err)
		}
		if l.opens != l.closes {
			t.Errorf("%+v: %d opens, %d closes", tt, l.opens, l.closes)
		}
	}
	huge := &liar{content: "x", size: 1 << 62}
	if n := testing.AllocsPerRun(1, func() { provider.ReadFileMax(t.Context(), huge, name, 1<<20) }); n > 8 {
		t.Errorf("a size over the limit costs %v allocations", n)
	}
}

func TestReadFileErrors(t *testing.T) {
	name := provider.MustPath("f")
	dir := &liar{dir: true}
	if _, err := provider.ReadFile(t.Context(), dir, name); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("ReadFile of a directory: %v", err)
	}
	broken := &liar{content: "abc", size: 9, readErr: syscall.EIO}
	if got, err := provider.ReadFile(t.Context(), broken, name); !errors.Is(err, syscall.EIO) || got != nil {
		t.Errorf("ReadFile with a failing ReadAt: %q, %v", got, err)
	}
	endless := &liar{content: "abc", size: 3, noEOF: true}
	if got, err := provider.ReadFile(t.Context(), endless, name); !errors.Is(err, io.ErrNoProgress) || got != nil {
		t.Errorf("ReadFile of a file without an end: %q, %v", got, err)
	}
	if dir.opens != dir.closes || broken.opens != broken.closes {
		t.Error("a File stays open after an error")
	}
}

// fast has the optional interface.
type fast struct {
	liar
	name provider.Path
	max  int64
}

func (f *fast) ReadFile(_ context.Context, name provider.Path, limit int64) ([]byte, error) {
	f.name, f.max = name, limit
	return []byte("fast"), nil
}

func TestReadFileUsesFileReader(t *testing.T) {
	p := &fast{}
	got, err := provider.ReadFileMax(t.Context(), p, provider.MustPath("a/f"), 7)
	if err != nil || string(got) != "fast" || p.name.String() != "a/f" || p.max != 7 || p.opens != 0 {
		t.Errorf("ReadFileMax = %q, %v (name %q, max %d, %d opens)", got, err, p.name, p.max, p.opens)
	}
}

func TestWriteFile(t *testing.T) {
	l := &liar{}
	if err := provider.WriteFile(t.Context(), l, provider.MustPath("f"), []byte("abc"), 0o640); err != nil || l.wrote.String() != "abc" {
		t.Errorf("WriteFile wrote %q, %v", l.wrote.String(), err)
	}
}
