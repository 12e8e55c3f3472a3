package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func attrRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"ATTR-stat-of-a-file", "Stat of a file says regular, and its size.", 0, attrStatFile},
		{"ATTR-stat-of-a-directory", "Stat of a directory says directory.", 0, attrStatDir},
		{"ATTR-name-is-the-last-element", `Name is the last element of the name asked for, "." for the root; of a File, of the name it was opened with.`, 0, attrName},
		{"ATTR-sys-is-nil", "Sys is nil in every fs.FileInfo: it would lead past the contract.", 0, attrSys},
		{"ATTR-info-is-a-snapshot", "A FileInfo does not change when the file does.", needInPlace, attrSnapshot},
		{"ATTR-File-Stat-is-live", "Stat of a File describes the file as it is now, under any name or none.", needInPlace, attrLive},
		{"ATTR-File-Stat-agrees", "Stat of a File and Stat of its name say the same.", 0, attrAgree},
		{"ATTR-modification-time-is-stable", "Two Stats of an unchanged file give the same modification time.", 0, attrStable},
		{"ATTR-modification-time-of-new-files", "A new file, directory or content has a modification time of about now.", needWrite, attrNow},
		{"ATTR-chmod", "Chmod sets the permission bits of a file and of a directory.", needChmod, attrChmod},
		{"ATTR-chmod-only-permission-bits", "Chmod sets no bits outside 0o777.", needChmod, attrChmodMask},
		{"ATTR-chmod-changes-nothing-else", "Chmod leaves content, size and modification time.", needChmod, attrChmodOnly},
		{"ATTR-chtimes", "Chtimes sets the modification time of a file and of a directory.", needChtimes, attrChtimes},
		{"ATTR-chtimes-zero-time", "Chtimes leaves alone what is given as the zero time.", needChtimes, attrChtimesZero},
		{"ATTR-attributes-stay-with-the-file", "Chmod and Chtimes of a file that is open are seen through the File.", needChmod | needChtimes, attrOpen},
		{"ATTR-unsupported", "Without Features.Chmod or Chtimes the method is errors.ErrUnsupported, without effect.", needWrite, attrUnsupported},
	}
}

func attrStatFile(c *probe) {
	c.build("f=abc", "empty=", "d/g="+pattern(70_001))
	for name, size := range sorted(map[string]int64{"f": 3, "empty": 0, "d/g": 70_001}) {
		info := c.info(name)
		c.expect(info.Mode().IsRegular() && !info.IsDir() && info.Size() == size, fmt.Sprintf("%s is a regular file of %d bytes", name, size), "%s", describeInfo(info))
	}
}

func attrStatDir(c *probe) {
	c.build("d/e/f=x")
	for _, name := range []string{"d", "d/e", "."} {
		info := c.info(name)
		c.expect(info.IsDir() && info.Mode().Type() == fs.ModeDir, name+" is a directory", "%s", describeInfo(info))
	}
}

// attrName looks at names; the recorder checks them.
func attrName(c *probe) {
	c.build("d/e/f=x", "g=y")
	for _, name := range []string{".", "d", "d/e", "d/e/f", "g"} {
		c.info(name)
		f := c.file(name, optRead)
		_, err := f.Stat()
		c.ok(err)
	}
	for _, e := range c.listOpen("d/e") {
		_, err := e.Info()
		c.ok(err)
	}
	if c.features.Write {
		f := c.file("d/e/f", optRead)
		c.ok(c.rename("d/e/f", "moved"))
		_, err := f.Stat()
		c.ok(err)
	}
}

// listOpen lists a directory whose File stays open, so that Info may be called.
func (c *probe) listOpen(name string) []fs.DirEntry {
	entries, err := c.file(name, optDir).ReadDir(0)
	c.ok(err)
	return entries
}

