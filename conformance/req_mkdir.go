package conformance

import (
	"fmt"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func mkdirRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"MKDIR-makes-an-empty-directory", "Mkdir makes one empty directory, which can be opened, listed and filled.", needWrite, mkdirMakes},
		{"MKDIR-one-level", "Mkdir does not make parents: a missing one is fs.ErrNotExist, and nothing is created.", needWrite, mkdirOneLevel},
		{"MKDIR-over-anything", "Mkdir over a file or directory is fs.ErrExist, which stays as it is.", needWrite, mkdirOver},
		{"MKDIR-over-a-link", "Mkdir over a link, dangling or not, is fs.ErrExist, and makes nothing where the link points.", needWrite | needLinks, mkdirOverLink},
		{"MKDIR-below-a-file", "Mkdir below a file is syscall.ENOTDIR, and the file stays a file.", needWrite, mkdirBelowFile},
		{"MKDIR-mode", "A new directory has the permission bits perm&0o777, less a umask, and no others.", needWrite, mkdirMode},
		{"MKDIR-after-remove", "A name that was a file and is removed can become a directory, and the other way round.", needWrite, mkdirAfterRemove},
	}
}

func mkdirMakes(c *probe) {
	c.ok(c.mkdir("d"))
	c.expect(c.info("d").IsDir(), "Stat says that d is a directory", "%s", c.info("d").Mode())
	c.lists(c.file("d", optDir), "the new directory")
	_, err := c.replace("d/f", "x")
	c.ok(err)
	c.ok(c.mkdir("d/e"))
	c.holdsTree(".", "d/", "d/e/", "d/f=x")
}

func mkdirOneLevel(c *probe) {
	c.fails(c.mkdir("a/b"), "Mkdir with a missing parent", fs.ErrNotExist)
	c.fails(c.mkdir("a/b/c"), "Mkdir with missing parents", fs.ErrNotExist)
	c.absent("a")
	c.holdsTree(".")
}

func mkdirOver(c *probe) {
	c.build("f=x", "d/f=y", "e/")
	c.unchanged(".", func() {
		for _, name := range []string{"f", "d", "e", "."} {
			c.fails(c.mkdir(name), fmt.Sprintf("Mkdir(%q)", name), fs.ErrExist)
		}
	})
}

func mkdirOverLink(c *probe) {
	c.build("f=x", "d/", "l => f", "ld => d", "dangling => nothing")
	c.unchanged(".", func() {
		for _, name := range []string{"l", "ld", "dangling"} {
			c.fails(c.mkdir(name), fmt.Sprintf("Mkdir(%q)", name), fs.ErrExist)
		}
	})
}

func mkdirBelowFile(c *probe) {
	c.build("f=abc")
	c.unchanged(".", func() {
		c.fails(c.mkdir("f/d"), "Mkdir below a file", syscall.ENOTDIR)
	})
	c.expect(c.info("f").Mode().IsRegular(), "f is a file", "%s", c.info("f").Mode())
}

func mkdirMode(c *probe) {
	for i, tt := range []struct{ ask, want fs.FileMode }{
		{0o755, 0o755}, {0o700, 0o700}, {0o777 | fs.ModeSetgid | fs.ModeSticky, 0o777}, {0o750 | fs.ModeDir, 0o750},
	} {
		name := fmt.Sprintf("d%d", i)
		c.ok(c.p.Mkdir(c.ctx, provider.MustPath(name), tt.ask))
		c.holdsMode(name, tt.want, fs.ModeDir)
	}
}

func mkdirAfterRemove(c *probe) {
	c.build("x=file")
	c.ok(c.remove("x"))
	c.ok(c.mkdir("x"))
	_, err := c.replace("x/y", "1")
	c.ok(err)
	c.holdsTree(".", "x/", "x/y=1")
	c.ok(c.remove("x/y"))
	c.ok(c.remove("x"))
	_, err = c.replace("x", "file again")
	c.ok(err)
	c.holdsTree(".", "x=file again")
}
