package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/listing"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// An item is one entry as --json prints it.
type item struct {
	Path    string    `json:"path"`
	Type    string    `json:"type"`
	Size    int64     `json:"size"`
	Mode    string    `json:"mode,omitempty"`
	ModTime time.Time `json:"mod_time,omitzero"`
	Digest  string    `json:"digest,omitempty"`
}

// typeName says what an entry is, in one word.
func typeName(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m.IsRegular():
		return "file"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "special"
}

func newItem(path string, info fs.FileInfo) item {
	return item{Path: path, Type: typeName(info.Mode()), Size: info.Size(), Mode: info.Mode().String(), ModTime: info.ModTime()}
}

// decorate adds what tells the kind of an entry: a slash, an at sign, colour.
func (t *terminal) decorate(name string, m fs.FileMode) string {
	color := ""
	switch {
	case m.IsDir():
		color = colorDir
	case m&fs.ModeSymlink != 0:
		color = colorLink
	}
	if color != "" {
		name = t.paint(color, name)
	}
	return name + listing.Mark(m)
}

// unshown says on standard error what a listing leaves out.
func (t *terminal) unshown(operation, dir string, d listing.Dir) {
	note := d.Note()
	if note == "" {
		return
	}
	t.flush()
	if t.json {
		t.jsonLine(t.err, map[string]any{"note": map[string]any{"operation": operation, "path": dir, "unspellable": d.Unspellable, "reason": note}})
		return
	}
	fmt.Fprintf(t.err, "workspacefs: %s %s: %s\n", operation, namespace.Quote(dir), note)
}

type lsCmd struct {
	Long bool     `short:"l" help:"Mode, size and time too."`
	Path []string `arg:"" optional:"" help:"Directories or files (default: the working directory)."`
}

func (l *lsCmd) Run(t *terminal, c *cli) error {
	f, done, err := t.open(c)
	if err != nil {
		return err
	}
	defer done()
	paths := l.Path
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for i, p := range paths {
		if len(paths) > 1 && !t.json {
			if i > 0 {
				fmt.Fprintln(t.out)
			}
			fmt.Fprintf(t.out, "%s:\n", p)
		}
		if err := l.list(t, f, p); err != nil {
			t.report("ls", p, err)
		}
	}
	return nil
}

func (l *lsCmd) list(t *terminal, f *policyfs.FS, name string) error {
	info, err := f.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.print(t, name, name, info.Mode(), func() (fs.FileInfo, error) { return info, nil })
	}
	dir, err := listing.Read(f, name)
	if err != nil {
		return err
	}
	for _, e := range dir.Entries {
		if err := l.print(t, e.Name(), listing.Join(name, e.Name()), e.Type(), e.Info); err != nil {
			return err
		}
	}
	t.unshown("ls", name, dir)
	return nil
}

func (l *lsCmd) print(t *terminal, shown, path string, m fs.FileMode, info func() (fs.FileInfo, error)) error {
	if !l.Long && !t.json {
		_, err := fmt.Fprintln(t.out, t.decorate(shown, m))
		return err
	}
	fi, err := info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone since the listing
	}
	if err != nil {
		return err
	}
	if t.json {
		return t.emit(newItem(path, fi))
	}
	_, err = fmt.Fprintf(t.out, "%s %10d %s %s\n", fi.Mode(), fi.Size(), fi.ModTime().Format("2006-01-02 15:04"), t.decorate(shown, m))
	return err
}

type treeCmd struct {
	Depth int    `short:"d" placeholder:"N" help:"Show at most N levels."`
	Limit int    `default:"10000" placeholder:"N" help:"Stop after N entries (default: ${default})."`
	Path  string `arg:"" optional:"" default:"." help:"Where to start (default: the working directory)."`

	shown int
}

// errLimit ends a tree that has grown long enough.
var errLimit = errors.New("limit reached")

