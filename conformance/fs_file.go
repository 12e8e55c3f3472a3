package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/afero"
)

func fsFileRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-name-is-the-spelling", "Name of a File is the name it was opened with, letter by letter, and stays that when the file is renamed.", 0, fsName},
		{"FS-cursor", "Read and Write begin where the last one ended; Seek moves there from the start, from here and from the end.", 0, fsCursor},
		{"FS-bad-seeks", "Seek to before the start and with an unknown whence is syscall.EINVAL; the cursor stays and the next Read works.", 0, fsBadSeeks},
		{"FS-read-at-leaves-the-cursor", "ReadAt and WriteAt leave the cursor where it is.", 0, fsReadAtCursor},
		{"FS-read-at-end", "ReadAt returns io.EOF with fewer bytes than asked, Read returns 0 and io.EOF at the end.", 0, fsReadAtEnd},
		{"FS-negative-offset", "ReadAt and WriteAt at a negative offset fail without panic and without effect.", 0, fsNegative},
		{"FS-write-beyond-the-end", "A write beyond the end leaves zeros between.", 0, fsWriteGap},
		{"FS-truncate", "Truncate cuts, grows with zeros, leaves the cursor, and refuses a negative size.", 0, fsTruncate},
		{"FS-append", "O_APPEND writes at the end, wherever the cursor is and whoever else has written.", 0, fsAppend},
		{"FS-write-at-and-append", "WriteAt on a File opened O_APPEND is an error, as in package os.", 0, fsWriteAtAppend},
		{"FS-closed", "Every operation on a closed File, a second Close too, is fs.ErrClosed.", 0, fsClosed},
		{"FS-handles-are-independent", "Two Files on one name have cursors of their own and one content.", 0, fsIndependent},
		{"FS-stat-of-a-file-is-live", "Stat of an open File gives the size after the last write.", 0, fsLiveStat},
		{"FS-sync", "Sync succeeds on files and directories.", 0, fsSync},
		{"FS-handle-follows-a-rename", "A File writes to its file after a rename, and nothing is made under the old name.", 0, fsHandleRename},
		{"FS-handle-after-remove", "A File stays usable when its name is removed, and nothing is made under it.", 0, fsHandleRemove},
		{"FS-directory-is-no-file", "Read of an open directory is syscall.EISDIR and Write an error; Readdir of a file is syscall.ENOTDIR.", 0, fsDirIsNoFile},
		{"FS-large-file", "A file of 3 MiB written in pieces reads back the same, in pieces of another size.", 0, fsLarge},
		{"FS-info", "Stat gives the last element as the name, the size, a plain type, and the same time twice.", 0, fsInfo},
	}
}

func fsName(c *fsProbe) {
	c.build("d/f=x")
	for _, name := range []string{"d/f", "./d/f", "d//f", "d/./f"} {
		f, err := c.fs.Open(name)
		c.ok(err)
		c.expect(f.Name() == name, fmt.Sprintf("Name is %q", name), "%q", f.Name())
		c.ok(f.Close())
	}
	f := c.open("d/f", os.O_RDWR)
	c.ok(c.fs.Rename("d/f", "g"))
	c.expect(f.Name() == "d/f", `Name stays "d/f" after a rename`, "%q", f.Name())
}

func (c *fsProbe) reads(f afero.File, n int, want string) {
	buf := make([]byte, n)
	got, err := io.ReadFull(f, buf)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		c.ok(err)
	}
	c.expect(string(buf[:got]) == want, fmt.Sprintf("the next %d bytes are %q", n, want), "%q", buf[:got])
}

func (c *fsProbe) seeks(f afero.File, offset int64, whence int, want int64) {
	got, err := f.Seek(offset, whence)
	c.ok(err)
	c.expect(got == want, fmt.Sprintf("Seek(%d, %d) returns %d", offset, whence, want), "%d", got)
}

