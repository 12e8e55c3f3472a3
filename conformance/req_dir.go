package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func dirRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"DIR-lists-everything", "ReadDir lists every entry of the directory, and nothing from elsewhere.", 0, dirLists},
		{"DIR-each-name-once", `A listing holds each name once, and neither ".", ".." nor a path.`, 0, dirOnce},
		{"DIR-empty-directory", "An empty directory lists as no entries and nil.", needWrite, dirEmpty},
		{"DIR-from-the-beginning-each-time", "ReadDir has no position: each call lists the whole directory.", 0, dirAgain},
		{"DIR-as-it-is-now", "ReadDir lists the directory as it is at the call, not as it was at the open.", needWrite, dirLive},
		{"DIR-bound", "More than max > 0 entries is provider.ErrTooMany without entries; max entries or fewer are listed; max <= 0 sets no bound.", 0, dirBound},
		{"DIR-of-a-file", "ReadDir of a file is syscall.ENOTDIR.", 0, dirOfFile},
		{"DIR-entry-types", "The type of an entry is the type that Stat reports.", 0, dirTypes},
		{"DIR-entry-type-of-a-link", "A link is listed as fs.ModeSymlink, whatever it points to.", needLinks, dirLinks},
		{"DIR-entry-info-is-stat", "Info of an entry is what Stat says of that name.", 0, dirInfo},
		{"DIR-info-stays-in-the-directory", "Info describes the entry of the directory that was listed, also after the directory was renamed and another took its name.", needWrite, dirInfoAfterRename},
		{"DIR-info-never-follows-a-link", "Info does not go where a link goes that has taken the directory's name.", needWrite | needHostDir, dirInfoAfterLink},
		{"DIR-info-of-a-vanished-entry", "Info of an entry that is gone is fs.ErrNotExist, or what it was at the listing.", needWrite, dirInfoVanished},
		{"DIR-handle-follows-a-rename", "A directory File stays on its directory when that is renamed.", needWrite, dirFollowsRename},
		{"DIR-many-entries", "A directory of 1,500 entries lists completely.", needWrite, dirMany},
		{"DIR-long-names", "A directory of names of 255 bytes lists completely.", needWrite, dirLongNames},
		{"DIR-names-no-path-can-spell", "Names that no Path can spell are listed as they are, and do no harm.", needWrite | needPOSIX, dirUnspellable},
		{"DIR-EntryReader-agrees", "ReadEntries visits the names and types that ReadDir lists, with the same bound, and StatEntry says what Stat does, of a link too.", needEntryReader, entriesAgree},
		{"DIR-EntryReader-names", `StatEntry of "", ".", ".." and anything with a slash is provider.ErrPath; of a name that is not there fs.ErrNotExist; the Info stays as it was.`, needEntryReader, entryNames},
		{"DIR-EntryReader-stays-in-its-directory", "ReadEntries and StatEntry work in the directory that was opened, wherever that has moved.", needWrite | needEntryReader, entriesMoved},
		{"DIR-EntryReader-of-nothing", "ReadEntries and StatEntry are fs.ErrClosed on a closed File, and syscall.ENOTDIR on a file.", needEntryReader, entriesOfNothing},
		{"DIR-special-types", "FIFOs are listed with their type.", needPOSIX, dirSpecial},
	}
}

func names(entries []fs.DirEntry) []string {
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name()
	}
	slices.Sort(list)
	return list
}

// lists checks the names that an open directory lists.
func (c *probe) lists(f provider.File, what string, want ...string) {
	entries, err := f.ReadDir(0)
	c.ok(err)
	slices.Sort(want)
	c.expect(slices.Equal(names(entries), want), fmt.Sprintf("%s lists %q", what, want), "%q", names(entries))
}

func dirLists(c *probe) {
	c.build("a=1", "d/b=2", "d/e/c=3", "d/e/d=4", "z=5")
	for dir, want := range sorted(map[string][]string{".": {"a", "d", "z"}, "d": {"b", "e"}, "d/e": {"c", "d"}}) {
		c.lists(c.file(dir, optRead), dir, want...)
		c.lists(c.file(dir, optDir), dir, want...)
	}
}

// dirOnce lists; the recorder checks every listing.
func dirOnce(c *probe) {
	c.build("a=1", "d/b=2", "d/e/c=3")
	for _, dir := range []string{".", "d", "d/e"} {
		c.list(dir)
	}
}

func dirEmpty(c *probe) {
	c.build("d/")
	c.lists(c.file("d", optRead), "an empty directory")
	c.build("d/f=x")
	c.ok(c.remove("d/f"))
	c.lists(c.file("d", optRead), "a directory that has become empty")
	c.renew()
	c.lists(c.file(".", optRead), "the root of an empty provider")
}

