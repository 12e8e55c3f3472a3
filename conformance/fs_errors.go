package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

func fsErrorRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-missing-name", "A missing name is what os.IsNotExist and errors.Is(err, fs.ErrNotExist) know, from every method.", 0, fsMissing},
		{"FS-existing-name", "A name in the way is what os.IsExist and errors.Is(err, fs.ErrExist) know.", 0, fsExisting},
		{"FS-file-as-directory", "A name below a file is syscall.ENOTDIR, not a missing name, and the file stays a file.", 0, fsFileAsDirectory},
		{"FS-path-errors", "Every error of a method with one name is an *fs.PathError with that name as the caller spelled it.", 0, fsPathErrors},
		{"FS-link-errors", "Every error of Rename is an *os.LinkError with both names as the caller spelled them.", 0, fsLinkErrors},
		{"FS-error-ops", "The Op of an error is the one of package os: open, stat, mkdir, remove, chmod, chtimes, rename.", 0, fsErrorOps},
		{"FS-handle-errors", "Errors of a File are *fs.PathErrors with the name it was opened with.", 0, fsHandleErrors},
		{"FS-no-host-path", "No error holds a path of the host.", 0, fsNoHostPath},
	}
}

// failing calls every method that takes one name with a name that is missing.
func failing(f afero.Fs, name string) map[string]error {
	_, openErr := f.Open(name)
	_, readErr := f.OpenFile(name, os.O_RDWR, 0)
	_, statErr := f.Stat(name)
	errs := map[string]error{
		"Open": openErr, "OpenFile": readErr, "Stat": statErr,
		"Remove": f.Remove(name), "Chmod": f.Chmod(name, 0o600), "Chtimes": f.Chtimes(name, time.Now(), time.Now()),
	}
	if l, ok := f.(afero.Lstater); ok {
		_, _, errs["LstatIfPossible"] = l.LstatIfPossible(name)
	}
	return errs
}

// methods are the keys of failing, in a fixed order.
var methods = []string{"Open", "OpenFile", "Stat", "LstatIfPossible", "Remove", "Chmod", "Chtimes"}

func fsMissing(c *fsProbe) {
	c.build("d/f=x")
	for _, name := range []string{"missing", "d/missing", "missing/x"} {
		errs := failing(c.fs, name)
		for _, method := range methods {
			if err, ok := errs[method]; ok {
				c.expect(os.IsNotExist(err) && errors.Is(err, fs.ErrNotExist), fmt.Sprintf("%s(%q) is fs.ErrNotExist, for os.IsNotExist too", method, name), "%s", describe(err))
			}
		}
		err := c.fs.Rename(name, "new")
		c.expect(os.IsNotExist(err), fmt.Sprintf("Rename(%q) is what os.IsNotExist knows", name), "%s", describe(err))
	}
	c.lists(".", "d")
}

func fsExisting(c *fsProbe) {
	c.build("f=x", "d/g=y")
	for what, err := range sorted(map[string]error{
		"Mkdir over a file":                  c.fs.Mkdir("f", 0o755),
		"Mkdir over a directory":             c.fs.Mkdir("d", 0o755),
		"an exclusive create":                c.tryOpen("f", os.O_RDWR|os.O_CREATE|os.O_EXCL),
		"an exclusive create of a directory": c.tryOpen("d", os.O_RDWR|os.O_CREATE|os.O_EXCL),
	}) {
		c.expect(os.IsExist(err) && errors.Is(err, fs.ErrExist), what+" is fs.ErrExist, for os.IsExist too", "%s", describe(err))
	}
	c.holds("f", "x")
	c.holds("d/g", "y")
}

func fsFileAsDirectory(c *fsProbe) {
	c.build("f=x")
	for what, err := range sorted(map[string]error{
		"an open":           c.tryOpen("f/x", os.O_RDONLY),
		"a create":          c.tryOpen("f/x", os.O_RDWR|os.O_CREATE),
		"a deeper create":   c.tryOpen("f/x/y", os.O_RDWR|os.O_CREATE),
		"Mkdir":             c.fs.Mkdir("f/x", 0o755),
		"MkdirAll":          c.fs.MkdirAll("f/x/y", 0o755),
		"Remove":            c.fs.Remove("f/x"),
		"Rename from there": c.fs.Rename("f/x", "g"),
		"Rename to there":   c.fs.Rename("f", "f/x"),
	}) {
		c.expect(errors.Is(err, syscall.ENOTDIR), what+" below a file is syscall.ENOTDIR", "%s", describe(err))
	}
	_, err := c.fs.Stat("f/x")
	c.fails(err, "Stat below a file", syscall.ENOTDIR)
	c.holds("f", "x")
}

