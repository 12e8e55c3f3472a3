package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func openRequirements() []requirement[*probe] {
	reqs := []requirement[*probe]{
		{"OPEN-invalid-options", "Options that provider.OpenOptions.Check refuses are syscall.EINVAL, without effect.", 0, openInvalid},
		{"OPEN-read-does-not-create", "Open for reading never creates.", 0, openReadDoesNotCreate},
		{"OPEN-create-keeps-an-existing-file", "Create on an existing file changes neither its content nor its mode.", needInPlace, openCreateKeeps},
		{"OPEN-exclusive-refuses-what-exists", "Create with Exclusive is fs.ErrExist over a file and a directory, which stay as they are, Truncate or not.", needInPlace, openExclusive},
		{"OPEN-mode-of-a-new-file", "A new file has the permission bits asked for (0 is 0o644), less a umask, and no others.", needInPlace, openMode},
		{"OPEN-truncate-keeps-the-mode", "Truncate empties a file and keeps its permission bits.", needInPlace | needChmod, openTruncateKeepsMode},
		{"OPEN-truncate-is-seen-by-other-handles", "Truncate empties the same file: handles that are open on it see the new content.", needInPlace, openTruncateSameFile},
		{"OPEN-refused-open-truncates-nothing", "An Open that fails does not truncate.", needInPlace, openRefusedTruncate},
		{"OPEN-read-only-mode-can-be-read", "A file without write permission can be opened for reading.", needChmod, openReadOnlyMode},
		{"OPEN-handles-are-independent", "Many Files are open at once, on one file and on several, and each has its own life.", 0, openIndependent},
		{"OPEN-directory-for-writing", "A directory opened with Write, Append, Create or Truncate is syscall.EISDIR and stays as it is.", needInPlace, openDirectoryForWriting},
	}
	for _, kind := range openKinds() {
		reqs = append(reqs, requirement[*probe]{
			id:        "OPEN-flags-on-" + kind.id,
			statement: fmt.Sprintf("Every combination of options answers as documented on %s, and leaves what is documented behind.", kind.text),
			needs:     kind.needs,
			check:     func(c *probe) { openFlags(c, kind) },
		})
	}
	return reqs
}

// openKind is what an Open of the flag matrix meets.
type openKind struct {
	id, text string
	needs    need
	name     string
	layout   []string
	expect   func(o provider.OpenOptions) []error // nil: success
}

func openKinds() []openKind {
	exclusive := func(o provider.OpenOptions) bool { return o.Create && o.Exclusive }
	always := func(err error) func(provider.OpenOptions) []error {
		return func(provider.OpenOptions) []error { return []error{err} }
	}
	directory := func(o provider.OpenOptions) []error {
		switch {
		case exclusive(o):
			return []error{fs.ErrExist}
		case o.Mutates():
			return []error{syscall.EISDIR}
		}
		return nil
	}
	unopenable := func(err error) func(provider.OpenOptions) []error {
		return func(o provider.OpenOptions) []error {
			if exclusive(o) {
				return []error{fs.ErrExist}
			}
			return []error{err}
		}
	}
	return []openKind{
		{"a-missing-name", "a missing name", 0, "x", []string{"f=content"}, func(o provider.OpenOptions) []error {
			if !o.Create {
				return []error{fs.ErrNotExist}
			}
			return nil
		}},
		{"a-file", "a regular file", 0, "f", []string{"f=content"}, func(o provider.OpenOptions) []error {
			switch {
			case exclusive(o):
				return []error{fs.ErrExist}
			case o.Directory:
				return []error{syscall.ENOTDIR}
			}
			return nil
		}},
		{"a-directory", "a directory", 0, "d", []string{"d/", "d/f=content"}, directory},
		{"the-root", "the root", 0, ".", []string{"f=content"}, directory},
		{"a-name-in-a-missing-directory", "a name whose parent is missing", 0, "x/f", []string{"f=content"}, always(fs.ErrNotExist)},
		{"a-name-below-a-file", "a name below a file", 0, "f/x", []string{"f=content"}, always(syscall.ENOTDIR)},
		{"a-link", "a link to a file", needLinks, "l", []string{"f=content", "l => f"}, unopenable(provider.ErrSymlink)},
		{"a-dangling-link", "a link to nothing", needLinks, "l", []string{"l => x"}, unopenable(provider.ErrSymlink)},
		{"a-FIFO", "a FIFO", needPOSIX, "p", []string{"p|"}, func(o provider.OpenOptions) []error {
			switch {
			case exclusive(o):
				return []error{fs.ErrExist}
			case o.Directory:
				return []error{syscall.ENOTDIR, provider.ErrIrregular}
			}
			return []error{provider.ErrIrregular}
		}},
	}
}

