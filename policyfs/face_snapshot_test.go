package policyfs_test

import (
	"slices"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// TestOneSnapshot: an operation asks its Source once, so that a table swapped
// meanwhile cannot give it one answer to judge and another to act on. (Iterators
// ask again, to stop.)
func TestOneSnapshot(t *testing.T) {
	for _, c := range faceCalls() {
		if c.quiet || c.method == "Walk" || c.method == "Grep" {
			continue
		}
		for _, name := range []string{"/open/f", "/open/new", "/secret/x", "/open/../open/f"} {
			m := deniedTree(t)
			asked := 0
			f := policyfs.New(namespace.SourceFunc(func() (*namespace.Namespace, error) {
				asked++
				return namespace.Workspace(m), nil
			}), policyfs.Options{Policy: compile(t, denyScopes("secret")), ResolveParents: true})
			c.do(f, slices.Repeat([]string{name}, c.names)...)
			if asked != 1 {
				t.Errorf("%s(%s) asks its source %d times", c.label, name, asked)
			}
		}
	}
}
