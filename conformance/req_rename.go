package conformance

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func renameRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"RENAME-a-file", "Rename gives a file a new name and takes the old one away, within and across directories.", needWrite, renameFile},
		{"RENAME-over-a-file", "Rename over a file replaces it.", needWrite, renameOverFile},
		{"RENAME-a-subtree", "Rename of a directory moves everything below it.", needWrite, renameSubtree},
		{"RENAME-over-a-directory", "Rename over an existing directory, empty or not, is fs.ErrExist, and nothing is changed.", needWrite, renameOverDir},
		{"RENAME-a-directory-over-a-file", "Rename of a directory over a file is syscall.ENOTDIR, and nothing is changed.", needWrite, renameDirOverFile},
		{"RENAME-a-directory-into-itself", "Rename of a directory to a name below itself is syscall.EINVAL, of an existing directory there fs.ErrExist, and nothing is changed.", needWrite, renameIntoSelf},
		{"RENAME-onto-its-own-parent", "Rename onto a directory that holds the old name is fs.ErrExist, and nothing is changed.", needWrite, renameOntoParent},
		{"RENAME-a-missing-name", "Rename of a missing name is fs.ErrNotExist, whatever is at the new one, and nothing is changed.", needWrite, renameMissing},
		{"RENAME-to-a-missing-directory", "Rename into a missing directory is fs.ErrNotExist; the source stays and nothing is created.", needWrite, renameToMissing},
		{"RENAME-below-a-file", "Rename to a name below a file is syscall.ENOTDIR; both stay.", needWrite, renameBelowFile},
		{"RENAME-to-itself", "Rename of a name to itself succeeds and changes nothing; with NoReplace it is fs.ErrExist.", needWrite, renameToItself},
		{"RENAME-NoReplace", "Rename with NoReplace over anything is fs.ErrExist, and nothing is changed; to a free name it renames.", needWrite, renameNoReplace},
		{"RENAME-NotDir", "Rename with NotDir of a directory is syscall.EISDIR, and nothing is moved; of a file it renames.", needWrite, renameNotDir},
		{"RENAME-open-files-follow", "A File stays on its file when that is renamed.", needWrite, renameOpenFollows},
		{"RENAME-replaced-open-files-stay", "A File on a name that a rename replaced keeps its old file.", needWrite, renameReplacedOpen},
		{"RENAME-keeps-attributes", "Rename keeps content, mode and modification time.", needWrite, renameKeeps},
		{"RENAME-there-and-back", "A directory can move down, up and back, and everything below it is found each time.", needWrite, renameThereAndBack},
	}
}

func renameFile(c *probe) {
	c.build("f=1", "d/g=2", "e/")
	c.ok(c.rename("f", "h"))
	c.holdsTree(".", "d/", "d/g=2", "e/", "h=1")
	c.ok(c.rename("h", "e/h"))
	c.ok(c.rename("d/g", "g"))
	c.holdsTree(".", "d/", "e/", "e/h=1", "g=2")
	c.absent("f")
	c.fails(c.tryOpen("f", optRead), "Open of the old name", fs.ErrNotExist)
}

func renameOverFile(c *probe) {
	c.build("f=new", "g=old", "d/h=older")
	c.ok(c.rename("f", "g"))
	c.holdsTree(".", "d/", "d/h=older", "g=new")
	c.ok(c.rename("g", "d/h"))
	c.holdsTree(".", "d/", "d/h=new")
}

func renameSubtree(c *probe) {
	c.build("a/s/g=2", "a/f=1", "a/e/", "b/")
	c.ok(c.rename("a", "z"))
	c.holdsTree(".", "b/", "z/", "z/e/", "z/f=1", "z/s/", "z/s/g=2")
	c.absent("a")
	c.absent("a/f")
	c.ok(c.rename("z", "b/z"))
	c.holdsTree(".", "b/", "b/z/", "b/z/e/", "b/z/f=1", "b/z/s/", "b/z/s/g=2")
	_, err := c.replace("b/z/s/new", "3")
	c.ok(err)
	c.holdsTree("b/z/s", "g=2", "new=3")
}

func renameOverDir(c *probe) {
	c.build("f=x", "d/c=y", "empty/", "full/old=z")
	c.unchanged(".", func() {
		for _, from := range []string{"f", "d"} {
			for _, to := range []string{"empty", "full"} {
				c.fails(c.rename(from, to), fmt.Sprintf("Rename(%q, %q)", from, to), fs.ErrExist)
			}
		}
	})
}

