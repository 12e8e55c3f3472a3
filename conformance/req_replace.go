package conformance

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing/iotest"

	"github.com/workspacefs/workspacefs/provider"
)

func replaceRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"REPLACE-creates", "Replace makes a missing file with the content.", needWrite, replaceCreates},
		{"REPLACE-whole-content", "Replace makes content the whole content, shorter or longer than the old.", needWrite, replaceWhole},
		{"REPLACE-returns-the-digest", "Replace returns the SHA-256 of what it wrote.", needWrite, replaceDigest},
		{"REPLACE-keeps-the-mode", "Replace keeps the permission bits of an existing file, whatever Perm says.", needWrite | needChmod, replaceKeepsMode},
		{"REPLACE-mode-of-a-new-file", "A new file has Perm (0 is 0o644), less a umask, and no other bits.", needWrite, replaceMode},
		{"REPLACE-drops-special-bits", "Replace leaves no setuid, setgid or sticky bit on the file.", needWrite | needPOSIX, replaceSpecialBits},
		{"REPLACE-a-directory", "Replace of a directory is syscall.EISDIR, and nothing is changed.", needWrite, replaceDirectory},
		{"REPLACE-reads-to-the-end", "Replace takes content from readers that give single bytes, nothing for a while, or their last bytes with io.EOF.", needWrite, replaceReaders},
		{"REPLACE-reader-error", "An error from content is returned, nothing is changed and nothing is left behind.", needWrite, replaceReaderError},
		{"REPLACE-open-files-keep-the-old-content", "A File that is open on the old content keeps it.", needWrite, replaceOpenFiles},
		{"REPLACE-shows-nothing-before-the-end", "While content is read, names and contents are as before, and no temporary is listed.", needWrite, replaceShowsNothing},
		{"REPLACE-reader-may-use-the-provider", "The reader of content may call the provider.", needWrite, replaceReentrant},
		{"REPLACE-long-name", "A name of 255 bytes can be replaced: temporaries do not grow from the name.", needWrite, replaceLongName},
		{"REPLACE-if-absent", "IfAbsent creates a missing file; over a file or a directory it is provider.ErrConflict, and nothing is changed.", needWrite, replaceIfAbsent},
		{"REPLACE-if-absent-over-a-link", "IfAbsent over a link, dangling or not, is provider.ErrConflict, and nothing is made where it points.", needWrite | needLinks, replaceIfAbsentLink},
		{"REPLACE-if-match", "IfMatch replaces a file whose content has the digest; other content is provider.ErrConflict, a missing name fs.ErrNotExist, and nothing is changed.", needWrite, replaceIfMatch},
		{"REPLACE-if-match-sees-every-change", "IfMatch notices a change by WriteAt, Append, Truncate, Replace and Rename.", needInPlace, replaceIfMatchChanges},
		{"REPLACE-condition-holds-at-the-change", "A condition that the reading of content invalidates is provider.ErrConflict.", needWrite, replaceConditionLate},
		{"REPLACE-not-through-a-hard-link", "Replace of a file with two names leaves the content under the other name.", needWrite | needPOSIX, replaceHardLink},
	}
}

func replaceCreates(c *probe) {
	c.build("d/")
	for _, name := range []string{"f", "d/f"} {
		_, err := c.replace(name, "content")
		c.ok(err)
		c.expect(c.info(name).Mode().IsRegular(), name+" is a regular file", "%s", c.info(name).Mode())
	}
	_, err := c.replace("empty", "")
	c.ok(err)
	c.holdsTree(".", "d/", "d/f=content", "empty=", "f=content")
}

func replaceWhole(c *probe) {
	for _, n := range []int{10, 3, 100_000, 0, 4096, 70_000, 1} {
		_, err := c.replace("f", pattern(n))
		c.ok(err)
		c.holdsContent("f", pattern(n))
		c.expect(c.info("f").Size() == int64(n), fmt.Sprintf("Size is %d", n), "%d", c.info("f").Size())
	}
	c.expect(len(c.list(".")) == 1, "one name", "%q", names(c.list(".")))
}

