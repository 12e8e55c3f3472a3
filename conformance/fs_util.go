package conformance

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/spf13/afero"
)

func fsUtilityRequirements() []requirement[*fsProbe] {
	return []requirement[*fsProbe]{
		{"FS-afero-files", "afero.WriteFile, ReadFile, Exists, DirExists, IsEmpty, ReadDir and FileContainsBytes work on it.", 0, fsAferoFiles},
		{"FS-afero-temp", "afero.TempFile and TempDir make new names in a directory of it, and Name leads there.", 0, fsAferoTemp},
		{"FS-afero-walk", "afero.Walk visits everything once, in order, and obeys filepath.SkipDir.", 0, fsAferoWalk},
		{"FS-afero-glob", "afero.Glob finds what filepath.Glob finds.", 0, fsAferoGlob},
		{"FS-afero-writer", "afero.WriteReader and SafeWriteReader make parents and return errors.", 0, fsAferoWriter},
		{"FS-afero-basepath", "afero.NewBasePathFs over a directory of it works.", 0, fsAferoBasePath},
		{"FS-io-fs", "afero.NewIOFS over it passes testing/fstest.TestFS.", 0, fsIOFS},
	}
}

func fsAferoFiles(c *fsProbe) {
	c.ok(c.fs.Mkdir("d", 0o755))
	c.ok(afero.WriteFile(c.fs, "d/f", []byte("hello world"), 0o644))
	data, err := afero.ReadFile(c.fs, "d/f")
	c.ok(err)
	c.expect(string(data) == "hello world", `"hello world"`, "%q", data)
	c.ok(afero.WriteFile(c.fs, "d/f", []byte("hi"), 0o644))
	c.holds("d/f", "hi")
	for _, q := range []struct {
		what string
		want bool
		ask  func() (bool, error)
	}{
		{"Exists(d/f)", true, func() (bool, error) { return afero.Exists(c.fs, "d/f") }},
		{"Exists(missing)", false, func() (bool, error) { return afero.Exists(c.fs, "missing") }},
		{"DirExists(d)", true, func() (bool, error) { return afero.DirExists(c.fs, "d") }},
		{"DirExists(d/f)", false, func() (bool, error) { return afero.DirExists(c.fs, "d/f") }},
		{"IsEmpty(d)", false, func() (bool, error) { return afero.IsEmpty(c.fs, "d") }},
		{"FileContainsBytes", true, func() (bool, error) { return afero.FileContainsBytes(c.fs, "d/f", []byte("i")) }},
	} {
		got, err := q.ask()
		c.ok(err)
		c.expect(got == q.want, "afero."+q.what+" is what it is", "%v", got)
	}
	c.write("d/b", "")
	c.write("d/C", "")
	infos, err := afero.ReadDir(c.fs, "d")
	c.ok(err)
	var got []string
	for _, info := range infos {
		got = append(got, info.Name())
	}
	c.expect(slices.Equal(got, []string{"C", "b", "f"}), "C, b, f in this order", "%q", got)
}

func fsAferoTemp(c *fsProbe) {
	c.ok(c.fs.Mkdir("tmp", 0o755))
	seen := map[string]bool{}
	for range 5 {
		f, err := afero.TempFile(c.fs, "tmp", "t-*.txt")
		c.ok(err)
		_, err = f.WriteString("x")
		c.ok(err)
		c.ok(f.Close())
		c.expect(!seen[f.Name()] && strings.Contains(f.Name(), "tmp"), "a new name in tmp", "%q", f.Name())
		seen[f.Name()] = true
		c.holds(f.Name(), "x")
		c.ok(c.fs.Chmod(f.Name(), 0o600))
		dir, err := afero.TempDir(c.fs, "tmp", "d-")
		c.ok(err)
		c.isDir(dir)
	}
}

func fsAferoWalk(c *fsProbe) {
	c.build("w/a/b/c=1", "w/a/d=2", "w/e=3", "w/skip/x=4")
	var got []string
	c.ok(afero.Walk(c.fs, "w", func(path string, info fs.FileInfo, err error) error {
		c.ok(err)
		got = append(got, strings.ReplaceAll(path, string(os.PathSeparator), "/"))
		if info.Name() == "skip" {
			return fs.SkipDir
		}
		return nil
	}))
	want := []string{"w", "w/a", "w/a/b", "w/a/b/c", "w/a/d", "w/e", "w/skip"}
	c.expect(slices.Equal(got, want), strings.Join(want, " "), "%s", strings.Join(got, " "))
}

func fsAferoGlob(c *fsProbe) {
	c.build("g/a.md=1", "g/b.md=2", "g/c.txt=3", "g/sub/d.md=4")
	for pattern, want := range sorted(map[string][]string{
		"g/*.md": {"g/a.md", "g/b.md"}, "g/*/*.md": {"g/sub/d.md"}, "g/[ac]*": {"g/a.md", "g/c.txt"}, "g/none*": nil, "g/c.txt": {"g/c.txt"},
	}) {
		got, err := afero.Glob(c.fs, pattern)
		c.ok(err)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], string(os.PathSeparator), "/")
		}
		slices.Sort(got)
		c.expect(slices.Equal(got, want), pattern+" finds "+strings.Join(want, " "), "%s", strings.Join(got, " "))
	}
}

func fsAferoWriter(c *fsProbe) {
	c.ok(afero.WriteReader(c.fs, "new/deep/f", strings.NewReader("content")))
	c.holds("new/deep/f", "content")
	c.ok(afero.SafeWriteReader(c.fs, "other/f", strings.NewReader("content")))
	c.refused(afero.SafeWriteReader(c.fs, "other/f", strings.NewReader("again")), "SafeWriteReader over a file")
	c.refused(afero.WriteReader(c.fs, "other/f/x", strings.NewReader("again")), "WriteReader below a file")
	c.holds("other/f", "content")
}

func fsAferoBasePath(c *fsProbe) {
	c.build("base/d/f=x", "outside=y")
	sub := afero.NewBasePathFs(c.fs, "base")
	data, err := afero.ReadFile(sub, "d/f")
	c.ok(err)
	c.expect(string(data) == "x", `"x"`, "%q", data)
	c.ok(afero.WriteFile(sub, "d/g", []byte("y"), 0o644))
	c.holds("base/d/g", "y")
	_, err = sub.Stat("outside")
	c.fails(err, "Stat of a name that is not below the base", fs.ErrNotExist)
}

func fsIOFS(c *fsProbe) {
	c.build("t/a=1", "t/b/c=22", "t/b/d/e=333", "t/empty=")
	sub, err := fs.Sub(afero.NewIOFS(c.fs), "t")
	c.ok(err)
	err = fstest.TestFS(sub, "a", "b/c", "b/d/e", "empty")
	c.calls.clear()
	if err != nil {
		text := err.Error()
		if joined := errors.Unwrap(err); joined != nil {
			text = joined.Error()
		}
		lines := strings.SplitN(text, "\n", 4)
		c.failNow("fstest.TestFS finds nothing", strings.Join(lines[:min(len(lines), 3)], "\n"))
	}
}
