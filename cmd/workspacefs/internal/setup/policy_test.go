package setup

import (
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// What advice takes the presets for must decide as the presets do.
func TestPresetSpecs(t *testing.T) {
	for _, name := range []string{ReadOnly, ReadWrite} {
		p, err := OpenPolicy(name)
		if err != nil {
			t.Fatal(err)
		}
		mirror, err := policyfs.Compile(p.Spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{
			"/", "/a", "/a/b", "/.agents", "/.agents/x", "/.hidden", "/a/.hidden/x", "/.env", "/.env.local", "/a/.git/config", "/a/node_modules/x",
			"/target", "/dist/x", "/build", "/x/.next", "/.venv/x", "/venv/x", "/.tox", "/a/.gradle/x", "/.ssh/id", "/credentials.json",
		} {
			for op := policyfs.OpRead; op <= policyfs.OpMoveTree; op++ {
				req := policyfs.Request{Op: op, Path: namespace.MustParse(path)}
				if got, want := mirror.Check(req), p.Compiled.Check(req); got != want {
					t.Errorf("%s: %s %s: %+v, the preset says %+v", name, op, path, got, want)
				}
			}
		}
	}
}
