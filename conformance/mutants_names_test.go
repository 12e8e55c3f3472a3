package conformance_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// The faults of names: PATH, OPEN, MKDIR, REMOVE, RENAME, LINK, CASE.

type (
	ctxT    = context.Context
	pathT   = provider.Path
	openT   = provider.OpenOptions
	renameT = provider.RenameOptions
)

// at is the path of a name in these tables.
func at(name string) pathT { return provider.MustPath(name) }

// renamed changes every name that a provider is given.
func renamed(m *mutated, change func(pathT) pathT) provider.Provider {
	next := *m
	m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) { return next.Open(ctx, change(name), o) }
	m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
		info, err := next.Stat(ctx, change(name))
		if err != nil {
			return nil, err
		}
		return mutatedInfo{FileInfo: info, name: name.Base}, nil
	}
	m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error { return next.Mkdir(ctx, change(name), perm) }
	m.remove = func(ctx ctxT, name pathT) error { return next.Remove(ctx, change(name)) }
	m.rename = func(ctx ctxT, from, to pathT, o renameT) error { return next.Rename(ctx, change(from), change(to), o) }
	m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
		return next.Replace(ctx, change(name), r, o)
	}
	m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error { return next.Chmod(ctx, change(name), perm) }
	return m
}

// changeText applies f to the text of a path, where the result is one.
func changeText(f func(string) string) func(pathT) pathT {
	return func(p pathT) pathT {
		if q, err := provider.ParsePath(f(p.String())); err == nil {
			return q
		}
		return p
	}
}

// makeParents makes the missing parents of a name.
func makeParents(ctx ctxT, p provider.Provider, name pathT) {
	var dir pathT
	for elem := range name.Parent().Elems() {
		dir, _ = dir.Join(elem)
		p.Mkdir(ctx, dir, 0o755)
	}
}

// removeTree removes a name with everything below it.
func removeTree(ctx ctxT, p provider.Provider, name pathT) error {
	if f, err := p.Open(ctx, name, openT{Read: true, Directory: true}); err == nil {
		entries, _ := f.ReadDir(0)
		f.Close()
		for _, e := range entries {
			child, _ := name.Join(e.Name())
			removeTree(ctx, p, child)
		}
	}
	return p.Remove(ctx, name)
}

// copyFile makes a new file with the content of another.
func copyFile(ctx ctxT, p provider.Provider, from, to pathT) error {
	data, err := provider.ReadFile(ctx, p, from)
	if err != nil {
		return err
	}
	return provider.WriteFile(ctx, p, to, data, 0)
}

// notFound turns ENOTDIR into ErrNotExist.
func notFound(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	return err
}

func isDir(ctx ctxT, p provider.Provider, name pathT) bool {
	info, err := p.Stat(ctx, name)
	return err == nil && info.IsDir()
}

func exists(ctx ctxT, p provider.Provider, name pathT) bool {
	_, err := p.Stat(ctx, name)
	return err == nil
}

