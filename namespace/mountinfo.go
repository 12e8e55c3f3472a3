package namespace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mountTable is what the kernel tells about its mounts (Linux, proc(5)); empty
// elsewhere, where only the identity of parent directories finds overlaps.
type mountTable []hostMount

// hostMount is one mount of the host.
type hostMount struct {
	point string // where
	place place  // what
}

// place is a directory inside a filesystem, however it is mounted. The zero
// place is unknown and lies nowhere.
type place struct{ device, path string }

// cut returns q relative to p. ok is false when p does not contain q.
func (p place) cut(q place) (rel string, ok bool) {
	if p.device == "" || p.device != q.device {
		return "", false
	}
	return cutDir(p.path, q.path)
}

// cutDir returns path relative to dir; both are absolute and clean.
func cutDir(dir, path string) (rel string, ok bool) {
	if path == dir {
		return "", true
	}
	rel, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	return rel, ok
}

// readMountTable reads the table of this process. A system without one has an
// empty table.
func readMountTable() (mountTable, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, bareError(err)
	}
	return parseMountTable(string(data)), nil
}

// parseMountTable reads lines like
// "36 35 98:0 /part /point rw - ext3 /dev/sda rw".
func parseMountTable(text string) mountTable {
	var table mountTable
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		table = append(table, hostMount{unescapeMount(f[4]), place{f[2], unescapeMount(f[3])}})
	}
	return table
}

// unescapeMount replaces the octal escapes for blanks and backslashes.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				out.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

// locate returns which place a directory of the host is: that of the innermost
// mount, and of several at one point the last.
func (t mountTable) locate(dir string) place {
	var found place
	longest := -1
	for _, m := range t {
		if rel, ok := cutDir(m.point, dir); ok && len(m.point) >= longest {
			longest = len(m.point)
			found = place{m.place.device, filepath.Join(m.place.path, rel)}
		}
	}
	return found
}

// view is a place that can be seen at rel below some directory.
type view struct {
	rel   string
	place place
}

// views returns the places that are visible at and below dir: its own, and those
// mounted below it.
func (t mountTable) views(dir string) []view {
	views := []view{{"", t.locate(dir)}}
	for _, m := range t {
		if rel, ok := cutDir(dir, m.point); ok && rel != "" {
			views = append(views, view{rel, m.place})
		}
	}
	return views
}
