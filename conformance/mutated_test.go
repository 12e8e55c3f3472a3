package conformance_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// mutated is memory with one fault: the functions that are set take the place
// of the methods.
type mutated struct {
	provider.Provider // mem, without its optional interfaces
	mem               *memfs.FS
	links             map[string]string // what was planted, for faults that follow

	open     func(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error)
	stat     func(ctx context.Context, name provider.Path) (fs.FileInfo, error)
	mkdir    func(ctx context.Context, name provider.Path, perm fs.FileMode) error
	remove   func(ctx context.Context, name provider.Path) error
	rename   func(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error
	replace  func(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error)
	chmod    func(ctx context.Context, name provider.Path, perm fs.FileMode) error
	chtimes  func(ctx context.Context, name provider.Path, atime, mtime time.Time) error
	features func() provider.Features
	close    func() error
	// file changes every File that Open returns.
	file func(f provider.File, name provider.Path, opts provider.OpenOptions) provider.File
}

var _ provider.Provider = (*mutated)(nil)

// base returns m, also from the types that embed it.
func (m *mutated) base() *mutated { return m }

func (m *mutated) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	open := m.Provider.Open
	if m.open != nil {
		open = m.open
	}
	f, err := open(ctx, name, opts)
	if err != nil || m.file == nil {
		return f, err
	}
	return m.file(f, name, opts), nil
}

func (m *mutated) Stat(ctx context.Context, name provider.Path) (fs.FileInfo, error) {
	if m.stat != nil {
		return m.stat(ctx, name)
	}
	return m.Provider.Stat(ctx, name)
}

func (m *mutated) Mkdir(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if m.mkdir != nil {
		return m.mkdir(ctx, name, perm)
	}
	return m.Provider.Mkdir(ctx, name, perm)
}

func (m *mutated) Remove(ctx context.Context, name provider.Path) error {
	if m.remove != nil {
		return m.remove(ctx, name)
	}
	return m.Provider.Remove(ctx, name)
}

func (m *mutated) Rename(ctx context.Context, oldname, newname provider.Path, opts provider.RenameOptions) error {
	if m.rename != nil {
		return m.rename(ctx, oldname, newname, opts)
	}
	return m.Provider.Rename(ctx, oldname, newname, opts)
}

func (m *mutated) Replace(ctx context.Context, name provider.Path, content io.Reader, opts provider.ReplaceOptions) (provider.Digest, error) {
	if m.replace != nil {
		return m.replace(ctx, name, content, opts)
	}
	return m.Provider.Replace(ctx, name, content, opts)
}

func (m *mutated) Chmod(ctx context.Context, name provider.Path, perm fs.FileMode) error {
	if m.chmod != nil {
		return m.chmod(ctx, name, perm)
	}
	return m.Provider.Chmod(ctx, name, perm)
}

func (m *mutated) Chtimes(ctx context.Context, name provider.Path, atime, mtime time.Time) error {
	if m.chtimes != nil {
		return m.chtimes(ctx, name, atime, mtime)
	}
	return m.Provider.Chtimes(ctx, name, atime, mtime)
}

func (m *mutated) Features() provider.Features {
	if m.features != nil {
		return m.features()
	}
	return m.Provider.Features()
}

func (m *mutated) Close() error {
	if m.close != nil {
		return m.close()
	}
	return m.Provider.Close()
}

// mutatedFile is a File with one fault.
type mutatedFile struct {
	provider.File
	readAt   func(p []byte, off int64) (int, error)
	writeAt  func(p []byte, off int64) (int, error)
	append   func(p []byte) (int, int64, error)
	readDir  func(limit int) ([]fs.DirEntry, error)
	stat     func() (fs.FileInfo, error)
	truncate func(size int64) error
	sync     func() error
	close    func() error
}

func (f *mutatedFile) ReadAt(p []byte, off int64) (int, error) {
	if f.readAt != nil {
		return f.readAt(p, off)
	}
	return f.File.ReadAt(p, off)
}

func (f *mutatedFile) WriteAt(p []byte, off int64) (int, error) {
	if f.writeAt != nil {
		return f.writeAt(p, off)
	}
	return f.File.WriteAt(p, off)
}