// allOptions yields every combination of options.
func allOptions(yield func(provider.OpenOptions) bool) {
	for bits := range 1 << 7 {
		bit := func(n int) bool { return bits>>n&1 == 1 }
		if !yield(provider.OpenOptions{
			Read: bit(0), Write: bit(1), Append: bit(2), Create: bit(3), Exclusive: bit(4), Truncate: bit(5), Directory: bit(6),
		}) {
			return
		}
	}
}

// openFlags opens one kind of object with every combination of options.
func openFlags(c *probe, kind openKind) {
	c.build(kind.layout...)
	pristine := c.observe(".")
	for o := range allOptions {
		if c.features.Write && !c.features.InPlace && (o.Write || o.Append || o.Truncate) {
			continue // ERR-not-in-place
		}
		c.calls.clear()
		want := kind.expect(o)
		switch {
		case o.Check() != nil:
			want = []error{syscall.EINVAL}
		case o.Mutates() && !c.features.Write:
			want = []error{syscall.EROFS}
		}
		f, err := c.open(kind.name, o)
		call := fmt.Sprintf("Open(%q, %s)", kind.name, describeOpen(o))
		if want != nil {
			if o.Check() != nil && !c.features.Write {
				want = append(want, syscall.EROFS)
			}
			c.fails(err, call, want...)
			c.sameTree(pristine, c.observe("."))
			continue
		}
		if err != nil {
			c.failNow(call+" succeeds", describe(err))
		}
		c.checkOpened(f, kind, o)
		c.ok(f.Close())
		if o.Mutates() {
			c.restore(kind)
			c.sameTree(pristine, c.observe("."))
		}
	}
}

// checkOpened checks a File that was opened, and what the open did.
func (c *probe) checkOpened(f provider.File, kind openKind, o provider.OpenOptions) {
	info, err := f.Stat()
	c.ok(err)
	if info.IsDir() {
		_, err := f.ReadDir(0)
		c.ok(err)
		return
	}
	want := "content"
	if kind.id == "a-missing-name" || o.Truncate {
		want = ""
	}
	c.expect(info.Size() == int64(len(want)), fmt.Sprintf("the file holds %d bytes after the open", len(want)), "%d", info.Size())
	if o.Read {
		c.handleHolds(f, "the File", want)
	}
	if o.Write {
		_, err = f.WriteAt([]byte("C"), 0)
		c.ok(err)
		want = "C" + want[min(1, len(want)):]
	}
	if o.Write && o.Append {
		_, _, err = f.Append([]byte("+"))
		c.ok(err)
		want += "+"
	}
	c.holdsContent(kind.name, want)
}

// restore undoes what a successful open of the matrix did.
func (c *probe) restore(kind openKind) {
	if !slices.Contains(kind.layout, kind.name+"=content") {
		c.ok(c.remove(kind.name))
		return
	}
	_, err := c.replace(kind.name, "content")
	c.ok(err)
}

func openInvalid(c *probe) {
	c.build("f=content", "d/", "d/f=x")
	for _, name := range []string{"f", "d", "missing", "missing/x", "."} {
		for o := range allOptions {
			if o.Check() == nil || o.Mutates() && !c.features.Write {
				continue
			}
			c.opFails(op{text: "Open with " + describeOpen(o), act: func(c *probe, name string) error { return c.tryOpen(name, o) }}, name, syscall.EINVAL)
		}
	}
}

func openReadDoesNotCreate(c *probe) {
	c.build("d/", "d/f=x")
	for _, o := range []provider.OpenOptions{optRead, optDir, {Read: true, Exclusive: true}} {
		c.unchanged(".", func() {
			c.fails(c.tryOpen("new", o), "Open of a missing name", fs.ErrNotExist)
			c.fails(c.tryOpen("d/new", o), "Open of a missing name", fs.ErrNotExist)
		})
	}
}

func openCreateKeeps(c *probe) {
	c.build("f=content")
	before := c.info("f").Mode()
	for _, o := range []provider.OpenOptions{
		{Read: true, Create: true, Perm: 0o600}, {Write: true, Create: true, Perm: 0o600}, {Read: true, Write: true, Append: true, Create: true, Perm: 0o777},
	} {
		c.ok(c.tryOpen("f", o))
		c.holdsContent("f", "content")
		c.expect(c.info("f").Mode() == before, "the mode stays "+before.String(), "%s", c.info("f").Mode())
	}
}

func openExclusive(c *probe) {
	c.build("f=content", "d/f=x", "e/")
	c.unchanged(".", func() {
		for _, name := range []string{"f", "d", "e", "."} {
			for _, o := range []provider.OpenOptions{optExcl, {Read: true, Create: true, Exclusive: true}, {Write: true, Create: true, Exclusive: true, Truncate: true}} {
				c.fails(c.tryOpen(name, o), fmt.Sprintf("Open(%q, %s)", name, describeOpen(o)), fs.ErrExist)
			}
		}
	})
	c.ok(c.tryOpen("new", optExcl))
	c.holdsContent("new", "")
	c.fails(c.tryOpen("new", optExcl), "the second exclusive Open", fs.ErrExist)
}

