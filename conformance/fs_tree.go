package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

func fsTreeRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-mkdirall", "MkdirAll makes all that is missing, succeeds where the directory is, and is syscall.ENOTDIR where a file is in the way.", 0, fsMkdirAll},
		{"FS-remove-full-directory", "Remove of a directory that is not empty is syscall.ENOTEMPTY; its entries stay and can then be removed.", 0, fsRemoveFull},
		{"FS-remove", "Remove takes away one file or one empty directory.", 0, fsRemove},
		{"FS-removeall", "RemoveAll takes away a tree, a file, and nothing when nothing is there, which is no error.", 0, fsRemoveAll},
		{"FS-remove-nothing", `Remove and RemoveAll of "" remove nothing.`, 0, fsRemoveNothing},
		{"FS-rename-file", "Rename moves a file, over another too.", 0, fsRenameFile},
		{"FS-rename-tree", "Rename moves a directory with everything below it, and no sibling.", 0, fsRenameTree},
		{"FS-rename-over-directory", "Rename over a directory, empty or not, is what os.IsExist knows; nothing is changed.", 0, fsRenameOverDir},
		{"FS-rename-directory-over-file", "Rename of a directory over a file is syscall.ENOTDIR; nothing is changed.", 0, fsRenameDirOverFile},
		{"FS-rename-into-itself", "Rename of a directory below itself is syscall.EINVAL; nothing is changed.", 0, fsRenameIntoSelf},
		{"FS-rename-to-itself", "Rename of a name to itself changes nothing.", 0, fsRenameToSelf},
		{"FS-rename-to-missing-directory", "Rename into a missing directory is fs.ErrNotExist; the source stays and nothing is made.", 0, fsRenameToMissing},
		{"FS-times", "Chtimes sets the modification time of files and directories.", 0, fsTimes},
		{"FS-exclusive-has-one-winner", "Of many exclusive creates of one name at once, one succeeds.", 0, fsOneWinner},
		{"FS-appends-are-whole", "Appends of many Files at once are each whole, and none is lost.", 0, fsParallelAppend},
		{"FS-everything-at-once", "Create, remove, rename, list and stat of the same names at once end, without panic.", 0, fsEverything},
	}
}

func fsMkdirAll(c *fsProbe) {
	c.ok(c.fs.MkdirAll("a/b/c", 0o755))
	c.isDir("a/b/c")
	c.ok(c.fs.MkdirAll("a/b/c", 0o755))
	c.ok(c.fs.MkdirAll("a/b", 0o755))
	c.ok(c.fs.MkdirAll("a/b/d/", 0o755))
	c.lists("a/b", "c", "d")
	c.write("f", "abc")
	c.fails(c.fs.MkdirAll("f", 0o755), "MkdirAll over a file", syscall.ENOTDIR)
	c.fails(c.fs.MkdirAll("f/x/y", 0o755), "MkdirAll below a file", syscall.ENOTDIR)
	c.holds("f", "abc")
}

func fsRemoveFull(c *fsProbe) {
	c.build("d/f=x", "d/e/g=y")
	c.fails(c.fs.Remove("d"), "Remove of a full directory", syscall.ENOTEMPTY)
	c.fails(c.fs.Remove("d/e"), "Remove of a full directory", syscall.ENOTEMPTY)
	c.holds("d/f", "x")
	c.holds("d/e/g", "y")
	for _, name := range []string{"d/f", "d/e/g", "d/e", "d"} {
		c.ok(c.fs.Remove(name))
	}
	c.lists(".")
}

func fsRemove(c *fsProbe) {
	c.build("d/f=x", "d/g=y", "e/")
	c.ok(c.fs.Remove("d/f"))
	c.absent("d/f")
	c.lists("d", "g")
	c.ok(c.fs.Remove("e"))
	c.lists(".", "d")
	c.expect(os.IsNotExist(c.fs.Remove("d/f")), "the second Remove is fs.ErrNotExist", "something else")
}

func fsRemoveAll(c *fsProbe) {
	c.build("d/a/b/c=1", "d/a/d=2", "d/e/", "da/f=3", "g=4")
	c.ok(c.fs.RemoveAll("d"))
	c.lists(".", "da", "g")
	c.ok(c.fs.RemoveAll("d"))
	c.ok(c.fs.RemoveAll("missing"))
	c.ok(c.fs.RemoveAll("g"))
	c.lists(".", "da")
	c.holds("da/f", "3")
}

func fsRemoveNothing(c *fsProbe) {
	c.build("d/f=x", "g=y")
	c.fs.RemoveAll("")
	c.fs.Remove("")
	c.lists(".", "d", "g")
	c.holds("d/f", "x")
}

func fsRenameFile(c *fsProbe) {
	c.build("f=1", "g=2", "d/h=3")
	c.ok(c.fs.Rename("f", "g"))
	c.holds("g", "1")
	c.ok(c.fs.Rename("g", "d/g"))
	c.lists(".", "d")
	c.lists("d", "g", "h")
	c.holds("d/g", "1")
}

