package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func closeRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"CLOSE-provider", "After Close every method of the Provider is fs.ErrClosed.", 0, closeProvider},
		{"CLOSE-provider-twice", "The second Close of a Provider is fs.ErrClosed.", 0, closeTwice},
		{"CLOSE-leaves-open-files-usable", "Files stay usable after the Provider is closed.", 0, closeOpenFiles},
		{"CLOSE-file", "After Close every operation of a File is fs.ErrClosed.", 0, closeFile},
		{"CLOSE-file-twice", "The second Close of a File is fs.ErrClosed.", 0, closeFileTwice},
		{"CLOSE-file-in-use", "A File may be closed while others use it: each operation completes or is fs.ErrClosed, and gives nothing of another file.", 0, closeInUse},
		{"CLOSE-leaks-no-goroutines", "A provider that is used and closed leaves no goroutines.", 0, closeGoroutines},
		{"CLOSE-leaks-no-descriptors", "Calls, failing ones too, leave no descriptors open.", 0, closeDescriptors},
	}
}

func closeProvider(c *probe) {
	c.build("f=content", "d/g=x", source+"="+sourceContent)
	c.ok(c.p.Close())
	for _, o := range ops() {
		if !o.applies(c) {
			continue
		}
		for _, name := range []string{"f", "d", "missing", "missing/x", "."} {
			c.fails(o.act(c, name), fmt.Sprintf("%s at %q after Close", o.text, name), fs.ErrClosed)
		}
	}
}

func closeTwice(c *probe) {
	c.ok(c.p.Close())
	for range 3 {
		c.fails(c.p.Close(), "the second Close", fs.ErrClosed)
	}
}

func closeOpenFiles(c *probe) {
	c.build("f=content", "d/g=x")
	f, d := c.file("f", optRead), c.file("d", optDir)
	var w provider.File
	if c.features.Write && c.features.InPlace {
		w = c.file("f", optAppend)
	}
	c.ok(c.p.Close())
	c.handleHolds(f, "the File", "content")
	entries, err := d.ReadDir(0)
	c.ok(err)
	c.expect(len(entries) == 1, "one entry", "%q", names(entries))
	info, err := entries[0].Info()
	c.ok(err)
	c.expect(info.Size() == 1, "Info says 1 byte", "%s", describeInfo(info))
	_, err = f.Stat()
	c.ok(err)
	if w != nil {
		c.appends(w, "!", 8)
		c.handleHolds(f, "the File", "content!")
		c.ok(w.Truncate(3))
		c.ok(w.Sync())
		c.ok(w.Close())
	}
	c.ok(f.Close())
	c.ok(d.Close())
}

func closeFile(c *probe) {
	c.build("f=content", "d/g=x")
	opts := optRead
	if c.features.Write && c.features.InPlace {
		opts = optAppend
	}
	f, d := c.file("f", opts), c.file("d", optDir)
	c.ok(f.Close())
	c.ok(d.Close())
	for what, file := range sorted(map[string]provider.File{"file": f, "directory": d}) {
		_, err := file.ReadAt(make([]byte, 3), 0)
		c.fails(err, "ReadAt on a closed "+what, fs.ErrClosed)
		_, err = file.Stat()
		c.fails(err, "Stat on a closed "+what, fs.ErrClosed)
		_, err = file.ReadDir(0)
		c.fails(err, "ReadDir on a closed "+what, fs.ErrClosed)
		c.fails(file.Sync(), "Sync on a closed "+what, fs.ErrClosed)
		if opts.Write {
			_, err = file.WriteAt([]byte("x"), 0)
			c.fails(err, "WriteAt on a closed "+what, fs.ErrClosed)
			_, _, err = file.Append([]byte("x"))
			c.fails(err, "Append on a closed "+what, fs.ErrClosed)
			c.fails(file.Truncate(0), "Truncate on a closed "+what, fs.ErrClosed)
		}
	}
	c.holdsContent("f", "content")
}