func fsCursor(c *fsProbe) {
	c.build("f=0123456789")
	f := c.open("f", os.O_RDWR)
	c.reads(f, 3, "012")
	c.reads(f, 2, "34")
	c.seeks(f, 0, io.SeekCurrent, 5)
	c.seeks(f, 1, io.SeekStart, 1)
	c.reads(f, 2, "12")
	c.seeks(f, 2, io.SeekCurrent, 5)
	c.seeks(f, -1, io.SeekEnd, 9)
	c.reads(f, 5, "9")
	c.seeks(f, 4, io.SeekStart, 4)
	n, err := f.Write([]byte("AB"))
	c.ok(err)
	c.expect(n == 2, "Write returns 2", "%d", n)
	c.reads(f, 1, "6")
	n, err = f.WriteString("C")
	c.ok(err)
	c.expect(n == 1, "WriteString returns 1", "%d", n)
	c.holds("f", "0123AB6C89")
	n, err = f.Read(nil)
	c.expect(n == 0 && err == nil, "Read of no bytes is 0, nil", "%d, %s", n, describe(err))
}

func fsBadSeeks(c *fsProbe) {
	c.build("f=0123456789")
	f := c.open("f", os.O_RDONLY)
	c.reads(f, 4, "0123")
	for _, bad := range []struct {
		offset int64
		whence int
	}{{-1, io.SeekStart}, {-5, io.SeekCurrent}, {-11, io.SeekEnd}, {0, 9}, {0, -1}} {
		_, err := f.Seek(bad.offset, bad.whence)
		c.fails(err, fmt.Sprintf("Seek(%d, %d)", bad.offset, bad.whence), syscall.EINVAL)
		c.seeks(f, 0, io.SeekCurrent, 4)
	}
	c.reads(f, 2, "45")
	c.seeks(f, 100, io.SeekStart, 100)
	n, err := f.Read(make([]byte, 2))
	c.expect(n == 0 && errors.Is(err, io.EOF), "Read beyond the end is 0, io.EOF", "%d, %s", n, describe(err))
}

func fsReadAtCursor(c *fsProbe) {
	c.build("f=0123456789")
	f := c.open("f", os.O_RDWR)
	c.reads(f, 2, "01")
	buf := make([]byte, 3)
	_, err := f.ReadAt(buf, 6)
	c.ok(err)
	c.expect(string(buf) == "678", `ReadAt reads "678"`, "%q", buf)
	c.reads(f, 1, "2")
	_, err = f.WriteAt([]byte("X"), 9)
	c.ok(err)
	c.reads(f, 1, "3")
	c.holds("f", "012345678X")
}

func fsReadAtEnd(c *fsProbe) {
	c.build("f=abc")
	f := c.open("f", os.O_RDONLY)
	buf := make([]byte, 5)
	n, err := f.ReadAt(buf, 1)
	c.expect(n == 2 && errors.Is(err, io.EOF), "ReadAt of 5 bytes at 1 is 2, io.EOF", "%d, %s", n, describe(err))
	n, err = f.ReadAt(buf, 3)
	c.expect(n == 0 && errors.Is(err, io.EOF), "ReadAt at the end is 0, io.EOF", "%d, %s", n, describe(err))
	n, err = f.ReadAt(buf, 100)
	c.expect(n == 0 && errors.Is(err, io.EOF), "ReadAt beyond the end is 0, io.EOF", "%d, %s", n, describe(err))
	n, err = f.Read(buf)
	c.expect(n == 3 && err == nil, "Read is 3, nil", "%d, %s", n, describe(err))
	for range 2 {
		n, err = f.Read(buf)
		c.expect(n == 0 && errors.Is(err, io.EOF), "Read at the end is 0, io.EOF", "%d, %s", n, describe(err))
	}
}

func fsNegative(c *fsProbe) {
	c.build("f=abc")
	f := c.open("f", os.O_RDWR)
	n, err := f.ReadAt(make([]byte, 2), -1)
	c.expect(n == 0 && err != nil && !errors.Is(err, io.EOF), "ReadAt at -1 returns 0 and an error", "%d, %s", n, describe(err))
	n, err = f.WriteAt([]byte("x"), -1)
	c.expect(n == 0 && err != nil, "WriteAt at -1 returns 0 and an error", "%d, %s", n, describe(err))
	c.holds("f", "abc")
}

func fsWriteGap(c *fsProbe) {
	f, err := c.fs.Create("f")
	c.ok(err)
	c.seeks(f, 3, io.SeekStart, 3)
	_, err = f.Write([]byte("x"))
	c.ok(err)
	_, err = f.WriteAt([]byte("y"), 6)
	c.ok(err)
	c.holds("f", "\x00\x00\x00x\x00\x00y")
}