func dirAgain(c *probe) {
	c.build("d/a=1", "d/b=2")
	f := c.file("d", optRead)
	for range 3 {
		c.lists(f, "each ReadDir", "a", "b")
	}
}

func dirLive(c *probe) {
	c.build("d/a=1")
	f := c.file("d", optRead)
	c.lists(f, "the directory", "a")
	_, err := c.replace("d/b", "2")
	c.ok(err)
	c.ok(c.mkdir("d/c"))
	c.lists(f, "the directory, after two names were made,", "a", "b", "c")
	c.ok(c.remove("d/a"))
	c.ok(c.rename("d/b", "d/bb"))
	c.lists(f, "the directory, after a removal and a rename,", "bb", "c")
}

func dirBound(c *probe) {
	c.build("d/a=1", "d/b=2", "d/c=3")
	f := c.file("d", optRead)
	for limit, ok := range sorted(map[int]bool{-1: true, 0: true, 1: false, 2: false, 3: true, 4: true, 1 << 30: true}) {
		entries, err := f.ReadDir(limit)
		if !ok {
			c.fails(err, fmt.Sprintf("ReadDir(%d) of three entries", limit), provider.ErrTooMany)
			continue
		}
		c.ok(err)
		c.expect(len(entries) == 3, fmt.Sprintf("ReadDir(%d) lists three entries", limit), "%d", len(entries))
	}
	c.lists(f, "the directory, after listings that were too long,", "a", "b", "c")
}

func dirOfFile(c *probe) {
	c.build("f=x")
	f := c.file("f", optRead)
	for _, limit := range []int{-1, 0, 1} {
		_, err := f.ReadDir(limit)
		c.fails(err, "ReadDir of a file", syscall.ENOTDIR)
	}
}

func dirTypes(c *probe) {
	c.build("d/f=x", "f=y", "empty=")
	for _, e := range c.list(".") {
		info := c.info(e.Name())
		c.expect(e.Type() == info.Mode().Type() && e.IsDir() == info.IsDir(), "the type of "+e.Name()+" is "+describeType(info.Mode()), "%s, IsDir %v", describeType(e.Type()), e.IsDir())
	}
}

func describeType(m fs.FileMode) string { return m.Type().String() }

func dirLinks(c *probe) {
	c.build("f=x", "d/f=x", "l => f", "ld => d", "dangling => nothing", "self => self", "up => ..")
	for _, e := range c.listOpen(".") {
		want := fs.ModeSymlink
		switch e.Name() {
		case "f":
			want = 0
		case "d":
			want = fs.ModeDir
		}
		c.expect(e.Type() == want && e.IsDir() == (want == fs.ModeDir), fmt.Sprintf("%s has the type %v", e.Name(), want), "%v, IsDir %v", e.Type(), e.IsDir())
		info, err := e.Info()
		c.ok(err)
		c.expect(info.Mode().Type() == want, fmt.Sprintf("Info of %s has the type %v", e.Name(), want), "%v", info.Mode())
	}
}

func dirInfo(c *probe) {
	c.build("d/f=abc", "d/g=", "d/h/i=x", "d/big="+pattern(100_000))
	f := c.file("d", optRead)
	entries, err := f.ReadDir(0)
	c.ok(err)
	for _, e := range entries {
		got, err := e.Info()
		c.ok(err)
		c.sameInfo("Info of "+e.Name(), c.info("d/"+e.Name()), got)
	}
}

// sameInfo compares descriptions of one object.
func (c *probe) sameInfo(what string, want, got fs.FileInfo) {
	same := want.Name() == got.Name() && want.Mode() == got.Mode() && want.ModTime().Equal(got.ModTime()) && (want.IsDir() || want.Size() == got.Size())
	c.expect(same, fmt.Sprintf("%s is %s, %s", what, describeInfo(want), describeTime(want.ModTime())), "%s, %s", describeInfo(got), describeTime(got.ModTime()))
}

func dirInfoAfterRename(c *probe) {
	c.build("d/f=abc", "other/f=another content")
	f := c.file("d", optRead)
	entries, err := f.ReadDir(0)
	c.ok(err)
	c.ok(c.rename("d", "moved"))
	c.ok(c.rename("other", "d"))
	info, err := entries[0].Info()
	c.ok(err)
	c.expect(info.Size() == 3, "Info describes the file of 3 bytes in the directory that was listed", "%s", describeInfo(info))
}

