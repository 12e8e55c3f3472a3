package policyfs_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// TestGuardInterfaces: tags count in what an interface holds, too, and there as
// elsewhere none is passed over in silence.
func TestGuardInterfaces(t *testing.T) {
	type input struct{ Any any }
	type bad struct {
		Path string `workspace:"raed"`
	}
	f := policyfs.New(namespace.Workspace(memfs.New(memfs.Options{})), policyfs.Options{Policy: policyfs.ReadOnly()})
	ran := false
	tool, err := policyfs.Guard(f, func(context.Context, *policyfs.FS, input) (int, error) {
		ran = true
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	deep := any(nil)
	for range 60 {
		deep = map[string]any{"x": deep}
	}
	denied := guardInner{Many: []string{".env"}}
	for name, c := range map[string]struct {
		held any
		want error
	}{
		"nil":               {nil, nil},
		"plain":             {".env", nil},
		"json":              {map[string]any{"path": ".env", "list": []any{1.5, ".env", nil}}, nil},
		"deep json":         {deep, nil},
		"permitted":         {guardInner{Many: []string{"a"}}, nil},
		"struct":            {denied, fs.ErrPermission},
		"pointer":           {&denied, fs.ErrPermission},
		"slice":             {[]any{1, denied}, fs.ErrPermission},
		"map":               {map[string]any{"x": denied}, fs.ErrPermission},
		"key":               {map[any]int{[1]guardPath{{Path: ".env"}}: 1}, fs.ErrPermission},
		"interface inside":  {struct{ Any any }{&denied}, fs.ErrPermission},
		"unknown tag":       {bad{}, fs.ErrInvalid},
		"tags inside a map": {map[string]guardInner{}, fs.ErrInvalid},
	} {
		ran = false
		if _, err := tool(t.Context(), input{c.held}); !errors.Is(err, c.want) || ran != (c.want == nil) {
			t.Errorf("%s: %v, the tool ran: %v", name, err, ran)
		}
	}
}

type guardPath struct {
	Path string `workspace:"read"`
}
