package policyfs

import (
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// mounts makes a namespace of a writable /workspace/app and /data and a read-only
// /mnt/notes.
func lintMounts(t *testing.T) *namespace.Namespace {
	t.Helper()
	n, err := namespace.New(
		namespace.Mount{At: "/workspace/app", Access: namespace.ReadWrite, Provider: memfs.New(memfs.Options{})},
		namespace.Mount{At: "/data", Access: namespace.ReadWrite, Provider: memfs.New(memfs.Options{})},
		namespace.Mount{At: "/mnt/notes", Provider: memfs.New(memfs.Options{})},
	)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLint(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"nothing": {Spec{}, nil},
		"all is well": {Spec{
			AllowRead: []string{"/"}, AllowWrite: []string{"app", "/data/out"}, DenyRead: []string{"app/private"}, DenyWrite: []string{"app/locked"},
			DenyWriteComponent: []string{"vendor"}, AllowHidden: []string{"app/.github"}, AllowSensitive: []string{"app/.env.example"}, AllowRecursiveDelete: true,
		}, nil},
		"spines": {Spec{AllowRead: []string{"mnt", "app/.ssh"}, AllowSensitive: []string{"app/.ssh/id.pub"}, AllowHidden: []string{"app"}}, nil},
		"mounts": {Spec{
			AllowRead: []string{"/", "src"}, AllowWrite: []string{"app", "mnt/notes/x", "mnt"}, DenyRead: []string{"DATA/x", "apps"}, DenyWrite: []string{"APP"},
		}, []string{
			`allow_read[1]: "src": touches no mount`,
			`allow_read[1]: "src": allow_read "/" covers it already`,
			`allow_write[0]: "app": void, deny_write "APP" covers it`,
			`allow_write[1]: "mnt/notes/x": touches only read-only mounts`,
			`allow_write[1]: "mnt/notes/x": allow_write "mnt" covers it already`,
			`allow_write[2]: "mnt": touches only read-only mounts`,
			`deny_read[1]: "apps": touches no mount`,
		}},
		"denied": {Spec{AllowRead: []string{"app/a/b", "app/c"}, DenyRead: []string{"app/A"}, AllowWrite: []string{"app/vendor/x"}, DenyWriteComponent: []string{"Vendor"}}, []string{
			`allow_read[0]: "app/a/b": void, deny_read "app/A" covers it`,
			`allow_write[0]: "app/vendor/x": void, deny_write_component "Vendor" covers it`,
		}},
		"denies of nothing": {Spec{AllowRead: []string{"app/a"}, AllowWrite: []string{"app/w"}, DenyRead: []string{"app/b", "app/A/x", "app"}, DenyWrite: []string{"app/a"}}, []string{
			`allow_read[0]: "app/a": void, deny_read "app" covers it`,
			`deny_read[0]: "app/b": deny_read "app" covers it already`,
			`deny_read[1]: "app/A/x": deny_read "app" covers it already`,
			`deny_write[0]: "app/a": void, no allow_write touches it`,
		}},
		"read only": {Spec{AllowRead: []string{"/"}, DenyWriteComponent: []string{"x", "X."}, AllowRecursiveDelete: true, DenyWrite: []string{"app"}}, []string{
			`deny_write[0]: "app": void, no allow_write touches it`,
			`deny_write_component[0]: "x": void, no allow_write touches it`,
			`deny_write_component[1]: "X.": deny_write_component "x" covers it already`,
			`allow_recursive_delete: void without an allow_write`,
		}},
		"protected": {Spec{AllowRead: []string{"app/.git", "app/.x", "app/ok"}, AllowHidden: []string{"app/.git", "app/.y"}}, []string{
			`allow_read[0]: "app/.git": void without an opt-in, it is sensitive ".git"`,
			`allow_read[1]: "app/.x": void without an opt-in, it is hidden`,
			`allow_hidden[0]: "app/.git": void, it is sensitive ".git"`,
			`allow_hidden[1]: "app/.y": void, nothing there may be read or written`,
		}},
		"opt-ins": {Spec{AllowRead: []string{"app"}, DenyRead: []string{"app/p"}, AllowHidden: []string{"app/.a", "app/.a/.b", "app/v/.c", "app/p/.d"}, AllowSensitive: []string{"app/v", "app/v/.ssh"}}, []string{
			`allow_hidden[1]: "app/.a/.b": allow_hidden "app/.a" covers it already`,
			`allow_hidden[2]: "app/v/.c": allow_sensitive "app/v" covers it already`,
			`allow_hidden[3]: "app/p/.d": void, nothing there may be read or written`,
			`allow_sensitive[1]: "app/v/.ssh": allow_sensitive "app/v" covers it already`,
		}},
		"twice": {Spec{AllowRead: []string{"app", "/app/"}}, []string{`allow_read[1]: "/app/": allow_read "app" covers it already`}},
		"patterns": {Spec{AllowRead: []string{"app/*.md"}, AllowWrite: []string{"app"}, DenyWriteComponent: []string{"a?"}}, []string{
			`allow_read[0]: "app/*.md": '*' is an ordinary character, a rule is no pattern`,
			`deny_write_component[0]: "a?": '?' is an ordinary character, a rule is no pattern`,
		}},
		"what Compile refuses": {Spec{AllowRead: []string{"app", "..", ""}, DenyWriteComponent: []string{"a/b"}, AllowHidden: []string{"app/.x"}}, []string{
			`allow_read[1]: "..": invalid path: ".." is refused`,
			`allow_read[2]: "": blank`,
			`deny_write_component[0]: "a/b": a component is one element, without a slash`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, err := range Lint(lintMounts(t), c.spec) {
				text, ok := strings.CutPrefix(err.Error(), "policyfs: ")
				if !ok {
					t.Errorf("error %q", err)
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// TestLintPresets: the presets fit a plain workspace, and Lint works without one.
func TestLintPresets(t *testing.T) {
	for name, spec := range map[string]Spec{"ReadOnly": readOnlySpec, "ReadWrite": readWriteSpec} {
		for _, n := range []*namespace.Namespace{nil, namespace.Workspace(memfs.New(memfs.Options{}))} {
			if errs := Lint(n, spec); len(errs) != 0 {
				t.Errorf("%s: %v", name, errs)
			}
		}
	}
}

// TestLintShorthand: where /workspace stands for the working directory, a scope
// spelled so touches its mount.
func TestLintShorthand(t *testing.T) {
	n, err := namespace.FromGrants(namespace.Portable, func(string, namespace.Access) (provider.Provider, error) {
		return memfs.New(memfs.Options{}), nil
	}, namespace.Grant{Dir: t.TempDir(), Label: "app", Access: namespace.ReadWrite, Default: true})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if errs := Lint(n, Spec{AllowRead: []string{"/workspace/src"}, AllowWrite: []string{"app/src", "/workspace/src"}}); len(errs) != 0 {
		t.Errorf("%v", errs)
	}
}