func dirInfoAfterLink(c *probe) {
	outside := c.outside(map[string]string{"f": "a secret outside"})
	c.build("d/f=abc")
	f := c.file("d", optRead)
	entries, err := f.ReadDir(0)
	c.ok(err)
	c.onHost(os.Rename(c.host("d"), c.host("moved")))
	c.onHost(os.Symlink(outside, c.host("d")))
	info, err := entries[0].Info()
	c.ok(err)
	c.expect(info.Size() == 3, "Info describes the file of 3 bytes that was listed", "%s", describeInfo(info))
	entries, err = f.ReadDir(0)
	c.ok(err)
	info, err = entries[0].Info()
	c.ok(err)
	c.expect(info.Size() == 3, "Info after a second ReadDir describes the file of 3 bytes", "%s", describeInfo(info))
}

func dirInfoVanished(c *probe) {
	c.build("d/f=abc")
	f := c.file("d", optRead)
	entries, err := f.ReadDir(0)
	c.ok(err)
	c.ok(c.remove("d/f"))
	info, err := entries[0].Info()
	if err != nil {
		c.fails(err, "Info of an entry that was removed", fs.ErrNotExist)
		return
	}
	c.expect(info.Size() == 3, "what the entry was", "%s", describeInfo(info))
}

func dirFollowsRename(c *probe) {
	c.build("d/f=abc")
	f := c.file("d", optRead)
	c.ok(c.rename("d", "moved"))
	c.ok(c.mkdir("d"))
	_, err := c.replace("moved/g", "x")
	c.ok(err)
	c.lists(f, "the directory that was opened as d", "f", "g")
	info, err := f.Stat()
	c.ok(err)
	c.expect(info.IsDir(), "Stat of the File is a directory", "%s", describeInfo(info))
}

func dirMany(c *probe) {
	const n = 1500
	c.build("d/")
	want := make([]string, n)
	for i := range want {
		want[i] = fmt.Sprintf("entry-%04d", i)
		c.ok(c.makeEmpty("d/" + want[i]))
	}
	c.calls.clear()
	entries := c.list("d")
	c.expect(slices.Equal(names(entries), want), fmt.Sprintf("%d entries", n), "%d", len(entries))
	_, err := c.file("d", optRead).ReadDir(n - 1)
	c.fails(err, fmt.Sprintf("ReadDir(%d) of %d entries", n-1, n), provider.ErrTooMany)
}

// makeEmpty creates an empty file in the cheapest way there is.
func (c *probe) makeEmpty(name string) error {
	if c.features.InPlace {
		return c.tryOpen(name, provider.OpenOptions{Write: true, Create: true, Exclusive: true})
	}
	_, err := c.replace(name, "")
	return err
}

func dirLongNames(c *probe) {
	c.build("d/")
	var want []string
	for i := range 300 {
		name := fmt.Sprintf("%04d%s", i, repeatName(251))
		if err := c.makeEmpty("d/" + name); err != nil {
			c.fails(err, "a name of 255 bytes", syscall.ENAMETOOLONG)
			return
		}
		want = append(want, name)
	}
	c.calls.clear()
	entries := c.list("d")
	c.expect(slices.Equal(names(entries), want), "300 entries", "%d", len(entries))
}

func dirUnspellable(c *probe) {
	c.build("d/f=x")
	var want []string
	for _, name := range []string{"f", `back\slash`, "new\nline", "esc\x1b", "c1\u0085", "bad\xff"} {
		if err := os.WriteFile(c.host("d/")+string(os.PathSeparator)+name, nil, 0o644); err == nil {
			want = append(want, name)
		}
	}
	if runtime.GOOS == "darwin" {
		want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, "\xff") })
	}
	slices.Sort(want)
	f := c.file("d", optRead)
	entries, err := f.ReadDir(0)
	c.ok(err)
	c.expect(slices.Equal(names(entries), want), fmt.Sprintf("the names %q", want), "%q", names(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			c.expect(info.Mode().IsRegular(), fmt.Sprintf("%q is a file", e.Name()), "%s", info.Mode())
		} else if !errors.Is(err, fs.ErrNotExist) {
			c.ok(err)
		}
	}
	c.fails(c.remove("d"), "Remove of a directory that holds such names", syscall.ENOTEMPTY)
}

func dirSpecial(c *probe) {
	c.build("d/f=x", "d/p|")
	for _, e := range c.list("d") {
		if e.Name() == "p" {
			c.expect(e.Type() == fs.ModeNamedPipe, "p is a FIFO", "%v", e.Type())
		}
	}
	info := c.info("d/p")
	c.expect(info.Mode().Type() == fs.ModeNamedPipe, "Stat says that p is a FIFO", "%v", info.Mode())
}

