package conformance_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// The faults of content: READ, WRITE, DIR, REPLACE, ATTR, ERR, CTX, CLOSE, CONC,
// QUOTA.

// filing changes every File.
func filing(change func(m *mutated, f *mutatedFile, name pathT, o openT)) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		m.file = func(f provider.File, name pathT, o openT) provider.File {
			mf := &mutatedFile{File: f}
			change(m, mf, name, o)
			return mf
		}
		return m
	}
}

// replacing changes Replace.
func replacing(f func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error)) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			return f(m, ctx, name, r, o)
		}
		return m
	}
}

// inPlace writes content into the file that is there.
func inPlace(ctx ctxT, m *mutated, name pathT, data []byte, o provider.ReplaceOptions, truncate bool) (provider.Digest, error) {
	info, err := m.mem.Stat(ctx, name)
	if err != nil || !info.Mode().IsRegular() || o.If != (provider.Condition{}) {
		return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
	}
	f, err := m.mem.Open(ctx, name, openT{Write: true, Truncate: truncate})
	if err != nil {
		return provider.Digest{}, err
	}
	defer f.Close()
	half := len(data) / 2
	f.WriteAt(data[:half], 0)
	runtime.Gosched()
	f.WriteAt(data[half:], int64(half))
	return sha256.Sum256(data), nil
}

func readMutants() []mutant {
	return []mutant{
		{name: "a file has at most 1 MiB", seenIn: "fixed buffers", kills: "READ-whole-content", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				if room := max(1<<20-off, 0); int64(len(p)) > room && off >= 0 {
					n, err := f.File.ReadAt(p[:room], off)
					if err == nil {
						err = io.EOF
					}
					return n, err
				}
				return f.File.ReadAt(p, off)
			}
		})},
		{name: "reads across a block border are off by one", seenIn: "chunked storage", kills: "READ-any-offset", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.ReadAt(p, off)
				if border := 65536 - off; off > 0 && border > 0 && border < int64(n) {
					p[border] ^= 1
				}
				return n, err
			}
		})},
		{name: "a short read has no error", seenIn: "afero.MemMapFs AF-M24", kills: "READ-short-counts-have-an-error", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.ReadAt(p, off)
				if n > 0 && errors.Is(err, io.EOF) {
					err = nil
				}
				return n, err
			}
		})},
		{name: "a read at the end has no error, so that reading never ends", seenIn: "endless read", kills: "READ-short-counts-have-an-error", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.ReadAt(p, off)
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return n, err
			}
		})},
		{name: "a read at the end is an unexpected EOF", seenIn: "io.ReadFull", kills: "READ-end-of-file", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.ReadAt(p, off)
				if n > 0 && errors.Is(err, io.EOF) {
					err = syscall.EIO
				}
				return n, err
			}
		})},
		{name: "a read at a negative offset begins at 0", seenIn: "afero.MemMapFs AF-M20", kills: "READ-negative-offset", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) { return f.File.ReadAt(p, max(off, 0)) }
		})},
		{name: "a read at a negative offset panics", seenIn: "afero.MemMapFs AF-M19", kills: "READ-negative-offset", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				if off < 0 {
					return copy(p, p[off:]), nil
				}
				return f.File.ReadAt(p, off)
			}
		})},
		{name: "a read far beyond the end overflows", seenIn: "offset + length", kills: "READ-far-beyond-the-end", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				if off > math.MaxInt64-8192 {
					return 0, syscall.EINVAL
				}
				return f.File.ReadAt(p, off)
			}
		})},
		{name: "an empty read is an error", seenIn: "go-billy", kills: "READ-empty-buffer", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				if len(p) == 0 {
					return 0, syscall.EINVAL
				}
				return f.File.ReadAt(p, off)
			}
		})},
		{name: "a directory reads as an empty file", seenIn: "afero.MemMapFs AF-M59", kills: "READ-directory", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.ReadAt(p, off)
				if errors.Is(err, syscall.EISDIR) {
					err = io.EOF
				}
				return n, err
			}
		})},
		{name: "a File reads the content of its open", seenIn: "copy at open", kills: "READ-sees-writes-at-once", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			data, err := provider.ReadFile(context.Background(), m.Provider, name)
			if err != nil || o.Write {
				return
			}
			f.readAt = func(p []byte, off int64) (int, error) {
				if _, err := f.File.ReadAt(nil, off); err != nil && !errors.Is(err, io.EOF) {
					return 0, err
				}
				return bytes.NewReader(data).ReadAt(p, off)
			}
		})},
		{name: "ReadFile gives an empty file for a directory", seenIn: "optional interfaces", kills: "READ-FileReader-agrees", wrap: reading(func(m *mutated, ctx ctxT, name pathT, limit int64) ([]byte, error) {
			data, err := m.mem.ReadFile(ctx, name, limit)
			if errors.Is(err, syscall.EISDIR) {
				return []byte{}, nil
			}
			return data, err
		})},
		{name: "ReadFile ignores its limit", seenIn: "attacks: limits", kills: "READ-FileReader-limit", wrap: reading(func(m *mutated, ctx ctxT, name pathT, limit int64) ([]byte, error) {
			return m.mem.ReadFile(ctx, name, 0)
		})},
		{name: "ReadFile refuses a file of exactly max bytes", seenIn: "off by one", kills: "READ-FileReader-limit", wrap: reading(func(m *mutated, ctx ctxT, name pathT, limit int64) ([]byte, error) {
			if limit > 0 {
				limit = max(limit-1, 1)
			}
			return m.mem.ReadFile(ctx, name, limit)
		})},
		{name: "ReadFile lends the slice that it keeps", seenIn: "memory without copies", kills: "READ-FileReader-slice-is-the-callers", wrap: func(m *mutated) provider.Provider {
			cache := map[string][]byte{}
			return mutatedReader{m, func(ctx ctxT, name pathT, limit int64) ([]byte, error) {
				if data, ok := cache[name.String()]; ok {
					return data, nil
				}
				data, err := m.mem.ReadFile(ctx, name, limit)
				if err == nil {
					cache[name.String()] = data
				}
				return data, err
			}}
		}},
	}
}

// reading gives the provider a ReadFile with a fault.
func reading(f func(m *mutated, ctx ctxT, name pathT, limit int64) ([]byte, error)) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		return mutatedReader{m, func(ctx ctxT, name pathT, limit int64) ([]byte, error) { return f(m, ctx, name, limit) }}
	}
}

// readInto is ReadFileInto as it should be.
func readInto(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
	data, err := m.mem.ReadFile(ctx, name, 0)
	if err == nil && len(data) > len(p) {
		err = syscall.EFBIG
	}
	if err != nil {
		return 0, err
	}
	return copy(p, data), nil
}

// readingInto gives the provider a ReadFileInto with a fault.
func readingInto(read func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error)) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		whole := func(ctx ctxT, name pathT, limit int64) ([]byte, error) { return m.mem.ReadFile(ctx, name, limit) }
		return mutatedInto{mutatedReader{m, whole}, func(ctx ctxT, name pathT, p []byte) (int, error) { return read(m, ctx, name, p) }}
	}
}

