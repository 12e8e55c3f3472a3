package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/workspacefs/workspacefs/policyfs"
)

// Names of the policies that need no file.
const (
	ReadOnly  = "read-only"
	ReadWrite = "read-write"
)

// Policy is a compiled policy with the Spec it came from, which advice on a
// refusal needs.
type Policy struct {
	Name     string // ReadOnly, ReadWrite or the file's name as given
	File     string // the file's name, or empty
	Spec     policyfs.Spec
	Compiled policyfs.Policy
}

// OpenPolicy finds one of the two presets or reads a JSON file.
func OpenPolicy(name string) (Policy, error) {
	switch name {
	case ReadOnly, "":
		return Policy{Name: ReadOnly, Spec: readOnlySpec(), Compiled: policyfs.ReadOnly()}, nil
	case ReadWrite:
		return Policy{Name: ReadWrite, Spec: readWriteSpec(), Compiled: policyfs.ReadWrite()}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		if filepath.Ext(name) != ".json" {
			return Policy{}, usage("--policy %q: want read-only, read-write or a JSON file: %v", name, Condition(err))
		}
		return Policy{}, fmt.Errorf("--policy %q: %w", name, Condition(err))
	}
	defer file.Close()
	spec, err := policyfs.ParseSpec(file)
	if err != nil {
		return Policy{}, fmt.Errorf("--policy %q: %w", name, err)
	}
	compiled, err := policyfs.Compile(spec)
	if err != nil {
		return Policy{}, fmt.Errorf("--policy %q: %w", name, err)
	}
	return Policy{Name: name, File: name, Spec: spec, Compiled: compiled}, nil
}

// readOnlySpec says what policyfs.ReadOnly decides, for advice.
func readOnlySpec() policyfs.Spec {
	return policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{".agents"}}
}

// readWriteSpec says what policyfs.ReadWrite decides, for advice.
func readWriteSpec() policyfs.Spec {
	return policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"},
		AllowHidden: []string{".agents"}, DenyWrite: []string{".agents"},
		DenyWriteComponent: []string{"node_modules", "target", "dist", "build", ".next", ".venv", "venv", ".tox", ".gradle"},
	}
}

// OutsideGrants refuses a file of the operator's (a policy, an audit log) that
// lies inside a granted directory, where an agent could read or rewrite it, and one
// with several hard links, because another of its names may lie there. The file
// need not exist yet.
func (w *Workspace) OutsideGrants(flag, file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("%s %q: %w", flag, file, Condition(err))
	}
	shown, err := w.Namespace.ShowsHost(abs)
	switch {
	case err != nil:
		return fmt.Errorf("%s %q: %w", flag, file, err)
	case shown:
		return fmt.Errorf("%s %q: lies inside a granted directory, where an agent could change it", flag, file)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s %q: %w", flag, file, Condition(err))
	case info.Mode().IsRegular() && links(info) > 1:
		return fmt.Errorf("%s %q: has more than one hard link, and another may lie inside a granted directory; use a copy", flag, file)
	}
	return nil
}
