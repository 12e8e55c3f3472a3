// Package listing reads directories of a workspace for the command and for the
// MCP server, so that both show the same and say the same of what they cannot
// show.
package listing

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/workspacefs/workspacefs/policyfs"
)

// A Dir is what one directory shows.
type Dir struct {
	Entries []fs.DirEntry // sorted by name
	// Unspellable counts the entries that have no path in a workspace.
	Unspellable int
}

// Read lists the directory name.
func Read(f *policyfs.FS, name string) (Dir, error) {
	opened, err := f.Open(name)
	if err != nil {
		return Dir{}, err
	}
	defer opened.Close()
	dir := opened.(*policyfs.File) // as Open documents
	var d Dir
	if d.Entries, err = dir.ReadDir(-1); err != nil {
		return Dir{}, err
	}
	d.Unspellable, err = dir.Unspellable()
	return d, err
}

// Note says what of the directory is not shown, or "".
func (d Dir) Note() string {
	what := "entries are"
	switch d.Unspellable {
	case 0:
		return ""
	case 1:
		what = "entry is"
	}
	return fmt.Sprintf("%d more %s not shown: no path can spell a name with a backslash, a control character or invalid UTF-8; rename it outside the workspace", d.Unspellable, what)
}

// Join spells a name below a directory as the caller spelled the directory.
func Join(dir, name string) string {
	switch {
	case dir == "" || dir == ".":
		return name
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

// Mark is what follows the name of an entry to tell its kind.
func Mark(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "/"
	case m&fs.ModeSymlink != 0:
		return "@"
	case !m.IsRegular():
		return "|"
	}
	return ""
}