func pathMutants() []mutant {
	return []mutant{
		{name: "names are percent-decoded", seenIn: "attacks: encoded", kills: "PATH-nothing-is-decoded", wrap: func(m *mutated) provider.Provider {
			return renamed(m, changeText(func(s string) string {
				if d, err := url.PathUnescape(s); err == nil {
					return d
				}
				return s
			}))
		}},
		{name: "trailing blanks are trimmed", seenIn: "attacks: trailing-dot", kills: "PATH-odd-names", wrap: func(m *mutated) provider.Provider {
			return renamed(m, changeText(func(s string) string { return strings.TrimRight(s, " .") }))
		}},
		{name: "long elements are cut", seenIn: "attacks: path-max", kills: "PATH-element-of-255-bytes", wrap: func(m *mutated) provider.Provider {
			return renamed(m, changeText(func(s string) string { return s[:min(len(s), 200)] }))
		}},
		{name: "a parent that is a file is a missing name", seenIn: "attacks: notdir", kills: "PATH-file-as-directory", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				return info, notFound(err)
			}
			return m
		}},
		{name: "creating a file makes its parents", seenIn: "afero.MemMapFs AF-M03", kills: "PATH-missing-parent", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Create {
					makeParents(ctx, m.mem, name)
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Chmod of a missing name succeeds", seenIn: "afero.CopyOnWriteFs", kills: "PATH-missing-name", wrap: func(m *mutated) provider.Provider {
			m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				err := m.Provider.Chmod(ctx, name, perm)
				if !exists(ctx, m.mem, name) && errors.Is(err, fs.ErrNotExist) && exists(ctx, m.mem, name.Parent()) {
					return nil
				}
				return err
			}
			return m
		}},
		{name: "Rename moves siblings with the same prefix", seenIn: "go-billy BL-04", kills: "PATH-common-prefix", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				err := m.Provider.Rename(ctx, from, to, o)
				root, _ := m.mem.Open(ctx, pathT{}, openT{Read: true})
				entries, _ := root.ReadDir(0)
				root.Close()
				for _, e := range entries {
					if rest, ok := strings.CutPrefix(e.Name(), from.String()); ok && rest != "" && err == nil {
						m.Provider.Rename(ctx, at(e.Name()), at(to.String()+rest), o)
					}
				}
				return err
			}
			return m
		}},
		{name: "Remove of the root empties it", seenIn: "afero.MemMapFs AF-M50", kills: "PATH-root-stays", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if name.IsRoot() {
					removeTree(ctx, m.mem, name)
					return nil
				}
				return m.Provider.Remove(ctx, name)
			}
			return m
		}},
		{name: "the root has to be made first", seenIn: "afero.MemMapFs AF-M49", kills: "PATH-root-is-a-directory", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				if name.IsRoot() {
					return nil, fs.ErrNotExist
				}
				return m.Provider.Stat(ctx, name)
			}
			return m
		}},
		{name: "trees end at depth 20", seenIn: "attacks: path-max", kills: "PATH-deep-tree", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				if strings.Count(name.String(), "/") > 20 {
					return syscall.ENAMETOOLONG
				}
				return m.Provider.Mkdir(ctx, name, perm)
			}
			return m
		}},
		{name: "long paths lose their file at Stat", seenIn: "attacks: path-max", kills: "PATH-long-path", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				if len(name.String()) > 4000 {
					return nil, fs.ErrNotExist
				}
				return m.Provider.Stat(ctx, name)
			}
			return m
		}},
	}
}

