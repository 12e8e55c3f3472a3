package conformance

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"
)

// FsRequirements returns what [RunFs] tests, in its order.
func FsRequirements() []Requirement { return published(fsRequirements()) }

func fsRequirements() []requirement[*fsProbe] {
	return slices.Concat(
		fsErrorRequirements(),
		fsOpenRequirements(),
		fsFileRequirements(),
		fsDirRequirements(),
		fsTreeRequirements(),
		fsNameRequirements(),
		fsUtilityRequirements(),
	)
}

// RunFs tests whether an afero.Fs is a drop-in for package os: the same answers,
// the same shapes of errors, the same handles. newFs returns an empty file
// system that nothing else uses; the suite gives it relative names only, so that
// an [afero.OsFs] in a temporary working directory serves, too. known maps the
// IDs of requirements that it is known to miss to the reason; as in
// [Harness.Known], an unexpected pass and an unknown ID fail.
func RunFs(t *testing.T, newFs func(t testing.TB) afero.Fs, known map[string]string) {
	t.Helper()
	runAll(t, known, fsRequirements(), func(t testing.TB, r requirement[*fsProbe], patience patience) outcome {
		return examineFs(t, newFs, r, patience)
	})
}

// fsProbe is what the check of one requirement of RunFs works with.
type fsProbe struct {
	*trial
	fs  afero.Fs // recorded
	raw afero.Fs
}

func examineFs(t testing.TB, newFs func(testing.TB) afero.Fs, r requirement[*fsProbe], patience patience) outcome {
	t.Helper()
	tr := newTrial(t)
	c := &fsProbe{trial: tr}
	return tr.run(r.statement, r.id, func() {
		c.test(func(t testing.TB) { c.raw = newFs(t) })
		c.fs = recordFs(tr, c.raw)
		r.check(c)
	}, patience)
}

// build makes a layout, with parents.
func (c *fsProbe) build(layout ...string) {
	for _, line := range layout {
		name, kind, text := parseLine(line)
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			c.ok(c.fs.MkdirAll(name[:i], 0o755))
		}
		if kind == '/' {
			c.ok(c.fs.MkdirAll(name, 0o755))
		} else {
			c.write(name, text)
		}
	}
}

// write makes a file with a content.
func (c *fsProbe) write(name, content string) {
	f, err := c.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	c.ok(err)
	_, err = f.Write([]byte(content))
	c.ok(err)
	c.ok(f.Close())
}

// open opens what must open.
func (c *fsProbe) open(name string, flag int) afero.File {
	f, err := c.fs.OpenFile(name, flag, 0o644)
	if err != nil {
		c.failNow(fmt.Sprintf("OpenFile(%q, %s) succeeds", name, describeFlag(flag)), describe(err))
	}
	return f
}

// tryOpen opens and closes again.
func (c *fsProbe) tryOpen(name string, flag int) error {
	f, err := c.fs.OpenFile(name, flag, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// ok ends the check when err is not nil.
func (c *fsProbe) ok(err error) {
	if err != nil {
		c.failNow("the last call succeeds", describe(err))
	}
}

// expect ends the check unless ok.
func (c *fsProbe) expect(ok bool, expected, gotFormat string, args ...any) {
	if !ok {
		c.failNow(expected, fmt.Sprintf(gotFormat, args...))
	}
}

// fails ends the check unless err is one of the given conditions.
func (c *fsProbe) fails(err error, what string, conditions ...error) {
	if anyOf(err, conditions...) {
		return
	}
	names := make([]string, len(conditions))
	for i, want := range conditions {
		names[i] = describe(want)
	}
	c.failNow(what+" is "+strings.Join(names, " or "), describe(err))
}

// refused ends the check unless there is an error.
func (c *fsProbe) refused(err error, what string) {
	if err == nil {
		c.failNow(what+" fails", "nil")
	}
}

// read returns the content of a file.
func (c *fsProbe) read(name string) string {
	f, err := c.fs.Open(name)
	c.ok(err)
	defer f.Close()
	data, err := io.ReadAll(f)
	c.ok(err)
	return string(data)
}

// holds checks the content of a file.
func (c *fsProbe) holds(name, want string) {
	if got := c.read(name); got != want {
		c.failNow(fmt.Sprintf("%s holds %s", name, describeBytes([]byte(want))), describeBytes([]byte(got)))
	}
}

// absent checks that nothing is at name.
func (c *fsProbe) absent(name string) {
	_, err := c.fs.Stat(name)
	c.fails(err, fmt.Sprintf("Stat(%q)", name), fs.ErrNotExist)
}

// isDir checks that a directory is at name.
func (c *fsProbe) isDir(name string) {
	info, err := c.fs.Stat(name)
	c.ok(err)
	c.expect(info.IsDir(), name+" is a directory", "%s", info.Mode())
}

// lists checks the names in a directory.
func (c *fsProbe) lists(name string, want ...string) {
	f, err := c.fs.Open(name)
	c.ok(err)
	defer f.Close()
	got, err := f.Readdirnames(-1)
	c.ok(err)
	slices.Sort(got)
	slices.Sort(want)
	c.expect(slices.Equal(got, want), fmt.Sprintf("%s lists %q", name, want), "%q", got)
}

// describeFlag renders the flags of os.OpenFile.
func describeFlag(flag int) string {
	parts := []string{"O_RDONLY"}
	switch {
	case flag&os.O_RDWR != 0:
		parts[0] = "O_RDWR"
	case flag&os.O_WRONLY != 0:
		parts[0] = "O_WRONLY"
	}
	for _, f := range []struct {
		name string
		bit  int
	}{{"O_APPEND", os.O_APPEND}, {"O_CREATE", os.O_CREATE}, {"O_EXCL", os.O_EXCL}, {"O_TRUNC", os.O_TRUNC}, {"O_SYNC", os.O_SYNC}} {
		if flag&f.bit != 0 {
			parts = append(parts, f.name)
		}
	}
	return strings.Join(parts, "|")
}
