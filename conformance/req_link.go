package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func linkRequirements() []requirement[*probe] {
	reqs := []requirement[*probe]{
		{"LINK-stat-reports-it", "Stat of a link reports fs.ModeSymlink, whatever it points to, and never its target.", needLinks, linkStat},
		{"LINK-remove-unlinks-it", "Remove of a link takes away the link and leaves its target.", needWrite | needLinks, linkRemove},
		{"LINK-rename-moves-it", "Rename of a link moves the link itself; it is refused under its new name, too.", needWrite | needLinks, linkRename},
		{"LINK-rename-replaces-it", "Rename of a file over a link replaces the link and leaves its target.", needWrite | needLinks, linkReplaced},
		{"LINK-directory-over-it", "Rename of a directory over a link, to a directory too, is syscall.ENOTDIR or fs.ErrExist, and nothing is changed.", needWrite | needLinks, linkUnderDir},
		{"LINK-loops-end", "Links that point to themselves, to each other and upwards are refused like any other.", needLinks, linkLoops},
		{"LINK-nothing-outside-is-touched", "No operation on or through a link to the outside reads, makes, changes or removes anything there.", needWrite | needHostDir, linkOutside},
		{"LINK-swapped-in-later", "A link that takes the place of a directory is refused at the next call, and open Files stay on the directory.", needWrite | needHostDir, linkSwapped},
		{"LINK-swapped-in-at-any-moment", "While directories and links change places, no read, stat or listing gives anything from outside.", needWrite | needHostDir | needRaceFree, linkRace},
		{"LINK-free-claim", "Features.LinkFree is claimed only where no link can appear from outside.", needHostDir, linkFree},
	}
	for _, o := range ops() {
		reqs = append(reqs, requirement[*probe]{
			id:        "LINK-refused-by-" + o.id,
			statement: o.text + ": provider.ErrSymlink for a link in the middle of the name, and at its end what the contract says; nothing is changed, on either side.",
			needs:     needLinks | o.needs,
			check:     func(c *probe) { linkMatrix(c, o) },
		})
	}
	return reqs
}

// linkTargets are the kinds of target that a link can have.
var linkTargets = []struct{ name, text, target string }{
	{"file", "a file", "f"},
	{"dir", "a directory", "d"},
	{"dangling", "nothing", "nowhere"},
	{"self", "itself", "self"},
	{"parent", "the parent directory", ".."},
	{"here", "its own directory", "."},
	{"absolute", "an absolute name", "/"},
	{"link", "another link", "chain"},
	{"through", "a name with a link in it", "chain/f"},
	{"odd", "a name with dots that comes back", "d/../f"},
}

// linkMatrix runs one operation with links to every kind of target at the end
// and in the middle of the name.
func linkMatrix(c *probe, o op) {
	layout := []string{source + "=" + sourceContent, "f=file", "d/f=inside", "d/d/f=deep", "e/f=real", "chain => d"}
	for _, target := range linkTargets {
		layout = append(layout, target.name+" => "+target.target, "e/"+target.name+" => "+target.target)
	}
	c.build(layout...)
	for _, target := range linkTargets {
		c.setting = fmt.Sprintf("(%q and %q are links to %q)", target.name, "e/"+target.name, target.target)
		for _, name := range []string{target.name + "/f", target.name + "/new", target.name + "/d/f", "e/" + target.name + "/f", "e/" + target.name + "/x/y"} {
			c.opFails(o, name, provider.ErrSymlink)
		}
		for _, name := range []string{target.name, "e/" + target.name} {
			if o.onLink != nil {
				c.opFails(o, name, o.onLink...)
			}
		}
	}
}

func linkStat(c *probe) {
	layout := []string{"f=file", "d/f=inside", "chain => d"}
	for _, target := range linkTargets {
		layout = append(layout, target.name+" => "+target.target)
	}
	c.build(layout...)
	for _, target := range linkTargets {
		info := c.info(target.name)
		c.expect(info.Mode().Type() == fs.ModeSymlink && !info.IsDir() && !info.Mode().IsRegular(), "Stat of a link to "+target.text+" says link", "%s", describeInfo(info))
	}
}