// entryReader opens a directory, or a file, for ReadEntries: of the provider itself,
// because what records the calls has no optional interfaces of this kind.
func (c *probe) entryReader(name string, opts provider.OpenOptions) (provider.File, provider.EntryReader) {
	c.calls.note(fmt.Sprintf("(Open(%q))", name))
	f, err := c.raw.Open(c.ctx, provider.MustPath(name), opts)
	c.ok(err)
	c.cleanup(func() { f.Close() })
	r, ok := f.(provider.EntryReader)
	c.expect(ok, "every File has the EntryReader that the root has", "%s has none", name)
	return f, r
}

// readEntries returns what ReadEntries visits, in the order of the names.
func readEntries(r provider.EntryReader, limit int) (list []string, err error) {
	err = r.ReadEntries(limit, func(name string, typ fs.FileMode) {
		list = append(list, quoteOdd(name)+typeMark(typ))
	})
	slices.Sort(list)
	return list, err
}

func entriesAgree(c *probe) {
	c.build("d/f=abc", "d/.hidden=", "d/g/h=x", "d/empty/", "d/big="+pattern(100_000))
	if c.features.Write && (c.h.Plant != nil || c.hostDir != "") {
		c.build("d/l => f", "d/dangling => nothing")
	}
	f, r := c.entryReader("d", optDir)
	for range 2 { // it has no position
		entries, err := f.ReadDir(0)
		c.ok(err)
		want := make([]string, len(entries))
		for i, e := range entries {
			want[i] = describeEntry(e)
		}
		slices.Sort(want)
		for limit, bound := range sorted(map[int]bool{-1: false, 0: false, 1: true, len(want) - 1: true, len(want): false}) {
			got, err := readEntries(r, limit)
			if bound {
				c.fails(err, fmt.Sprintf("ReadEntries(%d) of %d entries", limit, len(want)), provider.ErrTooMany)
				continue
			}
			c.ok(err)
			c.expect(slices.Equal(got, want), fmt.Sprintf("ReadEntries(%d) visits %q", limit, want), "%q", got)
		}
		for _, e := range entries {
			var info provider.Info
			c.ok(r.StatEntry(e.Name(), &info))
			c.sameInfo("StatEntry of "+e.Name(), c.info("d/"+e.Name()), &info)
		}
	}
}

func entryNames(c *probe) {
	c.build("d/e/f=1", "d/g=2", "x=3")
	_, r := c.entryReader("d", optDir)
	before := *provider.NewInfo("before", 7, 0o640, time.Unix(7, 0))
	info := before
	for _, elem := range []string{"", ".", "..", "e/f", "../x", "/", "/x", "e/", "g/", "./g", "e/../g"} {
		c.fails(r.StatEntry(elem, &info), fmt.Sprintf("StatEntry(%q)", elem), provider.ErrPath)
	}
	c.fails(r.StatEntry("missing", &info), `StatEntry("missing")`, fs.ErrNotExist)
	c.expect(info == before, "StatEntry changes no Info when it fails", "%s", describeInfo(&info))
}

func entriesMoved(c *probe) {
	c.build("d/f=1", "other/f=22", "other/g=3")
	_, r := c.entryReader("d", optDir)
	c.ok(c.rename("d", "moved"))
	c.ok(c.rename("other", "d"))
	got, err := readEntries(r, 0)
	c.ok(err)
	c.expect(slices.Equal(got, []string{"f"}), `ReadEntries visits "f"`, "%q", got)
	var info provider.Info
	c.ok(r.StatEntry("f", &info))
	c.sameInfo("StatEntry of f", c.info("moved/f"), &info)
	c.fails(r.StatEntry("g", &info), `StatEntry("g"), which is in the other directory,`, fs.ErrNotExist)
}

func entriesOfNothing(c *probe) {
	c.build("d/f=1")
	dir, closed := c.entryReader("d", optDir)
	c.ok(dir.Close())
	_, file := c.entryReader("d/f", optRead)
	var info provider.Info
	for _, tt := range []struct {
		what string
		r    provider.EntryReader
		want error
	}{{"a closed File", closed, fs.ErrClosed}, {"a file", file, syscall.ENOTDIR}} {
		_, err := readEntries(tt.r, 0)
		c.fails(err, "ReadEntries of "+tt.what, tt.want)
		c.fails(tt.r.StatEntry("f", &info), "StatEntry of "+tt.what, tt.want)
	}
}
