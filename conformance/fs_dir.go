package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/afero"
)

func fsDirRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-readdir-all", "Readdir(-1) and Readdir(0) list everything and nil; a second call lists nothing and nil.", 0, fsReaddirAll},
		{"FS-readdir-pages", "Readdir(n) lists every entry once, n at most at a time, and then io.EOF.", 0, fsReaddirPages},
		{"FS-readdirnames-pages", "Readdirnames(n) lists every name once, n at most at a time, and then io.EOF.", 0, fsReaddirnamesPages},
		{"FS-one-position", "Readdir, Readdirnames and ReadDir of one File go on where the other ended.", 0, fsOnePosition},
		{"FS-ReadDir", "A File of a directory is an fs.ReadDirFile, as *os.File is; clients assert it without a check.", 0, fsReadDirFile},
		{"FS-directory-rewinds", "Seek(0, 0) of a directory begins the listing again.", 0, fsRewind},
		{"FS-entries-are-stat", "What Readdir says of an entry is what Lstat says of its name.", 0, fsEntries},
		{"FS-empty-directory", "An empty directory lists nothing and nil; Readdir(1) of it is io.EOF.", 0, fsEmptyDir},
	}
}

// files fills d with n files and returns their names, sorted.
func (c *fsProbe) files(n int) []string {
	c.ok(c.fs.MkdirAll("d", 0o755))
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("f%02d", i)
		c.write("d/"+names[i], names[i])
	}
	c.calls.clear()
	return names
}

func infoNames(infos []fs.FileInfo) []string {
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name()
	}
	slices.Sort(names)
	return names
}

func fsReaddirAll(c *fsProbe) {
	want := c.files(7)
	for _, n := range []int{-1, 0} {
		d, err := c.fs.Open("d")
		c.ok(err)
		infos, err := d.Readdir(n)
		c.ok(err)
		c.expect(slices.Equal(infoNames(infos), want), fmt.Sprintf("Readdir(%d) lists %q", n, want), "%q", infoNames(infos))
		infos, err = d.Readdir(n)
		c.expect(len(infos) == 0 && err == nil, fmt.Sprintf("a second Readdir(%d) lists nothing, nil", n), "%q, %s", infoNames(infos), describe(err))
	}
}

// pages lists a directory in pages of n by next.
func (c *fsProbe) pages(n int, want []string, next func(n int) ([]string, error)) {
	var got []string
	for {
		page, err := next(n)
		c.expect(len(page) <= n, fmt.Sprintf("at most %d entries", n), "%d", len(page))
		if errors.Is(err, io.EOF) {
			c.expect(len(page) == 0, "no entries beside io.EOF", "%d", len(page))
			break
		}
		c.ok(err)
		c.expect(len(page) > 0, "entries or io.EOF", "neither")
		got = append(got, page...)
	}
	slices.Sort(got)
	c.expect(slices.Equal(got, want), fmt.Sprintf("pages of %d that list %q", n, want), "%q", got)
}

func fsReaddirPages(c *fsProbe) {
	want := c.files(10)
	for _, n := range []int{1, 3, 5, 10, 100} {
		d, err := c.fs.Open("d")
		c.ok(err)
		c.pages(n, want, func(n int) ([]string, error) {
			infos, err := d.Readdir(n)
			return infoNames(infos), err
		})
	}
}

func fsReaddirnamesPages(c *fsProbe) {
	want := c.files(10)
	for _, n := range []int{1, 3, 10, 100} {
		d, err := c.fs.Open("d")
		c.ok(err)
		c.pages(n, want, d.Readdirnames)
	}
}

func fsOnePosition(c *fsProbe) {
	want := c.files(6)
	d, err := c.fs.Open("d")
	c.ok(err)
	infos, err := d.Readdir(2)
	c.ok(err)
	got, err := d.Readdirnames(2)
	c.ok(err)
	got = append(got, infoNames(infos)...)
	rest, err := d.Readdirnames(-1)
	c.ok(err)
	got = append(got, rest...)
	slices.Sort(got)
	c.expect(slices.Equal(got, want), fmt.Sprintf("all calls together list %q", want), "%q", got)
}

// readDirFile is a directory that has ReadDir.
func (c *fsProbe) readDirFile(name string) fs.ReadDirFile {
	d, err := c.fs.Open(name)
	c.ok(err)
	r, ok := d.(fs.ReadDirFile)
	c.expect(ok, "the File is an fs.ReadDirFile", "it has no ReadDir")
	return r
}

func fsReadDirFile(c *fsProbe) {
	want := c.files(5)
	c.ok(c.fs.Mkdir("d/sub", 0o755))
	want = append(want, "sub")
	entries, err := c.readDirFile("d").ReadDir(-1)
	c.ok(err)
	c.expect(slices.Equal(names(entries), want), fmt.Sprintf("ReadDir(-1) lists %q", want), "%q", names(entries))
	for _, e := range entries {
		info, err := e.Info()
		c.ok(err)
		c.expect(e.IsDir() == (e.Name() == "sub") && info.IsDir() == e.IsDir() && info.Name() == e.Name(), e.Name()+" has its type and name", "%s", describeInfo(info))
	}
	d := c.readDirFile("d")
	c.pages(2, want, func(n int) ([]string, error) {
		entries, err := d.ReadDir(n)
		return names(entries), err
	})
}

func fsRewind(c *fsProbe) {
	want := c.files(4)
	d, err := c.fs.Open("d")
	c.ok(err)
	_, err = d.Readdirnames(3)
	c.ok(err)
	_, err = d.Seek(0, io.SeekStart)
	c.ok(err)
	got, err := d.Readdirnames(-1)
	c.ok(err)
	slices.Sort(got)
	c.expect(slices.Equal(got, want), fmt.Sprintf("the listing again: %q", want), "%q", got)
}

func fsEntries(c *fsProbe) {
	c.build("d/f=abc", "d/sub/g=x", "d/empty=")
	d, err := c.fs.Open("d")
	c.ok(err)
	infos, err := d.Readdir(-1)
	c.ok(err)
	c.expect(len(infos) == 3, "three entries", "%q", infoNames(infos))
	for _, got := range infos {
		want, err := lstat(c.fs, "d/"+got.Name())
		c.ok(err)
		same := got.Name() == want.Name() && got.Mode() == want.Mode() && got.ModTime().Equal(want.ModTime()) && (got.IsDir() || got.Size() == want.Size())
		c.expect(same, describeInfo(want), "%s", describeInfo(got))
	}
}

func lstat(f afero.Fs, name string) (fs.FileInfo, error) {
	if l, ok := f.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(name)
		return info, err
	}
	return f.Stat(name)
}

func fsEmptyDir(c *fsProbe) {
	c.ok(c.fs.Mkdir("d", 0o755))
	d, err := c.fs.Open("d")
	c.ok(err)
	infos, err := d.Readdir(-1)
	c.expect(len(infos) == 0 && err == nil, "nothing, nil", "%q, %s", infoNames(infos), describe(err))
	d, err = c.fs.Open("d")
	c.ok(err)
	infos, err = d.Readdir(1)
	c.expect(len(infos) == 0 && errors.Is(err, io.EOF), "nothing, io.EOF", "%q, %s", infoNames(infos), describe(err))
}
