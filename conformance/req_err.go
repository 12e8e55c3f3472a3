package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// errNotDir is syscall.ENOTDIR.
const errNotDir = syscall.ENOTDIR

func errRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{idBare, "Every error is a bare condition of the contract, at most inside a *fs.PathError or *os.LinkError.", 0, errProvoke},
		{idHostPath, "No error holds a path of the host.", 0, errProvoke},
		{idNil, "A call returns a result or an error, never both and never neither.", 0, errProvoke},
		{"ERR-read-only-storage", "Without Features.Write every mutation is syscall.EROFS, whether the name exists or not, and nothing is changed.", needReadOnly, errReadOnly},
		{"ERR-not-in-place", "With Write and without InPlace, opening for writing is errors.ErrUnsupported, without effect.", needWrite, errNotInPlace},
		{"ERR-irregular", "A FIFO is provider.ErrIrregular for everything but Stat, Remove and Rename, and blocks nothing.", needWrite | needPOSIX, errIrregular},
		{"ERR-irregular-parent", "A name below a FIFO is syscall.ENOTDIR or provider.ErrIrregular.", needWrite | needPOSIX, errBelowIrregular},
		{"ERR-features-do-not-change", "Features says the same at every call, also after Close.", 0, errFeatures},
		{"ERR-failed-calls-leave-nothing", "After many failed calls the storage is as before and works.", needWrite, errLeavesNothing},
	}
}

// errProvoke makes every operation fail in every way; the recorder checks the
// errors.
func errProvoke(c *probe) {
	layout := []string{source + "=" + sourceContent, "f=x", "d/f=y"}
	names := []string{"missing", "missing/x", "f/x", "f", "d", ".", "d/missing", repeatName(255), repeatName(255) + "/x"}
	if c.h.Plant != nil || c.hostDir != "" {
		layout = append(layout, "l => f", "ld => d", "dangling => nothing")
		names = append(names, "l", "ld", "ld/f", "dangling", "dangling/x")
	}
	if c.hostDir != "" && canFIFO {
		layout = append(layout, "p|")
		names = append(names, "p", "p/x")
	}
	c.build(layout...)
	cancelled, cancel := context.WithCancel(c.ctx)
	cancel()
	for _, o := range ops() {
		if o.needs&needReader != 0 && !o.applies(c) {
			continue
		}
		c.calls.clear()
		for _, name := range names {
			if fails := !c.features.Write || name != "f" && name != "d"; fails || !o.mutates {
				o.act(c, name)
			}
		}
		good := c.ctx
		c.ctx = cancelled
		o.act(c, "f")
		c.ctx = good
	}
	f := c.file("d", optDir)
	f.ReadAt(make([]byte, 1), 0)
	f.ReadDir(-1)
	f.Close()
	f.Close()
	f.Stat()
	f.ReadDir(0)
	f.ReadAt(make([]byte, 1), 0)
	g := c.file("f", optRead)
	g.ReadAt(make([]byte, 1), -1)
	g.ReadDir(0)
	g.Close()
	g.Stat()
	g.Sync()
	c.p.Close()
	for _, o := range ops() {
		if o.needs&needReader == 0 || o.applies(c) {
			o.act(c, "f")
		}
	}
	c.p.Close()
}

func errReadOnly(c *probe) {
	c.build("f=x", "d/g=y", source+"="+sourceContent)
	c.unchanged(".", func() {
		for _, o := range ops() {
			if !o.mutates {
				continue
			}
			c.calls.clear()
			for _, name := range []string{"f", "d", ".", "missing", "d/g", "missing/x", "f/x"} {
				c.fails(o.act(c, name), fmt.Sprintf("%s at %q", o.text, name), syscall.EROFS)
			}
		}
		for o := range allOptions {
			if o.Check() == nil && o.Mutates() {
				c.fails(c.tryOpen("f", o), fmt.Sprintf("Open(\"f\", %s)", describeOpen(o)), syscall.EROFS)
			}
		}
	})
}

func errNotInPlace(c *probe) {
	if c.features.InPlace {
		c.skip("Features.InPlace is true")
	}
	c.build("f=x")
	c.unchanged(".", func() {
		for _, o := range []provider.OpenOptions{optWrite, {Write: true}, optTrunc, optAppend} {
			c.fails(c.tryOpen("f", o), fmt.Sprintf("Open(\"f\", %s)", describeOpen(o)), errors.ErrUnsupported)
		}
	})
}

func errIrregular(c *probe) {
	c.build("p|", source+"="+sourceContent, "d/")
	for _, o := range ops() {
		if !o.applies(c) {
			continue
		}
		switch o.id {
		case "stat", "remove", "rename-from", "rename-to":
			continue
		case "open-with-exclusive", "mkdir", "rename-to-noreplace":
			c.opFails(o, "p", fs.ErrExist)
		case "replace-if-absent":
			c.opFails(o, "p", provider.ErrConflict)
		case "replace-if-match":
			c.opFails(o, "p", provider.ErrIrregular, provider.ErrConflict)
		case "open-as-directory":
			c.opFails(o, "p", provider.ErrIrregular, syscall.ENOTDIR)
		default:
			c.opFails(o, "p", provider.ErrIrregular)
		}
	}
	c.calls.clear()
	c.expect(c.info("p").Mode().Type() == fs.ModeNamedPipe, "Stat says FIFO", "%s", c.info("p").Mode())
	c.ok(c.rename("p", "d/p"))
	c.holdsTree(".", "d/", "d/p|", source+"="+sourceContent)
	c.ok(c.rename("d/p", "q"))
	c.ok(c.remove("q"))
	c.holdsTree(".", "d/", source+"="+sourceContent)
}

func errBelowIrregular(c *probe) {
	c.build("p|", source+"="+sourceContent)
	c.eachOp(func(o op) { c.opFails(o, "p/x", syscall.ENOTDIR, provider.ErrIrregular) })
}

func errFeatures(c *probe) {
	check := func(when string) {
		got := c.p.Features()
		c.expect(got == c.features, fmt.Sprintf("%+v, as at first", c.features), "%s: %+v", when, got)
	}
	c.build("f=x")
	check("after use")
	c.p.Close()
	check("after Close")
}

func errLeavesNothing(c *probe) {
	c.build(source+"="+sourceContent, "d/f=x")
	c.unchanged(".", func() {
		for range 50 {
			for _, o := range ops() {
				if o.applies(c) {
					o.act(c, "missing/x")
					o.act(c, "d/f/x")
				}
			}
		}
	})
	c.calls.clear()
	_, err := c.replace("new", "works")
	c.ok(err)
	c.holdsContent("new", "works")
}