func openMutants() []mutant {
	return []mutant{
		{name: "Open for reading creates", seenIn: "hackpadfs", kills: "OPEN-read-does-not-create", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, fs.ErrNotExist) && !o.Directory && o.Read && !o.Write {
					m.Provider.Replace(ctx, name, strings.NewReader(""), provider.ReplaceOptions{})
				}
				return f, err
			}
			return m
		}},
		{name: "Exclusive is ignored", seenIn: "hackpadfs HP-01", kills: "OPEN-exclusive-refuses-what-exists", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				o.Exclusive = false
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Create empties an existing file", seenIn: "afero.MemMapFs", kills: "OPEN-create-keeps-an-existing-file", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				o.Truncate = o.Truncate || o.Create && !o.Exclusive
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Truncate makes another file", seenIn: "afero.MemMapFs AF-M17", kills: "OPEN-truncate-is-seen-by-other-handles", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if info, err := m.mem.Stat(ctx, name); err == nil && o.Truncate && info.Mode().IsRegular() {
					m.mem.Remove(ctx, name)
					o.Create, o.Perm = true, info.Mode().Perm()
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Truncate resets the mode", seenIn: "afero.MemMapFs AF-M18", kills: "OPEN-truncate-keeps-the-mode", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if err == nil && o.Truncate {
					m.mem.Chmod(ctx, name, o.FileMode())
				}
				return f, err
			}
			return m
		}},
		{name: "a refused Open truncates all the same", seenIn: "attacks: O_TRUNC in the open call", kills: "OPEN-refused-open-truncates-nothing", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if err != nil && o.Truncate && o.Write {
					if g, err := m.mem.Open(ctx, name, openT{Write: true, Truncate: true}); err == nil {
						g.Close()
					}
				}
				return f, err
			}
			return m
		}},
		{name: "a directory opens for writing", seenIn: "afero.MemMapFs AF-M15", kills: "OPEN-directory-for-writing", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, syscall.EISDIR) {
					return m.Provider.Open(ctx, name, openT{Read: true})
				}
				return f, err
			}
			return m
		}},
		{name: "Create replaces a directory by a file", seenIn: "afero.MemMapFs AF-M16", kills: "OPEN-flags-on-a-directory", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Create && !o.Exclusive && !name.IsRoot() && isDir(ctx, m.mem, name) {
					removeTree(ctx, m.mem, name)
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "a file opened through a file name becomes a directory", seenIn: "hackpadfs HP-03", kills: "OPEN-flags-on-a-name-below-a-file", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, syscall.ENOTDIR) && o.Create {
					m.mem.Remove(ctx, name.Parent())
					m.mem.Mkdir(ctx, name.Parent(), 0o755)
					return m.Provider.Open(ctx, name, o)
				}
				return f, err
			}
			return m
		}},
		{name: "Directory is ignored", seenIn: "gVisor GO-15", kills: "OPEN-flags-on-a-file", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Check() == nil {
					o.Directory = false
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "new files are executable", seenIn: "attacks: mode-bits", kills: "OPEN-mode-of-a-new-file", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				fresh := o.Create && !exists(ctx, m.mem, name)
				f, err := m.Provider.Open(ctx, name, o)
				if err == nil && fresh {
					m.mem.Chmod(ctx, name, 0o777)
				}
				return f, err
			}
			return m
		}},
		{name: "a read-only mode refuses reading", seenIn: "afero.MemMapFs AF-M08", kills: "OPEN-read-only-mode-can-be-read", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if info, err := m.mem.Stat(ctx, name); err == nil && info.Mode().Perm()&0o200 == 0 && !info.IsDir() {
					return nil, fs.ErrPermission
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "no options open for reading", seenIn: "os.OpenFile", kills: "OPEN-invalid-options", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o == (openT{}) {
					o.Read = true
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Files on one name share their life", seenIn: "afero.MemMapFs", kills: "OPEN-handles-are-independent", wrap: func(m *mutated) provider.Provider {
			open := map[string]provider.File{}
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				if first, ok := open[name.String()]; ok && !o.Write {
					f.Close()
					return first
				}
				open[name.String()] = f
				return f
			}
			return m
		}},
	}
}