func fsRenameTree(c *fsProbe) {
	c.build("a/s/t/g=2", "a/f=1", "ab/f=3", "a.b=4")
	c.ok(c.fs.Rename("a", "z"))
	c.lists(".", "ab", "a.b", "z")
	c.lists("z", "f", "s")
	c.lists("z/s", "t")
	c.holds("z/s/t/g", "2")
	c.holds("ab/f", "3")
	c.absent("a")
	c.absent("a/s/t/g")
	c.ok(c.fs.RemoveAll("z"))
	c.lists(".", "ab", "a.b")
}

func fsRenameOverDir(c *fsProbe) {
	c.build("f=1", "d/c=2", "e/old=3", "empty/")
	for _, names := range [][2]string{{"f", "d"}, {"f", "empty"}, {"d", "e"}, {"d", "empty"}} {
		err := c.fs.Rename(names[0], names[1])
		c.expect(os.IsExist(err), fmt.Sprintf("Rename(%q, %q) is what os.IsExist knows", names[0], names[1]), "%s", describe(err))
	}
	c.lists(".", "f", "d", "e", "empty")
	c.lists("d", "c")
	c.lists("e", "old")
	c.lists("empty")
}

func fsRenameDirOverFile(c *fsProbe) {
	c.build("f=1", "d/c=2")
	c.fails(c.fs.Rename("d", "f"), "Rename of a directory over a file", syscall.ENOTDIR)
	c.holds("f", "1")
	c.holds("d/c", "2")
}

func fsRenameIntoSelf(c *fsProbe) {
	c.build("a/f=x", "a/b/g=y")
	for _, to := range []string{"a/c", "a/b/c"} {
		c.fails(c.fs.Rename("a", to), fmt.Sprintf("Rename(\"a\", %q)", to), syscall.EINVAL)
	}
	c.holds("a/f", "x")
	c.holds("a/b/g", "y")
	c.lists("a", "f", "b")
}

func fsRenameToSelf(c *fsProbe) {
	c.build("f=x", "d/g=y")
	c.ok(c.fs.Rename("f", "f"))
	c.holds("f", "x")
	// package os refuses a directory here as it refuses every directory.
	c.fs.Rename("d", "d")
	c.holds("d/g", "y")
}

func fsRenameToMissing(c *fsProbe) {
	c.build("f=x", "d/g=y")
	for _, from := range []string{"f", "d"} {
		c.fails(c.fs.Rename(from, "m/x"), fmt.Sprintf("Rename(%q, \"m/x\")", from), fs.ErrNotExist)
	}
	c.holds("f", "x")
	c.holds("d/g", "y")
	c.absent("m")
}

func fsTimes(c *fsProbe) {
	c.build("d/f=x")
	for _, name := range []string{"d/f", "d"} {
		c.ok(c.fs.Chtimes(name, sometime, sometime))
		info, err := c.fs.Stat(name)
		c.ok(err)
		c.expect(info.ModTime().Equal(sometime), "the modification time "+describeTime(sometime), "%s", describeTime(info.ModTime()))
	}
	c.holds("d/f", "x")
}

func fsOneWinner(c *fsProbe) {
	for i := range 200 {
		name := fmt.Sprintf("n%d", i)
		c.calls.clear()
		var won atomic.Int32
		c.parallel(workers, func(int) {
			err := c.tryOpen(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
			if err == nil {
				won.Add(1)
				return
			}
			c.fails(err, "a losing exclusive create", fs.ErrExist)
		})
		c.expect(won.Load() == 1, fmt.Sprintf("exactly one of %d exclusive creates succeeds", workers), "%d", won.Load())
	}
}

func fsParallelAppend(c *fsProbe) {
	c.write("log", "")
	const each = 20
	files := make([]afero.File, workers)
	for i := range files {
		files[i] = c.open("log", os.O_WRONLY|os.O_APPEND)
	}
	c.parallel(workers, func(i int) {
		f := files[i]
		for range each {
			n, err := f.Write([]byte(strings.Repeat(string(rune('a'+i)), 10) + "\n"))
			c.ok(err)
			c.expect(n == 11, "11 bytes", "%d", n)
		}
		c.ok(f.Close())
	})
	content := c.read("log")
	c.calls.clear()
	c.expect(len(content) == workers*each*11, fmt.Sprintf("%d bytes", workers*each*11), "%d", len(content))
	for line := range strings.SplitSeq(strings.TrimSuffix(content, "\n"), "\n") {
		c.expect(len(line) == 10 && strings.Count(line, line[:1]) == 10, "whole lines", "%q", line)
	}
}

func fsEverything(c *fsProbe) {
	c.build("d/stays=here")
	deadline := time.Now().Add(raceBudget)
	c.parallel(workers, func(i int) {
		for n := i; time.Now().Before(deadline); n++ {
			name, other := fmt.Sprintf("d/%d", n%3), fmt.Sprintf("d/%d", (n+i)%3)
			switch n % 6 {
			case 0:
				if f, err := c.fs.Create(name); err == nil {
					f.Write([]byte("x"))
					f.Close()
				}
			case 1:
				c.fs.Remove(name)
			case 2:
				c.fs.Rename(name, other)
			case 3:
				if d, err := c.fs.Open("d"); err == nil {
					d.Readdir(-1)
					d.Close()
				}
			case 4:
				c.fs.Stat(name)
			case 5:
				c.fs.Chmod(name, 0o700)
			}
		}
	})
	c.calls.clear()
	c.holds("d/stays", "here")
}
