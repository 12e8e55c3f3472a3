package policyfs_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// spy is a provider that records what it is asked, and can be told to fail. It
// hides every optional interface of the provider it wraps.
type spy struct {
	p provider.Provider

	mu    sync.Mutex
	calls []string
	paths map[provider.Path]bool
	fault func(method string, name provider.Path) error
}

var _ provider.Provider = (*spy)(nil)

func newSpy(p provider.Provider) *spy { return &spy{p: p, paths: map[provider.Path]bool{}} }

// saw records one call and returns the fault planned for it.
func (s *spy) saw(method string, names ...provider.Path) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprint(method, names))
	for _, n := range names {
		s.paths[n] = true
	}
	if s.fault != nil {
		for _, n := range names {
			if err := s.fault(method, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// take returns the calls since the last take.
func (s *spy) take() (calls []string, paths map[provider.Path]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, paths = s.calls, s.paths
	s.calls, s.paths = nil, map[provider.Path]bool{}
	return calls, paths
}

func (s *spy) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	if err := s.saw("Open", name); err != nil {
		return nil, err
	}
	f, err := s.p.Open(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	return &spyFile{f, s, name}, nil
}

func (s *spy) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if err := s.saw("Stat", name); err != nil {
		return nil, err
	}
	return s.p.Stat(ctx, name)
}

func (s *spy) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := s.saw("Mkdir", name); err != nil {
		return err
	}
	return s.p.Mkdir(ctx, name, perm)
}

func (s *spy) Remove(ctx context.Context, name provider.Path) error {
	if err := s.saw("Remove", name); err != nil {
		return err
	}
	return s.p.Remove(ctx, name)
}

func (s *spy) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if err := s.saw("Rename", oldname, newname); err != nil {
		return err
	}
	return s.p.Rename(ctx, oldname, newname, opts)
}

func (s *spy) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if err := s.saw("Replace", name); err != nil {
		return provider.Digest{}, err
	}
	return s.p.Replace(ctx, name, content, opts)
}

func (s *spy) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if err := s.saw("Chmod", name); err != nil {
		return err
	}
	return s.p.Chmod(ctx, name, perm)
}

func (s *spy) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	if err := s.saw("Chtimes", name); err != nil {
		return err
	}
	return s.p.Chtimes(ctx, name, atime, mtime)
}

func (s *spy) Features() provider.Features { return s.p.Features() }
func (s *spy) Close() error                { return s.p.Close() }

// intoReading gives a provider a FileIntoReader, made of its Open.
type intoReading struct {
	provider.Provider
	read atomic.Int64 // files that were read so
}

func (p *intoReading) ReadFile(ctx context.Context, name provider.Path, limit int64) ([]byte, error) {
	return provider.ReadFileMax(ctx, p.Provider, name, limit)
}

func (p *intoReading) ReadFileInto(ctx context.Context, name provider.Path, b []byte) (int, error) {
	f, err := p.Open(ctx, name, provider.OpenOptions{Read: true})
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.ReadAt(b, 0)
	if err == nil {
		if _, err = f.ReadAt(make([]byte, 1), int64(n)); err == nil {
			return 0, syscall.EFBIG
		}
	}
	if err != io.EOF {
		return 0, err
	}
	p.read.Add(1)
	return n, nil
}

// withAndWithoutInto returns p, and p with a FileIntoReader.
func withAndWithoutInto(p provider.Provider) map[string]provider.Provider {
	return map[string]provider.Provider{"as it is": p, "with a FileIntoReader": &intoReading{Provider: p}}
}

// spyFile records what is asked of an open file.
type spyFile struct {
	provider.File
	s    *spy
	name provider.Path
}

func (f *spyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.s.saw("File.ReadAt", f.name); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *spyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.s.saw("File.WriteAt", f.name); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *spyFile) Append(p []byte) (int, int64, error) {
	if err := f.s.saw("File.Append", f.name); err != nil {
		return 0, 0, err
	}
	return f.File.Append(p)
}

func (f *spyFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	if err := f.s.saw("File.ReadDir", f.name); err != nil {
		return nil, err
	}
	return f.File.ReadDir(limit)
}

func (f *spyFile) Truncate(size int64) error {
	if err := f.s.saw("File.Truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *spyFile) Sync() error {
	if err := f.s.saw("File.Sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}