func intoMutants() []mutant {
	return []mutant{
		{name: "ReadFileInto takes a directory for an empty file", seenIn: "optional interfaces", kills: "READ-FileIntoReader-agrees", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			n, err := readInto(m, ctx, name, p)
			if errors.Is(err, syscall.EISDIR) {
				return 0, nil
			}
			return n, err
		})},
		{name: "ReadFileInto takes what fits for the whole file", seenIn: "io.Reader misread", kills: "READ-FileIntoReader-agrees", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			data, err := m.mem.ReadFile(ctx, name, 0)
			return copy(p, data), err
		})},
		{name: "ReadFileInto refuses a file of exactly len(p) bytes", seenIn: "off by one", kills: "READ-FileIntoReader-agrees", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			n, err := readInto(m, ctx, name, p)
			if err == nil && n == len(p) && n > 0 {
				return 0, syscall.EFBIG
			}
			return n, err
		})},
		{name: "ReadFileInto looks at no file without room for one", seenIn: "attacks: limits", kills: "READ-FileIntoReader-agrees", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			if len(p) == 0 {
				return 0, ctx.Err()
			}
			return readInto(m, ctx, name, p)
		})},
		{name: "ReadFileInto uses the room behind the bytes it is given", seenIn: "append to a slice", kills: "READ-FileIntoReader-writes-no-more", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			n, err := readInto(m, ctx, name, p[:cap(p)])
			if err == nil && n > len(p) {
				return 0, syscall.EFBIG
			}
			return n, err
		})},
		{name: "ReadFileInto keeps the bytes it was given", seenIn: "memory without copies", kills: "READ-FileIntoReader-keeps-nothing", wrap: func(m *mutated) provider.Provider {
			cache := map[string][]byte{}
			return readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
				if data, ok := cache[name.String()]; ok && len(data) <= len(p) {
					return copy(p, data), nil
				}
				n, err := readInto(m, ctx, name, p)
				if err == nil {
					cache[name.String()] = p[:n]
				}
				return n, err
			})(m)
		}},
		{name: "ReadFileInto follows links", seenIn: "optional interfaces", kills: "LINK-refused-by-read-file-into", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			return readInto(m, ctx, m.follow(name, true), p)
		})},
		{name: "ReadFileInto ignores its context", seenIn: "optional interfaces", kills: "CTX-cancelled", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			return readInto(m, context.WithoutCancel(ctx), name, p)
		})},
		{name: "ReadFileInto takes every file for empty after Close", seenIn: "optional interfaces", kills: "CLOSE-provider", wrap: readingInto(func(m *mutated, ctx ctxT, name pathT, p []byte) (int, error) {
			n, err := readInto(m, ctx, name, p)
			if errors.Is(err, fs.ErrClosed) {
				return 0, nil
			}
			return n, err
		})},
	}
}

// shown is ViewContent as it should be.
func shown(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
	return f.File.(provider.ContentViewer).ViewContent(limit, look)
}

// viewing gives every File a ContentViewer with a fault.
func viewing(view func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error)) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		m.file = func(f provider.File, name pathT, o openT) provider.File {
			mf := &mutatedFile{File: f}
			return mutatedView{mf, func(limit int, look func([]byte)) (bool, error) { return view(m, mf, name, limit, look) }}
		}
		return m
	}
}

func viewMutants() []mutant {
	return []mutant{
		{name: "ViewContent shows whole pages only", seenIn: "memory maps", kills: "READ-ContentViewer-agrees", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			return shown(m, f, name, limit, func(content []byte) {
				if len(content) > 4096 {
					content = content[:len(content)&^4095]
				}
				look(content)
			})
		})},
		{name: "ViewContent shows the pieces of a file one by one", seenIn: "chunked storage", kills: "READ-ContentViewer-agrees", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			return shown(m, f, name, limit, func(content []byte) {
				for piece := range slices.Chunk(content, 32<<10) {
					look(piece)
				}
				if len(content) == 0 {
					look(content)
				}
			})
		})},
		{name: "ViewContent does not show an empty file", seenIn: "memory maps", kills: "READ-ContentViewer-agrees", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			if info, err := f.File.Stat(); err == nil && info.Size() == 0 {
				return false, nil
			}
			return shown(m, f, name, limit, look)
		})},
		{name: "ViewContent ignores its bound", seenIn: "attacks: limits", kills: "READ-ContentViewer-bound", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			return shown(m, f, name, 1<<30, look)
		})},
		{name: "ViewContent refuses content of exactly max bytes", seenIn: "off by one", kills: "READ-ContentViewer-bound", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			return shown(m, f, name, limit-1, look)
		})},
		{name: "ViewContent shows the content of the open", seenIn: "copy at open", kills: "READ-ContentViewer-sees-writes-at-once", wrap: func(m *mutated) provider.Provider {
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				mf := &mutatedFile{File: f}
				data, err := provider.ReadFile(context.Background(), m.Provider, name)
				return mutatedView{mf, func(limit int, look func([]byte)) (bool, error) {
					if err != nil || len(data) > limit {
						return shown(m, mf, name, limit, look)
					}
					look(data)
					return true, nil
				}}
			}
			return m
		}},
		{name: "ViewContent shows the bytes that a write changes", seenIn: "memory without copies", kills: "READ-ContentViewer-stays", wrap: func(m *mutated) provider.Provider {
			var looked []byte
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				mf := &mutatedFile{File: f}
				mf.writeAt = func(p []byte, off int64) (int, error) {
					if off >= 0 && off < int64(len(looked)) {
						copy(looked[off:], p)
					}
					return mf.File.WriteAt(p, off)
				}
				return mutatedView{mf, func(limit int, look func([]byte)) (bool, error) {
					return shown(m, mf, name, limit, func(content []byte) {
						looked = bytes.Clone(content)
						look(looked)
					})
				}}
			}
			return m
		}},
		{name: "writers wait for who looks at the content", seenIn: "memory without copies", kills: "READ-ContentViewer-stays", wrap: func(m *mutated) provider.Provider {
			var mu sync.RWMutex
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				mf := &mutatedFile{File: f}
				mf.writeAt = func(p []byte, off int64) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					return mf.File.WriteAt(p, off)
				}
				return mutatedView{mf, func(limit int, look func([]byte)) (bool, error) {
					mu.RLock()
					defer mu.RUnlock()
					return shown(m, mf, name, limit, look)
				}}
			}
			return m
		}},
		{name: "ViewContent makes a panic an error", seenIn: "recover in a library", kills: "READ-ContentViewer-panic", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (ok bool, err error) {
			defer func() {
				if recover() != nil {
					ok, err = false, syscall.EIO
				}
			}()
			return shown(m, f, name, limit, look)
		})},
		{name: "a panic leaves the file locked", seenIn: "an unlock without defer", kills: "READ-ContentViewer-panic", wrap: func(m *mutated) provider.Provider {
			var mu sync.Mutex
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				mf := &mutatedFile{File: f}
				mf.readAt = func(p []byte, off int64) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					return mf.File.ReadAt(p, off)
				}
				return mutatedView{mf, func(limit int, look func([]byte)) (bool, error) {
					mu.Lock()
					ok, err := shown(m, mf, name, limit, look)
					mu.Unlock()
					return ok, err
				}}
			}
			return m
		}},
		{name: "ViewContent works after Close", seenIn: "handle reuse", kills: "READ-ContentViewer-of-nothing", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			ok, err := shown(m, f, name, limit, look)
			if !errors.Is(err, fs.ErrClosed) {
				return ok, err
			}
			data, err := m.mem.ReadFile(context.Background(), name, int64(limit))
			if err == nil {
				look(data)
			}
			return err == nil, err
		})},
		{name: "ViewContent shows a directory as an empty file", seenIn: "optional interfaces", kills: "READ-ContentViewer-of-nothing", wrap: viewing(func(m *mutated, f *mutatedFile, name pathT, limit int, look func([]byte)) (bool, error) {
			ok, err := shown(m, f, name, limit, look)
			if errors.Is(err, syscall.EISDIR) {
				look(nil)
				return true, nil
			}
			return ok, err
		})},
	}
}