func dirTreeMutants() []mutant {
	return []mutant{
		{name: "Mkdir makes parents", seenIn: "afero.MemMapFs AF-M03", kills: "MKDIR-one-level", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				makeParents(ctx, m.mem, name)
				return m.Provider.Mkdir(ctx, name, perm)
			}
			return m
		}},
		{name: "Mkdir of a directory that is there succeeds", seenIn: "afero.CopyOnWriteFs", kills: "MKDIR-over-anything", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				if err := m.Provider.Mkdir(ctx, name, perm); !errors.Is(err, fs.ErrExist) || !isDir(ctx, m.mem, name) {
					return err
				}
				return nil
			}
			return m
		}},
		{name: "Mkdir turns a file into a directory", seenIn: "hackpadfs HP-03", kills: "MKDIR-below-a-file", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				err := m.Provider.Mkdir(ctx, name, perm)
				if errors.Is(err, syscall.ENOTDIR) {
					m.mem.Remove(ctx, name.Parent())
					m.mem.Mkdir(ctx, name.Parent(), perm)
				}
				return err
			}
			return m
		}},
		{name: "Mkdir follows a dangling link", seenIn: "attacks: dangling-leaf-write", kills: "MKDIR-over-a-link", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				return m.Provider.Mkdir(ctx, m.follow(name, true), perm)
			}
			return m
		}},
		{name: "Mkdir keeps the sticky bit in the mode it reports", seenIn: "attacks: mode-bits", kills: "MKDIR-mode", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if err == nil && info.IsDir() {
					return mutatedInfo{FileInfo: info, mode: func() fs.FileMode { return info.Mode() | fs.ModeSticky }}, nil
				}
				return info, err
			}
			return m
		}},
		{name: "a directory made anew holds the old entries", seenIn: "attacks: tar-dircache", kills: "MKDIR-after-remove", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if name.IsRoot() || isDir(ctx, m.mem, name) {
					return m.Provider.Remove(ctx, name)
				}
				if err := m.Provider.Remove(ctx, name); err != nil {
					return err
				}
				m.links[name.String()] = "removed"
				return nil
			}
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				err := m.Provider.Mkdir(ctx, name, perm)
				if err == nil && m.links[name.String()] == "removed" {
					child, _ := name.Join("ghost")
					m.mem.Replace(ctx, child, strings.NewReader(""), provider.ReplaceOptions{})
				}
				return err
			}
			return m
		}},
		{name: "a new directory is a file to Stat", seenIn: "go-billy", kills: "MKDIR-makes-an-empty-directory", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if err == nil && info.IsDir() && !name.IsRoot() {
					return mutatedInfo{FileInfo: info, mode: func() fs.FileMode { return 0o755 }}, nil
				}
				return info, err
			}
			return m
		}},

		{name: "Remove reports success and does nothing", seenIn: "afero.CopyOnWriteFs", kills: "REMOVE-a-file", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error { _, err := m.mem.Stat(ctx, name); return err }
			return m
		}},
		{name: "Remove takes away full directories", seenIn: "afero.MemMapFs AF-M01", kills: "REMOVE-a-full-directory", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if name.IsRoot() {
					return syscall.EBUSY
				}
				return removeTree(ctx, m.mem, name)
			}
			return m
		}},
		{name: "Remove of a missing name succeeds", seenIn: "RemoveAll", kills: "REMOVE-a-missing-name", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if err := m.Provider.Remove(ctx, name); !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return nil
			}
			return m
		}},
		{name: "Remove refuses directories", seenIn: "unlink(2)", kills: "REMOVE-an-empty-directory", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if isDir(ctx, m.mem, name) && !name.IsRoot() {
					return syscall.EISDIR
				}
				return m.Provider.Remove(ctx, name)
			}
			return m
		}},
		{name: "Remove refuses read-only files", seenIn: "Windows", kills: "REMOVE-a-read-only-file", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if info, err := m.mem.Stat(ctx, name); err == nil && info.Mode().Perm()&0o200 == 0 {
					return fs.ErrPermission
				}
				return m.Provider.Remove(ctx, name)
			}
			return m
		}},
		{name: "Remove empties the file for those who have it open", seenIn: "afero.MemMapFs", kills: "REMOVE-leaves-open-files-usable", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if f, err := m.mem.Open(ctx, name, openT{Write: true, Truncate: true}); err == nil {
					f.Close()
				}
				return m.Provider.Remove(ctx, name)
			}
			return m
		}},
		{name: "a File finds its file again by name", seenIn: "afero.MemMapFs", kills: "REMOVE-then-create-is-another-file", wrap: func(m *mutated) provider.Provider {
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				return &mutatedFile{File: f, readAt: func(p []byte, off int64) (int, error) {
					g, err := m.mem.Open(context.Background(), name, openT{Read: true})
					if err != nil {
						return f.ReadAt(p, off)
					}
					defer g.Close()
					return g.ReadAt(p, off)
				}}
			}
			return m
		}},
		{name: "a directory File lists by name", seenIn: "os.File.ReadDir", kills: "REMOVE-an-open-directory", wrap: func(m *mutated) provider.Provider {
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				return &mutatedFile{File: f, readDir: func(limit int) ([]fs.DirEntry, error) {
					g, err := m.mem.Open(context.Background(), name, openT{Read: true, Directory: true})
					if err != nil {
						return f.ReadDir(limit)
					}
					defer g.Close()
					return g.ReadDir(limit)
				}}
			}
			return m
		}},
		{name: "making a name makes its removed parent again", seenIn: "afero.MemMapFs", kills: "REMOVE-nothing-is-made-in-a-removed-directory", wrap: func(m *mutated) provider.Provider {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				makeParents(ctx, m.mem, name)
				return m.Provider.Replace(ctx, name, r, o)
			}
			return m
		}},

		{name: "RemoveEntry ignores what the caller saw", seenIn: "attacks: swap-dir", kills: "REMOVE-EntryRemover-type", wrap: removing(func(m *mutated, dir pathT, f provider.File, elem string, isDir bool) error {
			err := f.(provider.EntryRemover).RemoveEntry(elem, isDir)
			if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) {
				return f.(provider.EntryRemover).RemoveEntry(elem, !isDir)
			}
			return err
		})},
		{name: "RemoveEntry takes paths", seenIn: "attacks: dotdot", kills: "REMOVE-EntryRemover-names", wrap: removing(func(m *mutated, dir pathT, f provider.File, elem string, isDir bool) error {
			if strings.Contains(elem, "/") {
				if p, err := provider.ParsePath(dir.String() + "/" + elem); err == nil {
					return m.mem.Remove(context.Background(), p)
				}
			}
			return f.(provider.EntryRemover).RemoveEntry(elem, isDir)
		})},
		{name: "RemoveEntry resolves the directory's name again", seenIn: "attacks: swap-dir", kills: "REMOVE-EntryRemover-stays-in-its-directory", wrap: removing(func(m *mutated, dir pathT, f provider.File, elem string, isDir bool) error {
			p, err := dir.Join(elem)
			if err != nil {
				return err
			}
			return m.mem.Remove(context.Background(), p)
		})},
		{name: "RemoveEntry empties full directories", seenIn: "RemoveAll", kills: "REMOVE-EntryRemover-agrees", wrap: removing(func(m *mutated, dir pathT, f provider.File, elem string, isDir bool) error {
			err := f.(provider.EntryRemover).RemoveEntry(elem, isDir)
			if errors.Is(err, syscall.ENOTEMPTY) {
				p, _ := dir.Join(elem)
				return removeTree(context.Background(), m.mem, p)
			}
			return err
		})},
		{name: "RemoveEntry works after Close", seenIn: "handle reuse", kills: "REMOVE-EntryRemover-after-Close", wrap: removing(func(m *mutated, dir pathT, f provider.File, elem string, isDir bool) error {
			err := f.(provider.EntryRemover).RemoveEntry(elem, isDir)
			if errors.Is(err, fs.ErrClosed) {
				p, _ := dir.Join(elem)
				return m.mem.Remove(context.Background(), p)
			}
			return err
		})},
	}
}