func replaceDigest(c *probe) {
	for _, n := range []int{0, 1, 63, 64, 65, 4096, 100_000, 1 << 20} {
		content := pattern(n)
		for range 2 { // made, then replaced
			d, err := c.replace(fmt.Sprintf("f%d", n), content)
			c.ok(err)
			c.expect(d == digestOf(content), "the digest "+digestOf(content).String(), "%s", d)
		}
	}
}

func replaceKeepsMode(c *probe) {
	c.build("f=old")
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o444} {
		c.ok(c.chmod("f", mode))
		for _, perm := range []fs.FileMode{0, 0o777, 0o600} {
			_, err := c.replaceWith("f", "new", provider.ReplaceOptions{Perm: perm})
			c.ok(err)
			c.expect(c.info("f").Mode() == mode, fmt.Sprintf("the mode stays %v", mode), "%v", c.info("f").Mode())
		}
	}
}

func replaceMode(c *probe) {
	for i, tt := range []struct{ ask, want fs.FileMode }{
		{0, 0o644}, {0o600, 0o600}, {0o755, 0o755}, {0o777 | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky, 0o777}, {0o640 | fs.ModeDir, 0o640},
	} {
		name := fmt.Sprintf("f%d", i)
		_, err := c.replaceWith(name, "x", provider.ReplaceOptions{Perm: tt.ask})
		c.ok(err)
		c.holdsMode(name, tt.want, 0)
		name = fmt.Sprintf("g%d", i)
		_, err = c.replaceWith(name, "x", provider.ReplaceOptions{Perm: tt.ask, If: provider.IfAbsent()})
		c.ok(err)
		c.holdsMode(name, tt.want, 0)
	}
}

