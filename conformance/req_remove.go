package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func removeRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"REMOVE-a-file", "Remove takes away one file and leaves its neighbours.", needWrite, removeFile},
		{"REMOVE-an-empty-directory", "Remove takes away an empty directory.", needWrite, removeEmptyDir},
		{"REMOVE-a-full-directory", "Remove of a directory that holds anything is syscall.ENOTEMPTY, and nothing is changed.", needWrite, removeFullDir},
		{"REMOVE-a-missing-name", "Remove of a missing name is fs.ErrNotExist, the second time too.", needWrite, removeMissing},
		{"REMOVE-a-read-only-file", "A file without write permission can be removed.", needWrite | needChmod, removeReadOnly},
		{"REMOVE-leaves-open-files-usable", "A File stays usable when its name is removed.", needWrite, removeOpen},
		{"REMOVE-then-create-is-another-file", "A file made under a removed name shares nothing with a File that is still open.", needWrite, removeThenCreate},
		{"REMOVE-an-open-directory", "A directory File of a removed directory stays usable and lists nothing, or says fs.ErrNotExist.", needWrite, removeOpenDir},
		{"REMOVE-nothing-is-made-in-a-removed-directory", "Nothing can be made below a directory that was removed.", needWrite, removeNothingBelow},
		{"REMOVE-EntryRemover-agrees", "RemoveEntry removes what Remove removes and refuses what Remove refuses.", needWrite | needRemover, removeEntryAgrees},
		{"REMOVE-EntryRemover-type", "RemoveEntry is syscall.EISDIR for a directory that the caller took for a file, and syscall.ENOTDIR the other way round, without effect.", needWrite | needRemover, removeEntryType},
		{"REMOVE-EntryRemover-names", `RemoveEntry of "", ".", ".." and anything with a slash is provider.ErrPath, without effect.`, needWrite | needRemover, removeEntryNames},
		{"REMOVE-EntryRemover-stays-in-its-directory", "RemoveEntry works in the directory that was opened, wherever that has moved.", needWrite | needRemover, removeEntryMoved},
		{"REMOVE-EntryRemover-after-Close", "RemoveEntry on a closed File is fs.ErrClosed.", needWrite | needRemover, removeEntryClosed},
	}
}

func removeFile(c *probe) {
	c.build("d/f=1", "d/g=2", "f=3")
	c.ok(c.remove("d/f"))
	c.absent("d/f")
	c.holdsTree(".", "d/", "d/g=2", "f=3")
	c.fails(c.tryOpen("d/f", optRead), "Open of a removed file", fs.ErrNotExist)
}

func removeEmptyDir(c *probe) {
	c.build("d/e/", "d/f=x")
	c.ok(c.remove("d/e"))
	c.holdsTree(".", "d/", "d/f=x")
	c.ok(c.remove("d/f"))
	c.ok(c.remove("d"))
	c.holdsTree(".")
}

func removeFullDir(c *probe) {
	c.build("d/f=x", "e/e/", "g/h/i=y")
	c.unchanged(".", func() {
		for _, name := range []string{"d", "e", "g", "g/h"} {
			c.fails(c.remove(name), fmt.Sprintf("Remove(%q)", name), syscall.ENOTEMPTY)
		}
	})
	c.holdsContent("d/f", "x")
	c.ok(c.remove("d/f"))
	c.ok(c.remove("d"))
}

func removeMissing(c *probe) {
	c.build("f=x")
	c.fails(c.remove("missing"), "Remove of a missing name", fs.ErrNotExist)
	c.ok(c.remove("f"))
	c.fails(c.remove("f"), "the second Remove", fs.ErrNotExist)
}

func removeReadOnly(c *probe) {
	c.build("f=x")
	c.ok(c.chmod("f", 0o400))
	c.ok(c.remove("f"))
	c.holdsTree(".")
}

func removeOpen(c *probe) {
	c.build("f=" + pattern(50_000))
	f := c.file("f", optRead)
	c.ok(c.remove("f"))
	c.handleHolds(f, "the File of the removed name", pattern(50_000))
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.Size() == 50_000, "Stat of the File says 50,000 bytes", "%s", describeInfo(info))
	if c.features.InPlace {
		_, err := c.replace("g", "content")
		c.ok(err)
		w := c.file("g", optAppend)
		c.ok(c.remove("g"))
		_, err = w.WriteAt([]byte("C"), 0)
		c.ok(err)
		c.appends(w, "!", 8)
		c.handleHolds(w, "the File of the removed name", "Content!")
		c.ok(w.Truncate(1))
		c.ok(w.Sync())
		c.ok(w.Close())
	}
	c.ok(f.Close())
	c.holdsTree(".")
}

func removeThenCreate(c *probe) {
	c.build("f=old")
	old := c.file("f", optRead)
	c.ok(c.remove("f"))
	_, err := c.replace("f", "new")
	c.ok(err)
	c.handleHolds(old, "the File of the removed name", "old")
	c.holdsContent("f", "new")
	if c.features.InPlace {
		c.ok(old.Close())
		old = c.file("f", optWrite)
		c.ok(c.remove("f"))
		c.ok(c.tryOpen("f", optExcl))
		_, err = old.WriteAt([]byte("stale"), 0)
		c.ok(err)
		c.holdsContent("f", "")
	}
}