// removing gives directories a RemoveEntry with a fault.
func removing(fault func(m *mutated, dir pathT, f provider.File, elem string, isDir bool) error) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		m.file = func(f provider.File, name pathT, o openT) provider.File {
			return mutatedRemover{f, func(elem string, dir bool) error { return fault(m, name, f, elem, dir) }}
		}
		return m
	}
}

func renameMutants() []mutant {
	rename := func(f func(m *mutated, ctx ctxT, from, to pathT, o renameT) error) func(*mutated) provider.Provider {
		return func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error { return f(m, ctx, from, to, o) }
			return m
		}
	}
	return []mutant{
		{name: "Rename copies and leaves the old name", seenIn: "afero.CopyOnWriteFs", kills: "RENAME-a-file", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if !isDir(ctx, m.mem, from) && !exists(ctx, m.mem, to) {
				return copyFile(ctx, m.mem, from, to)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename over a file is refused", seenIn: "Windows", kills: "RENAME-over-a-file", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			o.NoReplace = true
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename over a directory replaces it", seenIn: "afero.MemMapFs AF-M35", kills: "RENAME-over-a-directory", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if isDir(ctx, m.mem, to) && from != to && !to.Contains(from) {
				removeTree(ctx, m.mem, to)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename over an empty directory replaces it", seenIn: "rename(2) AF-M38", kills: "RENAME-over-a-directory", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if isDir(ctx, m.mem, to) && isDir(ctx, m.mem, from) && from != to {
				m.mem.Remove(ctx, to)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename of a directory over a file replaces it", seenIn: "afero.MemMapFs AF-M36", kills: "RENAME-a-directory-over-a-file", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if isDir(ctx, m.mem, from) && exists(ctx, m.mem, to) && !isDir(ctx, m.mem, to) {
				m.mem.Remove(ctx, to)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename into itself succeeds and loses the tree", seenIn: "go-billy BL-05", kills: "RENAME-a-directory-into-itself", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			err := m.Provider.Rename(ctx, from, to, o)
			if errors.Is(err, syscall.EINVAL) {
				return removeTree(ctx, m.mem, from)
			}
			return err
		})},
		{name: "Rename compares names for being below", seenIn: "go-billy BL-04", kills: "RENAME-a-directory-into-itself", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if strings.HasPrefix(to.String(), from.String()) && from != to && isDir(ctx, m.mem, from) && exists(ctx, m.mem, to.Parent()) {
				return syscall.EINVAL
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename looks for a name below itself first", seenIn: "diskfs, before the differential test", kills: "RENAME-a-directory-into-itself", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if from != to && from.Contains(to) && isDir(ctx, m.mem, from) && exists(ctx, m.mem, to.Parent()) {
				return syscall.EINVAL
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename into a missing directory loses the source", seenIn: "hackpadfs HP-04", kills: "RENAME-to-a-missing-directory", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			err := m.Provider.Rename(ctx, from, to, o)
			if errors.Is(err, fs.ErrNotExist) && !exists(ctx, m.mem, to.Parent()) {
				m.mem.Remove(ctx, from)
			}
			return err
		})},
		{name: "Rename makes missing directories", seenIn: "avfs AV-08", kills: "RENAME-to-a-missing-directory", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			makeParents(ctx, m.mem, to)
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename of a name to itself removes it", seenIn: "go-billy BL-03", kills: "RENAME-to-itself", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if from == to && !o.NoReplace && exists(ctx, m.mem, from) {
				return removeTree(ctx, m.mem, from)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "NoReplace is ignored", seenIn: "renameat2 EINVAL", kills: "RENAME-NoReplace", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			o.NoReplace = false
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "NotDir is ignored", seenIn: "check, then act", kills: "RENAME-NotDir", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			o.NotDir = false
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename makes a new file", seenIn: "hackpadfs HP-06", kills: "RENAME-open-files-follow", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if info, err := m.mem.Stat(ctx, from); err == nil && info.Mode().IsRegular() && !exists(ctx, m.mem, to) && exists(ctx, m.mem, to.Parent()) {
				copyFile(ctx, m.mem, from, to)
				m.mem.Chmod(ctx, to, info.Mode())
				return m.mem.Remove(ctx, from)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename over a file writes into it", seenIn: "copying rename", kills: "RENAME-replaced-open-files-stay", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if info, err := m.mem.Stat(ctx, to); err == nil && info.Mode().IsRegular() && !o.NoReplace && from != to && !isDir(ctx, m.mem, from) {
				data, err := m.mem.ReadFile(ctx, from, 0)
				if err != nil {
					return err
				}
				f, err := m.mem.Open(ctx, to, openT{Write: true, Truncate: true})
				if err != nil {
					return err
				}
				defer f.Close()
				f.WriteAt(data, 0)
				return m.mem.Remove(ctx, from)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "Rename resets the mode", seenIn: "copying rename", kills: "RENAME-keeps-attributes", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			err := m.Provider.Rename(ctx, from, to, o)
			if err == nil && !isDir(ctx, m.mem, to) {
				m.mem.Chmod(ctx, to, 0o644)
			}
			return err
		})},
		{name: "Rename leaves grandchildren behind", seenIn: "afero.MemMapFs AF-M63", kills: "RENAME-a-subtree", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			err := m.Provider.Rename(ctx, from, to, o)
			if f, e := m.mem.Open(ctx, to, openT{Read: true, Directory: true}); err == nil && e == nil {
				defer f.Close()
				entries, _ := f.ReadDir(0)
				for _, e := range entries {
					if child, _ := to.Join(e.Name()); e.IsDir() {
						removeTree(ctx, m.mem, child)
						m.mem.Mkdir(ctx, child, 0o755)
					}
				}
			}
			return err
		})},
		{name: "Rename of a missing name succeeds", seenIn: "afero.MemMapFs AF-M42", kills: "RENAME-a-missing-name", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			err := m.Provider.Rename(ctx, from, to, o)
			if errors.Is(err, fs.ErrNotExist) && exists(ctx, m.mem, from.Parent()) && !exists(ctx, m.mem, from) {
				return nil
			}
			return err
		})},
		{name: "Rename below a file is a missing name", seenIn: "attacks: notdir", kills: "RENAME-below-a-file", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			return notFound(m.Provider.Rename(ctx, from, to, o))
		})},
		{name: "Rename onto the own parent removes it", seenIn: "afero.MemMapFs", kills: "RENAME-onto-its-own-parent", wrap: rename(func(m *mutated, ctx ctxT, from, to pathT, o renameT) error {
			if !to.IsRoot() && to.Contains(from) && from != to {
				data, _ := m.mem.ReadFile(ctx, from, 0)
				removeTree(ctx, m.mem, to)
				return provider.WriteFile(ctx, m.mem, to, data, 0)
			}
			return m.Provider.Rename(ctx, from, to, o)
		})},
		{name: "a moved directory is found under its old name", seenIn: "name caches", kills: "RENAME-there-and-back", wrap: func(m *mutated) provider.Provider {
			seen := map[string]fs.FileInfo{}
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if err == nil && info.IsDir() && strings.Count(name.String(), "/") > 0 {
					seen[name.String()] = info
				} else if old := seen[name.String()]; old != nil {
					return old, nil
				}
				return info, err
			}
			return m
		}},
	}
}