func replaceSpecialBits(c *probe) {
	c.build("f=old")
	c.onHost(os.Chmod(c.host("f"), 0o755|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
	_, err := c.replace("f", "new")
	c.ok(err)
	info, err := os.Stat(c.host("f"))
	c.onHost(err)
	c.expect(info.Mode() == 0o755, "the mode "+fs.FileMode(0o755).String(), "%s", info.Mode())
}

func replaceDirectory(c *probe) {
	c.build("d/f=x", "e/")
	c.unchanged(".", func() {
		for _, name := range []string{"d", "e", "."} {
			_, err := c.replace(name, "x")
			c.fails(err, fmt.Sprintf("Replace(%q)", name), syscall.EISDIR)
		}
	})
}

// stutter returns nothing for a while before each byte.
type stutter struct {
	r     io.Reader
	calls int
}

func (s *stutter) Read(p []byte) (int, error) {
	s.calls++
	if s.calls%3 != 0 || len(p) == 0 {
		return 0, nil
	}
	return s.r.Read(p[:1])
}

func replaceReaders(c *probe) {
	content := pattern(5000)
	for what, wrap := range sorted(map[string]func(io.Reader) io.Reader{
		"a reader that gives single bytes":        iotest.OneByteReader,
		"a reader that gives half of what it can": iotest.HalfReader,
		"a reader that ends with data and io.EOF": iotest.DataErrReader,
		"a reader that gives nothing for a while": func(r io.Reader) io.Reader { return &stutter{r: r} },
		"a reader that is also an io.WriterTo":    func(io.Reader) io.Reader { return strings.NewReader(content) },
		"a reader without other methods":          func(r io.Reader) io.Reader { return struct{ io.Reader }{r} },
	}) {
		d, err := c.p.Replace(c.ctx, provider.MustPath("f"), wrap(strings.NewReader(content)), provider.ReplaceOptions{})
		c.ok(err)
		c.expect(d == digestOf(content), "the digest of the content, from "+what, "%s", d)
		c.holdsContent("f", content)
	}
}

func replaceReaderError(c *probe) {
	c.build("f=old", "d/")
	broken := contentError("the reader broke")
	for _, n := range []int{0, 5, 200_000} {
		for _, name := range []string{"f", "new", "d/new"} {
			c.unchanged(".", func() {
				content := io.MultiReader(strings.NewReader(pattern(n)), iotest.ErrReader(broken))
				_, err := c.p.Replace(c.ctx, provider.MustPath(name), content, provider.ReplaceOptions{})
				c.fails(err, fmt.Sprintf("Replace(%q) from a reader that breaks after %d bytes", name, n), broken)
			})
		}
	}
	if c.hostDir == "" {
		return
	}
	c.expect(len(hostNames(c, ".")) == 2 && len(hostNames(c, "d")) == 0, "nothing is left in the directories of the host but d and f", "%q and %q", hostNames(c, "."), hostNames(c, "d"))
}

// hostNames lists a directory of the host, reserved temporaries included.
func hostNames(c *probe, name string) []string {
	entries, err := os.ReadDir(c.host(name))
	c.onHost(err)
	return names(entries)
}

func replaceOpenFiles(c *probe) {
	c.build("f=" + pattern(70_000))
	old := c.file("f", optRead)
	_, err := c.replace("f", "new")
	c.ok(err)
	c.handleHolds(old, "the File that was opened before", pattern(70_000))
	c.holdsContent("f", "new")
	if c.features.InPlace {
		w := c.file("f", optWrite)
		_, err = c.replace("f", "newer")
		c.ok(err)
		_, err = w.WriteAt([]byte("STALE"), 0)
		c.ok(err)
		c.holdsContent("f", "newer")
	}
}

// hookReader calls a function before it gives its content.
type hookReader struct {
	hook func()
	r    io.Reader
}

func (h *hookReader) Read(p []byte) (int, error) {
	if h.hook != nil {
		h.hook()
		h.hook = nil
	}
	return h.r.Read(p)
}

// replaceDuring replaces name and runs hook after half of content is read.
func (c *probe) replaceDuring(name, content string, opts provider.ReplaceOptions, hook func()) error {
	half := len(content) / 2
	r := io.MultiReader(strings.NewReader(content[:half]), &hookReader{hook, strings.NewReader(content[half:])})
	_, err := c.p.Replace(c.ctx, provider.MustPath(name), r, opts)
	return err
}

func replaceShowsNothing(c *probe) {
	c.build("f=old", "d/g=x")
	content := pattern(300_000)
	for _, name := range []string{"f", "d/new"} {
		before := c.observe(".")
		c.ok(c.replaceDuring(name, content, provider.ReplaceOptions{}, func() {
			c.sameTree(before, c.observe("."))
		}))
		c.holdsContent(name, content)
	}
	c.holdsTree(".", "d/", "d/g=x", "d/new="+content, "f="+content)
}

func replaceReentrant(c *probe) {
	c.build("f=old")
	c.ok(c.replaceDuring("f", "new content", provider.ReplaceOptions{}, func() {
		c.info("f")
		c.ok(c.mkdir("d"))
		_, err := c.replace("d/g", "made meanwhile")
		c.ok(err)
		c.ok(c.rename("d", "e"))
	}))
	c.holdsTree(".", "e/", "e/g=made meanwhile", "f=new content")
}

func replaceLongName(c *probe) {
	name := repeatName(255)
	if _, err := c.replace(name, "old"); err != nil {
		c.fails(err, "Replace of a name of 255 bytes", syscall.ENAMETOOLONG)
		return
	}
	_, err := c.replace(name, "new")
	c.ok(err)
	_, err = c.replaceWith("d"+repeatName(254), "x", provider.ReplaceOptions{If: provider.IfAbsent()})
	c.ok(err)
	c.holdsContent(name, "new")
}

func replaceIfAbsent(c *probe) {
	c.build("f=old", "d/g=x", "e/")
	opts := provider.ReplaceOptions{If: provider.IfAbsent()}
	c.unchanged(".", func() {
		for _, name := range []string{"f", "d", "e", "d/g"} {
			_, err := c.replaceWith(name, "new", opts)
			c.fails(err, fmt.Sprintf("Replace(%q, IfAbsent)", name), provider.ErrConflict)
		}
	})
	d, err := c.replaceWith("new", "content", opts)
	c.ok(err)
	c.expect(d == digestOf("content"), "the digest of the content", "%s", d)
	c.holdsContent("new", "content")
	_, err = c.replaceWith("new", "again", opts)
	c.fails(err, "the second Replace with IfAbsent", provider.ErrConflict)
	c.holdsContent("new", "content")
}

func replaceIfAbsentLink(c *probe) {
	c.build("f=x", "l => f", "dangling => nothing", "d/", "ld => d")
	c.unchanged(".", func() {
		for _, name := range []string{"l", "dangling", "ld"} {
			_, err := c.replaceWith(name, "new", provider.ReplaceOptions{If: provider.IfAbsent()})
			c.fails(err, fmt.Sprintf("Replace(%q, IfAbsent)", name), provider.ErrConflict)
		}
	})
}

func replaceIfMatch(c *probe) {
	c.build("f=old", "d/g=x", "empty=")
	match := func(content string) provider.ReplaceOptions {
		return provider.ReplaceOptions{If: provider.IfMatch(digestOf(content))}
	}
	c.unchanged(".", func() {
		for _, wrong := range []string{"other", "", "old "} {
			_, err := c.replaceWith("f", "new", match(wrong))
			c.fails(err, fmt.Sprintf("Replace(\"f\", IfMatch the digest of %q)", wrong), provider.ErrConflict)
		}
		_, err := c.replaceWith("missing", "new", match("old"))
		c.fails(err, "Replace with IfMatch of a missing name", fs.ErrNotExist)
		_, err = c.replaceWith("missing", "new", match(""))
		c.fails(err, "Replace with IfMatch (empty content) of a missing name", fs.ErrNotExist)
		_, err = c.replaceWith("d", "new", match("old"))
		c.fails(err, "Replace with IfMatch of a directory", syscall.EISDIR, provider.ErrConflict)
	})
	content := "old"
	for _, next := range []string{"new", "newer", "", pattern(200_000), "end"} {
		d, err := c.replaceWith("f", next, match(content))
		c.ok(err)
		c.expect(d == digestOf(next), "the digest of the new content", "%s", d)
		content = next
	}
	_, err := c.replaceWith("empty", "filled", match(""))
	c.ok(err)
	c.holdsTree(".", "d/", "d/g=x", "empty=filled", "f=end")
}

func replaceIfMatchChanges(c *probe) {
	for what, change := range sorted(map[string]func(name string) error{
		"WriteAt":            func(name string) error { _, err := c.file(name, optWrite).WriteAt([]byte("X"), 1); return err },
		"Append":             func(name string) error { _, _, err := c.file(name, optAppend).Append([]byte("X")); return err },
		"Truncate":           func(name string) error { return c.file(name, optWrite).Truncate(2) },
		"Open with Truncate": func(name string) error { return c.tryOpen(name, optTrunc) },
		"Replace":            func(name string) error { _, err := c.replace(name, "changed"); return err },
		"Rename": func(name string) error {
			if _, err := c.replace("other", "changed"); err != nil {
				return err
			}
			return c.rename("other", name)
		},
	}) {
		c.calls.clear()
		d, err := c.replace("f", "content")
		c.ok(err)
		c.ok(change("f"))
		c.unchanged(".", func() {
			_, err = c.replaceWith("f", "lost update", provider.ReplaceOptions{If: provider.IfMatch(d)})
			c.fails(err, "Replace with IfMatch after "+what, provider.ErrConflict)
		})
	}
}

func replaceConditionLate(c *probe) {
	d, err := c.replace("f", "old")
	c.ok(err)
	err = c.replaceDuring("f", "lost update", provider.ReplaceOptions{If: provider.IfMatch(d)}, func() {
		_, err := c.replace("f", "changed meanwhile")
		c.ok(err)
	})
	c.fails(err, "Replace with IfMatch of content that changed meanwhile", provider.ErrConflict)
	err = c.replaceDuring("g", "lost update", provider.ReplaceOptions{If: provider.IfAbsent()}, func() {
		_, err := c.replace("g", "made meanwhile")
		c.ok(err)
	})
	c.fails(err, "Replace with IfAbsent of a name that was made meanwhile", provider.ErrConflict)
	c.holdsTree(".", "f=changed meanwhile", "g=made meanwhile")
}

func replaceHardLink(c *probe) {
	c.build("f=shared")
	c.onHost(os.Link(c.host("f"), c.host("second")))
	_, err := c.replace("f", "new")
	c.ok(err)
	c.holdsTree(".", "f=new", "second=shared")
}
