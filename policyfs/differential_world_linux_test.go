package policyfs_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// diffMaxFile is the sessions' Options.MaxFileBytes.
const diffMaxFile = 1 << 20

// diffSide is one of the two storages under the face, with the session and the
// handles that the script has at the moment.
type diffSide struct {
	p       provider.Provider
	ns      *namespace.Namespace
	session *policyfs.FS
	dir     namespace.Path // of the session
	handles [diffSlots]afero.File
	plant   func(target string, name provider.Path) error
	tree    func() []string // behind the back of the face
}

// diffPolicies are the policies of the sessions, compiled once.
type diffPolicies struct{ full, policed policyfs.Policy }

func newDiffPolicies() (diffPolicies, error) {
	full, err := policyfs.Compile(fullSpec())
	if err != nil {
		return diffPolicies{}, err
	}
	policed, err := policyfs.Compile(policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"}, DenyRead: []string{"a/b/c", "secret"}, DenyWrite: []string{"b/b"},
		DenyWriteComponent: []string{"node_modules"}, AllowHidden: []string{"c/.h"}, AllowRecursiveDelete: true,
	})
	return diffPolicies{full, policed}, err
}

func newMemorySide() *diffSide {
	m := memfs.New(memfs.Options{})
	return &diffSide{
		p: m, ns: namespace.Workspace(m), plant: m.Symlink,
		tree: func() []string { return memoryTree(m, provider.Path{}, nil) },
	}
}

// newDiskSide makes a workspace in the empty directory dir, with a directory
// beside it that nothing may reach.
func newDiskSide(dir string) (*diffSide, error) {
	root, outside := filepath.Join(dir, "w"), filepath.Join(dir, "outside")
	if err := errors.Join(os.Mkdir(root, 0o755), os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "f"), []byte("outside"), 0o644)); err != nil {
		return nil, err
	}
	d, err := diskfs.Open(root, diskfs.Options{NoSync: true})
	if err != nil {
		return nil, err
	}
	return &diffSide{
		p: d, ns: namespace.Workspace(d),
		plant: func(target string, name provider.Path) error {
			// The host would follow links on the way, so the provider is asked first.
			info, err := d.Stat(context.Background(), name.Parent())
			if err != nil {
				return err
			}
			switch {
			case info.Mode()&fs.ModeSymlink != 0:
				return provider.ErrSymlink
			case !info.IsDir():
				return syscall.ENOTDIR
			}
			if err := os.Symlink(target, filepath.Join(root, name.String())); err != nil {
				return errors.Unwrap(err)
			}
			return nil
		},
		tree: func() []string {
			lines := hostLines(root, ".", nil)
			if got := hostLines(outside, ".", nil); len(got) != 2 || !strings.HasSuffix(got[1], "\"outside\"") {
				lines = append(lines, "outside the root: "+strings.Join(got, "; "))
			}
			return lines
		},
	}, nil
}

// close closes what the script left open, and the storage.
func (d *diffSide) close() {
	for _, h := range d.handles {
		if h != nil {
			h.Close()
		}
	}
	d.p.Close()
}

// use switches to another session.
func (d *diffSide) use(s diffStep, policies diffPolicies) error {
	dir, err := namespace.Parse(namespace.MustParse("/"), s.name)
	if err != nil {
		return err
	}
	o := policyfs.Options{Policy: policies.full, MaxFileBytes: diffMaxFile, CreateParents: s.has("parents"), ResolveParents: s.has("dotdot"), PortableNames: s.has("portable")}
	if s.has("policed") {
		o.Policy = policies.policed
	}
	if s.has("fewentries") {
		o.MaxWalk = 4
	}
	d.dir = dir
	d.session = policyfs.New(d.ns, o).WithDir(dir)
	return nil
}