func (f *mutatedFile) Append(p []byte) (int, int64, error) {
	if f.append != nil {
		return f.append(p)
	}
	return f.File.Append(p)
}

func (f *mutatedFile) ReadDir(limit int) ([]fs.DirEntry, error) {
	if f.readDir != nil {
		return f.readDir(limit)
	}
	return f.File.ReadDir(limit)
}

func (f *mutatedFile) Stat() (fs.FileInfo, error) {
	if f.stat != nil {
		return f.stat()
	}
	return f.File.Stat()
}

func (f *mutatedFile) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate(size)
	}
	return f.File.Truncate(size)
}

func (f *mutatedFile) Sync() error {
	if f.sync != nil {
		return f.sync()
	}
	return f.File.Sync()
}

func (f *mutatedFile) Close() error {
	if f.close != nil {
		return f.close()
	}
	return f.File.Close()
}

// mutatedRemover is a File whose RemoveEntry has a fault.
type mutatedRemover struct {
	provider.File
	removeEntry func(elem string, dir bool) error
}

func (f mutatedRemover) RemoveEntry(elem string, dir bool) error { return f.removeEntry(elem, dir) }

// mutatedEntries is a File with an EntryReader, made of ReadDir and Info, that may
// have faults.
type mutatedEntries struct {
	provider.File
	entry  func(f provider.File, elem string) (provider.Info, error) // nil: as it should be
	listed func(entries []fs.DirEntry, limit int) []fs.DirEntry      // nil: as they are
}

func (f mutatedEntries) ReadEntries(limit int, visit func(name string, typ fs.FileMode)) error {
	if f.listed != nil {
		entries, err := f.File.ReadDir(0)
		for _, e := range f.listed(entries, limit) {
			visit(e.Name(), e.Type())
		}
		return err
	}
	entries, err := f.File.ReadDir(limit)
	for _, e := range entries {
		visit(e.Name(), e.Type())
	}
	return err
}

func (f mutatedEntries) StatEntry(elem string, info *provider.Info) error {
	find := findEntry
	if f.entry != nil {
		find = f.entry
	}
	found, err := find(f.File, elem)
	if err == nil {
		*info = found
	}
	return err
}

// findEntry describes an entry of a directory.
func findEntry(f provider.File, elem string) (provider.Info, error) {
	entries, err := f.ReadDir(0)
	if err != nil {
		return provider.Info{}, err
	}
	if _, err := (provider.Path{}).Join(elem); err != nil {
		return provider.Info{}, provider.ErrPath
	}
	for _, e := range entries {
		if e.Name() == elem {
			return infoOf(e.Info())
		}
	}
	return provider.Info{}, fs.ErrNotExist
}

// infoOf is a FileInfo as a provider.Info.
func infoOf(info fs.FileInfo, err error) (provider.Info, error) {
	if err != nil {
		return provider.Info{}, err
	}
	return *provider.NewInfo(info.Name(), info.Size(), info.Mode(), info.ModTime()), nil
}

// mutatedView is a File whose ViewContent has a fault.
type mutatedView struct {
	*mutatedFile
	view func(limit int, look func([]byte)) (bool, error)
}

func (f mutatedView) ViewContent(limit int, look func(content []byte)) (bool, error) {
	return f.view(limit, look)
}

// mutatedReader is a provider whose ReadFile has a fault.
type mutatedReader struct {
	*mutated
	readFile func(ctx context.Context, name provider.Path, limit int64) ([]byte, error)
}

func (m mutatedReader) ReadFile(ctx context.Context, name provider.Path, limit int64) ([]byte, error) {
	return m.readFile(ctx, name, limit)
}

// mutatedInto is a provider whose ReadFileInto has a fault.
type mutatedInto struct {
	mutatedReader
	readFileInto func(ctx context.Context, name provider.Path, p []byte) (int, error)
}

func (m mutatedInto) ReadFileInto(ctx context.Context, name provider.Path, p []byte) (int, error) {
	return m.readFileInto(ctx, name, p)
}

