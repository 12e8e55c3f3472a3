package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// The calls that checks make most, with names as text.

// Short forms of options.
var (
	optRead   = provider.OpenOptions{Read: true}
	optDir    = provider.OpenOptions{Read: true, Directory: true}
	optWrite  = provider.OpenOptions{Read: true, Write: true}
	optCreate = provider.OpenOptions{Read: true, Write: true, Create: true}
	optExcl   = provider.OpenOptions{Read: true, Write: true, Create: true, Exclusive: true}
	optTrunc  = provider.OpenOptions{Read: true, Write: true, Truncate: true}
	optAppend = provider.OpenOptions{Read: true, Write: true, Append: true}
)

func (c *probe) open(name string, opts provider.OpenOptions) (provider.File, error) {
	return c.p.Open(c.ctx, provider.MustPath(name), opts)
}

// file opens what must open.
func (c *probe) file(name string, opts provider.OpenOptions) provider.File {
	f, err := c.open(name, opts)
	if err != nil {
		c.failNow(fmt.Sprintf("Open(%q, %s) succeeds", name, describeOpen(opts)), describe(err))
	}
	return f
}

// tryOpen opens and closes again.
func (c *probe) tryOpen(name string, opts provider.OpenOptions) error {
	f, err := c.open(name, opts)
	if err != nil {
		return err
	}
	return f.Close()
}

func (c *probe) stat(name string) (fs.FileInfo, error) {
	return c.p.Stat(c.ctx, provider.MustPath(name))
}

// info is the Stat of what must be there.
func (c *probe) info(name string) fs.FileInfo {
	info, err := c.stat(name)
	if err != nil {
		c.failNow(fmt.Sprintf("Stat(%q) succeeds", name), describe(err))
	}
	return info
}

func (c *probe) mkdir(name string) error {
	return c.p.Mkdir(c.ctx, provider.MustPath(name), 0o755)
}

func (c *probe) remove(name string) error {
	return c.p.Remove(c.ctx, provider.MustPath(name))
}

func (c *probe) rename(oldname, newname string) error {
	return c.renameWith(oldname, newname, provider.RenameOptions{})
}

func (c *probe) renameWith(oldname, newname string, opts provider.RenameOptions) error {
	return c.p.Rename(c.ctx, provider.MustPath(oldname), provider.MustPath(newname), opts)
}

func (c *probe) replace(name, content string) (provider.Digest, error) {
	return c.replaceWith(name, content, provider.ReplaceOptions{})
}

func (c *probe) replaceWith(name, content string, opts provider.ReplaceOptions) (provider.Digest, error) {
	return c.p.Replace(c.ctx, provider.MustPath(name), strings.NewReader(content), opts)
}

func (c *probe) chmod(name string, perm fs.FileMode) error {
	return c.p.Chmod(c.ctx, provider.MustPath(name), perm)
}

func (c *probe) chtimes(name string, atime, mtime time.Time) error {
	return c.p.Chtimes(c.ctx, provider.MustPath(name), atime, mtime)
}

// list returns the entries of a directory.
func (c *probe) list(name string) []fs.DirEntry {
	f := c.file(name, optDir)
	entries, err := f.ReadDir(0)
	c.ok(err)
	c.ok(f.Close())
	return entries
}

// ok ends the check when err is not nil. The call is the last of the log.
func (c *probe) ok(err error) {
	if err != nil {
		c.failNow("the last call succeeds", describe(err))
	}
}

// fails ends the check unless err is one of the given conditions. what is the
// call, as a reader of the report would write it.
func (c *probe) fails(err error, what string, conditions ...error) {
	for _, want := range conditions {
		if errors.Is(err, want) {
			return
		}
	}
	names := make([]string, len(conditions))
	for i, want := range conditions {
		names[i] = describe(want)
	}
	c.failNow(what+" is "+strings.Join(names, " or "), describe(err))
}

// expect ends the check unless ok.
func (c *probe) expect(ok bool, expected, gotFormat string, args ...any) {
	if !ok {
		c.failNow(expected, fmt.Sprintf(gotFormat, args...))
	}
}

// holdsContent checks the content of a file.
func (c *probe) holdsContent(name, want string) {
	if got := c.read(name); got != want {
		c.failNow(fmt.Sprintf("%s holds %s", name, describeBytes([]byte(want))), describeBytes([]byte(got)))
	}
}

// handleHolds checks the content of an open file.
func (c *probe) handleHolds(f provider.File, what, want string) {
	if got := c.readHandle(f); got != want {
		c.failNow(fmt.Sprintf("%s reads %s", what, describeBytes([]byte(want))), describeBytes([]byte(got)))
	}
}

// absent checks that nothing is at name.
func (c *probe) absent(name string) {
	_, err := c.stat(name)
	c.fails(err, fmt.Sprintf("Stat(%q)", name), fs.ErrNotExist)
}