// do makes one step and renders everything that the caller can see of its result.
// A panic is a result too.
func (d *diffSide) do(s diffStep, policies diffPolicies) (result string) {
	defer func() {
		if v := recover(); v != nil {
			result = fmt.Sprint("panic: ", v)
		}
	}()
	f := d.session
	switch s.op {
	case "use":
		return diffError(d.use(s, policies))
	case "mkdir":
		return diffError(f.Mkdir(s.name, s.perm()))
	case "mkdirall":
		return diffError(f.MkdirAll(s.name, s.perm()))
	case "remove":
		return diffError(f.Remove(s.name))
	case "removeall":
		return diffError(f.RemoveAll(s.name))
	case "rename":
		return diffError(f.Rename(s.name, s.to))
	case "move":
		return diffError(f.Move(s.name, s.to, provider.RenameOptions{NoReplace: s.has("noreplace"), NotDir: s.has("notdir")}))
	case "readfile":
		data, digest, err := f.ReadFile(s.name)
		return fmt.Sprint(diffData(data), " ", digest == sha256.Sum256(data), " ", diffError(err))
	case "writefile":
		o := provider.ReplaceOptions{Perm: s.perm()}
		switch {
		case s.has("absent"):
			o.If = provider.IfAbsent()
		case s.has("match"):
			_, digest, _ := f.ReadFile(s.name)
			o.If = provider.IfMatch(digest)
		case s.has("stale"):
			o.If = provider.IfMatch(sha256.Sum256([]byte("what nobody wrote")))
		}
		digest, err := f.WriteFile(s.name, s.content(), o)
		if err != nil {
			d.touchParent(s.name)
		}
		return fmt.Sprint(digest, " ", diffError(err))
	case "chmod":
		return diffError(f.Chmod(s.name, s.perm()))
	case "chtimes":
		return diffError(f.Chtimes(s.name, diffTime(s.n), diffTime(s.m)))
	case "stat":
		info, err := f.Stat(s.name)
		return diffInfo(info) + diffError(err)
	case "lstat":
		info, _, err := f.LstatIfPossible(s.name)
		return diffInfo(info) + diffError(err)
	case "walk":
		var b strings.Builder
		for e, err := range f.Walk(s.name) {
			b.WriteString(e.Name)
			if e.DirEntry != nil {
				b.WriteString(" " + e.DirEntry.Type().String())
			}
			b.WriteString(" " + diffError(err) + "; ")
		}
		return b.String()
	case "glob":
		list, err := f.Glob(s.to)
		return fmt.Sprintf("%q %s", list, diffError(err))
	case "link":
		// Planted as a host would, so by the name of the storage.
		name, err := provider.ParsePath(s.name)
		if err != nil || name.IsRoot() {
			return "no name"
		}
		return diffError(d.plant(s.to, name))
	case "open":
		h, err := f.OpenFile(s.name, s.openFlag(), s.perm())
		if err != nil {
			return diffError(err)
		}
		old := d.handles[s.slot]
		d.handles[s.slot] = h
		result := fmt.Sprintf("%q ok", h.Name())
		if old != nil {
			result = diffError(old.Close()) + ", then " + result
		}
		return result
	}
	if h := d.handles[s.slot]; h != nil {
		return d.onHandle(h, s)
	}
	return "no handle"
}

// touchParent gives the directory of name a new modification time. A disk stages
// content in that directory before it looks at conditions, by design (the content
// may be slow to come, the look and the publication are one step), so that a
// refused WriteFile moves the directory's time there and not in memory.
func (d *diffSide) touchParent(name string) {
	ctx := context.Background()
	t, err := d.ns.ResolveParents(ctx, d.dir, name, func(namespace.Target) error { return nil })
	if err == nil {
		// It fails where there is no directory; then nothing was staged either.
		_ = d.p.Chtimes(ctx, t.Rel.Parent(), time.Time{}, time.Now())
	}
}

// onHandle makes a step on an open, or closed, handle.
func (d *diffSide) onHandle(h afero.File, s diffStep) string {
	switch s.op {
	case "close":
		return diffError(h.Close())
	case "read":
		buf := make([]byte, max(0, min(s.n, 1<<20)))
		n, err := h.Read(buf)
		return diffData(buf[:n]) + " " + diffError(err)
	case "readat":
		buf := make([]byte, max(0, min(s.m, 1<<20)))
		n, err := h.ReadAt(buf, s.n)
		return diffData(buf[:n]) + " " + diffError(err)
	case "write":
		n, err := h.Write(s.content())
		return fmt.Sprint(n, " ", diffError(err))
	case "writestring":
		n, err := h.WriteString(string(s.content()))
		return fmt.Sprint(n, " ", diffError(err))
	case "writeat":
		n, err := h.WriteAt(s.content(), s.n)
		return fmt.Sprint(n, " ", diffError(err))
	case "seek":
		n, err := h.Seek(s.n, int(s.m))
		return fmt.Sprint(n, " ", diffError(err))
	case "truncate":
		return diffError(h.Truncate(s.n))
	case "fstat":
		info, err := h.Stat()
		return diffInfo(info) + diffError(err)
	case "sync":
		return diffError(h.Sync())
	case "readdir":
		list, err := h.Readdir(int(s.n))
		var b strings.Builder
		for _, info := range list {
			b.WriteString(diffInfo(info) + "; ")
		}
		return b.String() + diffError(err)
	case "readdirnames":
		list, err := h.Readdirnames(int(s.n))
		return fmt.Sprintf("%q %s", list, diffError(err))
	case "entries":
		list, err := h.(fs.ReadDirFile).ReadDir(int(s.n))
		var b strings.Builder
		for _, e := range list {
			info, err := e.Info()
			b.WriteString(e.Name() + " " + e.Type().String() + " " + diffInfo(info) + diffError(err) + "; ")
		}
		return b.String() + diffError(err)
	}
	panic("no such operation: " + s.op)
}