func writeMutants() []mutant {
	size := func(f provider.File) int64 {
		info, err := f.Stat()
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return []mutant{
		{name: "a gap is filled with what comes next", seenIn: "avfs AV-02", kills: "WRITE-gap-reads-as-zero", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if end := size(f.File); len(p) > 0 && end < off && off < 1<<20 {
					f.File.WriteAt(bytes.Repeat(p[:1], int(off-end)), end)
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "a write beyond the end goes to the end", seenIn: "hackpadfs", kills: "WRITE-gap-reads-as-zero", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) { return f.File.WriteAt(p, min(off, size(f.File))) }
		})},
		{name: "an empty write extends the file", seenIn: "go-billy memfs", kills: "WRITE-nothing-changes-nothing", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if len(p) == 0 && size(f.File) < off {
					f.File.Truncate(off)
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "a write at a negative offset begins at 0", seenIn: "attacks: offsets", kills: "WRITE-negative-offset", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) { return f.File.WriteAt(p, max(off, 0)) }
		})},
		{name: "a write that would overflow wraps to the start", seenIn: "attacks: offsets", kills: "WRITE-beyond-any-size", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if off > math.MaxInt64-int64(len(p)) {
					return f.File.WriteAt(p, 0)
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "a far write allocates up to its offset", seenIn: "attacks: offsets", kills: "WRITE-far-beyond-the-end", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if off >= 64<<20 {
					sink = make([]byte, 64<<20)
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "a write cuts the file at its end", seenIn: "afero.MemMapFs", kills: "WRITE-is-not-a-truncation", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.WriteAt(p, off)
				if err == nil && n > 0 && !o.Append {
					f.File.Truncate(off + int64(n))
				}
				return n, err
			}
		})},
		{name: "a write is put down by one byte across 4 KiB", seenIn: "chunked storage", kills: "WRITE-at-any-offset", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if off == 4095 && len(p) == 2 {
					f.File.WriteAt(p[1:], off)
					return 2, nil
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "a large write loses a block", seenIn: "chunked storage", kills: "WRITE-large", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if len(p) > 100_000 {
					n := len(p)
					f.File.WriteAt(p[:65536], off)
					f.File.WriteAt(p[65536+512:], off+65536+512)
					return n, nil
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "a write keeps the caller's buffer until the next read", seenIn: "memory without copies", kills: "WRITE-keeps-no-buffer", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			var kept []byte
			var at int64
			flush := func() {
				if kept != nil {
					f.File.WriteAt(kept, at)
					kept = nil
				}
			}
			f.writeAt = func(p []byte, off int64) (int, error) {
				flush()
				kept, at = p, off
				return len(p), nil
			}
			f.readAt = func(p []byte, off int64) (int, error) { flush(); return f.File.ReadAt(p, off) }
		})},
		{name: "Append remembers the end of its open", seenIn: "afero.MemMapFs AF-M12", kills: "WRITE-append-goes-to-the-end", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			if !o.Append {
				return
			}
			end := size(f.File)
			f.append = func(p []byte) (int, int64, error) {
				n, err := f.File.WriteAt(p, end)
				end += int64(n)
				return n, end, err
			}
		})},
		{name: "Append of nothing returns the end 0", seenIn: "early return", kills: "WRITE-append-nothing", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.append = func(p []byte) (int, int64, error) {
				if len(p) == 0 {
					return 0, 0, nil
				}
				return f.File.Append(p)
			}
		})},
		{name: "a File opened for reading writes", seenIn: "hackpadfs HP-08", kills: "WRITE-through-a-read-handle-changes-nothing", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if info, err := m.mem.Stat(ctx, name); err == nil && info.Mode().IsRegular() && o.Read && !o.Directory && !o.Exclusive {
					o.Write, o.Append = true, true
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Truncate does not shrink", seenIn: "hackpadfs", kills: "WRITE-truncate-shrinks", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.truncate = func(n int64) error {
				if n >= 0 && n < size(f.File) {
					return nil
				}
				return f.File.Truncate(n)
			}
		})},
		{name: "Truncate shows cut bytes again", seenIn: "blang/vfs BV-01", kills: "WRITE-truncate-grows-with-zeros", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			var cut []byte
			var from int64
			f.truncate = func(n int64) error {
				now := size(f.File)
				if n >= 0 && n < now {
					cut, from = make([]byte, now-n), n
					f.File.ReadAt(cut, n)
				}
				err := f.File.Truncate(n)
				if err == nil && n > now && now == from {
					f.File.WriteAt(cut[:min(int64(len(cut)), n-now)], now)
				}
				return err
			}
		})},
		{name: "a write after Truncate shows cut bytes again", seenIn: "blang/vfs BV-01", kills: "WRITE-after-truncate", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			var cut []byte
			f.truncate = func(n int64) error {
				if now := size(f.File); n >= 0 && n < now {
					cut = make([]byte, now-n)
					f.File.ReadAt(cut, n)
				}
				return f.File.Truncate(n)
			}
			f.writeAt = func(p []byte, off int64) (int, error) {
				if now := size(f.File); cut != nil && off > now {
					f.File.WriteAt(cut[:min(int64(len(cut)), off-now)], now)
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "Truncate to a negative size empties", seenIn: "attacks: offsets", kills: "WRITE-truncate-negative", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.truncate = func(n int64) error { return f.File.Truncate(max(n, 0)) }
		})},
		{name: "Truncate of a directory succeeds", seenIn: "afero.MemMapFs", kills: "WRITE-directory", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.truncate = func(n int64) error {
				if err := f.File.Truncate(n); !errors.Is(err, syscall.EISDIR) {
					return err
				}
				return nil
			}
		})},
		{name: "Sync of a directory fails", seenIn: "Windows", kills: "WRITE-sync", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.sync = func() error {
				if o.Directory || name.IsRoot() {
					return syscall.EINVAL
				}
				return f.File.Sync()
			}
		})},
		{name: "writes leave the modification time", seenIn: "attributes apart from content", kills: "WRITE-moves-the-modification-time", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				before, _ := f.File.Stat()
				n, err := f.File.WriteAt(p, off)
				m.mem.Chtimes(context.Background(), name, time.Time{}, before.ModTime())
				return n, err
			}
		})},
	}
}

// sink keeps what a fault allocates.
var sink []byte

