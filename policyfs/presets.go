package policyfs

import "sync"

// ReadOnly returns the secure default: everything may be read except what is
// hidden or sensitive, nothing may be written. The directory .agents at the root,
// where instructions for agents are kept, is readable although it is hidden.
func ReadOnly() Policy { return readOnly() }

// ReadWrite returns the policy for an agent that edits: everything may be read
// and written except what is hidden or sensitive. The directory .agents at the
// root may be read, not written, and directories of dependencies and of build
// results (node_modules, target, dist, build, .next, .venv, venv, .tox, .gradle)
// may be read as far as they are not hidden, not written. Directories that are
// not empty cannot be removed.
func ReadWrite() Policy { return readWrite() }

var (
	readOnly  = preset(readOnlySpec)
	readWrite = preset(readWriteSpec)
)

var (
	readOnlySpec = Spec{
		AllowRead:   []string{"/"},
		AllowHidden: []string{".agents"},
	}
	readWriteSpec = Spec{
		AllowRead:   []string{"/"},
		AllowWrite:  []string{"/"},
		DenyWrite:   []string{".agents"},
		AllowHidden: []string{".agents"},
		DenyWriteComponent: []string{
			"node_modules", "target", "dist", "build", ".next", ".venv", "venv", ".tox", ".gradle",
		},
	}
)

// preset compiles s at most once. Text in this file that did not compile would
// yield a nil policy, which denies.
func preset(s Spec) func() Policy {
	return sync.OnceValue(func() Policy {
		p, err := Compile(s)
		if err != nil {
			return nil
		}
		return p
	})
}
