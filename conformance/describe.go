package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

// namedErrors are the conditions of the contract with the names that authors
// know, most telling first.
var namedErrors = []struct {
	name string
	err  error
}{
	{"provider.ErrPath", provider.ErrPath},
	{"provider.ErrSymlink", provider.ErrSymlink},
	{"provider.ErrIrregular", provider.ErrIrregular},
	{"provider.ErrQuota", provider.ErrQuota},
	{"provider.ErrConflict", provider.ErrConflict},
	{"provider.ErrHardLink", provider.ErrHardLink},
	{"provider.ErrTooMany", provider.ErrTooMany},
	{"context.Canceled", context.Canceled},
	{"context.DeadlineExceeded", context.DeadlineExceeded},
	{"syscall.ENOTEMPTY", syscall.ENOTEMPTY},
	{"syscall.ENOTDIR", syscall.ENOTDIR},
	{"syscall.EISDIR", syscall.EISDIR},
	{"syscall.EINVAL", syscall.EINVAL},
	{"syscall.EBUSY", syscall.EBUSY},
	{"syscall.EROFS", syscall.EROFS},
	{"syscall.EFBIG", syscall.EFBIG},
	{"syscall.ENAMETOOLONG", syscall.ENAMETOOLONG},
	{"syscall.EXDEV", syscall.EXDEV},
	{"syscall.EBADF", syscall.EBADF},
	{"syscall.ENOSPC", syscall.ENOSPC},
	{"errors.ErrUnsupported", errors.ErrUnsupported},
	{"io.EOF", io.EOF},
	{"fs.ErrNotExist", fs.ErrNotExist},
	{"fs.ErrExist", fs.ErrExist},
	{"fs.ErrClosed", fs.ErrClosed},
	{"fs.ErrPermission", fs.ErrPermission},
	{"fs.ErrInvalid", fs.ErrInvalid},
}

// describe renders an error with the condition it is.
func describe(err error) string {
	if err == nil {
		return "nil"
	}
	for _, n := range namedErrors {
		if errors.Is(err, n.err) {
			if err == n.err { // the sentinel itself needs no second name
				return n.name
			}
			return fmt.Sprintf("%s (%s)", n.name, err)
		}
	}
	return fmt.Sprintf("%T (%s)", err, err)
}

// describeOpen renders options as authors write them.
func describeOpen(o provider.OpenOptions) string {
	var parts []string
	for _, flag := range []struct {
		name string
		set  bool
	}{
		{"Read", o.Read}, {"Write", o.Write}, {"Append", o.Append}, {"Create", o.Create},
		{"Exclusive", o.Exclusive}, {"Truncate", o.Truncate}, {"Directory", o.Directory},
	} {
		if flag.set {
			parts = append(parts, flag.name)
		}
	}
	if o.Perm != 0 {
		parts = append(parts, fmt.Sprintf("%#o", uint32(o.Perm)))
	}
	if len(parts) == 0 {
		return "no options"
	}
	return strings.Join(parts, "|")
}

func describeReplace(o provider.ReplaceOptions) string {
	var b strings.Builder
	if o.Perm != 0 {
		fmt.Fprintf(&b, ", %#o", uint32(o.Perm))
	}
	if o.If.Absent() {
		b.WriteString(", IfAbsent")
	}
	if d, ok := o.If.Match(); ok {
		fmt.Fprintf(&b, ", IfMatch %.15s", d)
	}
	return b.String()
}

func describeInfo(info fs.FileInfo) string {
	return fmt.Sprintf("%s %q, %d bytes", info.Mode(), info.Name(), info.Size())
}

// describeBytes shows short texts and counts long ones.
func describeBytes(p []byte) string {
	if len(p) > 40 {
		return fmt.Sprintf("%.16q... %d bytes", p, len(p))
	}
	return fmt.Sprintf("%q", p)
}

func describeTime(t time.Time) string {
	if t.IsZero() {
		return "zero"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func describeEntries(entries []fs.DirEntry) string {
	names := make([]string, 0, min(len(entries), 12))
	for i, e := range entries {
		if i == 12 {
			names = append(names, fmt.Sprintf("... %d in all", len(entries)))
			break
		}
		names = append(names, describeEntry(e))
	}
	return "[" + strings.Join(names, " ") + "]"
}

// describeEntry writes an entry as a layout does: "d/", "f", "l@", "p|".
func describeEntry(e fs.DirEntry) string { return quoteOdd(e.Name()) + typeMark(e.Type()) }

// quote quotes a name and cuts a long one, for a line of text.
func quote(name provider.Path) string { return fmt.Sprintf("%q", shorten(name.String())) }

// typeMark is what a layout puts after a name of that type.
func typeMark(t fs.FileMode) string {
	switch t.Type() {
	case 0:
		return ""
	case fs.ModeDir:
		return "/"
	case fs.ModeSymlink:
		return "@"
	}
	return "|"
}

// quoteOdd quotes a name that would be hard to see in a line of text.
func quoteOdd(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r <= 0x20 || r > 0x7e || r == '"' || r == '\\' }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