func dirMutants() []mutant {
	listing := func(change func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry) func(*mutated) provider.Provider {
		return filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				entries, err := f.File.ReadDir(limit)
				if err != nil {
					return nil, err
				}
				return change(m, f, name, entries), nil
			}
		})
	}
	return []mutant{
		{name: "a listing misses the last entry", seenIn: "paging", kills: "DIR-lists-everything", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			return entries[:max(len(entries)-1, 0)]
		})},
		{name: "a listing holds an entry twice", seenIn: "overlays", kills: "DIR-each-name-once", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			if len(entries) > 0 {
				entries = append(entries, entries[0])
			}
			return entries
		})},
		{name: "an empty directory cannot be listed", seenIn: "object stores", kills: "DIR-empty-directory", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				entries, err := f.File.ReadDir(limit)
				if err == nil && len(entries) == 0 {
					return nil, io.EOF
				}
				return entries, err
			}
		})},
		{name: "ReadDir goes on where the last one ended", seenIn: "os.File.ReadDir HP-07", kills: "DIR-from-the-beginning-each-time", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			done := false
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				if done {
					return nil, nil
				}
				entries, err := f.File.ReadDir(limit)
				done = err == nil
				return entries, err
			}
		})},
		{name: "ReadDir lists the directory as it was at the open", seenIn: "snapshots", kills: "DIR-as-it-is-now", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			entries, err := f.File.ReadDir(0)
			if err != nil {
				return
			}
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				if _, err := f.File.Stat(); err != nil {
					return nil, err
				}
				return entries, nil
			}
		})},
		{name: "ReadDir ignores its bound", seenIn: "attacks: limits", kills: "DIR-bound", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) { return f.File.ReadDir(0) }
		})},
		{name: "ReadDir cuts at its bound", seenIn: "os.File.ReadDir", kills: "DIR-bound", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				entries, err := f.File.ReadDir(0)
				if limit > 0 && err == nil {
					entries = entries[:min(limit, len(entries))]
				}
				return entries, err
			}
		})},
		{name: "a file lists as an empty directory", seenIn: "afero.MemMapFs AF-M58", kills: "DIR-of-a-file", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				entries, err := f.File.ReadDir(limit)
				if errors.Is(err, syscall.ENOTDIR) {
					return nil, nil
				}
				return entries, err
			}
		})},
		{name: "entries of directories look like files", seenIn: "object stores", kills: "DIR-entry-types", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			for i, e := range entries {
				entries[i] = mutatedEntry{DirEntry: e, typ: func() fs.FileMode { return e.Type() &^ fs.ModeDir }}
			}
			return entries
		})},
		{name: "a link is listed as its target", seenIn: "afero.OsFs", kills: "DIR-entry-type-of-a-link", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			for i, e := range entries {
				p, _ := name.Join(e.Name())
				if info, err := m.mem.Stat(context.Background(), m.follow(p, true)); err == nil {
					entries[i] = mutatedEntry{DirEntry: e, typ: info.Mode().Type}
				}
			}
			return entries
		})},
		{name: "Info has no size", seenIn: "lazy entries", kills: "DIR-entry-info-is-stat", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			for i, e := range entries {
				entries[i] = mutatedEntry{DirEntry: e, info: func() (fs.FileInfo, error) {
					info, err := e.Info()
					if err != nil {
						return nil, err
					}
					return mutatedInfo{FileInfo: info, size: func() int64 { return 0 }}, nil
				}}
			}
			return entries
		})},
		{name: "Info resolves the path again", seenIn: "os.File.ReadDir GO-03", kills: "DIR-info-stays-in-the-directory", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			for i, e := range entries {
				p, _ := name.Join(e.Name())
				entries[i] = mutatedEntry{DirEntry: e, info: func() (fs.FileInfo, error) { return m.mem.Stat(context.Background(), p) }}
			}
			return entries
		})},
		{name: "Info of a vanished entry is another error", seenIn: "lazy entries", kills: "DIR-info-of-a-vanished-entry", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			for i, e := range entries {
				p, _ := name.Join(e.Name())
				entries[i] = mutatedEntry{DirEntry: e, info: func() (fs.FileInfo, error) {
					if !exists(context.Background(), m.mem, p) {
						return nil, syscall.EIO
					}
					return e.Info()
				}}
			}
			return entries
		})},
		{name: "a directory File goes to whatever has its name", seenIn: "os.File.ReadDir", kills: "DIR-handle-follows-a-rename", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				g, err := m.mem.Open(context.Background(), name, openT{Read: true, Directory: true})
				if err != nil {
					return f.File.ReadDir(limit)
				}
				defer g.Close()
				return g.ReadDir(limit)
			}
		})},
		{name: "a listing ends at 1,000 entries", seenIn: "paging of object stores", kills: "DIR-many-entries", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			return entries[:min(len(entries), 1000)]
		})},
		{name: "a listing ends at 64 KiB of names", seenIn: "getdents", kills: "DIR-long-names", wrap: listing(func(m *mutated, f *mutatedFile, name pathT, entries []fs.DirEntry) []fs.DirEntry {
			total := 0
			for i, e := range entries {
				if total += len(e.Name()); total > 64<<10 {
					return entries[:i]
				}
			}
			return entries
		})},
		{name: "ReadEntries leaves hidden names out", seenIn: "optional interfaces", kills: "DIR-EntryReader-agrees", wrap: entries(func(m *mutated, name pathT) mutatedEntries {
			return mutatedEntries{listed: func(entries []fs.DirEntry, limit int) []fs.DirEntry {
				return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
			}}
		})},
		{name: "ReadEntries ignores its bound", seenIn: "attacks: limits", kills: "DIR-EntryReader-agrees", wrap: entries(func(m *mutated, name pathT) mutatedEntries {
			return mutatedEntries{listed: func(entries []fs.DirEntry, limit int) []fs.DirEntry { return entries }}
		})},
		{name: "StatEntry takes paths", seenIn: "attacks: dotdot", kills: "DIR-EntryReader-names", wrap: entries(func(m *mutated, name pathT) mutatedEntries {
			return mutatedEntries{entry: func(f provider.File, elem string) (provider.Info, error) {
				if p, err := provider.ParsePath(name.String() + "/" + elem); err == nil && strings.Contains(elem, "/") {
					return infoOf(m.mem.Stat(context.Background(), p))
				}
				return findEntry(f, elem)
			}}
		})},
		{name: "StatEntry resolves the directory's name again", seenIn: "attacks: swap-dir", kills: "DIR-EntryReader-stays-in-its-directory", wrap: entries(func(m *mutated, name pathT) mutatedEntries {
			return mutatedEntries{entry: func(f provider.File, elem string) (provider.Info, error) {
				p, err := name.Join(elem)
				if err != nil {
					return provider.Info{}, err
				}
				return infoOf(m.mem.Stat(context.Background(), p))
			}}
		})},
		{name: "StatEntry works after Close", seenIn: "handle reuse", kills: "DIR-EntryReader-of-nothing", wrap: entries(func(m *mutated, name pathT) mutatedEntries {
			return mutatedEntries{entry: func(f provider.File, elem string) (provider.Info, error) {
				info, err := findEntry(f, elem)
				if p, perr := name.Join(elem); perr == nil && errors.Is(err, fs.ErrClosed) {
					return infoOf(m.mem.Stat(context.Background(), p))
				}
				return info, err
			}}
		})},
	}
}

// entries gives directories an EntryReader with a fault.
func entries(fault func(m *mutated, name pathT) mutatedEntries) func(*mutated) provider.Provider {
	return func(m *mutated) provider.Provider {
		m.file = func(f provider.File, name pathT, o openT) provider.File {
			e := fault(m, name)
			e.File = f
			return e
		}
		return m
	}
}