// perm is the step's mode as package fs has it, the bits above 0o777 included.
func (s diffStep) perm() fs.FileMode {
	mode := fs.FileMode(s.mode) & fs.ModePerm
	for bit, m := range map[int64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if s.mode&bit != 0 {
			mode |= m
		}
	}
	return mode
}

// diffTime is a Unix time in seconds; 0 stands for the zero Time.
func diffTime(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// diffConditions is what a caller may ask an error.
var diffConditions = []error{
	fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed, errors.ErrUnsupported, io.EOF,
	provider.ErrPath, provider.ErrSymlink, provider.ErrIrregular, provider.ErrQuota, provider.ErrConflict, provider.ErrHardLink, provider.ErrTooMany, namespace.ErrOutside,
	syscall.ENOENT, syscall.EEXIST, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY, syscall.EBUSY, syscall.EINVAL, syscall.EBADF, syscall.EFBIG, syscall.ENAMETOOLONG,
	syscall.EXDEV, syscall.EROFS, syscall.EPERM, syscall.EACCES, syscall.ELOOP, syscall.EIO,
}

// diffError renders an error: its text and every condition that it is.
func diffError(err error) string {
	if err == nil {
		return "ok"
	}
	text := err.Error()
	for i, c := range diffConditions {
		if errors.Is(err, c) {
			text += fmt.Sprintf(" #%d", i)
		}
	}
	if os.IsNotExist(err) {
		text += " IsNotExist"
	}
	if os.IsExist(err) {
		text += " IsExist"
	}
	return text
}

// diffData renders content, long content by its sum.
func diffData(data []byte) string {
	if len(data) <= 64 {
		return fmt.Sprintf("%q", data)
	}
	h := fnv.New64a()
	h.Write(data)
	return fmt.Sprintf("%d bytes, sum %x", len(data), h.Sum64())
}

// diffInfo renders what a FileInfo says.
func diffInfo(info fs.FileInfo) string {
	if info == nil {
		return ""
	}
	return fmt.Sprintf("%q %v %d %s %v ", info.Name(), info.Mode(), info.Size(), diffWhen(info), info.Sys())
}

// diffWhen renders a modification time that a script has set, and calls the
// others, which the clock set, "now".
func diffWhen(info fs.FileInfo) string {
	if t := info.ModTime(); t.Year() < 2020 {
		return fmt.Sprint(t.Unix())
	}
	return "now"
}

// diffLine is the line of a tree for one object.
func diffLine(name string, info fs.FileInfo, read func() ([]byte, error)) string {
	line := fmt.Sprintf("%s %v %s", name, info.Mode(), diffWhen(info))
	if info.Mode().IsRegular() {
		data, err := read()
		line += fmt.Sprintf(" %d %s", info.Size(), diffData(data))
		if err != nil {
			line += " " + diffError(err)
		}
	}
	return line
}

// memoryTree lists a tree through its provider: one line an object, in the order
// of names.
func memoryTree(p provider.Provider, at provider.Path, lines []string) []string {
	ctx := context.Background()
	info, err := p.Stat(ctx, at)
	if err != nil {
		return append(lines, at.String()+" "+diffError(err))
	}
	lines = append(lines, diffLine(at.String(), info, func() ([]byte, error) { return provider.ReadFile(ctx, p, at) }))
	if !info.IsDir() {
		return lines
	}
	f, err := p.Open(ctx, at, provider.OpenOptions{Read: true, Directory: true})
	if err != nil {
		return append(lines, at.String()+" "+diffError(err))
	}
	defer f.Close()
	entries, err := f.ReadDir(0)
	if err != nil {
		return append(lines, at.String()+" "+diffError(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name, err := at.Join(e.Name())
		if err != nil {
			return append(lines, at.String()+" "+diffError(err))
		}
		lines = memoryTree(p, name, lines)
	}
	return lines
}

// hostLines lists a host directory as memoryTree does, by package os alone.
func hostLines(root, at string, lines []string) []string {
	full := filepath.Join(root, at)
	info, err := os.Lstat(full)
	if err != nil {
		return append(lines, at+" "+diffError(err))
	}
	lines = append(lines, diffLine(at, info, func() ([]byte, error) { return os.ReadFile(full) }))
	if !info.IsDir() {
		return lines
	}
	entries, err := os.ReadDir(full)
	if err != nil {
		return append(lines, at+" "+diffError(err))
	}
	for _, e := range entries {
		lines = hostLines(root, filepath.Join(at, e.Name()), lines)
	}
	return lines
}
