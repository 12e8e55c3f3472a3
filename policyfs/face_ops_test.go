package policyfs_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// asked is one question that an operation must ask.
type asked struct {
	op   policyfs.Op
	path string
}

// refusing is a custom policy that allows everything but what it lists.
type refusing struct{ denied func(asked) bool }

func (p refusing) Check(r policyfs.Request) policyfs.Decision {
	if p.denied(asked{r.Op, r.Path.String()}) {
		return policyfs.Decision{Rule: "refused by the test"}
	}
	return policyfs.Decision{Allow: true, Rule: "allowed by the test"}
}

// TestOpsOfOperations: which Op each operation asks for, and at which path. A
// custom policy that refuses one of them refuses the operation, before anything is
// changed; one that refuses every other does not.
func TestOpsOfOperations(t *testing.T) {
	const (
		read, stat, create   = policyfs.OpRead, policyfs.OpStat, policyfs.OpCreate
		write, remove        = policyfs.OpWrite, policyfs.OpRemove
		removeTree, moveTree = policyfs.OpRemoveTree, policyfs.OpMoveTree
	)
	w := func(op policyfs.Op, path string) asked { return asked{op, "/workspace" + path} }
	open := func(name string, flag int) func(*policyfs.FS) error {
		return func(f *policyfs.FS) error { _, err := closed(f.OpenFile(name, flag, 0o644)); return err }
	}
	replace := func(name string, cond provider.Condition) func(*policyfs.FS) error {
		return func(f *policyfs.FS) error {
			_, err := f.WriteFile(name, []byte("n"), provider.ReplaceOptions{If: cond})
			return err
		}
	}
	rename := func(oldname, newname string) func(*policyfs.FS) error {
		return func(f *policyfs.FS) error { return f.Rename(oldname, newname) }
	}
	digest, err := provider.ParseDigest("sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881") // of "x"
	if err != nil {
		t.Fatal(err)
	}
	for label, c := range map[string]struct {
		do   func(*policyfs.FS) error
		asks []asked
	}{
		"open RDONLY":        {open("/d/f", os.O_RDONLY), []asked{w(read, "/d/f")}},
		"open WRONLY":        {open("/d/f", os.O_WRONLY), []asked{w(write, "/d/f")}},
		"open RDWR":          {open("/d/f", os.O_RDWR), []asked{w(read, "/d/f"), w(write, "/d/f")}},
		"open RDONLY TRUNC":  {open("/d/f", os.O_RDONLY|os.O_TRUNC), []asked{w(read, "/d/f"), w(write, "/d/f")}},
		"open RDONLY APPEND": {open("/d/f", os.O_RDONLY|os.O_APPEND), []asked{w(read, "/d/f"), w(write, "/d/f")}},
		"open RDONLY EXCL":   {open("/d/f", os.O_RDONLY|os.O_EXCL), []asked{w(read, "/d/f"), w(write, "/d/f")}},
		"open CREATE":        {open("/new", os.O_WRONLY|os.O_CREATE), []asked{w(create, "/new"), w(write, "/new")}},
		"open CREATE EXCL":   {open("/new", os.O_WRONLY|os.O_CREATE|os.O_EXCL), []asked{w(create, "/new")}},
		"Create":             {func(f *policyfs.FS) error { _, err := closed(f.Create("/new")); return err }, []asked{w(read, "/new"), w(create, "/new"), w(write, "/new")}},
		"Stat":               {func(f *policyfs.FS) error { _, err := f.Stat("/d"); return err }, []asked{w(stat, "/d")}},
		"Stat file":          {func(f *policyfs.FS) error { _, err := f.Stat("/d/f"); return err }, []asked{w(stat, "/d/f"), w(read, "/d/f")}},
		"Mkdir":              {func(f *policyfs.FS) error { return f.Mkdir("/new", 0o755) }, []asked{w(create, "/new")}},
		"MkdirAll":           {func(f *policyfs.FS) error { return f.MkdirAll("/new/er", 0o755) }, []asked{w(create, "/new"), w(create, "/new/er")}},
		"Remove":             {func(f *policyfs.FS) error { return f.Remove("/d/f") }, []asked{w(remove, "/d/f")}},
		"RemoveAll file":     {func(f *policyfs.FS) error { return f.RemoveAll("/d/f") }, []asked{w(remove, "/d/f")}},
		"RemoveAll tree": {func(f *policyfs.FS) error { return f.RemoveAll("/d") },
			[]asked{w(remove, "/d"), w(removeTree, "/d"), w(remove, "/d/f"), w(remove, "/d/e"), w(remove, "/d/e/g")}},
		"Rename":      {rename("/d/f", "/new"), []asked{w(remove, "/d/f"), w(create, "/new"), w(write, "/new")}},
		"Rename over": {rename("/d/f", "/h"), []asked{w(remove, "/d/f"), w(create, "/h"), w(write, "/h"), w(remove, "/h")}},
		"Rename tree": {rename("/d", "/new"), []asked{
			w(remove, "/d"), w(create, "/new"), w(write, "/new"), w(moveTree, "/d"), w(moveTree, "/new"),
			w(remove, "/d/f"), w(remove, "/d/e"), w(remove, "/d/e/g"), w(create, "/new/f"), w(create, "/new/e"), w(create, "/new/e/g"),
			w(write, "/new/f"), w(write, "/new/e"), w(write, "/new/e/g"),
		}},
		"Chmod":     {func(f *policyfs.FS) error { return f.Chmod("/d/f", 0o600) }, []asked{w(write, "/d/f")}},
		"Chtimes":   {func(f *policyfs.FS) error { return f.Chtimes("/d/f", fixedTime, fixedTime) }, []asked{w(write, "/d/f")}},
		"ReadFile":  {func(f *policyfs.FS) error { _, _, err := f.ReadFile("/d/f"); return err }, []asked{w(read, "/d/f")}},
		"WriteFile": {replace("/d/f", provider.Condition{}), []asked{w(create, "/d/f"), w(write, "/d/f")}},
		"IfAbsent":  {replace("/new", provider.IfAbsent()), []asked{w(create, "/new")}},
		"IfMatch":   {replace("/d/f", provider.IfMatch(digest)), []asked{w(read, "/d/f"), w(write, "/d/f")}},
	} {
		t.Run(label, func(t *testing.T) {
			run := func(denied func(asked) bool) (error, bool) {
				b := newBox(t, "memory")
				b.file("W/d/f", "x")
				b.file("W/d/e/g", "g")
				b.file("W/h", "h")
				f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: refusing{denied}})
				before := providerTree(t, b.w)
				err := c.do(f)
				return err, providerTree(t, b.w) != before
			}
			for _, a := range c.asks {
				err, changed := run(func(q asked) bool { return q == a })
				refused := errors.As(err, new(*policyfs.DeniedError)) || (label == "Stat file" || label == "open RDONLY") && a.op == read && os.IsNotExist(err) // OpList shows no files
				if !refused || changed {
					t.Errorf("without %v on %s: %v, changed %v", a.op, a.path, err, changed)
				}
			}
			// Moving asks besides whether something is read or written at one end
			// only, and alike of every Op: what is not needed may be refused at all
			// paths, not at some.
			needed := map[policyfs.Op]bool{}
			for _, a := range c.asks {
				needed[a.op] = true
			}
			if err, _ := run(func(q asked) bool { return !needed[q.op] }); err != nil {
				t.Errorf("with nothing but what is needed: %v", err)
			}
			if strings.HasPrefix(label, "Rename") {
				return
			}
			if err, _ := run(func(q asked) bool { return !slices.Contains(c.asks, q) }); err != nil {
				t.Errorf("with exactly what is needed: %v", err)
			}
		})
	}
}