func (c *treeCmd) Run(t *terminal, root *cli) error {
	if c.Depth < 0 || c.Limit < 1 {
		return usageError("--depth and --limit must be positive")
	}
	f, done, err := t.open(root)
	if err != nil {
		return err
	}
	defer done()
	if _, err := f.Stat(c.Path); err != nil {
		return &failure{"tree", c.Path, err}
	}
	if !t.json {
		fmt.Fprintln(t.out, t.paint(colorDir, c.Path))
	}
	err = c.below(t, f, c.Path, "", 1)
	if errors.Is(err, errLimit) {
		t.flush()
		fmt.Fprintf(t.err, "workspacefs: tree stopped after %d entries; --limit shows more\n", c.Limit)
		return nil
	}
	return err
}

// below prints the entries of one directory. The depth of a tree is bounded by
// the longest path that the workspace accepts.
func (c *treeCmd) below(t *terminal, f *policyfs.FS, dir, indent string, depth int) error {
	list, err := listing.Read(f, dir)
	if err != nil {
		t.report("tree", dir, err)
	}
	t.unshown("tree", dir, list)
	for i, e := range list.Entries {
		if c.shown == c.Limit {
			return errLimit
		}
		c.shown++
		branch, deeper := "├── ", "│   "
		if i == len(list.Entries)-1 {
			branch, deeper = "└── ", "    "
		}
		name := listing.Join(dir, e.Name())
		if t.json {
			info, err := e.Info()
			if err != nil {
				continue // gone since the listing
			}
			if err := t.emit(newItem(name, info)); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintln(t.out, indent+branch+t.decorate(e.Name(), e.Type())); err != nil {
			return err
		}
		if e.IsDir() && (c.Depth == 0 || depth < c.Depth) {
			if err := c.below(t, f, name, indent+deeper, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

type catCmd struct {
	Path []string `arg:"" help:"Files to print."`
}

func (c *catCmd) Run(t *terminal, root *cli) error {
	f, done, err := t.open(root)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range c.Path {
		if err := cat(t, f, p); err != nil {
			t.report("cat", p, err)
		}
	}
	return nil
}

func cat(t *terminal, f *policyfs.FS, name string) error {
	if t.json {
		data, digest, err := f.ReadFile(name)
		if err != nil {
			return err
		}
		return t.emit(struct {
			Path    string `json:"path"`
			Digest  string `json:"digest"`
			Content []byte `json:"content_base64"`
		}{name, digest.String(), data})
	}
	file, err := f.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	// Without the ReadFrom of bufio.Writer, which keeps an error of the file and
	// then refuses what the next file has to print.
	_, err = io.Copy(struct{ io.Writer }{t.out}, file)
	return err
}

type statCmd struct {
	Digest bool     `help:"The SHA-256 digest of files too."`
	Path   []string `arg:"" help:"Files and directories."`
}

func (c *statCmd) Run(t *terminal, root *cli) error {
	f, done, err := t.open(root)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range c.Path {
		if err := c.print(t, f, p); err != nil {
			t.report("stat", p, err)
		}
	}
	return nil
}

func (c *statCmd) print(t *terminal, f *policyfs.FS, name string) error {
	info, _, err := f.LstatIfPossible(name)
	if err != nil {
		return err
	}
	it := newItem(name, info)
	if c.Digest && info.Mode().IsRegular() {
		_, digest, err := f.ReadFile(name)
		if err != nil {
			return err
		}
		it.Digest = digest.String()
	}
	if t.json {
		return t.emit(it)
	}
	fmt.Fprintf(t.out, "%s\t%s\t%d bytes\t%s\t%s", it.Path, it.Type, it.Size, it.Mode, it.ModTime.Format(time.RFC3339))
	if it.Digest != "" {
		fmt.Fprintf(t.out, "\t%s", it.Digest)
	}
	_, err = fmt.Fprintln(t.out)
	return err
}