func replaceMutants() []mutant {
	whole := func(f func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error)) func(*mutated) provider.Provider {
		return replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			data, err := io.ReadAll(r)
			if err != nil {
				return provider.Digest{}, err
			}
			return f(m, ctx, name, data, o)
		})
	}
	return []mutant{
		{name: "Replace does not create", seenIn: "rename(2) of nothing", kills: "REPLACE-creates", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if !exists(ctx, m.mem, name) && len(data) == 0 {
				return sha256.Sum256(data), nil
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "Replace leaves the end of longer content", seenIn: "write without truncation", kills: "REPLACE-whole-content", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			return inPlace(ctx, m, name, data, o, false)
		})},
		{name: "Replace returns the digest of nothing", seenIn: "digest after reading", kills: "REPLACE-returns-the-digest", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			_, err := m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
			return sha256.Sum256(nil), err
		})},
		{name: "Replace resets the mode", seenIn: "attacks: mode-keep", kills: "REPLACE-keeps-the-mode", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			d, err := m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
			if err == nil {
				m.mem.Chmod(ctx, name, o.FileMode())
			}
			return d, err
		})},
		{name: "a new file has the mode of its temporary", seenIn: "temp + rename", kills: "REPLACE-mode-of-a-new-file", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if o.Perm != 0o600 {
				o.Perm = 0o400
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "Replace of a directory replaces it", seenIn: "afero.MemMapFs AF-M16", kills: "REPLACE-a-directory", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if !name.IsRoot() && isDir(ctx, m.mem, name) && o.If == (provider.Condition{}) {
				removeTree(ctx, m.mem, name)
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "Replace stops at the first short read", seenIn: "io.Reader misread", kills: "REPLACE-reads-to-the-end", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			buf := make([]byte, 1<<20)
			n, err := r.Read(buf)
			if err != nil && !errors.Is(err, io.EOF) || n == len(buf) {
				return m.Provider.Replace(ctx, name, io.MultiReader(bytes.NewReader(buf[:n]), errorReader{err}, r), o)
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(buf[:n]), o)
		})},
		{name: "Replace keeps what it read before an error", seenIn: "afero.WriteReader AF-U01", kills: "REPLACE-reader-error", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			data, err := io.ReadAll(r)
			d, werr := m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
			if err != nil {
				return d, err
			}
			return d, werr
		})},
		{name: "Replace swallows an error of its reader", seenIn: "afero.WriteReader AF-U01", kills: "REPLACE-reader-error", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			data, _ := io.ReadAll(r)
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "Replace writes into the file", seenIn: "afero.WriteFile", kills: "REPLACE-open-files-keep-the-old-content", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			return inPlace(ctx, m, name, data, o, true)
		})},
		{name: "the temporary of Replace is listed", seenIn: "attacks: temp-plant", kills: "REPLACE-shows-nothing-before-the-end", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			tmp, _ := name.Parent().Join("tmp-1234")
			m.Provider.Replace(ctx, tmp, strings.NewReader("half"), provider.ReplaceOptions{})
			defer m.mem.Remove(ctx, tmp)
			return m.Provider.Replace(ctx, name, r, o)
		})},
		{name: "the temporary's name grows from the target's", seenIn: "attacks: long-name-overwrite", kills: "REPLACE-long-name", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if _, err := name.Parent().Join(name.Base() + ".tmp"); err != nil && exists(ctx, m.mem, name) {
				return provider.Digest{}, syscall.ENAMETOOLONG
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "Replace holds a lock while it reads", seenIn: "one big lock", kills: "REPLACE-reader-may-use-the-provider", wrap: func(m *mutated) provider.Provider {
			var mu sync.Mutex
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				mu.Lock()
				defer mu.Unlock()
				return m.Provider.Replace(ctx, name, r, o)
			}
			return m
		}},
		{name: "IfAbsent is ignored", seenIn: "lost update", kills: "REPLACE-if-absent", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if o.If.Absent() {
				o.If = provider.Condition{}
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "IfMatch is ignored", seenIn: "lost update", kills: "REPLACE-if-match", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if _, ok := o.If.Match(); ok {
				o.If = provider.Condition{}
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "IfMatch of a missing name creates", seenIn: "lost update", kills: "REPLACE-if-match", wrap: whole(func(m *mutated, ctx ctxT, name pathT, data []byte, o provider.ReplaceOptions) (provider.Digest, error) {
			if _, ok := o.If.Match(); ok && !exists(ctx, m.mem, name) {
				o.If = provider.Condition{}
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "IfMatch compares size and time", seenIn: "editors", kills: "REPLACE-if-match-sees-every-change", wrap: func(m *mutated) provider.Provider {
			written := map[provider.Digest]int64{}
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				data, err := io.ReadAll(r)
				if err != nil {
					return provider.Digest{}, err
				}
				if want, ok := o.If.Match(); ok {
					if info, err := m.mem.Stat(ctx, name); err == nil && info.Size() == written[want] {
						o.If = provider.Condition{}
					}
				}
				d, err := m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
				written[d] = int64(len(data))
				return d, err
			}
			return m
		}},
		{name: "a condition is checked before content is read", seenIn: "check, then act", kills: "REPLACE-condition-holds-at-the-change", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			if err := checkNow(ctx, m, name, o); err != nil {
				return provider.Digest{}, err
			}
			o.If = provider.Condition{}
			return m.Provider.Replace(ctx, name, r, o)
		})},
	}
}

// checkNow answers for the condition as things are at the moment.
func checkNow(ctx ctxT, m *mutated, name pathT, o provider.ReplaceOptions) error {
	if o.If.Absent() && exists(ctx, m.mem, name) {
		return provider.ErrConflict
	}
	if want, ok := o.If.Match(); ok {
		data, err := m.mem.ReadFile(ctx, name, 0)
		if err != nil {
			return err
		}
		if sha256.Sum256(data) != want {
			return provider.ErrConflict
		}
	}
	return nil
}

// errorReader gives an error, or the end when it is nil.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) {
	if r.err == nil {
		return 0, io.EOF
	}
	return 0, r.err
}