func removeOpenDir(c *probe) {
	c.build("d/")
	f := c.file("d", optRead)
	c.ok(c.remove("d"))
	c.listsNothing(f, "the File of the removed directory")
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.IsDir(), "Stat of the File is a directory", "%s", describeInfo(info))
	c.ok(c.mkdir("d"))
	_, err = c.replace("d/x", "1")
	c.ok(err)
	c.listsNothing(f, "the File of the removed directory, now that its name is another's,")
	c.ok(f.Close())
}

// listsNothing checks a File of a removed directory: kernels differ in whether
// that is empty or missing.
func (c *probe) listsNothing(f provider.File, what string) {
	entries, err := f.ReadDir(0)
	if err != nil {
		c.fails(err, what+" lists nothing, or", fs.ErrNotExist)
	}
	c.expect(len(entries) == 0, what+" lists nothing", "%q", names(entries))
}

func removeNothingBelow(c *probe) {
	c.build("d/e/", source+"="+sourceContent)
	f := c.file("d/e", optRead)
	c.ok(c.remove("d/e"))
	c.ok(c.remove("d"))
	c.eachOp(func(o op) { c.opFails(o, "d/e/x", fs.ErrNotExist) })
	c.listsNothing(f, "the File of the removed directory")
}

// remover opens a directory for RemoveEntry.
func (c *probe) remover(name string) (provider.File, provider.EntryRemover) {
	f := c.file(name, optDir)
	r, ok := f.(provider.EntryRemover)
	c.expect(ok, "every directory File has the EntryRemover that the root has", "%s has none", name)
	return f, r
}

// removeEntryAgrees removes the same things in two equal trees, once by path
// and once by entry.
func removeEntryAgrees(c *probe) {
	layout := []string{"f=1", "empty/", "full/x=2", "g=3"}
	targets := []string{"f", "empty", "full", "missing", "f"}
	if c.h.Plant != nil || c.hostDir != "" {
		layout = append(layout, "l => f", "ld => full", "dangling => nothing")
		targets = append(targets, "l", "ld", "dangling", "l")
	}
	for _, root := range []string{"path", "entry"} {
		c.ok(c.mkdir(root))
		for _, line := range layout {
			c.build(root + "/" + line)
		}
	}
	_, r := c.remover("entry")
	for _, target := range targets {
		c.calls.clear()
		info, err := c.stat("entry/" + target)
		dir := err == nil && info.IsDir()
		byPath := c.remove("path/" + target)
		byEntry := r.RemoveEntry(target, dir)
		c.expect(sameCondition(byPath, byEntry), fmt.Sprintf("RemoveEntry(%q) answers as Remove does: %s", target, describe(byPath)), "%s", describe(byEntry))
		c.sameTree(c.observe("path"), c.observe("entry"))
	}
}

func removeEntryType(c *probe) {
	c.build("d/f=1", "d/e/", "d/g/h=2")
	_, r := c.remover("d")
	c.unchanged(".", func() {
		c.fails(r.RemoveEntry("f", true), "RemoveEntry of a file, as a directory,", syscall.ENOTDIR)
		c.fails(r.RemoveEntry("e", false), "RemoveEntry of an empty directory, as a file,", syscall.EISDIR)
		c.fails(r.RemoveEntry("g", false), "RemoveEntry of a full directory, as a file,", syscall.EISDIR)
		c.fails(r.RemoveEntry("g", true), "RemoveEntry of a full directory", syscall.ENOTEMPTY)
	})
	c.ok(r.RemoveEntry("f", false))
	c.ok(r.RemoveEntry("e", true))
	c.holdsTree(".", "d/", "d/g/", "d/g/h=2")
}

func removeEntryNames(c *probe) {
	c.build("d/e/f=1", "d/g=2", "x=3")
	_, r := c.remover("d")
	c.unchanged(".", func() {
		for _, elem := range []string{"", ".", "..", "e/f", "../x", "/", "/x", "e/", "g/", "./g", "e/../g"} {
			for _, dir := range []bool{false, true} {
				c.fails(r.RemoveEntry(elem, dir), fmt.Sprintf("RemoveEntry(%q, %v)", elem, dir), provider.ErrPath)
			}
		}
	})
}

func removeEntryMoved(c *probe) {
	c.build("d/f=1", "d/e/", "other/f=2", "other/e/")
	_, r := c.remover("d")
	c.ok(c.rename("d", "moved"))
	c.ok(c.rename("other", "d"))
	c.ok(r.RemoveEntry("f", false))
	c.ok(r.RemoveEntry("e", true))
	c.holdsTree(".", "d/", "d/e/", "d/f=2", "moved/")
}

func removeEntryClosed(c *probe) {
	c.build("d/f=1", "d/e/")
	f, r := c.remover("d")
	c.ok(f.Close())
	c.unchanged(".", func() {
		for elem, dir := range sorted(map[string]bool{"f": false, "e": true, "missing": false}) {
			err := r.RemoveEntry(elem, dir)
			if !errors.Is(err, fs.ErrClosed) {
				c.fails(err, fmt.Sprintf("RemoveEntry(%q) on a closed File", elem), fs.ErrClosed)
			}
		}
	})
}
