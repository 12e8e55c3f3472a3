package conformance

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/workspacefs/workspacefs/provider"
)

// A layout is a tree in the form of lines, parents before children:
//
//	"d/"           an empty directory, or one that later lines fill
//	"d/f=text"     a file with that content
//	"l => target"  a link
//	"p|"           a FIFO, in HostDir
//
// Observed trees are written the same way, with "l@" for a link.

// build makes the layout. Missing parents are made, too.
func (c *probe) build(layout ...string) {
	if c.h.New == nil {
		c.buildWith(layout)
		return
	}
	made := map[string]bool{".": true}
	for _, line := range layout {
		name, kind, text := parseLine(line)
		c.makeParents(name, made)
		switch kind {
		case '/':
			c.ok(c.mkdir(name))
			made[name] = true
		case '=':
			_, err := c.replace(name, text)
			c.ok(err)
		case '@':
			c.plant(text, name)
		case '|':
			c.onHost(makeFIFO(c.host(name)))
		}
	}
}

func (c *probe) makeParents(name string, made map[string]bool) {
	dir := provider.MustPath(name).Parent()
	if made[dir.String()] {
		return
	}
	made[dir.String()] = true
	c.makeParents(dir.String(), made)
	if _, err := c.stat(dir.String()); errors.Is(err, fs.ErrNotExist) {
		c.ok(c.mkdir(dir.String()))
	}
}

// buildWith asks for a provider that holds the layout.
func (c *probe) buildWith(layout []string) {
	files := map[string]string{}
	for _, line := range layout {
		name, kind, text := parseLine(line)
		switch kind {
		case '=':
			files[name] = text
		case '/':
			filled := func(other string) bool { return strings.HasPrefix(other, name+"/") }
			if !slices.ContainsFunc(layout, filled) {
				c.skip("the Harness has no New, and NewWith makes no empty directories")
			}
		}
	}
	c.use(c.newWith(files))
	for _, line := range layout {
		switch name, kind, text := parseLine(line); kind {
		case '@':
			c.plant(text, name)
		case '|':
			c.onHost(makeFIFO(c.host(name)))
		}
	}
}

// parseLine takes a line of a layout apart.
func parseLine(line string) (name string, kind byte, text string) {
	if name, target, ok := strings.Cut(line, " => "); ok {
		return name, '@', target
	}
	if name, content, ok := strings.Cut(line, "="); ok {
		return name, '=', content
	}
	last := len(line) - 1
	switch line[last] {
	case '/', '|', '@':
		return line[:last], line[last], ""
	}
	panic(fmt.Sprintf("conformance: %q is no line of a layout", line))
}

// observe returns the tree below dir as a layout, sorted, with names relative
// to dir. It reads by Open, ReadDir and ReadAt, and descends only into what the
// entries say is a directory.
func (c *probe) observe(dir string) []string {
	defer c.calls.look()()
	var lines []string
	c.walk(provider.MustPath(dir), "", &lines)
	slices.Sort(lines)
	return lines
}

func (c *probe) walk(dir provider.Path, prefix string, lines *[]string) {
	f, err := c.p.Open(c.ctx, dir, provider.OpenOptions{Read: true, Directory: true})
	c.ok(err)
	defer f.Close()
	entries, err := f.ReadDir(0)
	c.ok(err)
	for _, e := range entries {
		name := prefix + e.Name()
		p, err := dir.Join(e.Name())
		switch {
		case err != nil:
			*lines = append(*lines, name+"?")
		case e.Type() == fs.ModeDir:
			*lines = append(*lines, name+"/")
			c.walk(p, name+"/", lines)
		case e.Type().IsRegular():
			*lines = append(*lines, name+"="+c.read(p.String()))
		default:
			*lines = append(*lines, name+typeMark(e.Type()))
		}
	}
}

// holdsTree checks that the whole tree below dir is the layout.
func (c *probe) holdsTree(dir string, layout ...string) {
	want := make([]string, 0, len(layout))
	for _, line := range layout {
		if name, kind, _ := parseLine(line); kind == '@' {
			line = name + "@"
		}
		want = append(want, line)
	}
	slices.Sort(want)
	c.sameTree(want, c.observe(dir))
}

// sameTree compares two observed trees.
func (c *probe) sameTree(want, got []string) {
	if slices.Equal(want, got) {
		return
	}
	if len(want)+len(got) > 24 {
		c.failNow("the tree as it was", "a difference (-expected +got):\n"+cmp.Diff(want, got))
	}
	c.failNow("the tree "+describeTree(want), describeTree(got))
}

func describeTree(lines []string) string {
	if len(lines) == 0 {
		return "(empty)"
	}
	short := make([]string, len(lines))
	for i, line := range lines {
		if len(line) > 60 {
			line = fmt.Sprintf("%s... (%d bytes)", line[:40], len(line))
		}
		short[i] = quoteOdd(line)
	}
	return "[" + strings.Join(short, " ") + "]"
}

// unchanged runs f, which must leave the tree below dir as it is.
func (c *probe) unchanged(dir string, f func()) {
	before := c.observe(dir)
	f()
	c.sameTree(before, c.observe(dir))
}

// read returns the content of a file, read by ReadAt, and by the FileReader and the
// FileIntoReader where there are: all must agree.
func (c *probe) read(name string) string {
	data, err := provider.ReadFile(c.ctx, withoutReader(c.p), provider.MustPath(name))
	c.ok(err)
	if r, ok := c.p.(provider.FileReader); ok {
		fast, err := r.ReadFile(c.ctx, provider.MustPath(name), 0)
		c.ok(err)
		if string(fast) != string(data) {
			c.failNow("ReadFile of "+name+" gives what Open and ReadAt give: "+describeBytes(data), describeBytes(fast))
		}
	}
	if r, ok := c.p.(provider.FileIntoReader); ok {
		p := make([]byte, len(data))
		n, err := r.ReadFileInto(c.ctx, provider.MustPath(name), p)
		c.ok(err)
		if string(p[:n]) != string(data) {
			c.failNow("ReadFileInto of "+name+" gives what Open and ReadAt give: "+describeBytes(data), describeBytes(p[:n]))
		}
	}
	return string(data)
}

// readHandle reads an open file to its end.
func (c *probe) readHandle(f provider.File) string {
	data, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
	c.ok(err)
	return string(data)
}