// spelling checks the *fs.PathError of a call.
func (c *fsProbe) spelling(what string, err error, name string) {
	var pe *fs.PathError
	ok := errors.As(err, &pe) && err == error(pe)
	if !ok {
		c.failNow(fmt.Sprintf("%s returns an *fs.PathError", what), fmt.Sprintf("%T: %s", err, describe(err)))
	}
	c.expect(pe.Path == name, fmt.Sprintf("%s returns an *fs.PathError with the name %q", what, name), "%q", pe.Path)
}

func fsPathErrors(c *fsProbe) {
	c.build("d/f=x")
	for _, name := range []string{"missing", "d/missing", "./missing", "d//missing"} {
		errs := failing(c.fs, name)
		for _, method := range methods {
			if err, ok := errs[method]; ok {
				c.spelling(method, err, name)
			}
		}
	}
	c.spelling("Mkdir", c.fs.Mkdir("d", 0o755), "d")
	c.spelling("Create", c.tryOpen("d", os.O_RDWR|os.O_CREATE|os.O_TRUNC), "d")
	c.spelling("Remove of a full directory", c.fs.Remove("d"), "d")
}

func fsLinkErrors(c *fsProbe) {
	c.build("f=x", "d/g=y")
	for _, names := range [][2]string{{"missing", "new"}, {"f", "missing/f"}, {"f", "d"}, {"d", "d/x"}, {"./missing", "d//x"}} {
		err := c.fs.Rename(names[0], names[1])
		var le *os.LinkError
		if !errors.As(err, &le) {
			c.failNow(fmt.Sprintf("Rename(%q, %q) returns an *os.LinkError", names[0], names[1]), fmt.Sprintf("%T: %s", err, describe(err)))
		}
		c.expect(le.Old == names[0] && le.New == names[1], fmt.Sprintf("an *os.LinkError with the names %q and %q", names[0], names[1]), "%q and %q", le.Old, le.New)
	}
}

func fsErrorOps(c *fsProbe) {
	ops := map[string]string{"Open": "open", "OpenFile": "open", "Stat": "stat", "Remove": "remove", "Chmod": "chmod", "Chtimes": "chtimes"}
	errs := failing(c.fs, "missing")
	for _, method := range methods {
		want, named := ops[method]
		if !named {
			continue
		}
		var pe *fs.PathError
		ok := errors.As(errs[method], &pe)
		c.expect(ok && pe.Op == want, fmt.Sprintf("the Op of an error of %s is %q", method, want), "%s", describe(errs[method]))
	}
	var pe *fs.PathError
	err := c.fs.Mkdir("missing/x", 0o755)
	c.expect(errors.As(err, &pe) && pe.Op == "mkdir", `the Op of an error of Mkdir is "mkdir"`, "%s", describe(err))
	var le *os.LinkError
	err = c.fs.Rename("missing", "x")
	c.expect(errors.As(err, &le) && le.Op == "rename", `the Op of an error of Rename is "rename"`, "%s", describe(err))
}

func fsHandleErrors(c *fsProbe) {
	c.build("d/f=x")
	for _, name := range []string{"d/f", "./d//f"} {
		f := c.open(name, os.O_RDONLY)
		_, err := f.Write([]byte("x"))
		c.spelling("Write on a File opened for reading", err, name)
		_, err = f.Readdir(-1)
		c.spelling("Readdir of a file", err, name)
		c.ok(f.Close())
		_, err = f.Read(make([]byte, 1))
		c.spelling("Read after Close", err, name)
		c.spelling("the second Close", f.Close(), name)
	}
}

func fsNoHostPath(c *fsProbe) {
	wd, err := os.Getwd()
	c.ok(err)
	host := append(hostTexts(""), wd)
	c.build("d/f=x", "g=y")
	check := func(what string, err error) {
		if err == nil {
			return
		}
		if text := leak(err, host); text != "" {
			c.failNow("an error of "+what+" without a path of the host", fmt.Sprintf("%q", err))
		}
	}
	for _, name := range []string{"missing", "d/f/x", "missing/x", repeatName(300)} {
		errs := failing(c.fs, name)
		for _, method := range methods {
			check(method, errs[method])
		}
	}
	f := c.open("g", os.O_RDONLY)
	_, err = f.Write([]byte("x"))
	check("Write", err)
	c.ok(f.Close())
	_, err = f.Stat()
	check("Stat of a closed File", err)
	check("Close", f.Close())
	check("Mkdir", c.fs.Mkdir("d", 0o755))
	check("Rename", c.fs.Rename("missing", "x"))
	check("Rename", c.fs.Rename("g", "d"))
	check("Remove", c.fs.Remove("d"))
}