func linkMutants() []mutant {
	return []mutant{
		{name: "Stat follows links", seenIn: "afero.OsFs.Stat", kills: "LINK-stat-reports-it", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, m.follow(name, true))
				if err != nil {
					return m.Provider.Stat(ctx, name)
				}
				return mutatedInfo{FileInfo: info, name: name.Base}, nil
			}
			return m
		}},
		{name: "Open follows a link at the end", seenIn: "attacks: symlink-leaf", kills: "LINK-refused-by-open-for-reading", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				return m.Provider.Open(ctx, m.follow(name, true), o)
			}
			return m
		}},
		{name: "Open follows links in the middle", seenIn: "attacks: symlink-dir", kills: "LINK-refused-by-open-as-directory", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				return m.Provider.Open(ctx, m.follow(name, false), o)
			}
			return m
		}},
		{name: "Stat follows links in the middle", seenIn: "attacks: nested-link", kills: "LINK-refused-by-stat", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) { return m.Provider.Stat(ctx, m.follow(name, false)) }
			return m
		}},
		{name: "Mkdir follows links in the middle", seenIn: "attacks: missing-suffix", kills: "LINK-refused-by-mkdir", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				return m.Provider.Mkdir(ctx, m.follow(name, false), perm)
			}
			return m
		}},
		{name: "Remove follows links in the middle", seenIn: "attacks: method-without-guard", kills: "LINK-refused-by-remove", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error { return m.Provider.Remove(ctx, m.follow(name, false)) }
			return m
		}},
		{name: "Remove removes the target of a link", seenIn: "go-billy BL-11", kills: "LINK-remove-unlinks-it", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error { return m.Provider.Remove(ctx, m.follow(name, true)) }
			return m
		}},
		{name: "Rename follows its source", seenIn: "attacks: method-without-guard", kills: "LINK-refused-by-rename-from", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				return m.Provider.Rename(ctx, m.follow(from, false), to, o)
			}
			return m
		}},
		{name: "Rename follows its target's parents", seenIn: "attacks: rename-onto-link", kills: "LINK-refused-by-rename-to", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				return m.Provider.Rename(ctx, from, m.follow(to, false), o)
			}
			return m
		}},
		{name: "Rename moves the target of a link", seenIn: "attacks: rename-link", kills: "LINK-rename-moves-it", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if f := m.follow(from, true); exists(ctx, m.mem, f) {
					from = f
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "Rename over a link replaces its target", seenIn: "attacks: rename-onto-link", kills: "LINK-rename-replaces-it", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				return m.Provider.Rename(ctx, from, m.follow(to, true), o)
			}
			return m
		}},
		{name: "Rename of a directory replaces a link", seenIn: "attacks: rename-onto-link", kills: "LINK-directory-over-it", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if info, err := m.mem.Stat(ctx, to); err == nil && info.Mode().Type() == fs.ModeSymlink && isDir(ctx, m.mem, from) {
					m.mem.Remove(ctx, to)
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "Replace follows a link at the end", seenIn: "attacks: dangling-leaf-write", kills: "LINK-refused-by-replace", wrap: func(m *mutated) provider.Provider {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				return m.Provider.Replace(ctx, m.follow(name, true), r, o)
			}
			return m
		}},
		{name: "IfAbsent looks through a dangling link", seenIn: "os.Root GO-02", kills: "REPLACE-if-absent-over-a-link", wrap: func(m *mutated) provider.Provider {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				if o.If.Absent() {
					name = m.follow(name, true)
				}
				return m.Provider.Replace(ctx, name, r, o)
			}
			return m
		}},
		{name: "Chmod follows links", seenIn: "attacks: metadata-via-link", kills: "LINK-refused-by-chmod", wrap: func(m *mutated) provider.Provider {
			m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				return m.Provider.Chmod(ctx, m.follow(name, true), perm)
			}
			return m
		}},
		{name: "Chtimes follows links", seenIn: "attacks: metadata-via-link", kills: "LINK-refused-by-chtimes", wrap: func(m *mutated) provider.Provider {
			m.chtimes = func(ctx ctxT, name pathT, a, t time.Time) error {
				return m.Provider.Chtimes(ctx, m.follow(name, true), a, t)
			}
			return m
		}},
		{name: "exclusive creation goes through a dangling link", seenIn: "os.Root GO-02", kills: "LINK-refused-by-open-with-exclusive", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Create && o.Exclusive {
					name = m.follow(name, true)
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "a link is refused as a missing name", seenIn: "os.Root", kills: "OPEN-flags-on-a-link", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, provider.ErrSymlink) {
					err = fs.ErrNotExist
				}
				return f, err
			}
			return m
		}},
		{name: "a loop of links is another error", seenIn: "go-billy BL-12", kills: "LINK-loops-end", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, provider.ErrSymlink) && slices.Contains([]string{"a", "b", "self"}, name.String()) {
					err = syscall.ELOOP
				}
				return f, err
			}
			return m
		}},
	}
}

