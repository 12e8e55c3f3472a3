package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

func fsOpenRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-create-truncates-the-same-file", "Create empties an existing file; Files that are open on it see the new content, and its mode stays.", 0, fsCreateTruncates},
		{"FS-create-needs-a-parent", "Creating a file in a missing directory is fs.ErrNotExist, and nothing is made.", 0, fsCreateParent},
		{"FS-exclusive", "O_EXCL with O_CREATE refuses what exists and leaves it.", 0, fsExclusive},
		{"FS-open-does-not-create", "Open without O_CREATE does not create.", 0, fsOpenDoesNotCreate},
		{"FS-directory-for-writing", "A directory opened for writing, or created over, is syscall.EISDIR, and stays a directory with its entries.", 0, fsDirForWriting},
		{"FS-read-handle-does-not-write", "A File opened O_RDONLY refuses Write, WriteAt, WriteString and Truncate, with a count of 0, and changes nothing.", 0, fsReadHandle},
		{"FS-write-handle-does-not-read", "A File opened O_WRONLY refuses Read and ReadAt.", 0, fsWriteHandle},
		{"FS-create-for-reading-does-not-write", "A File opened O_RDONLY|O_CREATE creates and refuses Write.", 0, fsCreateReadOnly},
		{"FS-read-only-mode", "A file without write permission can be opened for reading.", 0, fsReadOnlyMode},
		{"FS-modes", "New files and directories have the permission bits asked for, less a umask; Chmod sets them.", 0, fsModes},
	}
}

func fsCreateTruncates(c *fsProbe) {
	c.build("f=old content")
	c.ok(c.fs.Chmod("f", 0o600))
	reader := c.open("f", os.O_RDONLY)
	w, err := c.fs.Create("f")
	c.ok(err)
	_, err = w.Write([]byte("newer"))
	c.ok(err)
	c.ok(w.Close())
	buf := make([]byte, 20)
	n, _ := reader.Read(buf)
	c.expect(string(buf[:max(n, 0)]) == "newer", `the File that was open reads "newer"`, "%q", buf[:max(n, 0)])
	info, err := c.fs.Stat("f")
	c.ok(err)
	c.expect(info.Mode() == 0o600, "the mode stays "+fs.FileMode(0o600).String(), "%s", info.Mode())
}

func fsCreateParent(c *fsProbe) {
	for _, name := range []string{"missing/f", "missing/deep/f"} {
		_, err := c.fs.Create(name)
		c.fails(err, fmt.Sprintf("Create(%q)", name), fs.ErrNotExist)
	}
	c.fails(c.fs.Mkdir("missing/d", 0o755), "Mkdir in a missing directory", fs.ErrNotExist)
	c.absent("missing")
}

func fsExclusive(c *fsProbe) {
	c.build("f=content")
	for _, flag := range []int{os.O_WRONLY | os.O_CREATE | os.O_EXCL, os.O_RDWR | os.O_CREATE | os.O_EXCL | os.O_TRUNC} {
		c.fails(c.tryOpen("f", flag), "an exclusive create of an existing file", fs.ErrExist)
	}
	c.holds("f", "content")
	c.ok(c.tryOpen("new", os.O_RDWR|os.O_CREATE|os.O_EXCL))
	c.holds("new", "")
}

func fsOpenDoesNotCreate(c *fsProbe) {
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_TRUNC} {
		c.fails(c.tryOpen("missing", flag), fmt.Sprintf("OpenFile of a missing name with %s", describeFlag(flag)), fs.ErrNotExist)
	}
	c.lists(".")
}

func fsDirForWriting(c *fsProbe) {
	c.build("d/f=x")
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_CREATE | os.O_TRUNC, os.O_WRONLY | os.O_APPEND} {
		c.fails(c.tryOpen("d", flag), fmt.Sprintf("OpenFile of a directory with %s", describeFlag(flag)), syscall.EISDIR)
	}
	c.isDir("d")
	c.holds("d/f", "x")
}

func fsReadHandle(c *fsProbe) {
	c.build("f=content")
	f := c.open("f", os.O_RDONLY)
	n, err := f.Write([]byte("X"))
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "Write returns 0 and an error", "%d, %s", n, describe(err))
	n, err = f.WriteAt([]byte("X"), 0)
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "WriteAt returns 0 and an error", "%d, %s", n, describe(err))
	n, err = f.WriteString("X")
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "WriteString returns 0 and an error", "%d, %s", n, describe(err))
	c.refused(f.Truncate(0), "Truncate of a File opened for reading")
	c.holds("f", "content")
}

func fsWriteHandle(c *fsProbe) {
	c.build("f=content")
	f := c.open("f", os.O_WRONLY)
	n, err := f.Read(make([]byte, 3))
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "Read returns 0 and an error", "%d, %s", n, describe(err))
	n, err = f.ReadAt(make([]byte, 3), 0)
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "ReadAt returns 0 and an error", "%d, %s", n, describe(err))
	_, err = f.Write([]byte("C"))
	c.ok(err)
	c.holds("f", "Content")
}

func fsCreateReadOnly(c *fsProbe) {
	f := c.open("f", os.O_RDONLY|os.O_CREATE)
	n, err := f.Write([]byte("X"))
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "Write returns 0 and an error", "%d, %s", n, describe(err))
	c.holds("f", "")
}

func fsReadOnlyMode(c *fsProbe) {
	c.build("f=content")
	c.ok(c.fs.Chmod("f", 0o444))
	c.holds("f", "content")
	c.ok(c.fs.Chmod("f", 0o644))
}

func fsModes(c *fsProbe) {
	for i, perm := range []fs.FileMode{0o600, 0o640, 0o755} {
		name := fmt.Sprintf("f%d", i)
		f, err := c.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE, perm)
		c.ok(err)
		c.ok(f.Close())
		c.ok(c.fs.Mkdir("d"+name, perm|0o700))
		for n, want := range sorted(map[string]fs.FileMode{name: perm, "d" + name: perm | 0o700 | fs.ModeDir}) {
			info, err := c.fs.Stat(n)
			c.ok(err)
			got := info.Mode()
			c.expect(got.Type() == want.Type() && got&^want == 0 && got&0o700 == want&0o700, fmt.Sprintf("the mode of %s is %v, or less in the bits of group and others", n, want), "%v", got)
		}
		c.ok(c.fs.Chmod(name, 0o640))
		info, err := c.fs.Stat(name)
		c.ok(err)
		c.expect(info.Mode() == 0o640, "the mode is "+fs.FileMode(0o640).String(), "%v", info.Mode())
	}
}