func attrMutants() []mutant {
	stat := func(change func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo) func(*mutated) provider.Provider {
		return func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if err != nil {
					return nil, err
				}
				return change(m, name, info), nil
			}
			return m
		}
	}
	return []mutant{
		{name: "Stat of a file has no size", seenIn: "lazy attributes", kills: "ATTR-stat-of-a-file", wrap: stat(func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo {
			return mutatedInfo{FileInfo: info, size: func() int64 { return 0 }}
		})},
		{name: "Stat of a directory is a plain file", seenIn: "object stores", kills: "ATTR-stat-of-a-directory", wrap: stat(func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo {
			if info.IsDir() {
				return mutatedInfo{FileInfo: info, mode: func() fs.FileMode { return info.Mode().Perm() }}
			}
			return info
		})},
		{name: "Name is the whole path", seenIn: "afero.MemMapFs AF-M29", kills: "ATTR-name-is-the-last-element", wrap: stat(func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo {
			return mutatedInfo{FileInfo: info, name: name.String}
		})},
		{name: "Sys leads to the storage", seenIn: "attacks: handle-name-leak", kills: "ATTR-sys-is-nil", wrap: stat(func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo {
			return mutatedInfo{FileInfo: info, sys: m.mem}
		})},
		{name: "a FileInfo changes with its file", seenIn: "afero.MemMapFs", kills: "ATTR-info-is-a-snapshot", wrap: stat(func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo {
			f, err := m.mem.Open(context.Background(), name, openT{Read: true})
			if err != nil {
				return info
			}
			return mutatedInfo{FileInfo: info, size: func() int64 {
				if now, err := f.Stat(); err == nil {
					return now.Size()
				}
				return info.Size()
			}}
		})},
		{name: "Stat of a File is from its open", seenIn: "copy at open", kills: "ATTR-File-Stat-is-live", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			info, _ := f.File.Stat()
			f.stat = func() (fs.FileInfo, error) {
				if _, err := f.File.Stat(); err != nil {
					return nil, err
				}
				return info, nil
			}
		})},
		{name: "Stat of a File has another mode", seenIn: "hackpadfs", kills: "ATTR-File-Stat-agrees", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.stat = func() (fs.FileInfo, error) {
				info, err := f.File.Stat()
				if err != nil {
					return nil, err
				}
				return mutatedInfo{FileInfo: info, mode: func() fs.FileMode { return info.Mode() | 0o007 }}, nil
			}
		})},
		{name: "the modification time is now", seenIn: "go-billy BL-15", kills: "ATTR-modification-time-is-stable", wrap: stat(func(m *mutated, name pathT, info fs.FileInfo) fs.FileInfo {
			now := time.Now()
			return mutatedInfo{FileInfo: info, time: func() time.Time { return now }}
		})},
		{name: "new files have no modification time", seenIn: "archives", kills: "ATTR-modification-time-of-new-files", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			d, err := m.Provider.Replace(ctx, name, r, o)
			if err == nil {
				m.mem.Chtimes(ctx, name, time.Time{}, time.Unix(0, 0))
			}
			return d, err
		})},
		{name: "Chmod of a directory does nothing", seenIn: "Windows", kills: "ATTR-chmod", wrap: func(m *mutated) provider.Provider {
			m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				if isDir(ctx, m.mem, name) {
					return nil
				}
				return m.Provider.Chmod(ctx, name, perm)
			}
			return m
		}},
		{name: "Chmod sets setuid", seenIn: "attacks: mode-bits", kills: "ATTR-chmod-only-permission-bits", wrap: func(m *mutated) provider.Provider {
			var special sync.Map
			m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				special.Store(name.String(), perm&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
				return m.Provider.Chmod(ctx, name, perm)
			}
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if bits, ok := special.Load(name.String()); ok && err == nil {
					return mutatedInfo{FileInfo: info, mode: func() fs.FileMode { return info.Mode() | bits.(fs.FileMode) }}, nil
				}
				return info, err
			}
			return m
		}},
		{name: "Chmod moves the modification time", seenIn: "attributes as content", kills: "ATTR-chmod-changes-nothing-else", wrap: func(m *mutated) provider.Provider {
			m.chmod = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				err := m.Provider.Chmod(ctx, name, perm)
				m.mem.Chtimes(ctx, name, time.Time{}, time.Now().Add(time.Minute))
				return err
			}
			return m
		}},
		{name: "Chtimes is by a second too late", seenIn: "rounding", kills: "ATTR-chtimes", wrap: func(m *mutated) provider.Provider {
			m.chtimes = func(ctx ctxT, name pathT, a, t time.Time) error {
				return m.Provider.Chtimes(ctx, name, a, t.Add(time.Second))
			}
			return m
		}},
		{name: "Chtimes sets the zero time", seenIn: "os.Chtimes before 1.21", kills: "ATTR-chtimes-zero-time", wrap: func(m *mutated) provider.Provider {
			m.chtimes = func(ctx ctxT, name pathT, a, t time.Time) error {
				if t.IsZero() {
					t = time.Unix(0, 0)
				}
				return m.Provider.Chtimes(ctx, name, a, t)
			}
			return m
		}},
		{name: "attributes belong to the name", seenIn: "attributes apart from content", kills: "ATTR-attributes-stay-with-the-file", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			first, _ := f.File.Stat()
			f.stat = func() (fs.FileInfo, error) {
				info, err := f.File.Stat()
				if err != nil {
					return nil, err
				}
				return mutatedInfo{FileInfo: info, mode: first.Mode}, nil
			}
		})},
		{name: "Chmod is claimed away and works", seenIn: "go-billy capabilities", kills: "ATTR-unsupported", wrap: func(m *mutated) provider.Provider {
			m.features = func() provider.Features {
				f := m.Provider.Features()
				f.Chmod = false
				return f
			}
			return m
		}},
	}
}

func errMutants() []mutant {
	dir := filepath.Join(os.TempDir(), "workspace", "secret")
	return []mutant{
		{name: "an error holds the path of the host", seenIn: "afero.BasePathFs AF-B06", kills: "ERR-no-host-path", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if err != nil {
					return nil, &fs.PathError{Op: "lstat", Path: dir, Err: err}
				}
				return info, nil
			}
			return m
		}},
		{name: "an error is wrapped in text", seenIn: "fmt.Errorf", kills: "ERR-bare-conditions", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				if err := m.Provider.Mkdir(ctx, name, perm); err != nil {
					return fmt.Errorf("mkdir: %w", err)
				}
				return nil
			}
			return m
		}},
		{name: "Open returns a File beside an error", seenIn: "typed nil", kills: "ERR-no-result-beside-an-error", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if err != nil {
					var none *mutatedFile
					return none, err
				}
				return f, nil
			}
			return m
		}},
		{name: "Stat returns nothing at all", seenIn: "maps", kills: "ERR-no-result-beside-an-error", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				info, err := m.Provider.Stat(ctx, name)
				if errors.Is(err, fs.ErrNotExist) {
					return nil, nil
				}
				return info, err
			}
			return m
		}},
		{name: "read-only storage can be written", seenIn: "afero.ReadOnlyFs", kills: "ERR-read-only-storage", readOnly: true, wrap: func(m *mutated) provider.Provider {
			m.features = func() provider.Features { return provider.Features{} }
			return m
		}},
		{name: "read-only storage says missing before read-only", seenIn: "existence first", kills: "ERR-read-only-storage", readOnly: true, wrap: func(m *mutated) provider.Provider {
			m.features = func() provider.Features { return provider.Features{} }
			refuse := func(ctx ctxT, name pathT) error {
				if _, err := m.mem.Stat(ctx, name); err != nil {
					return err
				}
				return syscall.EROFS
			}
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Check() == nil && o.Mutates() {
					return nil, refuse(ctx, name)
				}
				return m.Provider.Open(ctx, name, o)
			}
			m.mkdir = func(ctx ctxT, name pathT, _ fs.FileMode) error { return refuse(ctx, name) }
			m.remove = func(ctx ctxT, name pathT) error { return refuse(ctx, name) }
			m.rename = func(ctx ctxT, name, _ pathT, _ renameT) error { return refuse(ctx, name) }
			m.replace = func(ctx ctxT, name pathT, _ io.Reader, _ provider.ReplaceOptions) (provider.Digest, error) {
				return provider.Digest{}, refuse(ctx, name)
			}
			m.chmod = func(ctx ctxT, name pathT, _ fs.FileMode) error { return refuse(ctx, name) }
			m.chtimes = func(ctx ctxT, name pathT, _, _ time.Time) error { return refuse(ctx, name) }
			return m
		}},
		{name: "InPlace is not claimed and works", seenIn: "go-billy capabilities", kills: "ERR-not-in-place", wrap: func(m *mutated) provider.Provider {
			m.features = func() provider.Features {
				f := m.Provider.Features()
				f.InPlace = false
				return f
			}
			return m
		}},
		{name: "Features change when the provider is closed", seenIn: "lazy probes", kills: "ERR-features-do-not-change", wrap: func(m *mutated) provider.Provider {
			closed := false
			m.close = func() error { closed = true; return m.Provider.Close() }
			m.features = func() provider.Features {
				if closed {
					return provider.Features{}
				}
				return m.Provider.Features()
			}
			return m
		}},
		{name: "failed calls leave a file behind", seenIn: "temporaries", kills: "ERR-failed-calls-leave-nothing", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			d, err := m.Provider.Replace(ctx, name, r, o)
			if errors.Is(err, fs.ErrNotExist) {
				m.Provider.Replace(ctx, at("left-behind"), strings.NewReader(""), provider.ReplaceOptions{})
			}
			return d, err
		})},
	}
}

