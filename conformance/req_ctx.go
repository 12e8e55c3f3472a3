package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func ctxRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"CTX-cancelled", "A cancelled context is context.Canceled for every method, before anything is changed.", 0, ctxCancelled},
		{"CTX-deadline", "A context whose deadline is over is context.DeadlineExceeded for every method, before anything is changed.", 0, ctxDeadline},
		{"CTX-affects-one-call", "A cancelled call leaves the provider and other Files usable.", 0, ctxOneCall},
		{"CTX-of-an-open-file", "When the context of an open File is done, its operations work or are the context's error, and Close works.", 0, ctxFile},
		{"CTX-during-replace", "A Replace whose context ends while content is read fails without effect, or succeeds whole.", needWrite, ctxDuringReplace},
		{"CTX-values-are-not-needed", "A context without values or deadline serves as well as any.", 0, ctxBackground},
	}
}

// ctxMatrix runs every operation with ctx, which is done.
func (c *probe) ctxMatrix(done context.Context, want error) {
	c.build("f=content", "d/g=x", source+"="+sourceContent)
	good := c.ctx
	for _, o := range ops() {
		if !o.applies(c) {
			continue
		}
		for _, name := range []string{"f", "d", "missing"} {
			c.unchanged(".", func() {
				c.calls.clear()
				c.ctx = done
				err := o.act(c, name)
				c.ctx = good
				c.fails(err, fmt.Sprintf("%s at %q with a context that is done", o.text, name), want)
			})
		}
	}
}

func ctxCancelled(c *probe) {
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	c.ctxMatrix(ctx, context.Canceled)
}

func ctxDeadline(c *probe) {
	ctx, cancel := context.WithDeadline(c.ctx, time.Now().Add(-time.Second))
	defer cancel()
	c.ctxMatrix(ctx, context.DeadlineExceeded)
}

func ctxOneCall(c *probe) {
	c.build("f=content", "d/g=x")
	f := c.file("f", optRead)
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	_, err := c.p.Stat(ctx, provider.MustPath("f"))
	c.fails(err, "Stat with a cancelled context", context.Canceled)
	_, err = c.p.Open(ctx, provider.MustPath("f"), optRead)
	c.fails(err, "Open with a cancelled context", context.Canceled)
	c.handleHolds(f, "the File of another context", "content")
	c.holdsContent("f", "content")
	c.list("d")
}

func ctxFile(c *probe) {
	c.build("f=content", "d/g=x")
	ctx, cancel := context.WithCancel(c.ctx)
	f, err := c.p.Open(ctx, provider.MustPath("f"), optRead)
	c.ok(err)
	d, err := c.p.Open(ctx, provider.MustPath("d"), optDir)
	c.ok(err)
	c.handleHolds(f, "the File", "content")
	cancel()
	check := func(what string, err error) {
		if err != nil {
			c.fails(err, what+" after its context is done, unless it works,", context.Canceled)
		}
	}
	buf := make([]byte, 7)
	_, err = f.ReadAt(buf, 0)
	check("ReadAt", err)
	c.expect(err != nil || string(buf) == "content", "the content, or an error", "%q", buf)
	_, err = f.Stat()
	check("Stat", err)
	_, err = d.ReadDir(0)
	check("ReadDir", err)
	check("Sync", f.Sync())
	c.ok(f.Close())
	c.ok(d.Close())
	c.holdsContent("f", "content")
}

func ctxDuringReplace(c *probe) {
	c.build("f=old")
	for _, name := range []string{"f", "new"} {
		before := c.observe(".")
		ctx, cancel := context.WithCancel(c.ctx)
		content := &hookReader{cancel, strings.NewReader(pattern(100_000))}
		_, err := c.p.Replace(ctx, provider.MustPath(name), content, provider.ReplaceOptions{})
		cancel()
		if err == nil {
			c.holdsContent(name, pattern(100_000))
			continue
		}
		c.fails(err, "Replace whose context is cancelled while content is read, unless it succeeds,", context.Canceled)
		c.sameTree(before, c.observe("."))
	}
}

func ctxBackground(c *probe) {
	c.build("f=content")
	ctx := context.Background()
	data, err := provider.ReadFile(ctx, c.p, provider.MustPath("f"))
	c.ok(err)
	c.expect(string(data) == "content", `"content"`, "%q", data)
	f, err := c.p.Open(ctx, provider.MustPath("f"), optRead)
	c.ok(err)
	_, err = f.Stat()
	c.ok(err)
	c.ok(f.Close())
}
