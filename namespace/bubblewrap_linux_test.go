package namespace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// sandbox runs shell scripts under bubblewrap, with what a Namespace mounts.
type sandbox struct {
	t  *testing.T
	ns *namespace.Namespace
}

// sh runs a script with arguments and returns its output.
func (s sandbox) sh(script string, args ...string) (string, error) {
	s.t.Helper()
	binds, files, err := s.ns.BubblewrapArgs(3)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	argv := []string{"--unshare-user-try", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--die-with-parent"}
	argv = append(append(append(argv, binds...), "/bin/sh", "-c", script, "sh"), args...)
	cmd := exec.CommandContext(s.t.Context(), "bwrap", argv...)
	cmd.ExtraFiles = files
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), err
}

// TestBubblewrap runs a shell in a sandbox made of BubblewrapArgs: file by file,
// it and the FS see the same bytes at the same paths, and what is read-only for
// one is for the other.
func TestBubblewrap(t *testing.T) {
	help, _ := exec.CommandContext(t.Context(), "bwrap", "--help").Output()
	namespace.Need(t, bytes.Contains(help, []byte("--ro-bind-fd")), "a bubblewrap with --ro-bind-fd")
	top := namespace.Dirs(t, "app/src", "app/docs/in", "data", "odd, name\n--dev")
	in := func(name string) string { return filepath.Join(top, name) }
	for _, file := range []string{"app/main.go", "app/src/x.go", "app/docs/readme", "app/docs/in/deep", "data/set", "odd, name\n--dev/f"} {
		if err := os.WriteFile(in(file), []byte("content of "+strings.ReplaceAll(file, "\n", " ")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ns, err := namespace.FromGrants(namespace.Portable, namespace.OpenDisk,
		namespace.Grant{Dir: in("app"), Label: "app", Access: namespace.ReadWrite},
		namespace.Grant{Dir: in("app/docs"), Label: "docs", Kind: namespace.KindFolder},
		namespace.Grant{Dir: in("data"), Kind: namespace.KindData},
		namespace.Grant{Dir: in("odd, name\n--dev"), Label: "--odd, name\n", Kind: namespace.KindFolder, Access: namespace.ReadWrite})
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	box := sandbox{t, ns}
	if _, err := box.sh("true"); err != nil {
		namespace.Need(t, false, fmt.Sprintf("a bubblewrap that may make namespaces (%v)", err))
	}
	tools := policyfs.New(ns, policyfs.Options{Policy: policyfs.ReadWrite()})

	var roots []string
	shown := make(map[string]string)
	for _, m := range ns.Mounts() {
		root := ns.Display(m.At)
		roots = append(roots, root)
		err := afero.Walk(tools, root, func(path string, info fs.FileInfo, err error) error {
			if err != nil || info.IsDir() {
				return err
			}
			data, err := afero.ReadFile(tools, path)
			shown[path] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listing, err := box.sh(`find "$@" -type f -exec sh -c 'for f; do printf "%s\t" "$f"; cat "$f"; printf "\n"; done' sh {} + | sort -u`, roots...)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(listing) {
		name, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if data, ok := shown[name]; !ok || data != content {
			t.Errorf("%q is %q in the shell and %q, %v for the tools", name, content, data, ok)
		}
		seen++
	}
	// app has four files, two of them in docs, which has a root of its own.
	if seen != 8 || len(shown) != 8 {
		t.Errorf("the shell sees %d files, the tools %d:\n%s", seen, len(shown), listing)
	}

	for name, writable := range map[string]bool{
		"/workspace/app/new": true, "/workspace/app/src/new": true, "/workspace/app/docs/new": false, "/mnt/docs/new": false, "/mnt/docs/in/new": false, "/data/new": false, "/mnt/odd-name/new": true,
	} {
		_, err := box.sh(`printf shell >"$1"`, name)
		if (err == nil) != writable {
			t.Errorf("%q: the shell writes: %v", name, err)
		}
		data, err := afero.ReadFile(tools, name)
		if writable && string(data) != "shell" || !writable && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: after the shell wrote, the tools read %q, %v", name, data, err)
		}
		err = afero.WriteFile(tools, name, []byte("tool"), 0o644)
		if (err == nil) != writable || err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%q: the tools write: %v", name, err)
		}
		if out, err := box.sh(`cat "$1"`, name); writable != (err == nil && out == "tool") {
			t.Errorf("%q: after the tools wrote, the shell reads %q, %v", name, out, err)
		}
	}
}