func closeFileTwice(c *probe) {
	c.build("f=content", "d/g=x")
	for _, name := range []string{"f", "d"} {
		f, other := c.file(name, optRead), c.file(name, optRead)
		c.ok(f.Close())
		for range 3 {
			c.fails(f.Close(), "the second Close of a File", fs.ErrClosed)
		}
		_, err := other.Stat()
		c.ok(err)
	}
}

func closeInUse(c *probe) {
	c.build("f=ffffffff", "g=gggggggg")
	for range 50 {
		f := c.file("f", optRead)
		var closed atomic.Bool
		c.parallel(4, func(i int) {
			switch i {
			case 0:
				c.ok(f.Close())
				closed.Store(true)
			case 1: // takes the descriptor that has become free
				g := c.file("g", optRead)
				c.handleHolds(g, "a File on g", "gggggggg")
				c.ok(g.Close())
			default:
				for range 20 {
					after := closed.Load()
					buf := make([]byte, 8)
					n, err := f.ReadAt(buf, 0)
					if err != nil {
						c.fails(err, "ReadAt while another goroutine closes", fs.ErrClosed)
						continue
					}
					c.expect(string(buf[:n]) == "ffffffff", "the content of f or fs.ErrClosed", "%q", buf[:n])
					c.expect(!after, "fs.ErrClosed once Close has returned", "%q", buf[:n])
				}
			}
		})
	}
}

// exercise uses a provider in every way that leaves nothing behind.
func (c *probe) exercise() {
	for _, name := range []string{"f", "d", "missing", "missing/x", "f/x", "."} {
		for _, o := range ops() {
			if !o.mutates && o.applies(c) {
				o.act(c, name)
			}
		}
	}
	if !c.features.Write {
		return
	}
	for _, o := range ops() {
		if o.applies(c) {
			o.act(c, "missing/x")
			o.act(c, "f/x")
		}
	}
	_, err := c.replace("scratch", "x")
	c.ok(err)
	_, err = c.replaceWith("scratch", "x", provider.ReplaceOptions{If: provider.IfAbsent()})
	c.fails(err, "Replace with IfAbsent over a file", provider.ErrConflict)
	c.ok(c.rename("scratch", "d/scratch"))
	if c.features.InPlace {
		f := c.file("d/scratch", optTrunc)
		f.Append(nil)
		f.WriteAt([]byte("x"), 3)
		c.ok(f.Close())
	}
	dir := c.file("d", optDir)
	if entries, err := dir.ReadDir(0); err == nil {
		for _, e := range entries {
			e.Info()
		}
	}
	dir.ReadDir(1)
	c.ok(dir.Close())
	c.ok(c.remove("d/scratch"))
}

func closeGoroutines(c *probe) {
	c.build("f=content", "d/g=x")
	c.exercise()
	c.ok(c.p.Close())
	before := runtime.NumGoroutine()
	const rounds = 8
	for range rounds {
		if c.h.New != nil {
			c.renew()
		}
		c.build("f=content", "d/g=x")
		c.exercise()
		c.p.Close()
	}
	// A goroutine more or less may belong to somebody else; one per round does not.
	var after int
	for deadline := time.Now().Add(patient); ; time.Sleep(10 * time.Millisecond) {
		after = runtime.NumGoroutine()
		if after < before+rounds {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	c.failNow(fmt.Sprintf("about %d goroutines after %d providers were used and closed", before, rounds), fmt.Sprint(after))
}

// descriptors counts the open descriptors of the process, or returns -1.
func descriptors() int {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	return -1
}

func closeDescriptors(c *probe) {
	if descriptors() < 0 {
		c.skip("this platform does not count descriptors")
	}
	c.build("f=content", "d/g=x", source+"="+sourceContent)
	c.exercise()
	const rounds = 32
	before := descriptors()
	for range rounds {
		c.exercise()
	}
	runtime.GC() // what only a finalizer closes is no leak of the process, but counts here until then
	after := descriptors()
	c.expect(after < before+rounds, fmt.Sprintf("about %d descriptors after %d rounds of calls", before, rounds), "%d", after)
}