func ctxMutants() []mutant {
	return []mutant{
		{name: "Stat ignores the context", seenIn: "afero", kills: "CTX-cancelled", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				return m.Provider.Stat(context.WithoutCancel(ctx), name)
			}
			return m
		}},
		{name: "Remove looks at the context when it is done", seenIn: "act, then check", kills: "CTX-cancelled", wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				err := m.Provider.Remove(context.WithoutCancel(ctx), name)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return err
			}
			return m
		}},
		{name: "a deadline is reported as cancelled", seenIn: "one context error", kills: "CTX-deadline", wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				if ctx.Err() != nil {
					return context.Canceled
				}
				return m.Provider.Mkdir(ctx, name, perm)
			}
			return m
		}},
		{name: "one cancelled call closes the provider", seenIn: "poisoned connections", kills: "CTX-affects-one-call", wrap: func(m *mutated) provider.Provider {
			m.stat = func(ctx ctxT, name pathT) (fs.FileInfo, error) {
				if ctx.Err() != nil {
					m.mem.Close()
					return nil, ctx.Err()
				}
				return m.Provider.Stat(ctx, name)
			}
			return m
		}},
		{name: "Close of a File fails when its context is done", seenIn: "remote files", kills: "CTX-of-an-open-file", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if err != nil {
					return nil, err
				}
				return &mutatedFile{File: f, close: func() error {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					return f.Close()
				}}, nil
			}
			return m
		}},
		{name: "a cancelled Replace leaves half of its content", seenIn: "streams", kills: "CTX-during-replace", wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			data, err := io.ReadAll(r)
			if err != nil {
				return provider.Digest{}, err
			}
			if ctx.Err() != nil && len(data) > 100 {
				m.mem.Replace(context.WithoutCancel(ctx), name, bytes.NewReader(data[:len(data)/2]), o)
				return provider.Digest{}, ctx.Err()
			}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "a context without a deadline is refused", seenIn: "remote files", kills: "CTX-values-are-not-needed", wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if ctx == context.Background() {
					return nil, syscall.EINVAL
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
	}
}

func closeMutants() []mutant {
	return []mutant{
		{name: "the provider works after Close", seenIn: "afero", kills: "CLOSE-provider", wrap: func(m *mutated) provider.Provider {
			m.close = func() error { return nil }
			return m
		}},
		{name: "the second Close of the provider succeeds", seenIn: "sync.Once", kills: "CLOSE-provider-twice", wrap: func(m *mutated) provider.Provider {
			m.close = func() error { m.Provider.Close(); return nil }
			return m
		}},
		{name: "Close of the provider closes its Files", seenIn: "connections", kills: "CLOSE-leaves-open-files-usable", wrap: func(m *mutated) provider.Provider {
			var files []provider.File
			m.file = func(f provider.File, name pathT, o openT) provider.File {
				files = append(files, f)
				return f
			}
			m.close = func() error {
				for _, f := range files {
					f.Close()
				}
				return m.Provider.Close()
			}
			return m
		}},
		{name: "a closed File reads", seenIn: "afero.MemMapFs AF-M27", kills: "CLOSE-file", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			closed := false
			f.close = func() error {
				if closed {
					return fs.ErrClosed
				}
				closed = true
				return nil
			}
		})},
		{name: "the second Close of a File succeeds", seenIn: "afero.MemMapFs AF-M26", kills: "CLOSE-file-twice", wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.close = func() error { f.File.Close(); return nil }
		})},
		{name: "a closed File reads another one", seenIn: "reused descriptors", kills: "CLOSE-file-in-use", racy: true, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.ReadAt(p, off)
				if errors.Is(err, fs.ErrClosed) {
					if g, err := m.mem.Open(context.Background(), at("g"), openT{Read: true}); err == nil {
						defer g.Close()
						return g.ReadAt(p, off)
					}
				}
				return n, err
			}
		})},
		{name: "every Open leaves a goroutine", seenIn: "watchers", kills: "CLOSE-leaks-no-goroutines", racy: true, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			go func() { <-leaked }()
		})},
		{name: "a failed Open leaves a descriptor", seenIn: "error paths", kills: "CLOSE-leaks-no-descriptors", racy: true, wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				f, err := m.Provider.Open(ctx, name, o)
				if err != nil {
					if g, err := os.Open(os.DevNull); err == nil {
						leakedFiles = append(leakedFiles, g)
					}
				}
				return f, err
			}
			return m
		}},
	}
}

var (
	leaked      = make(chan struct{}) // never closed
	leakedFiles []*os.File
)