func caseMutants() []mutant {
	claim := func(m *mutated) provider.Provider {
		m.features = func() provider.Features {
			f := m.Provider.Features()
			f.CaseSensitive = true
			return f
		}
		return m
	}
	return []mutant{
		{name: "CaseSensitive is claimed by storage that folds case", seenIn: "attacks: unicode-fold", kills: "CASE-two-spellings-are-two-files", opts: memfs.Options{CaseInsensitive: true}, wrap: claim},
		{name: "names are composed", seenIn: "attacks: unicode-equiv", kills: "CASE-two-normal-forms-are-two-files", wrap: func(m *mutated) provider.Provider {
			return renamed(m, changeText(func(s string) string { return strings.ReplaceAll(s, "e\u0301", "\u00e9") }))
		}},
		{name: "names are lowered", seenIn: "lowntfs-3g", kills: "CASE-spelling-is-kept", wrap: func(m *mutated) provider.Provider { return renamed(m, changeText(strings.ToLower)) }},
		{name: "Rename to another spelling does nothing", seenIn: "case-insensitive disks", kills: "CASE-rename-changes-the-spelling", opts: memfs.Options{CaseInsensitive: true}, wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if strings.EqualFold(from.String(), to.String()) {
					return nil
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "IfAbsent compares spellings on storage that folds case", seenIn: "attacks: unicode-fold", kills: "CASE-folding-storage-has-one-file", opts: memfs.Options{CaseInsensitive: true}, wrap: func(m *mutated) provider.Provider {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				if o.If.Absent() && name.Base() == strings.ToLower(name.Base()) {
					o.If = provider.Condition{}
				}
				return m.Provider.Replace(ctx, name, r, o)
			}
			return m
		}},
	}
}