func fsTruncate(c *fsProbe) {
	f, err := c.fs.Create("f")
	c.ok(err)
	_, err = f.Write([]byte("secret"))
	c.ok(err)
	c.ok(f.Truncate(2))
	c.holds("f", "se")
	c.ok(f.Truncate(6))
	c.holds("f", "se\x00\x00\x00\x00")
	c.ok(f.Truncate(1))
	_, err = f.Write([]byte("Z")) // at 6, where the cursor still is
	c.ok(err)
	c.holds("f", "s\x00\x00\x00\x00\x00Z")
	c.fails(f.Truncate(-1), "Truncate(-1)", syscall.EINVAL)
	c.holds("f", "s\x00\x00\x00\x00\x00Z")
}

func fsAppend(c *fsProbe) {
	c.build("f=abc")
	a := c.open("f", os.O_RDWR|os.O_APPEND)
	c.seeks(a, 0, io.SeekStart, 0)
	_, err := a.Write([]byte("X"))
	c.ok(err)
	c.holds("f", "abcX")
	b := c.open("f", os.O_WRONLY|os.O_APPEND|os.O_CREATE)
	for _, w := range []struct {
		f afero.File
		s string
	}{{a, "1"}, {b, "2"}, {a, "3"}, {b, "4"}} {
		n, err := w.f.WriteString(w.s)
		c.ok(err)
		c.expect(n == 1, "1 byte", "%d", n)
	}
	c.holds("f", "abcX1234")
}

func fsWriteAtAppend(c *fsProbe) {
	c.build("f=abc")
	f := c.open("f", os.O_RDWR|os.O_APPEND)
	_, err := f.WriteAt([]byte("X"), 0)
	c.refused(err, "WriteAt on a File opened O_APPEND")
	c.holds("f", "abc")
}

func fsClosed(c *fsProbe) {
	c.build("f=abc", "d/g=x")
	for _, name := range []string{"f", "d"} {
		flag := os.O_RDWR
		if name == "d" {
			flag = os.O_RDONLY
		}
		f := c.open(name, flag)
		c.ok(f.Close())
		_, readErr := f.Read(make([]byte, 1))
		_, readAtErr := f.ReadAt(make([]byte, 1), 0)
		_, writeErr := f.Write([]byte("x"))
		_, writeAtErr := f.WriteAt([]byte("x"), 0)
		_, stringErr := f.WriteString("x")
		_, seekErr := f.Seek(0, io.SeekStart)
		_, statErr := f.Stat()
		_, dirErr := f.Readdir(-1)
		_, namesErr := f.Readdirnames(-1)
		for _, r := range []struct {
			what string
			err  error
		}{
			{"Read", readErr}, {"ReadAt", readAtErr}, {"Write", writeErr}, {"WriteAt", writeAtErr}, {"WriteString", stringErr}, {"Seek", seekErr},
			{"Stat", statErr}, {"Readdir", dirErr}, {"Readdirnames", namesErr}, {"Truncate", f.Truncate(0)}, {"Sync", f.Sync()}, {"Close", f.Close()},
		} {
			if strings.HasPrefix(r.what, "Readdir") {
				c.refused(r.err, r.what+" after Close of "+name) // package os has an error of its own there
				continue
			}
			c.fails(r.err, r.what+" after Close of "+name, fs.ErrClosed)
		}
	}
	c.holds("f", "abc")
}

func fsIndependent(c *fsProbe) {
	c.build("f=0123456789")
	a, b := c.open("f", os.O_RDWR), c.open("f", os.O_RDWR)
	c.reads(a, 3, "012")
	c.reads(b, 2, "01")
	_, err := b.Write([]byte("X"))
	c.ok(err)
	c.reads(a, 2, "34")
	_, err = a.WriteAt([]byte("Y"), 3)
	c.ok(err)
	c.reads(b, 2, "Y4")
	c.ok(a.Close())
	c.reads(b, 1, "5")
	c.holds("f", "01XY456789")
}