func concMutants() []mutant {
	slow := func() { time.Sleep(200 * time.Microsecond) }
	return []mutant{
		{name: "exclusive creation looks, then creates", seenIn: "check, then act", kills: "CONC-exclusive-create", racy: true, wrap: func(m *mutated) provider.Provider {
			m.open = func(ctx ctxT, name pathT, o openT) (provider.File, error) {
				if o.Create && o.Exclusive {
					if exists(ctx, m.mem, name) {
						return nil, fs.ErrExist
					}
					slow()
					o.Exclusive = false
				}
				return m.Provider.Open(ctx, name, o)
			}
			return m
		}},
		{name: "Mkdir looks, then makes", seenIn: "check, then act", kills: "CONC-mkdir", racy: true, wrap: func(m *mutated) provider.Provider {
			m.mkdir = func(ctx ctxT, name pathT, perm fs.FileMode) error {
				if exists(ctx, m.mem, name) {
					return fs.ErrExist
				}
				slow()
				m.Provider.Mkdir(ctx, name, perm)
				return nil
			}
			return m
		}},
		{name: "Remove looks, then removes", seenIn: "check, then act", kills: "CONC-remove", racy: true, wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if !exists(ctx, m.mem, name) {
					return fs.ErrNotExist
				}
				slow()
				m.Provider.Remove(ctx, name)
				return nil
			}
			return m
		}},
		{name: "Rename copies, then removes", seenIn: "copying rename", kills: "CONC-rename-from", racy: true, wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if info, err := m.mem.Stat(ctx, from); err != nil || !info.Mode().IsRegular() || o.NoReplace {
					return m.Provider.Rename(ctx, from, to, o)
				}
				if err := copyFile(ctx, m.mem, from, to); err != nil {
					return err
				}
				slow()
				m.mem.Remove(ctx, from)
				return nil
			}
			return m
		}},
		{name: "NoReplace looks, then renames", seenIn: "renameat2 EINVAL", kills: "CONC-NoReplace", racy: true, wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if o.NoReplace {
					if exists(ctx, m.mem, to) {
						return fs.ErrExist
					}
					slow()
					o.NoReplace = false
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "IfAbsent looks, then replaces", seenIn: "check, then act", kills: "CONC-if-absent", racy: true, wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			if err := checkNow(ctx, m, name, o); err != nil {
				return provider.Digest{}, err
			}
			slow()
			o.If = provider.Condition{}
			return m.Provider.Replace(ctx, name, r, o)
		})},
		{name: "IfMatch looks, then replaces", seenIn: "lost update", kills: "CONC-if-match", racy: true, wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			data, err := io.ReadAll(r)
			if err == nil {
				err = checkNow(ctx, m, name, o)
			}
			if err != nil {
				return provider.Digest{}, err
			}
			slow()
			o.If = provider.Condition{}
			return m.Provider.Replace(ctx, name, bytes.NewReader(data), o)
		})},
		{name: "Append looks for the end, then writes", seenIn: "attacks: parallel-append", kills: "CONC-append", racy: true, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.append = func(p []byte) (int, int64, error) {
				info, err := f.File.Stat()
				if err != nil {
					return 0, 0, err
				}
				slow()
				n, err := f.File.WriteAt(p, info.Size())
				return n, info.Size() + int64(n), err
			}
		})},
		{name: "a write rewrites the whole file", seenIn: "object stores", kills: "CONC-write", racy: true, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if len(p) != 5000 {
					return f.File.WriteAt(p, off)
				}
				info, _ := f.File.Stat()
				buf := make([]byte, max(info.Size(), off+int64(len(p))))
				f.File.ReadAt(buf, 0)
				slow()
				copy(buf[off:], p)
				f.File.WriteAt(buf, 0)
				return len(p), nil
			}
		})},
		{name: "Replace empties the file, then writes it", seenIn: "afero.WriteFile", kills: "CONC-replace-is-whole", racy: true, wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			data, err := io.ReadAll(r)
			if err != nil {
				return provider.Digest{}, err
			}
			return inPlace(ctx, m, name, data, o, true)
		})},
		{name: "Rename removes its target first", seenIn: "Windows", kills: "CONC-rename-never-misses", racy: true, wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if info, err := m.mem.Stat(ctx, to); err == nil && info.Mode().IsRegular() && from != to && !o.NoReplace && !isDir(ctx, m.mem, from) && exists(ctx, m.mem, from) {
					m.mem.Remove(ctx, to)
					slow()
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "a listing loses names while others come and go", seenIn: "unlocked iteration", kills: "CONC-listing", racy: true, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.readDir = func(limit int) ([]fs.DirEntry, error) {
				before, err := f.File.ReadDir(limit)
				if err != nil {
					return nil, err
				}
				slow()
				after, _ := f.File.ReadDir(0)
				return after[:min(len(after), len(before))], nil
			}
		})},
		{name: "the check for a cycle is before the lock", seenIn: "check, then act", kills: "CONC-no-cycles", racy: true, wrap: func(m *mutated) provider.Provider {
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				if isDir(ctx, m.mem, from) && isDir(ctx, m.mem, to.Parent()) && strings.Count(from.String(), "/") == 1 {
					slow() // both have passed the check: what a map of paths makes of it
					if !exists(ctx, m.mem, to.Parent()) {
						removeTree(ctx, m.mem, from)
						return nil
					}
				}
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
		{name: "Remove looks whether a directory is empty, then removes it", seenIn: "check, then act", kills: "CONC-nothing-in-a-removed-directory", racy: true, wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				f, err := m.mem.Open(ctx, name, openT{Read: true, Directory: true})
				if err != nil || name.IsRoot() {
					return m.Provider.Remove(ctx, name)
				}
				defer f.Close()
				if entries, _ := f.ReadDir(0); len(entries) > 0 {
					return syscall.ENOTEMPTY
				}
				slow()
				return removeTree(ctx, m.mem, name)
			}
			return m
		}},
		{name: "two locks are taken in either order", seenIn: "lock order", kills: "CONC-everything-at-once", racy: true, wrap: func(m *mutated) provider.Provider {
			var a, b sync.Mutex
			m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
				first, second := &a, &b
				if from.String() > to.String() {
					first, second = &b, &a
				}
				first.Lock()
				defer first.Unlock()
				slow()
				second.Lock()
				defer second.Unlock()
				return m.Provider.Rename(ctx, from, to, o)
			}
			return m
		}},
	}
}

func quotaMutants() []mutant {
	limits := memfs.Options{MaxBytes: 24 << 20}
	return []mutant{
		{name: "a write beyond the limit is EIO", seenIn: "untyped errors", kills: "QUOTA-write", opts: limits, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				n, err := f.File.WriteAt(p, off)
				if errors.Is(err, provider.ErrQuota) {
					err = syscall.EIO
				}
				return n, err
			}
		})},
		{name: "an Append beyond the limit counts what it did not write", seenIn: "short writes", kills: "QUOTA-append", opts: limits, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.append = func(p []byte) (int, int64, error) {
				n, end, err := f.File.Append(p)
				if errors.Is(err, provider.ErrQuota) {
					n = len(p)
				}
				return n, end, err
			}
		})},
		{name: "a Replace beyond the limit removes the old file", seenIn: "make room first", kills: "QUOTA-replace", opts: limits, wrap: replacing(func(m *mutated, ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
			d, err := m.Provider.Replace(ctx, name, r, o)
			if errors.Is(err, provider.ErrQuota) {
				m.mem.Remove(ctx, name)
			}
			return d, err
		})},
		{name: "a far write allocates up to its offset, limit or not", seenIn: "attacks: offsets", kills: "QUOTA-far-write", opts: limits, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.writeAt = func(p []byte, off int64) (int, error) {
				if off >= 64<<20 {
					sink = make([]byte, 64<<20)
				}
				return f.File.WriteAt(p, off)
			}
		})},
		{name: "Truncate allocates its size", seenIn: "attacks: offsets", kills: "QUOTA-truncate", opts: limits, wrap: filing(func(m *mutated, f *mutatedFile, name pathT, o openT) {
			f.truncate = func(n int64) error {
				if n >= 64<<20 {
					sink = make([]byte, 64<<20)
				}
				return f.File.Truncate(n)
			}
		})},
		{name: "removed files keep their space", seenIn: "counters that only grow", kills: "QUOTA-is-given-back", opts: limits, wrap: func(m *mutated) provider.Provider {
			m.remove = func(ctx ctxT, name pathT) error {
				if f, err := m.mem.Open(ctx, name, openT{Read: true}); err == nil {
					kept.Store(f, m) // an open File keeps the space
				}
				return m.Provider.Remove(ctx, name)
			}
			return m
		}},
		{name: "full storage refuses a smaller content", seenIn: "room for both", kills: "QUOTA-full-storage-works", opts: limits, wrap: func(m *mutated) provider.Provider {
			full := false
			m.replace = func(ctx ctxT, name pathT, r io.Reader, o provider.ReplaceOptions) (provider.Digest, error) {
				if full {
					return provider.Digest{}, provider.ErrQuota
				}
				d, err := m.Provider.Replace(ctx, name, r, o)
				full = errors.Is(err, provider.ErrQuota)
				return d, err
			}
			return m
		}},
	}
}

var kept sync.Map
