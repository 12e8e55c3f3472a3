package conformance

import (
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func pathRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"PATH-root-is-a-directory", "The root is a directory that Stat describes and Open lists.", 0, pathRoot},
		{"PATH-missing-parent", "A name whose parent is missing is fs.ErrNotExist for every operation, and nothing is created.", 0, pathMissingParent},
		{"PATH-missing-name", "A missing name is fs.ErrNotExist for every operation that does not create it.", 0, pathMissing},
		{"PATH-file-as-directory", "A name below a regular file is syscall.ENOTDIR for every operation, and nothing is changed.", 0, pathFileAsDirectory},
		{"PATH-element-of-255-bytes", "An element of 255 bytes can be created, listed, replaced and removed, or is syscall.ENAMETOOLONG every time.", needWrite, pathLongElement},
		{"PATH-long-path", "A path of 4,095 bytes works like any other, or is syscall.ENAMETOOLONG without effect.", needWrite, pathLong},
		{"PATH-deep-tree", "A tree of 40 levels can be built, read, renamed and taken down.", needWrite, pathDeep},
		{"PATH-odd-names", "Names with blanks, quotes, dots, percent signs, glob characters and all of Unicode are kept byte for byte, or refused without effect.", needWrite, pathOddNames},
		{"PATH-nothing-is-decoded", "Percent signs, tildes, dollar signs and the like are ordinary characters of a name.", needWrite, pathNotDecoded},
		{"PATH-common-prefix", "Renaming or removing a name leaves alone the siblings that merely begin with it.", needWrite, pathCommonPrefix},
		{"PATH-root-stays", "The root cannot be removed or renamed (syscall.EBUSY), made (fs.ErrExist) or replaced (syscall.EISDIR).", needWrite, pathRootStays},
	}
}

func pathRoot(c *probe) {
	info := c.info(".")
	c.expect(info.IsDir() && info.Mode().IsDir(), "the root is a directory", "%s", describeInfo(info))
	c.list(".")
	f := c.file(".", optRead)
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.IsDir(), "the open root is a directory", "%s", describeInfo(info))
	c.ok(f.Close())
}

func pathMissingParent(c *probe) {
	c.build(source + "=" + sourceContent)
	c.eachOp(func(o op) {
		c.opFails(o, "missing/x", fs.ErrNotExist)
		c.opFails(o, "missing/x/y", fs.ErrNotExist)
	})
}

func pathMissing(c *probe) {
	c.build(source + "=" + sourceContent)
	c.eachOp(func(o op) {
		switch o.id {
		case "open-with-create", "open-with-exclusive", "mkdir", "rename-to", "rename-to-noreplace", "replace", "replace-if-absent":
			return // they make it
		}
		c.opFails(o, "missing", fs.ErrNotExist)
	})
}

func pathFileAsDirectory(c *probe) {
	c.build(source+"="+sourceContent, "d/f=x")
	c.eachOp(func(o op) {
		c.opFails(o, "d/f/x", syscall.ENOTDIR)
		c.opFails(o, "d/f/x/y", syscall.ENOTDIR)
	})
}

func pathLongElement(c *probe) {
	name := repeatName(255)
	if _, err := c.replace(name, "x"); err != nil {
		c.fails(err, "Replace of a name of 255 bytes", syscall.ENAMETOOLONG)
		_, err = c.stat(name)
		c.fails(err, "Stat of a name of 255 bytes", syscall.ENAMETOOLONG)
		c.fails(c.mkdir(name), "Mkdir of a name of 255 bytes", syscall.ENAMETOOLONG)
		return
	}
	_, err := c.replace(name, "y")
	c.ok(err)
	c.holdsTree(".", name+"=y")
	c.ok(c.rename(name, repeatName(254)))
	c.ok(c.rename(repeatName(254), name))
	c.ok(c.remove(name))
	c.ok(c.mkdir(name))
	_, err = c.replace(name+"/"+name, "z")
	c.ok(err)
	c.holdsContent(name+"/"+name, "z")
}

func pathLong(c *probe) {
	dir := ""
	for len(dir)+201 < provider.MaxPath {
		dir += repeatName(200)
		if err := c.mkdir(dir); err != nil {
			c.fails(err, "Mkdir of a long path", syscall.ENAMETOOLONG)
			return
		}
		dir += "/"
	}
	name := dir + repeatName(provider.MaxPath-len(dir))
	if _, err := c.replace(name, "deep"); err != nil {
		c.fails(err, "Replace at a path of 4,095 bytes", syscall.ENAMETOOLONG)
		return
	}
	c.holdsContent(name, "deep")
	c.expect(c.info(name).Size() == 4, "Stat of the file says 4 bytes", "%d", c.info(name).Size())
	c.ok(c.remove(name))
	c.absent(name)
}