func linkRemove(c *probe) {
	layout := []string{"f=file", "d/f=inside", "chain => d"}
	for _, target := range linkTargets {
		layout = append(layout, target.name+" => "+target.target)
	}
	c.build(layout...)
	for _, target := range linkTargets {
		c.ok(c.remove(target.name))
		c.absent(target.name)
	}
	c.holdsTree(".", "chain@", "d/", "d/f=inside", "f=file")
}

func linkRename(c *probe) {
	c.build("f=file", "d/f=inside", "l => f", "ld => d", "dangling => nowhere")
	for _, name := range []string{"l", "ld", "dangling"} {
		c.ok(c.rename(name, "d/"+name))
		c.absent(name)
		info := c.info("d/" + name)
		c.expect(info.Mode().Type() == fs.ModeSymlink, "the moved name is the link", "%s", describeInfo(info))
		c.fails(c.tryOpen("d/"+name, optRead), "Open of the moved link", provider.ErrSymlink)
	}
	c.ok(c.renameWith("d/l", "l", provider.RenameOptions{NotDir: true, NoReplace: true}))
	c.holdsTree(".", "d/", "d/dangling@", "d/f=inside", "d/ld@", "f=file", "l@")
}

func linkReplaced(c *probe) {
	for i, target := range []string{"f", "d", "nowhere"} {
		dir := fmt.Sprintf("case%d", i)
		c.ok(c.mkdir(dir))
		c.build(dir+"/f=file", dir+"/d/g=inside", dir+"/new=new", dir+"/l => "+target)
		c.ok(c.rename(dir+"/new", dir+"/l"))
		c.holdsTree(dir, "d/", "d/g=inside", "f=file", "l=new")
	}
}

func linkUnderDir(c *probe) {
	c.build("f=file", "d/f=inside", "e/", "l => f", "ld => d", "dangling => nowhere")
	for _, name := range []string{"l", "ld", "dangling"} {
		c.unchanged(".", func() {
			err := c.rename("e", name)
			if !anyOf(err, fs.ErrExist) {
				c.fails(err, fmt.Sprintf("Rename(\"e\", %q) of a directory over a link", name), errNotDir)
			}
		})
	}
}

func linkLoops(c *probe) {
	c.build("d/f=x", "a => b", "b => a", "self => self", "up => .", "d/up => ..")
	for _, name := range []string{"a", "b", "self", "up", "up/up/up/up", "d/up/d/up", "a/x", "self/self/x"} {
		c.fails(c.tryOpen(name, optRead), fmt.Sprintf("Open(%q)", name), provider.ErrSymlink)
	}
	for _, name := range []string{"up/a", "self/x", "d/up/d"} {
		_, err := c.stat(name)
		c.fails(err, fmt.Sprintf("Stat(%q)", name), provider.ErrSymlink)
	}
}

// linkOutside runs every operation on links that leave the storage.
func linkOutside(c *probe) {
	outside := c.outside(map[string]string{"secret": "a secret", "d/keep": "kept"})
	for _, o := range ops() {
		if !o.applies(c) {
			continue
		}
		c.calls.clear()
		for name, target := range sorted(map[string]string{"file": outside + "/secret", "dir": outside, "new": outside + "/new", "sub": outside + "/d"}) {
			c.onHost(os.RemoveAll(c.host(name)))
			c.onHost(os.Symlink(target, c.host(name)))
		}
		c.onHost(os.WriteFile(c.host(source), []byte(sourceContent), 0o644))
		for _, name := range []string{"file", "dir", "new", "sub", "dir/secret", "dir/new", "sub/keep", "dir/d", "dir/d/keep"} {
			err := o.act(c, name)
			if o.onLink != nil || name != "file" && name != "dir" && name != "new" && name != "sub" {
				c.expect(err != nil, o.text+" at "+name+" is refused", "nil")
			}
		}
		c.onHost(os.RemoveAll(c.host("free name")))
	}
}

