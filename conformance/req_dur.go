package conformance

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

func durRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"DUR-replace-is-there-after-reopening", "What Replace reported as done is there when the storage is opened again.", needWrite | needReopen, durReplace},
		{"DUR-synced-writes-are-there-after-reopening", "What was written and synced is there when the storage is opened again.", needInPlace | needReopen, durSync},
		{"DUR-names-are-there-after-reopening", "Directories, renames and removals are there when the storage is opened again.", needWrite | needReopen, durNames},
		{"DUR-attributes-are-there-after-reopening", "Modes and times are there when the storage is opened again.", needChmod | needChtimes | needReopen, durAttributes},
		{"DUR-same-features-after-reopening", "The storage promises the same when it is opened again.", needReopen, durFeatures},
	}
}

// reopen replaces the provider by one over the same storage.
func (c *probe) reopen() {
	var p provider.Provider
	c.test(func(t testing.TB) { p = c.h.Reopen(t, c.raw) })
	c.use(p)
}

func durReplace(c *probe) {
	_, err := c.replace("f", pattern(70_000))
	c.ok(err)
	_, err = c.replace("g", "old")
	c.ok(err)
	_, err = c.replace("g", "new")
	c.ok(err)
	c.reopen()
	c.holdsTree(".", "f="+pattern(70_000), "g=new")
}

func durSync(c *probe) {
	f := c.file("f", optCreate)
	_, err := f.WriteAt([]byte("abc"), 2)
	c.ok(err)
	c.ok(f.Sync())
	c.ok(f.Close())
	c.reopen()
	c.holdsTree(".", "f=\x00\x00abc")
}

func durNames(c *probe) {
	c.build("a/b/f=1", "a/g=2", "h=3", "i/")
	c.ok(c.rename("a/b", "j"))
	c.ok(c.rename("h", "a/g"))
	c.ok(c.remove("i"))
	c.reopen()
	c.holdsTree(".", "a/", "a/g=3", "j/", "j/f=1")
}

func durAttributes(c *probe) {
	c.build("f=1", "d/")
	c.ok(c.chmod("f", 0o600))
	c.ok(c.chmod("d", 0o700))
	c.ok(c.chtimes("f", sometime, sometime))
	c.reopen()
	info := c.info("f")
	c.expect(info.Mode() == 0o600 && info.ModTime().Equal(sometime), fmt.Sprintf("%v, %s", fs.FileMode(0o600), describeTime(sometime)), "%v, %s", info.Mode(), describeTime(info.ModTime()))
	c.expect(c.info("d").Mode() == 0o700|fs.ModeDir, (fs.ModeDir | 0o700).String(), "%v", c.info("d").Mode())
}

func durFeatures(c *probe) {
	before := c.features
	c.reopen()
	c.expect(c.features == before, fmt.Sprintf("%+v", before), "%+v", c.features)
}
