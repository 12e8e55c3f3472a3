package conformance_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// onDisk makes a harness over a directory of the host with one fault. host gives
// the path that a name has there, as naive storage would use it.
func onDisk(fault func(m *mutated, host func(pathT) string)) func() conformance.Harness {
	return onDiskAs(func(m *mutated, host func(pathT) string) provider.Provider {
		fault(m, host)
		return m
	})
}

// onDiskAs is onDisk for a fault that makes another provider of m.
func onDiskAs(wrap func(m *mutated, host func(pathT) string) provider.Provider) func() conformance.Harness {
	return func() conformance.Harness {
		return diskHarness(func(dir string) (provider.Provider, error) {
			disk, err := diskfs.Open(dir, diskfs.Options{NoSync: true})
			if err != nil {
				return nil, err
			}
			return wrap(&mutated{Provider: disk}, func(name pathT) string { return filepath.Join(dir, filepath.FromSlash(name.String())) }), nil
		})
	}
}

// naiveStat makes Stat a call by path, which follows links.
func naiveStat(m *mutated, host func(pathT) string) {
	m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
		info, err := os.Stat(host(name))
		if err != nil {
			return m.Provider.Stat(ctx, name)
		}
		return mutatedInfo{FileInfo: info, name: name.Base}, nil
	}
}

// diskEntries changes the entries of listings.
func diskEntries(change func(host func(pathT) string, dir pathT, e fs.DirEntry) (fs.DirEntry, bool)) func() conformance.Harness {
	return onDisk(func(m *mutated, host func(pathT) string) {
		m.file = func(f provider.File, name pathT, o openT) provider.File {
			return &mutatedFile{File: f, readDir: func(limit int) ([]fs.DirEntry, error) {
				entries, err := f.ReadDir(limit)
				var kept []fs.DirEntry
				for _, e := range entries {
					if e, ok := change(host, name, e); ok {
						kept = append(kept, e)
					}
				}
				return kept, err
			}}
		}
	})
}

// diskMutants are the faults that only a directory of the host can show.
func diskMutants() []mutant {
	return []mutant{
		{name: "on disk, Stat is a call by path (attacked by name)", seenIn: "afero.OsFs", kills: "LINK-nothing-outside-is-touched", over: onDisk(naiveStat)},
		{name: "on disk, Stat is a call by path (a link put there later)", seenIn: "attacks: swap-dir", kills: "LINK-swapped-in-later", over: onDisk(naiveStat)},
		{name: "on disk, Stat is a call by path (a race)", seenIn: "attacks: swap-dir", kills: "LINK-swapped-in-at-any-moment", racy: true, over: onDisk(naiveStat)},
		{name: "on disk, ReadFileInto looks first and opens by path then", seenIn: "attacks: swap-dir", kills: "LINK-swapped-in-at-any-moment", racy: true, over: onDiskAs(func(m *mutated, host func(pathT) string) provider.Provider {
			whole := func(ctx ctxT, name pathT, limit int64) ([]byte, error) {
				return provider.ReadFileMax(ctx, m.Provider, name, limit)
			}
			return &mutatedInto{mutatedReader{m, whole}, func(ctx ctxT, name pathT, p []byte) (int, error) {
				data, err := whole(ctx, name, 0)
				switch {
				case err != nil:
					return 0, err
				case len(data) > len(p):
					return 0, syscall.EFBIG
				}
				if data, err = os.ReadFile(host(name)); err != nil {
					return 0, fs.ErrNotExist
				}
				return copy(p, data), nil
			}}
		})},
		{name: "on disk, LinkFree is claimed", seenIn: "go-billy capabilities", kills: "LINK-free-claim", over: onDisk(func(m *mutated, _ func(pathT) string) {
			m.features = func() provider.Features {
				f := m.Provider.Features()
				f.LinkFree = true
				return f
			}
		})},
		{name: "on disk, Info is a call by path", seenIn: "os.File.ReadDir GO-03", kills: "DIR-info-never-follows-a-link", over: diskEntries(func(host func(pathT) string, dir pathT, e fs.DirEntry) (fs.DirEntry, bool) {
			return mutatedEntry{DirEntry: e, info: func() (fs.FileInfo, error) {
				info, err := os.Lstat(filepath.Join(host(dir), e.Name()))
				if err != nil {
					return nil, fs.ErrNotExist
				}
				return mutatedInfo{FileInfo: info}, nil
			}}, true
		})},
		{name: "on disk, names that no Path can spell are left out", seenIn: "attacks: bad-utf8", kills: "DIR-names-no-path-can-spell", over: diskEntries(func(_ func(pathT) string, dir pathT, e fs.DirEntry) (fs.DirEntry, bool) {
			_, err := dir.Join(e.Name())
			return e, err == nil
		})},
		{name: "on disk, a FIFO is listed as a file", seenIn: "attacks: fifo", kills: "DIR-special-types", over: diskEntries(func(_ func(pathT) string, dir pathT, e fs.DirEntry) (fs.DirEntry, bool) {
			return mutatedEntry{DirEntry: e, typ: func() fs.FileMode { return e.Type() &^ fs.ModeNamedPipe }}, true
		})},
		{name: "on disk, Replace keeps setuid", seenIn: "attacks: mode-bits", kills: "REPLACE-drops-special-bits", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				before, err := os.Lstat(host(name))
				d, rerr := m.Provider.Replace(ctx, name, r, o)
				if err == nil && rerr == nil {
					os.Chmod(host(name), before.Mode())
				}
				return d, rerr
			}
		})},
		{name: "on disk, Replace writes into the file", seenIn: "os.WriteFile", kills: "REPLACE-not-through-a-hard-link", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				before, err := os.ReadFile(host(name))
				if err != nil || before == nil {
					return m.Provider.Replace(ctx, name, r, o)
				}
				data, err := io.ReadAll(r)
				if err != nil {
					return provider.Digest{}, err
				}
				return provider.Digest{}, os.WriteFile(host(name), data, 0o644)
			}
		})},
		{name: "on disk, Chmod works on a FIFO", seenIn: "attacks: fifo", kills: "ERR-irregular", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				err := m.Provider.Chmod(ctx, name, perm)
				if errors.Is(err, provider.ErrIrregular) {
					return nil
				}
				return err
			}
		})},
		{name: "on disk, a name below a FIFO is a missing one", seenIn: "attacks: fifo", kills: "ERR-irregular-parent", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				return info, notFound(err)
			}
		})},
		{name: "on disk, opening a FIFO waits for its writer", seenIn: "attacks: special", kills: "OPEN-flags-on-a-FIFO", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, provider.ErrIrregular) && o.Read && !o.Write {
					<-leaked // what open(2) does without O_NONBLOCK
				}
				return f, err
			}
		})},
		{name: "reopened storage has lost what was replaced", seenIn: "write-back caches", kills: "DUR-replace-is-there-after-reopening", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.close = func() error { os.Truncate(host(at("f")), 0); return m.Provider.Close() }
		})},
		{name: "reopened storage has lost what was synced", seenIn: "write-back caches", kills: "DUR-synced-writes-are-there-after-reopening", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.close = func() error { os.Truncate(host(at("f")), 2); return m.Provider.Close() }
		})},
		{name: "reopened storage has a removed name", seenIn: "write-back caches", kills: "DUR-names-are-there-after-reopening", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.close = func() error { os.Mkdir(host(at("i")), 0o755); return m.Provider.Close() }
		})},
		{name: "reopened storage has other modes", seenIn: "archives", kills: "DUR-attributes-are-there-after-reopening", over: onDisk(func(m *mutated, host func(pathT) string) {
			m.close = func() error { os.Chmod(host(at("f")), 0o644); return m.Provider.Close() }
		})},
		{name: "reopened storage promises something else", seenIn: "lazy probes", kills: "DUR-same-features-after-reopening", over: func() conformance.Harness {
			opened := 0
			return diskHarness(func(dir string) (provider.Provider, error) {
				opened++
				return diskfs.Open(dir, diskfs.Options{NoSync: opened > 1})
			})
		}},
	}
}