func openMode(c *probe) {
	for i, tt := range []struct{ ask, want fs.FileMode }{
		{0, 0o644}, {0o600, 0o600}, {0o644, 0o644}, {0o777, 0o777}, {0o400, 0o400},
		{0o755 | fs.ModeSetuid | fs.ModeSticky, 0o755}, {0o640 | fs.ModeDir, 0o640},
	} {
		name := fmt.Sprintf("f%d", i)
		c.ok(c.tryOpen(name, provider.OpenOptions{Read: true, Write: true, Create: true, Perm: tt.ask}))
		c.holdsMode(name, tt.want, 0)
	}
}

// holdsMode checks a mode that a umask may have narrowed; the owner's bits must
// be there, for a umask that takes those would break everything. Storage without
// Features.Chmod may not keep permission bits at all.
func (c *probe) holdsMode(name string, perm, typ fs.FileMode) {
	got := c.info(name).Mode()
	expected := fmt.Sprintf("the mode of %s is %s, or less in the bits of group and others", name, typ|perm)
	c.expect(got.Type() == typ && got&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) == 0, expected, "%s", got)
	if c.features.Chmod {
		c.expect(got.Perm()&^perm == 0 && got.Perm()&0o700 == perm&0o700, expected, "%s", got)
	}
}

func openTruncateKeepsMode(c *probe) {
	c.build("f=content")
	c.ok(c.chmod("f", 0o600))
	c.ok(c.tryOpen("f", provider.OpenOptions{Write: true, Create: true, Truncate: true, Perm: 0o644}))
	c.holdsContent("f", "")
	c.holdsMode("f", 0o600, 0)
}

func openTruncateSameFile(c *probe) {
	c.build("f=old")
	reader := c.file("f", optRead)
	writer := c.file("f", optTrunc)
	c.handleHolds(reader, "the File that was open before", "")
	_, err := writer.WriteAt([]byte("newer"), 0)
	c.ok(err)
	c.handleHolds(reader, "the File that was open before", "newer")
}

func openRefusedTruncate(c *probe) {
	c.build("f=content", "d/f=x")
	c.unchanged(".", func() {
		c.fails(c.tryOpen("f", provider.OpenOptions{Read: true, Truncate: true, Directory: true}), "Open with Truncate and Directory", syscall.EINVAL)
		c.fails(c.tryOpen("f", provider.OpenOptions{Truncate: true}), "Open with Truncate alone", syscall.EINVAL)
		c.fails(c.tryOpen("f", provider.OpenOptions{Write: true, Truncate: true, Create: true, Exclusive: true}), "exclusive Open of an existing file", fs.ErrExist)
		c.fails(c.tryOpen("d", optTrunc), "Open of a directory with Truncate", syscall.EISDIR)
	})
}

func openReadOnlyMode(c *probe) {
	c.build("f=content")
	c.ok(c.chmod("f", 0o444))
	f := c.file("f", optRead)
	c.handleHolds(f, "the File", "content")
	c.ok(f.Close())
	c.ok(c.chmod("f", 0o644))
}

func openIndependent(c *probe) {
	layout := make([]string, 64)
	for i := range layout {
		layout[i] = fmt.Sprintf("d/f%d=%d", i, i)
	}
	c.build(layout...)
	var files []provider.File
	for i := range layout {
		files = append(files, c.file(fmt.Sprintf("d/f%d", i), optRead), c.file("d/f0", optRead))
	}
	for i := 0; i < len(files); i += 2 {
		c.handleHolds(files[i], fmt.Sprintf("the File on d/f%d", i/2), fmt.Sprint(i/2))
		c.ok(files[i].Close())
	}
	for i := 1; i < len(files); i += 2 {
		c.handleHolds(files[i], "a File on d/f0, others on which are closed,", "0")
	}
}

func openDirectoryForWriting(c *probe) {
	c.build("d/f=x", "e/")
	c.unchanged(".", func() {
		for _, name := range []string{"d", "e", "."} {
			for _, o := range []provider.OpenOptions{
				optWrite, {Write: true}, {Read: true, Append: true}, {Read: true, Create: true}, {Read: true, Truncate: true}, {Write: true, Create: true, Truncate: true},
			} {
				err := c.tryOpen(name, o)
				if !errors.Is(err, syscall.EISDIR) {
					c.fails(err, fmt.Sprintf("Open(%q, %s)", name, describeOpen(o)), syscall.EISDIR)
				}
			}
		}
	})
}