func fsLiveStat(c *fsProbe) {
	f, err := c.fs.Create("f")
	c.ok(err)
	other := c.open("f", os.O_RDONLY)
	_, err = f.Write([]byte("abcde"))
	c.ok(err)
	for what, file := range sorted(map[string]afero.File{"the File that wrote": f, "another File": other}) {
		info, err := file.Stat()
		c.ok(err)
		c.expect(info.Size() == 5 && info.Name() == "f", what+` says 5 bytes and "f"`, "%s", describeInfo(info))
	}
}

func fsSync(c *fsProbe) {
	c.build("d/f=abc")
	for _, name := range []string{"d/f", "d"} {
		f, err := c.fs.Open(name)
		c.ok(err)
		c.ok(f.Sync())
	}
	f := c.open("d/f", os.O_RDWR|os.O_SYNC)
	_, err := f.Write([]byte("x"))
	c.ok(err)
	c.ok(f.Sync())
}

func fsHandleRename(c *fsProbe) {
	f, err := c.fs.Create("f")
	c.ok(err)
	_, err = f.Write([]byte("1"))
	c.ok(err)
	c.ok(c.fs.Rename("f", "g"))
	_, err = f.Write([]byte("2"))
	c.ok(err)
	c.absent("f")
	c.holds("g", "12")
}

func fsHandleRemove(c *fsProbe) {
	c.build("f=content")
	f := c.open("f", os.O_RDWR)
	c.ok(c.fs.Remove("f"))
	c.reads(f, 3, "con")
	_, err := f.Write([]byte("T"))
	c.ok(err)
	buf := make([]byte, 7)
	_, err = f.ReadAt(buf, 0)
	c.ok(err)
	c.expect(string(buf) == "conTent", `the File reads "conTent"`, "%q", buf)
	c.ok(f.Close())
	c.lists(".")
}

func fsDirIsNoFile(c *fsProbe) {
	c.build("d/f=x")
	d, err := c.fs.Open("d")
	c.ok(err)
	_, err = d.Read(make([]byte, 4))
	c.fails(err, "Read of a directory", syscall.EISDIR)
	_, err = d.Write([]byte("x"))
	c.refused(err, "Write of a directory")
	f, err := c.fs.Open("d/f")
	c.ok(err)
	_, err = f.Readdir(-1)
	c.fails(err, "Readdir of a file", syscall.ENOTDIR)
	_, err = f.Readdirnames(1)
	c.fails(err, "Readdirnames of a file", syscall.ENOTDIR)
	c.holds("d/f", "x")
}

func fsLarge(c *fsProbe) {
	content := pattern(3<<20 + 17)
	f, err := c.fs.Create("f")
	c.ok(err)
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{strings.NewReader(content)}, make([]byte, 10_007))
	c.ok(err)
	c.expect(n == int64(len(content)), fmt.Sprintf("%d bytes written", len(content)), "%d", n)
	c.ok(f.Close())
	f = c.open("f", os.O_RDONLY)
	var b strings.Builder
	_, err = io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{f}, make([]byte, 65_537))
	c.ok(err)
	c.calls.clear()
	c.expect(b.String() == content, "the content that was written", "%d bytes, others", b.Len())
}

func fsInfo(c *fsProbe) {
	c.build("d/f=abc")
	a, err := c.fs.Stat("d/f")
	c.ok(err)
	b, err := c.fs.Stat("./d//f")
	c.ok(err)
	c.expect(a.Name() == "f" && a.Size() == 3 && a.Mode().IsRegular() && !a.IsDir(), `"f", 3 bytes, a regular file`, "%s", describeInfo(a))
	c.expect(a.ModTime().Equal(b.ModTime()) && b.Name() == "f", "the same name and time by another spelling", "%s, %s", describeInfo(b), describeTime(b.ModTime()))
	d, err := c.fs.Stat("d")
	c.ok(err)
	c.expect(d.Name() == "d" && d.IsDir() && d.Mode().IsDir(), `"d", a directory`, "%s", describeInfo(d))
	if l, ok := c.fs.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible("d/f")
		c.ok(err)
		c.expect(info.Name() == "f" && info.Size() == 3 && info.Mode() == a.Mode(), "LstatIfPossible says what Stat says", "%s", describeInfo(info))
	}
}