// linkOpMutants follow links in one operation each, with one set of options.
func linkOpMutants() []mutant {
	opening := func(id string, pick func(o openT) bool) mutant {
		return mutant{name: "opening follows links: " + id, seenIn: "attacks: symlink-leaf", kills: "LINK-refused-by-" + id, wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if pick(o) {
					name = m.follow(name, true)
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}}
	}
	replacingWith := func(id string, pick func(provider.Condition) bool, last bool) mutant {
		return mutant{name: "replacing follows links: " + id, seenIn: "attacks: dangling-leaf-write", kills: "LINK-refused-by-" + id, wrap: func(m *mutated) provider.Provider {
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				if pick(o.If) {
					name = m.follow(name, last)
				}
				return m.Provider.Replace(ctx, name, r, o)
			}
			return m
		}}
	}
	return []mutant{
		opening("open-for-writing", func(o openT) bool { return o.Write && !o.Create && !o.Truncate && !o.Append }),
		opening("open-for-appending", func(o openT) bool { return o.Append }),
		opening("open-with-create", func(o openT) bool { return o.Create && !o.Exclusive }),
		opening("open-with-truncate", func(o openT) bool { return o.Truncate }),
		replacingWith("replace-if-absent", provider.Condition.Absent, true),
		replacingWith("replace-if-match", func(c provider.Condition) bool { _, ok := c.Match(); return ok }, false),
		{name: "renaming without replacement follows links", seenIn: "attacks: rename-onto-link", kills: "LINK-refused-by-rename-to-noreplace", wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if o.NoReplace {
					to = m.follow(to, true)
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "ReadFile follows links", seenIn: "optional interfaces", kills: "LINK-refused-by-read-file", wrap: reading(func(m *mutated, ctx ctxT, name pathT, limit int64) ([]byte, error) {
			return m.mem.ReadFile(ctx, m.follow(name, true), limit)
		})},
		{name: "creating with Truncate does not create", seenIn: "flag handling", kills: "OPEN-flags-on-a-missing-name", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Truncate {
					o.Create = false
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "the root opens with Create", seenIn: "flag handling", kills: "OPEN-flags-on-the-root", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if name.IsRoot() && o.Create && !o.Exclusive && !o.Write && !o.Append && !o.Truncate && !o.Directory {
					o.Create = false
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "a name in a missing directory is ENOTDIR", seenIn: "attacks: notdir", kills: "OPEN-flags-on-a-name-in-a-missing-directory", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, fs.ErrNotExist) && !exists(ctx, m.mem, name.Parent()) {
					err = syscall.ENOTDIR
				}
				return f, err
			}
			return m
		}},
		{name: "a dangling link is a missing name", seenIn: "os.Open", kills: "OPEN-flags-on-a-dangling-link", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if errors.Is(err, provider.ErrSymlink) && !exists(context.WithoutCancel(ctx), m.mem, m.follow(name, true)) {
					err = fs.ErrNotExist
				}
				return f, err
			}
			return m
		}},
		{name: "ReadFile ignores what does not fit its first buffer", seenIn: "io.Reader misread", kills: "READ-helper-agrees", wrap: reading(func(m *mutated, ctx ctxT, name pathT, limit int64) ([]byte, error) {
			data, err := m.mem.ReadFile(ctx, name, limit)
			return data[:min(len(data), 2)], err
		})},
	}
}
