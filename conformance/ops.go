package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// op is one operation on one name, for the matrices: every operation meets
// every kind of object and every position of a link.
type op struct {
	id      string // part of a requirement's ID
	text    string // for people
	needs   need
	mutates bool
	act     func(c *probe, name string) error
	// onLink is what the operation answers when name itself is a link; nil when
	// it works on the link.
	onLink []error
}

// source is the file in the root that the operations rename and match.
const (
	source        = "source"
	sourceContent = "content of source"
)

// ops returns every operation that takes a name.
func ops() []op {
	link := []error{provider.ErrSymlink}
	exists := []error{fs.ErrExist}
	opening := func(id, text string, needs need, opts provider.OpenOptions, onLink []error) op {
		return op{
			id: id, text: text, needs: needs, mutates: opts.Mutates(), onLink: onLink,
			act: func(c *probe, name string) error { return c.tryOpen(name, opts) },
		}
	}
	replacing := func(id, text string, cond func() provider.Condition, onLink []error) op {
		return op{
			id: id, text: text, needs: needWrite, mutates: true, onLink: onLink,
			act: func(c *probe, name string) error {
				_, err := c.replaceWith(name, "new", provider.ReplaceOptions{If: cond()})
				return err
			},
		}
	}
	return []op{
		opening("open-for-reading", "Open for reading", 0, optRead, link),
		opening("open-as-directory", "Open as a directory", 0, optDir, link),
		opening("open-for-writing", "Open for writing", needInPlace, optWrite, link),
		opening("open-for-appending", "Open for appending", needInPlace, optAppend, link),
		opening("open-with-create", "Open with Create", needInPlace, optCreate, link),
		opening("open-with-exclusive", "Open with Create and Exclusive", needInPlace, optExcl, exists),
		opening("open-with-truncate", "Open with Truncate", needInPlace, optTrunc, link),
		{
			id: "read-file", text: "ReadFile", needs: needFileReader, onLink: link,
			act: func(c *probe, name string) error {
				_, err := c.p.(provider.FileReader).ReadFile(c.ctx, provider.MustPath(name), 0)
				return err
			},
		},
		{
			id: "read-file-into", text: "ReadFileInto", needs: needFileIntoReader, onLink: link,
			act: func(c *probe, name string) error {
				_, err := c.p.(provider.FileIntoReader).ReadFileInto(c.ctx, provider.MustPath(name), make([]byte, 4096))
				return err
			},
		},
		{
			id: "stat", text: "Stat",
			act: func(c *probe, name string) error { _, err := c.stat(name); return err },
		},
		{
			id: "mkdir", text: "Mkdir", needs: needWrite, mutates: true, onLink: exists,
			act: (*probe).mkdir,
		},
		{
			id: "remove", text: "Remove", needs: needWrite, mutates: true,
			act: (*probe).remove,
		},
		{
			id: "rename-from", text: "Rename of the name to a free one", needs: needWrite, mutates: true,
			act: func(c *probe, name string) error { return c.rename(name, "free name") },
		},
		{
			id: "rename-to", text: "Rename of a file onto the name", needs: needWrite, mutates: true,
			act: func(c *probe, name string) error { return c.rename(source, name) },
		},
		{
			id: "rename-to-noreplace", text: "Rename with NoReplace of a file onto the name", needs: needWrite, mutates: true, onLink: exists,
			act: func(c *probe, name string) error {
				return c.renameWith(source, name, provider.RenameOptions{NoReplace: true})
			},
		},
		replacing("replace", "Replace", func() provider.Condition { return provider.Condition{} }, link),
		replacing("replace-if-absent", "Replace with IfAbsent", provider.IfAbsent, []error{provider.ErrConflict}),
		replacing("replace-if-match", "Replace with IfMatch", func() provider.Condition { return provider.IfMatch(digestOf(sourceContent)) },
			[]error{provider.ErrSymlink, provider.ErrConflict}),
		{
			id: "chmod", text: "Chmod", needs: needChmod, mutates: true, onLink: link,
			act: func(c *probe, name string) error { return c.chmod(name, 0o700) },
		},
		{
			id: "chtimes", text: "Chtimes", needs: needChtimes, mutates: true, onLink: link,
			act: func(c *probe, name string) error {
				return c.chtimes(name, time.Unix(1e9, 0), time.Unix(1e9, 0))
			},
		},
	}
}

// applies reports whether the provider offers what the operation needs.
func (o op) applies(c *probe) bool {
	_, hasReader := c.p.(provider.FileReader)
	_, hasInto := c.p.(provider.FileIntoReader)
	return (o.needs&needWrite == 0 || c.features.Write) &&
		(o.needs&needInPlace == 0 || c.features.Write && c.features.InPlace) &&
		(o.needs&needChmod == 0 || c.features.Chmod) &&
		(o.needs&needChtimes == 0 || c.features.Chtimes) &&
		(o.needs&needFileReader == 0 || hasReader) &&
		(o.needs&needFileIntoReader == 0 || hasInto)
}

// eachOp runs f for every operation that applies, with a log of its own.
func (c *probe) eachOp(f func(o op)) {
	for _, o := range ops() {
		if o.applies(c) {
			c.calls.clear()
			f(o)
		}
	}
}

// opFails runs an operation that must fail and must change nothing.
func (c *probe) opFails(o op, name string, conditions ...error) {
	c.unchanged(".", func() {
		c.calls.clear()
		if c.setting != "" {
			c.calls.note(c.setting)
		}
		c.fails(o.act(c, name), fmt.Sprintf("%s at %q", o.text, shorten(name)), conditions...)
	})
}

// shorten makes a long name fit a line.
func shorten(name string) string {
	if len(name) <= 60 {
		return name
	}
	return fmt.Sprintf("%s... %d bytes", name[:20], len(name))
}

// anyOf reports whether err is one of conditions.
func anyOf(err error, conditions ...error) bool {
	for _, want := range conditions {
		if errors.Is(err, want) {
			return true
		}
	}
	return false
}

// repeatName makes a name of n bytes.
func repeatName(n int) string { return strings.Repeat("n", n) }

// sorted yields a map in the order of its keys, so that a failure is the same
// each time.
func sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