// mutatedInfo is a FileInfo with a fault.
type mutatedInfo struct {
	fs.FileInfo
	size func() int64
	mode func() fs.FileMode
	name func() string
	time func() time.Time
	sys  any
}

func (i mutatedInfo) Sys() any { return i.sys }

func (i mutatedInfo) IsDir() bool { return i.Mode().IsDir() }

func (i mutatedInfo) Size() int64 {
	if i.size != nil {
		return i.size()
	}
	return i.FileInfo.Size()
}

func (i mutatedInfo) Mode() fs.FileMode {
	if i.mode != nil {
		return i.mode()
	}
	return i.FileInfo.Mode()
}

func (i mutatedInfo) Name() string {
	if i.name != nil {
		return i.name()
	}
	return i.FileInfo.Name()
}

func (i mutatedInfo) ModTime() time.Time {
	if i.time != nil {
		return i.time()
	}
	return i.FileInfo.ModTime()
}

// mutatedEntry is a DirEntry with a fault.
type mutatedEntry struct {
	fs.DirEntry
	typ  func() fs.FileMode
	info func() (fs.FileInfo, error)
}

func (e mutatedEntry) Type() fs.FileMode {
	if e.typ != nil {
		return e.typ()
	}
	return e.DirEntry.Type()
}

func (e mutatedEntry) IsDir() bool { return e.Type().IsDir() }

func (e mutatedEntry) Info() (fs.FileInfo, error) {
	if e.info != nil {
		return e.info()
	}
	return e.DirEntry.Info()
}

// follow resolves planted links in name, as storage without any guard would.
func (m *mutated) follow(name provider.Path, last bool) provider.Path {
	resolved := ""
	rest := name.String()
	for hops := 0; rest != "" && hops < 20; {
		elem, tail, _ := strings.Cut(rest, "/")
		resolved = path.Join(resolved, elem)
		if target, ok := m.links[resolved]; ok && (last || tail != "") {
			rest = path.Join(path.Dir(resolved), target, tail)
			resolved = ""
			hops++
			continue
		}
		rest = tail
	}
	if p, err := provider.ParsePath(resolved); err == nil {
		return p
	}
	return name
}

// mutant is one fault.
type mutant struct {
	name   string // what the fault does
	seenIn string // where such a fault was seen, or the kind of attack
	kills  string // the requirement that must name it
	racy   bool   // the message differs from run to run
	// readOnly offers the provider through NewWith, without New.
	readOnly bool
	opts     memfs.Options
	wrap     func(m *mutated) provider.Provider // changes m, and returns it or what stands for it
	// over makes the harness of a fault that is not one of memory.
	over func() conformance.Harness
}

// harness makes a Harness whose provider has the fault.
func (mu mutant) harness() conformance.Harness {
	if mu.over != nil {
		return mu.over()
	}
	h := conformance.Harness{
		Plant: func(t testing.TB, p provider.Provider, target string, name provider.Path) {
			m := p.(interface{ base() *mutated }).base()
			if err := m.mem.Symlink(target, name); err != nil {
				t.Fatal(err)
			}
			m.links[name.String()] = target
		},
	}
	make := func(t testing.TB, files map[string]string) provider.Provider {
		mem := memfs.New(mu.opts)
		t.Cleanup(func() { mem.Close() })
		fill(t, mem, files)
		return mu.wrap(&mutated{Provider: mem, mem: mem, links: map[string]string{}})
	}
	if mu.readOnly {
		h.NewWith = make
	} else {
		h.New = func(t testing.TB) provider.Provider { return make(t, nil) }
	}
	return h
}

// fill writes files and their parents.
func fill(t testing.TB, p provider.Provider, files map[string]string) {
	for name, content := range files {
		var dir provider.Path
		for elem := range provider.MustPath(name).Parent().Elems() {
			dir, _ = dir.Join(elem)
			if err := p.Mkdir(t.Context(), dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Fatal(err)
			}
		}
		if err := provider.WriteFile(t.Context(), p, provider.MustPath(name), []byte(content), 0); err != nil {
			t.Fatal(err)
		}
	}
}
