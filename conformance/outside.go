package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outside makes a directory of the host that is not below HostDir and holds
// files, and checks at the end that nothing there has changed.
func (c *probe) outside(files map[string]string) string {
	var dir string
	c.test(func(t testing.TB) { dir = t.TempDir() })
	c.inv.host = append(c.inv.host, dir)
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		c.onHost(os.MkdirAll(filepath.Dir(path), 0o755))
		c.onHost(os.WriteFile(path, []byte(content), 0o644))
	}
	before := hostTree(dir)
	c.cleanup(func() {
		if after := hostTree(dir); after != before {
			c.fail("the directory outside stays as it was: "+before, after)
		}
	})
	return dir
}

// hostTree describes a directory of the host, content and modes included.
func hostTree(dir string) string {
	var b strings.Builder
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(" " + filepath.ToSlash(rel) + " " + info.Mode().String())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString("=" + string(data))
		}
		return nil
	})
	return b.String()
}
