package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestExample is the work of an agent's tools, from an empty workspace to a
// refactored one, written once against the face: it passes unchanged on memory
// and on disk.
func TestExample(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) { exampleSession(t, newStorage(t, kind)) })
	}
}

func exampleSession(t *testing.T, p provider.Provider) {
	var audit []policyfs.Event
	pol := policyfs.Compose(policyfs.ReadWrite(), compile(t, policyfs.Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"/"}, DenyWrite: []string{"vendor"}, DenyRead: []string{"private"},
		AllowHidden: []string{"/"}, AllowSensitive: []string{"/"}, AllowRecursiveDelete: true,
	}))
	fsys := policyfs.New(namespace.Workspace(p), policyfs.Options{
		Policy: pol,
		Audit:  func(_ context.Context, e policyfs.Event) { audit = append(audit, e) },
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err error, rule string) {
		t.Helper()
		var denied *policyfs.DeniedError
		if !errors.As(err, &denied) || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%v, want a refusal by %s", err, rule)
		}
	}

	// Starter files, which no tool may change.
	must(fsys.Seed(
		policyfs.SeedFile{Name: "/README.md", Data: []byte("# demo\n"), ReadOnly: true},
		policyfs.SeedFile{Name: "/vendor/lib/lib.go", Data: []byte("package lib // needle\n")},
		policyfs.SeedFile{Name: "/private/notes.txt", Data: []byte("needle\n")},
		policyfs.SeedFile{Name: "/.env", Data: []byte("TOKEN=needle\n")},
	))
	refused(afero.WriteFile(fsys, "/README.md", []byte("x"), 0o644), "read-only starter file")
	refused(fsys.Remove("README.md"), "read-only starter file")

	// Write a small tree, through afero.
	must(fsys.MkdirAll("/src/app", 0o755))
	must(afero.WriteFile(fsys, "/src/app/main.go", []byte("package main\n\nfunc main() { needle() }\n"), 0o644))
	h, err := fsys.OpenFile("src/app/util.go", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	must(err)
	_, err = h.WriteString("package main\n\nfunc needle() {}\n")
	must(err)
	must(h.Sync())
	_, err = h.Seek(0, io.SeekStart)
	must(err)
	text, err := io.ReadAll(h)
	must(err)
	if !strings.HasPrefix(string(text), "package main") {
		t.Errorf("read back %q", text)
	}
	must(h.Close())
	if _, err := fsys.OpenFile("src/app/util.go", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); !os.IsExist(err) {
		t.Errorf("exclusive create over a file: %v", err)
	}
	if _, err := fsys.Open("src/app/nope.go"); !os.IsNotExist(err) {
		t.Errorf("open of a missing file: %v", err)
	}

	// What the policy forbids.
	refused(afero.WriteFile(fsys, "/vendor/lib/lib.go", nil, 0o644), `deny_write "vendor"`)
	refused(afero.WriteFile(fsys, "/vendor/new/x", nil, 0o644), `deny_write "vendor"`)
	_, err = fsys.Open("/private/notes.txt")
	refused(err, `deny_read "private"`)
	_, err = fsys.Stat(".env")
	refused(err, "sensitive")
	refused(fsys.Mkdir("node_modules", 0o755), "node_modules")
	_, err = fsys.Open("../outside")
	if !errors.Is(err, provider.ErrPath) {
		t.Errorf("..: %v", err)
	}

	// Append, as a log does.
	for i := range 3 {
		must(appendFile(fsys, "/log.txt", fmt.Sprintf("line %d\n", i)))
	}
	data, digest, err := fsys.ReadFile("/log.txt")
	must(err)
	if string(data) != "line 0\nline 1\nline 2\n" {
		t.Errorf("log %q", data)
	}

	// Edit what was read, only if nobody else has changed it meanwhile.
	edited := strings.ReplaceAll(string(data), "line", "entry")
	next, err := fsys.WriteFile("/log.txt", []byte(edited), provider.ReplaceOptions{If: provider.IfMatch(digest)})
	must(err)
	if _, err := fsys.WriteFile("/log.txt", nil, provider.ReplaceOptions{If: provider.IfMatch(digest)}); !errors.Is(err, provider.ErrConflict) {
		t.Errorf("stale edit: %v", err)
	}
	if _, again, err := fsys.ReadFile("/log.txt"); err != nil || again != next {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := fsys.WriteFile("/log.txt", nil, provider.ReplaceOptions{If: provider.IfAbsent()}); !errors.Is(err, provider.ErrConflict) {
		t.Errorf("create over a file: %v", err)
	}

	// List, walk, search: only what may be seen.
	infos, err := afero.ReadDir(fsys, "/")
	must(err)
	names := []string{}
	for _, i := range infos {
		names = append(names, i.Name())
	}
	if want := []string{"README.md", "log.txt", "src", "vendor"}; !slices.Equal(names, want) {
		t.Errorf("listing %q, want %q", names, want)
	}
	var walked []string
	for e, err := range fsys.Walk("/") {
		must(err)
		walked = append(walked, strings.TrimPrefix(e.Path.String(), "/workspace"))
	}
	if want := []string{"", "/README.md", "/log.txt", "/src", "/src/app", "/src/app/main.go", "/src/app/util.go", "/vendor", "/vendor/lib", "/vendor/lib/lib.go"}; !slices.Equal(walked, want) {
		t.Errorf("walk %q", walked)
	}
	globbed, err := fsys.Glob("/**/*.go")
	must(err)
	if len(globbed) != 3 {
		t.Errorf("glob %q", globbed)
	}
	var found []string
	for m, err := range fsys.Grep("/", policyfs.Query{Pattern: `need\w+`, Include: []string{"*.go"}, Exclude: []string{"vendor/**"}}) {
		must(err)
		found = append(found, fmt.Sprintf("%s:%d:%d", m.Path.Base(), m.Line, m.Column))
	}
	if want := []string{"main.go:3:15", "util.go:3:6"}; !slices.Equal(found, want) {
		t.Errorf("grep %q", found)
	}

	// Attributes.
	stamp := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	must(fsys.Chmod("/src/app/main.go", 0o600))
	must(fsys.Chtimes("/src/app/main.go", stamp, stamp))
	info, err := fsys.Stat("/src/app/main.go")
	must(err)
	if info.Mode() != 0o600 || !info.ModTime().Equal(stamp) || info.Sys() != nil {
		t.Errorf("%v %v %v", info.Mode(), info.ModTime(), info.Sys())
	}

	// Move and remove.
	must(fsys.Rename("/src/app", "/src/cmd"))
	if err := fsys.Rename("/src/cmd/main.go", "/src/cmd/util.go"); err != nil {
		t.Errorf("replacing a file: %v", err)
	}
	if err := fsys.Move("/log.txt", "/src/cmd/util.go", provider.RenameOptions{NoReplace: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Move without replacing: %v", err)
	}
	refused(fsys.Rename("/vendor", "/src/vendor"), "vendor")
	refused(fsys.RemoveAll("/src"), "recursive")
	must(fsys.Remove("/src/cmd/util.go"))
	must(fsys.Remove("/src/cmd"))
	must(fsys.RemoveAll("/src/cmd"))
	if err := fsys.Remove("/"); err == nil {
		t.Error("the root is removed")
	}

	// A session in a directory, and a tool that may only read.
	reader := fsys.WithDir(namespace.MustParse("/vendor/lib")).WithPolicy(policyfs.ReadOnly())
	data, _, err = reader.ReadFile("lib.go")
	must(err)
	if !strings.HasPrefix(string(data), "package lib") {
		t.Errorf("%q", data)
	}
	refused(reader.Remove("lib.go"), "")
	if d := reader.Explain(policyfs.OpWrite, "lib.go"); d.Allow || d.Rule == "" {
		t.Errorf("Explain %+v", d)
	}

	// The same through io/fs.
	io1, err := fs.ReadFile(reader.IOFS(), "lib.go")
	must(err)
	if string(io1) != string(data) {
		t.Errorf("%q", io1)
	}
	if len(audit) == 0 {
		t.Error("no audit")
	}
}