func renameDirOverFile(c *probe) {
	c.build("d/c=y", "empty/", "f=x", "e/g=z")
	c.unchanged(".", func() {
		for _, from := range []string{"d", "empty"} {
			for _, to := range []string{"f", "e/g"} {
				c.fails(c.rename(from, to), fmt.Sprintf("Rename(%q, %q)", from, to), syscall.ENOTDIR)
			}
		}
	})
}

func renameIntoSelf(c *probe) {
	c.build("a/f=x", "a/b/c/g=y")
	c.unchanged(".", func() {
		for _, to := range []string{"a/new", "a/b/new", "a/b/c/new"} {
			c.fails(c.rename("a", to), fmt.Sprintf("Rename(\"a\", %q)", to), syscall.EINVAL)
		}
		c.fails(c.rename("a/b", "a/b/new"), `Rename("a/b", "a/b/new")`, syscall.EINVAL)
		c.fails(c.rename("a", "a/f"), `Rename("a", "a/f") onto a file there`, syscall.EINVAL)
	})
	c.ok(c.rename("a", "ab")) // a common prefix is not "below"
	c.ok(c.rename("ab", "a"))
	c.holdsContent("a/b/c/g", "y")
	c.unchanged(".", func() {
		for _, to := range []string{"a/b", "a/b/c"} { // os.Rename looks for a directory at the new name first
			c.fails(c.rename("a", to), fmt.Sprintf("Rename(\"a\", %q) onto a directory there", to), fs.ErrExist)
		}
	})
}

func renameOntoParent(c *probe) {
	c.build("a/f=x", "a/b/g=y")
	c.unchanged(".", func() {
		c.fails(c.rename("a/f", "a"), `Rename("a/f", "a")`, fs.ErrExist)
		c.fails(c.rename("a/b", "a"), `Rename("a/b", "a")`, fs.ErrExist)
		c.fails(c.rename("a/b/g", "a"), `Rename("a/b/g", "a")`, fs.ErrExist)
	})
}

func renameMissing(c *probe) {
	c.build("f=x", "d/g=y", "e/")
	c.unchanged(".", func() {
		for _, to := range []string{"new", "f", "d/new", "missing"} {
			c.fails(c.rename("missing", to), fmt.Sprintf("Rename(\"missing\", %q)", to), fs.ErrNotExist)
		}
		c.fails(c.rename("d/missing", "new"), `Rename("d/missing", "new")`, fs.ErrNotExist)
		c.fails(c.rename("missing/x", "new"), `Rename("missing/x", "new")`, fs.ErrNotExist)
	})
}

func renameToMissing(c *probe) {
	c.build("f=x", "d/g=y")
	c.unchanged(".", func() {
		for _, from := range []string{"f", "d", "d/g"} {
			c.fails(c.rename(from, "m/f"), fmt.Sprintf("Rename(%q, \"m/f\")", from), fs.ErrNotExist)
		}
	})
	c.absent("m")
}

func renameBelowFile(c *probe) {
	c.build("f=x", "g=y", "d/h=z")
	c.unchanged(".", func() {
		c.fails(c.rename("f", "g/f"), `Rename("f", "g/f")`, syscall.ENOTDIR)
		c.fails(c.rename("d", "g/d"), `Rename("d", "g/d")`, syscall.ENOTDIR)
		c.fails(c.rename("f", "f/f"), `Rename("f", "f/f")`, syscall.ENOTDIR)
	})
}

func renameToItself(c *probe) {
	c.build("f=x", "d/g=y", "e/")
	c.unchanged(".", func() {
		for _, name := range []string{"f", "d", "d/g", "e"} {
			c.ok(c.rename(name, name))
			c.fails(c.renameWith(name, name, provider.RenameOptions{NoReplace: true}), fmt.Sprintf("Rename(%q, %q, NoReplace)", name, name), fs.ErrExist)
		}
		c.fails(c.rename("missing", "missing"), "Rename of a missing name to itself", fs.ErrNotExist)
	})
}

func renameNoReplace(c *probe) {
	c.build("f=x", "g=y", "d/h=z", "e/", "i/j=1")
	noReplace := provider.RenameOptions{NoReplace: true}
	c.unchanged(".", func() {
		for _, from := range []string{"f", "d", "e"} {
			for _, to := range []string{"g", "d/h", "i", "i/j", "e", "d"} {
				if from == to || from == "d" && to == "d/h" {
					continue
				}
				c.fails(c.renameWith(from, to, noReplace), fmt.Sprintf("Rename(%q, %q, NoReplace)", from, to), fs.ErrExist)
			}
		}
	})
	c.ok(c.renameWith("f", "new", noReplace))
	c.ok(c.renameWith("d", "e/d", noReplace))
	c.holdsTree(".", "e/", "e/d/", "e/d/h=z", "g=y", "i/", "i/j=1", "new=x")
}

