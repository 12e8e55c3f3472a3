package diskfs

import (
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

func TestBasics(t *testing.T) {
	for _, walk := range []bool{false, true} {
		d, err := open(t.TempDir(), Options{}, walk)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v walk %v", d.Features(), d.walk)
		ctx := t.Context()
		p := provider.MustPath
		if err := d.Mkdir(ctx, p("a"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			dg, err := d.Replace(ctx, p("a/f"), strings.NewReader("hello"), provider.ReplaceOptions{})
			if err != nil {
				t.Fatal(i, err)
			}
			t.Log(dg)
		}
		b, err := d.ReadFile(ctx, p("a/f"), 0)
		if err != nil || string(b) != "hello" {
			t.Fatal(err, b)
		}
		if err := d.Rename(ctx, p("a/f"), p("g"), provider.RenameOptions{}); err != nil {
			t.Fatal(err)
		}
		f, err := d.Open(ctx, p("."), provider.OpenOptions{Read: true})
		if err != nil {
			t.Fatal(err)
		}
		es, err := f.ReadDir(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			i, err := e.Info()
			t.Log(e, i, err)
		}
		if err := d.Remove(ctx, p("a")); err != nil {
			t.Fatal(err)
		}
		if err := d.Remove(ctx, p("g")); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
