package advice

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

func policyOf(t *testing.T, s policyfs.Spec) setup.Policy {
	t.Helper()
	p, err := policyfs.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return setup.Policy{Name: "p.json", File: "p.json", Spec: s, Compiled: p}
}

func TestAllow(t *testing.T) {
	readOnly, err := setup.OpenPolicy(setup.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	readWrite, err := setup.OpenPolicy(setup.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	some := policyOf(t, policyfs.Spec{AllowRead: []string{"/src"}, AllowWrite: []string{"/src"}, DenyWrite: []string{"/src/gen", "/src/gen/deep", "/other"}, DenyRead: []string{"/src/x"}})
	many := policyfs.Spec{AllowRead: []string{"/"}}
	for i := range maxScopes + 1 {
		many.DenyRead = append(many.DenyRead, fmt.Sprintf("/d%d", i))
	}
	for _, tc := range []struct {
		policy setup.Policy
		op     policyfs.Op
		path   string
		want   string
	}{
		{readOnly, policyfs.OpWrite, "/a", "--policy read-write would allow it"},
		{readOnly, policyfs.OpRead, "/.env", `a policy file like read-only with "allow_sensitive": ["/workspace/.env"] would allow it`},
		{readOnly, policyfs.OpRead, "/.x", `a policy file like read-only with "allow_hidden": ["/workspace/.x"] would allow it`},
		{readWrite, policyfs.OpRemoveTree, "/a", `a policy file like read-write with "allow_recursive_delete": true would allow it`},
		{readWrite, policyfs.OpWrite, "/a/dist/x", `a policy file like read-write without "dist" in "deny_write_component" would allow it`},
		{readWrite, policyfs.OpWrite, "/.agents/x", `a policy file like read-write without ".agents" in "deny_write" would allow it`},
		{some, policyfs.OpRead, "/doc", `the policy with "allow_read": ["/workspace/doc"] would allow it`},
		{some, policyfs.OpWrite, "/src/gen/deep/x", `the policy without "/src/gen" in "deny_write" and without "/src/gen/deep" in "deny_write" would allow it`},
		{some, policyfs.OpWrite, "/src/.git/x", `the policy with "allow_sensitive": ["/workspace/src/.git/x"] would allow it`},
		{some, policyfs.OpRead, "/src/x/y", `the policy without "/src/x" in "deny_read" would allow it`},
		{policyOf(t, many), policyfs.OpRead, "/d7", "no single change of the policy allows it: work on the files one by one"},
		{some, policyfs.OpRead, "/src/a", ""}, // allowed
	} {
		a := Advisor{Policy: tc.policy}
		if got := a.Allow(policyfs.Request{Op: tc.op, Path: namespace.MustParse(tc.path)}); got != tc.want {
			t.Errorf("%s %s under %s:\n got %s\nwant %s", tc.op, tc.path, tc.policy.Name, got, tc.want)
		}
	}
}

// Every condition has a kind that programs can rely on, and no text of a foreign
// error gets through unquoted.
func TestKinds(t *testing.T) {
	n, err := namespace.New(
		namespace.Mount{At: "/workspace", Access: namespace.ReadWrite, Provider: memfs.New(memfs.Options{})},
		namespace.Mount{At: "/data", Provider: memfs.New(memfs.Options{})},
	)
	if err != nil {
		t.Fatal(err)
	}
	rw, err := setup.OpenPolicy(setup.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	a := Advisor{Namespace: n, Policy: rw}
	for err, want := range map[error]string{
		namespace.ErrOutside: "outside", provider.ErrSymlink: "link", provider.ErrIrregular: "special", provider.ErrHardLink: "hardlink",
		provider.ErrPath: "name", provider.ErrQuota: "quota", provider.ErrConflict: "conflict", provider.ErrTooMany: "limit", syscall.EFBIG: "limit",
		fs.ErrNotExist: "missing", fs.ErrExist: "exists", syscall.EEXIST: "exists", syscall.ENOTEMPTY: "notempty", syscall.EBUSY: "busy",
		syscall.EXDEV: "crossmount", syscall.EISDIR: "isdir", syscall.ENOTDIR: "notdir", t.Context().Err(): "failed", syscall.EACCES: "permission",
	} {
		if err == nil {
			err = errors.New("a\nb")
		}
		r := a.Refusal("op", "x", &fs.PathError{Op: "op", Path: "x", Err: err})
		if r.Kind != want || strings.Contains(r.String(), "\n") || !strings.HasPrefix(r.String(), "op x: ") {
			t.Errorf("%v: %+v, want kind %s", err, r, want)
		}
	}
	// The rule may not be named: what is below is hidden.
	tree := &policyfs.DeniedError{Op: policyfs.OpMoveTree, Path: namespace.MustParse("/src"), Rule: "protected descendant"}
	if r := a.Refusal("mv", "src", tree); !strings.Contains(r.Hint, "one by one") {
		t.Errorf("%+v", r)
	}
	f := policyfs.New(n, policyfs.Options{Policy: rw.Compiled})
	_, denied := f.Create("/data/x")
	r := a.Refusal("write", "/data/x", denied)
	if r.Kind != "denied" || !r.Denied || !strings.Contains(r.Reason, "read-only") || r.Hint != "granting /data without :ro would allow it" {
		t.Errorf("%+v", r)
	}
}
