package diskfs_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// lay makes a tree below dir from short lines: "d/", "f", "f: content",
// "l => target". OUT in a target is out.
func lay(t testing.TB, dir, out string, lines ...string) {
	t.Helper()
	check := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, line := range lines {
		if name, target, ok := strings.Cut(line, " => "); ok {
			check(os.Symlink(strings.ReplaceAll(target, "OUT", out), filepath.Join(dir, name)))
			continue
		}
		if name, ok := strings.CutSuffix(line, "/"); ok {
			check(os.Mkdir(filepath.Join(dir, name), 0o755))
			continue
		}
		name, content, _ := strings.Cut(line, ": ")
		check(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
}

// snapshot describes everything below dir: names, types, modes, contents.
func snapshot(t testing.TB, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q %v", b, info.ModTime().UnixNano())
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " => " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// names lists a host directory.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// openFDs counts this process's descriptors.
func openFDs(t testing.TB) int {
	t.Helper()
	return len(names(t, "/proc/self/fd"))
}

// keepsFDs fails when the test leaves descriptors open. It must be called
// before anything that cleans up by closing.
func keepsFDs(t testing.TB) {
	t.Helper()
	before := openFDs(t)
	t.Cleanup(func() {
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
}

// hostFile reads a file past the provider.
func hostFile(t testing.TB, elems ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elems...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var path = provider.MustPath

// linkTree makes, in a directory of its own below parent, out (a secret, a directory) and root (a file, a directory,
// link and dir/link pointing to target).
func linkTree(t testing.TB, parent, target string) string {
	t.Helper()
	base, err := os.MkdirTemp(parent, "links")
	if err != nil {
		t.Fatal(err)
	}
	lay(t, base, "", "out/", "out/secret: SECRET", "out/sub/", "root/")
	lay(t, base+"/root", base+"/out", "file: content", "dir/", "link => "+target, "dir/link => "+target)
	return base
}

// scratch returns a directory in memory if there is one: for tests that make
// many trees and do not care where.
func scratch(t testing.TB) string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return t.TempDir()
}

func removeTree(t testing.TB, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// digest is the digest of content.
func digest(b []byte) provider.Digest { return provider.Digest(sha256.Sum256(b)) }