// attrSys makes every kind of FileInfo; the recorder checks them.
func attrSys(c *probe) {
	c.build("d/f=x", "g=y")
	for _, name := range []string{".", "d", "d/f", "g"} {
		c.info(name)
		_, err := c.file(name, optRead).Stat()
		c.ok(err)
	}
	for _, e := range c.listOpen(".") {
		_, err := e.Info()
		c.ok(err)
	}
}

func attrSnapshot(c *probe) {
	c.build("f=abc")
	info := c.info("f")
	mode, modTime := info.Mode(), info.ModTime()
	f := c.file("f", optWrite)
	_, err := f.WriteAt([]byte("longer content"), 0)
	c.ok(err)
	if c.features.Chmod {
		c.ok(c.chmod("f", 0o600))
	}
	c.ok(c.remove("f"))
	c.expect(info.Size() == 3 && info.Mode() == mode && info.ModTime().Equal(modTime), "the FileInfo still says what it said", "%s", describeInfo(info))
}

func attrLive(c *probe) {
	c.build("f=abc")
	f, w := c.file("f", optRead), c.file("f", optWrite)
	for _, size := range []int64{10, 4, 0, 100_000} {
		c.ok(w.Truncate(size))
		info, err := f.Stat()
		c.ok(err)
		c.expect(info.Size() == size, fmt.Sprintf("Stat of the other File says %d bytes", size), "%s", describeInfo(info))
		if size == 4 {
			c.ok(c.rename("f", "g"))
		}
		if size == 0 {
			c.ok(c.remove("g"))
		}
	}
}

func attrAgree(c *probe) {
	c.build("d/f=abc", "g="+pattern(5000))
	for _, name := range []string{".", "d", "d/f", "g"} {
		got, err := c.file(name, optRead).Stat()
		c.ok(err)
		c.sameInfo("Stat of the File on "+name, c.info(name), got)
	}
}

func attrStable(c *probe) {
	c.build("f=x", "d/g=y")
	for _, name := range []string{"f", "d", "d/g"} {
		a := c.info(name).ModTime()
		b := c.info(name).ModTime()
		c.expect(a.Equal(b), "the same time twice: "+describeTime(a), "%s", describeTime(b))
	}
}

func attrNow(c *probe) {
	// Clocks of other machines and of coarse storage differ by a little.
	const slack = 2 * time.Minute
	start := time.Now()
	c.build("f=x", "d/")
	if c.features.InPlace {
		c.ok(c.tryOpen("g", optCreate))
	}
	for _, e := range c.list(".") {
		age := c.info(e.Name()).ModTime().Sub(start)
		c.expect(-slack < age && age < slack, "a modification time of about now", "%s, now is %s", describeTime(c.info(e.Name()).ModTime()), describeTime(start))
	}
	if c.features.Chtimes {
		c.ok(c.chtimes("f", time.Unix(1e9, 0), time.Unix(1e9, 0)))
		_, err := c.replace("f", "new")
		c.ok(err)
		c.expect(c.info("f").ModTime().After(start.Add(-slack)), "Replace sets the modification time", "%s", describeTime(c.info("f").ModTime()))
	}
}

func attrChmod(c *probe) {
	c.build("f=x", "d/g=y")
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o755, 0o777, 0o400, 0o700} {
		for name, typ := range sorted(map[string]fs.FileMode{"f": 0, "d": fs.ModeDir}) {
			if typ != 0 && mode&0o700 != 0o700 {
				continue // an unprivileged process would lock itself out
			}
			c.ok(c.chmod(name, mode))
			c.expect(c.info(name).Mode() == mode|typ, fmt.Sprintf("the mode of %s is %v", name, mode|typ), "%v", c.info(name).Mode())
		}
	}
	c.ok(c.chmod("d/g", 0o640))
	c.expect(c.info("d/g").Mode() == 0o640, "the mode of d/g is "+fs.FileMode(0o640).String(), "%v", c.info("d/g").Mode())
	c.fails(c.chmod("missing", 0o600), "Chmod of a missing name", fs.ErrNotExist)
	c.ok(c.chmod("f", 0o600))
}