func pathDeep(c *probe) {
	const levels = 40
	var names []string
	dir := "d"
	for range levels {
		c.ok(c.mkdir(dir))
		names = append(names, dir)
		dir += "/d"
	}
	_, err := c.replace(dir, "bottom")
	c.ok(err)
	c.holdsContent(dir, "bottom")
	c.ok(c.rename("d/d", "e"))
	c.holdsContent(strings.Replace(dir, "d/d", "e", 1), "bottom")
	c.ok(c.rename("e", "d/d"))
	c.ok(c.remove(dir))
	for i := len(names) - 1; i >= 0; i-- {
		c.ok(c.remove(names[i]))
	}
	c.holdsTree(".")
}

// oddNames are names that some storage somewhere would like to change.
var oddNames = []string{
	" ", " leading", "trailing ", "trailing.", "...", ".hidden", "-rf", "~", "$HOME", "%2e%2e", "a%00b", "a'b", `a"b`, "a:b", "a;b", "a|b",
	"a<b", "a>b", "*", "?", "[a]", "{a,b}", "#", "!", "@", "&", "(", "nul", "CON", "aux.txt", "GIT~1",
	"caf\u00e9", "cafe\u0301", "\u202etxt", "a\u200bb", "\ufeff", "\U0001f600", "\u65e5\u672c", "\ufffd",
}

func pathOddNames(c *probe) {
	kept := map[string]string{}
	for _, name := range oddNames {
		c.calls.clear()
		if _, err := c.replace(name, name); err != nil {
			c.fails(err, "Replace of "+quoteOdd(name)+", unless it succeeds,", provider.ErrPath, fs.ErrInvalid, fs.ErrNotExist, fs.ErrPermission)
			continue
		}
		kept[name] = name
	}
	for _, e := range c.list(".") {
		_, ok := kept[e.Name()]
		c.expect(ok, "the listing holds the names that were created", "%q", e.Name())
	}
	if runtime.GOOS != "windows" && c.features.CaseSensitive {
		c.expect(len(c.list(".")) == len(kept), "as many names as were created", "%d of %d", len(c.list(".")), len(kept))
		for name, content := range sorted(kept) {
			c.holdsContent(name, content)
		}
	}
	for name := range sorted(kept) {
		if err := c.remove(name); !errors.Is(err, fs.ErrNotExist) {
			c.ok(err)
		}
	}
	c.holdsTree(".")
}

func pathNotDecoded(c *probe) {
	c.build("a=plain", "home/")
	for _, name := range []string{"%61", "~", "$a", "${a}", "a%00", "home%2fa"} {
		c.calls.clear()
		c.absent(name)
		c.fails(c.tryOpen(name, optRead), "Open of "+name, fs.ErrNotExist)
	}
}

func pathCommonPrefix(c *probe) {
	c.build("a/f=1", "ab/f=2", "a.b/f=3", "a b/f=4", "a-f=5")
	c.ok(c.rename("a", "c"))
	c.holdsTree(".", "a b/", "a b/f=4", "a-f=5", "a.b/", "a.b/f=3", "ab/", "ab/f=2", "c/", "c/f=1")
	c.ok(c.remove("c/f"))
	c.ok(c.remove("c"))
	c.holdsTree(".", "a b/", "a b/f=4", "a-f=5", "a.b/", "a.b/f=3", "ab/", "ab/f=2")
}

func pathRootStays(c *probe) {
	for _, layout := range [][]string{nil, {"f=x", "d/"}} {
		c.renew()
		c.build(layout...)
		c.unchanged(".", func() {
			c.fails(c.remove("."), "Remove of the root", syscall.EBUSY)
			c.fails(c.rename(".", "x"), "Rename of the root", syscall.EBUSY)
			if layout != nil {
				c.fails(c.rename("f", "."), "Rename of a file onto the root", syscall.EBUSY)
				c.fails(c.rename("d", "."), "Rename of a directory onto the root", syscall.EBUSY)
			}
			c.fails(c.mkdir("."), "Mkdir of the root", fs.ErrExist)
			c.fails(c.tryOpen(".", provider.OpenOptions{Read: true, Create: true, Exclusive: true}), "Open of the root with Create and Exclusive", fs.ErrExist)
			_, err := c.replace(".", "x")
			c.fails(err, "Replace of the root", syscall.EISDIR)
		})
		c.list(".")
	}
}
