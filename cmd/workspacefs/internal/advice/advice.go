// Package advice turns an error of the workspace into one line that a person or
// a model can act on: the operation, the agent path, the rule or reason, and what
// would allow it.
package advice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// Advisor knows the policy and the mounts that refusals come from.
type Advisor struct {
	Namespace *namespace.Namespace
	Policy    setup.Policy
}

// Refusal is one failed operation. Every field is safe to print and to show to a
// model: no control characters, no host path.
type Refusal struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	Reason    string `json:"reason"`         // the rule, or the condition
	Hint      string `json:"hint,omitempty"` // what would allow it
	Denied    bool   `json:"denied"`         // refused by policy or mount access
	Kind      string `json:"kind"`           // a stable word: denied, outside, link, special, name, missing, exists, conflict, quota, ...
}

// String is the line.
func (r Refusal) String() string {
	s := r.Operation + " " + r.Path + ": " + r.Reason
	if r.Hint != "" {
		s += "; " + r.Hint
	}
	return s
}

// Refusal explains err, which operation on name returned. The names in an error
// of policyfs are already quoted where they need it.
func (a Advisor) Refusal(operation, name string, err error) Refusal {
	r := Refusal{Operation: operation, Path: namespace.Quote(name), Reason: namespace.Quote(condition(err).Error())}
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &le):
		r.Path = le.Old + " -> " + le.New
	case errors.As(err, &pe) && pe.Path != "":
		r.Path = pe.Path
	}
	var denied *policyfs.DeniedError
	if errors.As(err, &denied) {
		return a.denied(r, denied)
	}
	r.Kind, r.Hint = a.kind(err)
	if le != nil && errors.Is(err, syscall.EINVAL) {
		r.Hint = "a directory cannot be moved into itself"
	}
	return r
}

// condition is the innermost error that package fs did not add: what remains
// when operation and path are said elsewhere.
func condition(err error) error {
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (a Advisor) denied(r Refusal, e *policyfs.DeniedError) Refusal {
	r.Denied, r.Kind = true, "denied"
	r.Operation = e.Op.String()
	if e.Path.String() != "" {
		r.Path = namespace.Quote(a.display(e.Path))
	}
	r.Reason = "not allowed: " + namespace.Quote(e.Rule)
	r.Hint = a.Allow(policyfs.Request{Op: e.Op, Path: e.Path})
	if r.Hint == "" && (e.Op == policyfs.OpRemoveTree || e.Op == policyfs.OpMoveTree) {
		r.Hint = "something below it, which may be hidden from you, has to stay: work on the files one by one"
	}
	return r
}

func (a Advisor) display(p namespace.Path) string {
	if a.Namespace == nil {
		return p.String()
	}
	return a.Namespace.Display(p)
}

// kind classifies a condition that is no denial by rule.
func (a Advisor) kind(err error) (kind, hint string) {
	switch {
	case errors.Is(err, namespace.ErrOutside):
		return "outside", "reachable are " + a.roots()
	case errors.Is(err, provider.ErrSymlink):
		return "link", "links are never followed; name the file itself"
	case errors.Is(err, provider.ErrIrregular):
		return "special", "only regular files and directories can be used"
	case errors.Is(err, provider.ErrHardLink):
		return "hardlink", "write a new file instead of changing this one in place"
	case errors.Is(err, provider.ErrPath):
		return "name", `names use "/", without "..", backslashes or control characters`
	case errors.Is(err, provider.ErrQuota):
		return "quota", "remove something first"
	case errors.Is(err, provider.ErrConflict):
		return "conflict", "read the file again, then repeat the change on what it holds now"
	case errors.Is(err, provider.ErrTooMany), errors.Is(err, syscall.EFBIG):
		return "limit", "choose something smaller"
	case errors.Is(err, fs.ErrNotExist):
		return "missing", ""
	case errors.Is(err, syscall.ENOTEMPTY):
		return "notempty", "what it holds may be hidden from you; recursive removal needs a policy that allows it"
	case errors.Is(err, fs.ErrExist):
		return "exists", "choose another name, or remove what is there"
	case errors.Is(err, syscall.EBUSY):
		return "busy", "mount points and the directories above them stay where they are"
	case errors.Is(err, syscall.EXDEV):
		return "crossmount", "copy the content, then remove the original"
	case errors.Is(err, syscall.EISDIR):
		return "isdir", ""
	case errors.Is(err, syscall.ENOTDIR):
		return "notdir", ""
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled", ""
	case errors.Is(err, fs.ErrPermission):
		return "permission", "the operating system refuses it"
	}
	return "failed", ""
}

// roots lists what a caller may name.
func (a Advisor) roots() string {
	if a.Namespace == nil {
		return "nothing"
	}
	var names []string
	for _, m := range a.Namespace.Mounts() {
		names = append(names, m.At.String())
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// Allow says which change of the policy or of the grants would allow a request.
// What it proposes has been tried on the policy itself.
func (a Advisor) Allow(req policyfs.Request) string {
	if a.Policy.Compiled == nil {
		return ""
	}
	if a.Policy.Compiled.Check(req).Allow {
		return a.allowedByPolicy(req)
	}
	if a.Policy.Name == setup.ReadOnly && policyfs.ReadWrite().Check(req).Allow {
		return "--policy read-write would allow it"
	}
	changes := changesFor(a.Policy.Spec, req)
	if len(changes) == 0 {
		return "no single change of the policy allows it: work on the files one by one"
	}
	where := "a policy file like " + a.Policy.Name
	if a.Policy.File != "" {
		where = "the policy"
	}
	return fmt.Sprintf("%s %s would allow it", where, strings.Join(changes, " and "))
}

// allowedByPolicy is for requests that something else than the policy refused.
func (a Advisor) allowedByPolicy(req policyfs.Request) string {
	if a.Namespace == nil || req.Path.String() == "" {
		return ""
	}
	t, err := a.Namespace.Lookup(req.Path)
	if err != nil || t.Access == namespace.ReadWrite {
		return ""
	}
	switch req.Op {
	case policyfs.OpRead, policyfs.OpStat, policyfs.OpList:
		return ""
	}
	return "granting " + namespace.Quote(a.display(t.Mount)) + " without :ro would allow it"
}