func attrChmodMask(c *probe) {
	c.build("f=x", "d/")
	for _, mode := range []fs.FileMode{0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetgid | fs.ModeSticky, 0o755 | fs.ModeDir | fs.ModeSymlink, 1<<9 | 0o755} {
		c.ok(c.chmod("f", mode))
		c.expect(c.info("f").Mode() == 0o755, "the mode of f is "+fs.FileMode(0o755).String(), "%v", c.info("f").Mode())
		c.ok(c.chmod("d", mode))
		c.expect(c.info("d").Mode() == 0o755|fs.ModeDir, "the mode of d is "+(fs.ModeDir|0o755).String(), "%v", c.info("d").Mode())
	}
}

func attrChmodOnly(c *probe) {
	c.build("f=abc")
	before := c.info("f")
	c.ok(c.chmod("f", 0o600))
	after := c.info("f")
	c.holdsContent("f", "abc")
	c.expect(after.ModTime().Equal(before.ModTime()) && after.Size() == 3, "3 bytes and the modification time "+describeTime(before.ModTime()), "%s, %s", describeInfo(after), describeTime(after.ModTime()))
}

// sometime is a time that storages with a precision of two seconds can hold.
var sometime = time.Date(2001, 9, 9, 1, 46, 40, 0, time.UTC)

func attrChtimes(c *probe) {
	c.build("f=abc", "d/g=x")
	for _, name := range []string{"f", "d", "d/g"} {
		c.ok(c.chtimes(name, sometime, sometime))
		c.expect(c.info(name).ModTime().Equal(sometime), "the modification time "+describeTime(sometime), "%s", describeTime(c.info(name).ModTime()))
	}
	c.holdsContent("f", "abc")
	c.fails(c.chtimes("missing", sometime, sometime), "Chtimes of a missing name", fs.ErrNotExist)
}

func attrChtimesZero(c *probe) {
	c.build("f=abc")
	c.ok(c.chtimes("f", sometime, sometime))
	c.ok(c.chtimes("f", time.Now(), time.Time{}))
	c.expect(c.info("f").ModTime().Equal(sometime), "the modification time stays "+describeTime(sometime), "%s", describeTime(c.info("f").ModTime()))
	c.ok(c.chtimes("f", time.Time{}, time.Time{}))
	c.expect(c.info("f").ModTime().Equal(sometime), "the modification time stays "+describeTime(sometime), "%s", describeTime(c.info("f").ModTime()))
	other := sometime.Add(24 * time.Hour)
	c.ok(c.chtimes("f", time.Time{}, other))
	c.expect(c.info("f").ModTime().Equal(other), "the modification time "+describeTime(other), "%s", describeTime(c.info("f").ModTime()))
}

func attrOpen(c *probe) {
	c.build("f=abc")
	f := c.file("f", optRead)
	c.ok(c.chmod("f", 0o600))
	c.ok(c.chtimes("f", sometime, sometime))
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.Mode() == 0o600 && info.ModTime().Equal(sometime), "the new mode and time", "%v, %s", info.Mode(), describeTime(info.ModTime()))
}

func attrUnsupported(c *probe) {
	if c.features.Chmod && c.features.Chtimes {
		c.skip("Features.Chmod and Chtimes are true")
	}
	c.build("f=x")
	before := c.info("f")
	if !c.features.Chmod {
		c.fails(c.p.Chmod(c.ctx, provider.MustPath("f"), 0o600), "Chmod without Features.Chmod", errors.ErrUnsupported)
	}
	if !c.features.Chtimes {
		c.fails(c.p.Chtimes(c.ctx, provider.MustPath("f"), sometime, sometime), "Chtimes without Features.Chtimes", errors.ErrUnsupported)
	}
	c.sameInfo("Stat of f afterwards", before, c.info("f"))
}