func linkSwapped(c *probe) {
	outside := c.outside(map[string]string{"f": "a secret"})
	c.build("d/f=inside")
	dir, file := c.file("d", optDir), c.file("d/f", optRead)
	c.onHost(os.Rename(c.host("d"), c.host("moved")))
	c.onHost(os.Symlink(outside, c.host("d")))
	c.fails(c.tryOpen("d/f", optRead), "Open through the link", provider.ErrSymlink)
	c.fails(c.tryOpen("d", optDir), "Open of the link", provider.ErrSymlink)
	_, err := c.stat("d/f")
	c.fails(err, "Stat through the link", provider.ErrSymlink)
	c.fails(c.remove("d/f"), "Remove through the link", provider.ErrSymlink)
	c.lists(dir, "the directory that was open before", "f")
	c.handleHolds(file, "the File that was open before", "inside")
	if r, ok := dir.(provider.EntryRemover); ok {
		c.ok(r.RemoveEntry("f", false))
		c.holdsTree("moved")
	}
}

// linkRace reads while another goroutine swaps a directory for a link to the
// outside. A single answer from there is a failure.
func linkRace(c *probe) {
	const secret = "a secret outside"
	outside := c.outside(map[string]string{"f": secret, "only-outside": "x"})
	c.build("d/f=inside")
	d, aside, link := c.host("d"), c.host("aside"), c.host("link")
	c.onHost(os.Symlink(outside, link))
	var stop atomic.Bool
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for !stop.Load() {
			os.Rename(d, aside)
			os.Rename(link, d)
			runtime.Gosched()
			os.Rename(d, link)
			os.Rename(aside, d)
		}
	}()
	defer func() { stop.Store(true); <-swapped }()
	deadline := time.Now().Add(raceBudget)
	for time.Now().Before(deadline) {
		if data, err := provider.ReadFile(c.ctx, c.p, provider.MustPath("d/f")); err == nil {
			c.expect(string(data) == "inside", `reads give "inside" or an error`, "%q", data)
		}
		if r, ok := c.p.(provider.FileIntoReader); ok {
			p := make([]byte, 64)
			if n, err := r.ReadFileInto(c.ctx, provider.MustPath("d/f"), p); err == nil {
				c.expect(string(p[:n]) == "inside", `ReadFileInto gives "inside" or an error`, "%q", p[:n])
			}
		}
		if f, err := c.open("d/f", optRead); err == nil {
			c.handleHolds(f, "a File on d/f", "inside")
			f.Close()
		}
		if info, err := c.stat("d/f"); err == nil {
			c.expect(info.Size() == int64(len("inside")), "Stat gives 6 bytes or an error", "%s", describeInfo(info))
		}
		if f, err := c.open("d", optDir); err == nil {
			entries, err := f.ReadDir(0)
			c.expect(err != nil || len(entries) == 1, "a listing gives f or an error", "%q", names(entries))
			for _, e := range entries {
				if info, err := e.Info(); err == nil {
					c.expect(info.Size() == int64(len("inside")), "Info gives 6 bytes or an error", "%s", describeInfo(info))
				}
			}
			f.Close()
		}
	}
}

// raceBudget is how long a check provokes a race.
const raceBudget = 300 * time.Millisecond

func linkFree(c *probe) {
	c.onHost(os.Symlink("nowhere", c.host("l")))
	info, err := c.stat("l")
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
		if !c.features.LinkFree {
			c.note("LinkFree (a link made from outside is none here)")
		}
		return
	}
	c.expect(!c.features.LinkFree, "Features.LinkFree is false, for a link made from outside is there", "true")
}
