package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func fsNameRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-spellings", `Spellings with ".", "./" and double slashes name the same file for every method.`, 0, fsSpellings},
		{"FS-trailing-slash", "A trailing slash names a directory; on a file it is an error, and creates nothing.", 0, fsTrailingSlash},
		{"FS-empty-name", `Creating, making or renaming "" fails and changes nothing.`, 0, fsEmptyName},
		{"FS-NUL", "A name with a NUL is refused, and names nothing else.", 0, fsNUL},
		{"FS-long-name", "A name of 255 bytes works; one of 256 is an error, and nothing is made.", 0, fsLongName},
		{"FS-odd-names", "Names with blanks, quotes, percent signs, glob characters and accents are kept as they are.", 0, fsOddNames},
		{"FS-root-stays", "The directory that everything is in can be neither removed nor renamed; what it holds stays.", 0, fsRootStays},
	}
}

func fsSpellings(c *fsProbe) {
	c.build("d/f=x")
	for i, name := range []string{"d/f", "./d/f", "d//f", "d/./f", ".//d///f"} {
		c.holds(name, "x")
		info, err := c.fs.Stat(name)
		c.ok(err)
		c.expect(info.Name() == "f", `the name "f"`, "%q", info.Name())
		c.ok(c.fs.Chmod(name, 0o644))
		to := fmt.Sprintf("./d//g%d", i)
		c.ok(c.fs.Rename(name, to))
		c.holds(fmt.Sprintf("d/g%d", i), "x")
		c.ok(c.fs.Rename(to, "d/f"))
	}
	c.ok(c.fs.MkdirAll("./d/./e//", 0o755))
	c.isDir("d/e")
	c.lists("./d/", "f", "e")
	c.ok(c.fs.Remove(".//d//f"))
	c.lists("d", "e")
}

func fsTrailingSlash(c *fsProbe) {
	c.build("f=x", "d/g=y")
	c.isDir("d/")
	c.lists("d/", "g")
	c.refused(c.tryOpen("f/", os.O_RDONLY), `Open("f/") of a file`)
	_, err := c.fs.Stat("f/")
	c.refused(err, `Stat("f/") of a file`)
	_, err = c.fs.Create("new/")
	c.refused(err, `Create("new/")`)
	c.absent("new")
	c.holds("f", "x")
}

func fsEmptyName(c *fsProbe) {
	c.build("f=x")
	_, err := c.fs.Create("")
	c.refused(err, `Create("")`)
	c.refused(c.fs.Mkdir("", 0o755), `Mkdir("")`)
	c.refused(c.fs.Rename("", "g"), `Rename("", "g")`)
	c.refused(c.fs.Rename("f", ""), `Rename("f", "")`)
	c.lists(".", "f")
	c.holds("f", "x")
}

func fsNUL(c *fsProbe) {
	c.build("f=x")
	for _, name := range []string{"f\x00", "f\x00.png", "\x00", "new\x00"} {
		c.refused(c.tryOpen(name, os.O_RDONLY), fmt.Sprintf("Open(%q)", name))
		c.refused(c.tryOpen(name, os.O_RDWR|os.O_CREATE), fmt.Sprintf("Create(%q)", name))
		_, err := c.fs.Stat(name)
		c.refused(err, fmt.Sprintf("Stat(%q)", name))
		c.refused(c.fs.Mkdir(name, 0o755), fmt.Sprintf("Mkdir(%q)", name))
		c.refused(c.fs.Remove(name), fmt.Sprintf("Remove(%q)", name))
		c.refused(c.fs.Rename("f", name), fmt.Sprintf("Rename to %q", name))
	}
	c.lists(".", "f")
	c.holds("f", "x")
}

func fsLongName(c *fsProbe) {
	c.write(repeatName(255), "x")
	c.holds(repeatName(255), "x")
	err := c.tryOpen(repeatName(256), os.O_RDWR|os.O_CREATE)
	c.fails(err, "Create of a name of 256 bytes", syscall.ENAMETOOLONG, fs.ErrInvalid)
	c.refused(c.fs.Mkdir(repeatName(256), 0o755), "Mkdir of a name of 256 bytes")
	c.lists(".", repeatName(255))
}

func fsOddNames(c *fsProbe) {
	var kept []string
	for _, name := range []string{" ", "a b", "trailing.", "...", "-rf", "~", "$HOME", "%2e%2e", "a'b", `a"b`, "*", "?", "[a]", "{a,b}", "#", "caf\u00e9", "\u65e5\u672c", "\U0001f600"} {
		if err := c.tryOpen(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL); errors.Is(err, fs.ErrInvalid) {
			continue // storage that has no such names may say so
		} else {
			c.ok(err)
		}
		kept = append(kept, name)
	}
	c.lists(".", kept...)
	for _, name := range kept {
		c.holds(name, "")
		c.ok(c.fs.Remove(name))
	}
	c.lists(".")
}

func fsRootStays(c *fsProbe) {
	c.build("d/f=x")
	c.refused(c.fs.Remove("."), `Remove(".")`)
	c.refused(c.fs.Rename(".", "x"), `Rename(".", "x")`)
	c.refused(c.fs.Rename("d", "."), `Rename("d", ".")`)
	c.isDir(".")
	c.holds("d/f", "x")
}