func renameNotDir(c *probe) {
	c.build("f=x", "g=y", "d/h=z", "e/")
	notDir := provider.RenameOptions{NotDir: true}
	both := provider.RenameOptions{NotDir: true, NoReplace: true}
	c.unchanged(".", func() {
		for _, from := range []string{"d", "e"} {
			c.fails(c.renameWith(from, "new", notDir), fmt.Sprintf("Rename(%q, \"new\", NotDir)", from), syscall.EISDIR)
			c.fails(c.renameWith(from, "new", both), fmt.Sprintf("Rename(%q, \"new\", NotDir and NoReplace)", from), syscall.EISDIR)
		}
		c.fails(c.renameWith("f", "g", both), "Rename with NotDir and NoReplace over a file", fs.ErrExist)
	})
	c.ok(c.renameWith("f", "g", notDir))
	c.ok(c.renameWith("g", "d/new", both))
	c.holdsTree(".", "d/", "d/h=z", "d/new=x", "e/")
}

func renameOpenFollows(c *probe) {
	c.build("f=1", "d/h=9")
	f := c.file("f", optRead)
	deep := c.file("d/h", optRead)
	c.ok(c.rename("f", "g"))
	c.ok(c.rename("d", "e"))
	_, err := c.replace("f", "other")
	c.ok(err)
	c.handleHolds(f, "the File that was opened as f", "1")
	c.handleHolds(deep, "the File below the renamed directory", "9")
	if !c.features.InPlace {
		return
	}
	w := c.file("g", optAppend)
	c.ok(c.rename("g", "e/g"))
	c.appends(w, "2", 2)
	c.holdsContent("e/g", "12")
	c.handleHolds(f, "the File that was opened as f", "12")
	c.absent("g")
}

func renameReplacedOpen(c *probe) {
	c.build("f=new", "g=old")
	old, fresh := c.file("g", optRead), c.file("f", optRead)
	c.ok(c.rename("f", "g"))
	c.handleHolds(old, "the File that was opened on g before", "old")
	c.handleHolds(fresh, "the File that was opened as f", "new")
	c.holdsContent("g", "new")
	if c.features.InPlace {
		w := c.file("g", optWrite)
		_, err := c.replace("h", "third")
		c.ok(err)
		c.ok(c.rename("h", "g"))
		_, err = w.WriteAt([]byte("N"), 0)
		c.ok(err)
		c.holdsContent("g", "third")
	}
}

func renameKeeps(c *probe) {
	c.build("f=abc", "d/g=x")
	if c.features.Chmod {
		c.ok(c.chmod("f", 0o600))
	}
	if c.features.Chtimes {
		c.ok(c.chtimes("f", time.Unix(1e9, 0), time.Unix(1e9, 0)))
	}
	before, inner := c.info("f"), c.info("d/g")
	c.ok(c.rename("f", "new"))
	c.ok(c.rename("d", "e"))
	for _, tt := range []struct {
		name string
		want fs.FileInfo
	}{{"new", before}, {"e/g", inner}} {
		got := c.info(tt.name)
		c.expect(got.Mode() == tt.want.Mode() && got.ModTime().Equal(tt.want.ModTime()) && got.Size() == tt.want.Size(),
			fmt.Sprintf("%s has the mode %v, the time %s and %d bytes", tt.name, tt.want.Mode(), describeTime(tt.want.ModTime()), tt.want.Size()),
			"%v, %s, %d", got.Mode(), describeTime(got.ModTime()), got.Size())
	}
}

func renameThereAndBack(c *probe) {
	c.build("a/b/c/f=deep", "a/g=shallow", "x/y/")
	for _, step := range [][2]string{
		{"a/b/c", "x/y/c"}, {"x/y/c", "c"}, {"c", "a/c"}, {"a", "x/y/a"}, {"x/y/a/c", "x/c"}, {"x/y/a", "a"}, {"x/c", "a/b/c"},
	} {
		c.ok(c.rename(step[0], step[1]))
		c.absent(step[0])
		c.expect(c.info(step[1]).IsDir(), step[1]+" is a directory", "%s", c.info(step[1]).Mode())
	}
	c.holdsTree(".", "a/", "a/b/", "a/b/c/", "a/b/c/f=deep", "a/g=shallow", "x/", "x/y/")
}
