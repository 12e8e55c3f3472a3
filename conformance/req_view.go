package conformance

import (
	"fmt"
	"io/fs"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

func viewRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"READ-ContentViewer-agrees", "ViewContent shows, once, what ReadAt gives, and shows nothing where it says so; an empty file it always shows.", 0, viewAgrees},
		{"READ-ContentViewer-bound", "ViewContent shows no content of more than max bytes; what it shows, it shows with max just large enough.", 0, viewBound},
		{"READ-ContentViewer-sees-writes-at-once", "ViewContent shows what another File has just written.", needInPlace, viewSeesWrites},
		{"READ-ContentViewer-stays", "What ViewContent shows stays as it is while the file is changed, and no change waits for who looks at it.", needInPlace, viewStays},
		{"READ-ContentViewer-panic", "A panic of who looks passes through ViewContent and leaves the file usable.", 0, viewPanics},
		{"READ-ContentViewer-of-nothing", "ViewContent is fs.ErrClosed on a closed File, and syscall.EISDIR on a directory; it shows nothing then.", 0, viewOfNothing},
	}
}

// rawFile opens a File of the provider itself, because what records the calls has no
// ContentViewer.
func (c *probe) rawFile(name string) provider.File {
	c.calls.note(fmt.Sprintf("(Open(%q))", name))
	f, err := c.raw.Open(c.ctx, provider.MustPath(name), optRead)
	c.ok(err)
	c.cleanup(func() { f.Close() })
	return f
}

// viewer opens a file for ViewContent. It ends the check where that is not there: only
// a File tells.
func (c *probe) viewer(name string) (provider.File, provider.ContentViewer) {
	f := c.rawFile(name)
	v, ok := f.(provider.ContentViewer)
	if !ok {
		c.skip("the provider has no ContentViewer")
	}
	return f, v
}

// view calls ViewContent and notes it.
func (c *probe) view(v provider.ContentViewer, limit int, look func(content []byte)) (ok bool, err error) {
	end := c.calls.begin("ViewContent(%d)", limit)
	result := "a panic"
	defer func() { end(result) }()
	shown := 0
	ok, err = v.ViewContent(limit, func(content []byte) {
		shown++
		look(content)
	})
	result = fmt.Sprintf("%v, %s", ok, describe(err))
	want := 0
	if ok {
		want = 1
	}
	c.expect(shown == want, fmt.Sprintf("ViewContent, which says %v, shows content %d times", ok, want), "%d times", shown)
	c.expect(err == nil || !ok, "nothing is shown beside an error", "%s", describe(err))
	return ok, err
}

// shows checks what ViewContent shows, if anything.
func (c *probe) shows(v provider.ContentViewer, what, want string) (ok bool) {
	ok, err := c.view(v, len(want), func(content []byte) {
		c.expect(string(content) == want, fmt.Sprintf("%s is shown as %s", what, describeBytes([]byte(want))), "%s", describeBytes(content))
	})
	c.ok(err)
	return ok
}

func viewAgrees(c *probe) {
	c.sized(func(name string, n int) {
		_, v := c.viewer(name)
		for range 2 {
			ok := c.shows(v, fmt.Sprintf("a file of %d bytes", n), pattern(n))
			c.expect(ok || n > 0, "an empty file is shown", "it is not")
		}
	})
}

func viewBound(c *probe) {
	const text = "0123456789"
	c.build("f=" + text)
	_, v := c.viewer("f")
	any, err := c.view(v, 1<<30, func([]byte) {})
	c.ok(err)
	for limit, want := range sorted(map[int]bool{-1: false, 0: false, 1: false, len(text) - 1: false, len(text): any, len(text) + 1: any}) {
		ok, err := c.view(v, limit, func([]byte) {})
		c.ok(err)
		c.expect(ok == want, fmt.Sprintf("ViewContent(%d) of %d bytes is %v", limit, len(text), want), "%v", ok)
	}
}

func viewSeesWrites(c *probe) {
	c.build("f=old content")
	_, v := c.viewer("f")
	writer := c.file("f", optWrite)
	c.shows(v, "the file", "old content")
	_, err := writer.WriteAt([]byte("NEW"), 0)
	c.ok(err)
	c.shows(v, "the file", "NEW content")
	_, err = writer.WriteAt([]byte("!"), 11)
	c.ok(err)
	c.shows(v, "the file", "NEW content!")
	c.ok(writer.Truncate(3))
	c.shows(v, "the file", "NEW")
}

func viewStays(c *probe) {
	const text = "some content"
	for _, change := range []struct {
		what string
		do   func(f provider.File) error
		want string
	}{
		{"a write", func(f provider.File) error { _, err := f.WriteAt([]byte("SOME"), 0); return err }, "SOME content"},
		{"an append", func(f provider.File) error { _, _, err := f.Append([]byte("!")); return err }, "some content!"},
		{"a truncation and a write", func(f provider.File) error {
			c.ok(f.Truncate(4))
			_, err := f.WriteAt([]byte(" text"), 4)
			return err
		}, "some text"},
		{"an Open with Truncate", func(f provider.File) error {
			return c.tryOpen("f", provider.OpenOptions{Write: true, Truncate: true})
		}, ""},
		{"a replacement", func(f provider.File) error { _, err := c.replace("f", "new"); return err }, "new"},
		{"a removal", func(f provider.File) error {
			c.ok(c.remove("f"))
			_, err := c.replace("f", "another file")
			return err
		}, "another file"},
	} {
		c.renew()
		c.build("f=" + text)
		_, v := c.viewer("f")
		writer := c.file("f", optAppend)
		ok, err := c.view(v, len(text), func(content []byte) {
			c.ok(change.do(writer))
			c.expect(string(content) == text, fmt.Sprintf("what is shown stays %q during %s", text, change.what), "%q", content)
			c.holdsContent("f", change.want)
		})
		c.ok(err)
		if ok {
			c.holdsContent("f", change.want)
		}
	}
}

func viewPanics(c *probe) {
	const text, value = "some content", "a panic of the suite"
	c.build("f=" + text)
	_, v := c.viewer("f")
	shown := false
	caught := func() (caught any) {
		defer func() { caught = recover() }()
		c.view(v, len(text), func([]byte) {
			shown = true
			panic(value)
		})
		return nil
	}()
	if !shown {
		return
	}
	c.expect(caught == value, "ViewContent panics as who looks does", "%v", caught)
	c.holdsContent("f", text)
	c.shows(v, "the file", text)
	if c.features.Write && c.features.InPlace {
		_, err := c.file("f", optWrite).WriteAt([]byte("SOME"), 0)
		c.ok(err)
		c.shows(v, "the file", "SOME content")
	}
}

func viewOfNothing(c *probe) {
	c.build("d/f=abc")
	f, v := c.viewer("d/f")
	c.ok(f.Close())
	_, err := c.view(v, 100, func([]byte) {})
	c.fails(err, "ViewContent of a closed File", fs.ErrClosed)
	if v, ok := c.rawFile("d").(provider.ContentViewer); ok {
		_, err := c.view(v, 100, func([]byte) {})
		c.fails(err, "ViewContent of a directory", syscall.EISDIR)
	}
}
