package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/workspacefs/workspacefs/provider"
)

// The requirements that every call of every check is held against.
const (
	idBare     = "ERR-bare-conditions"
	idHostPath = "ERR-no-host-path"
	idNil      = "ERR-no-result-beside-an-error"
	idCount    = "READ-short-counts-have-an-error"
	idSys      = "ATTR-sys-is-nil"
	idName     = "ATTR-name-is-the-last-element"
	idEntries  = "DIR-each-name-once"
)

// invariants holds answers against what is true of all answers. An ID in known
// is not held against anybody but its own requirement.
type invariants struct {
	tr    *trial
	own   string // the requirement that runs
	known map[string]string
	host  []string // texts that no error may hold
}

// hostTexts returns the paths of the host that must not appear in an error.
func hostTexts(dir string) []string {
	texts := []string{filepath.Clean(os.TempDir())}
	if dir != "" {
		texts = append(texts, dir, filepath.Dir(dir))
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			texts = append(texts, real)
		}
	}
	kept := texts[:0]
	for _, s := range texts {
		if len(s) > 3 { // a root such as "/" or `C:\` says nothing
			kept = append(kept, s)
		}
	}
	return kept
}

// violate records that an answer broke a requirement.
func (v *invariants) violate(id, expected, got string) {
	if _, isKnown := v.known[id]; v.own != id && (isKnown || v.own == idBare || v.own == idHostPath || v.own == idNil) {
		return // it has its own requirement, which provokes the same errors
	}
	if v.own != id {
		expected += " (" + id + ")"
	}
	v.tr.fail(expected, got)
}

// err checks an error: a bare condition, without a path of the host.
func (v *invariants) err(op string, err error) {
	if err == nil {
		return
	}
	if text := leak(err, v.host); text != "" {
		v.violate(idHostPath, "an error without a path of the host", fmt.Sprintf("%s: %q holds %q", op, err, text))
	}
	if !isBare(err) {
		v.violate(idBare, "an errno, an io/fs sentinel, a sentinel of package provider, a context error or errors.ErrUnsupported", fmt.Sprintf("%s: %T: %v", op, err, err))
	}
}

// leak returns the text of the host that err holds, or "".
func leak(err error, host []string) string {
	text := strings.ToLower(err.Error())
	for _, s := range host {
		if strings.Contains(text, strings.ToLower(s)) {
			return s
		}
	}
	return ""
}

// isBare reports whether err is a condition of the contract, at most inside a
// *fs.PathError or *os.LinkError. A sentinel of package provider may carry a
// reason; an errno or a sentinel of io/fs stands alone, because os.IsNotExist
// and os.IsExist do not look into other wrappers.
func isBare(err error) bool {
	switch e := err.(type) { // the outer shape is the point
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	case syscall.Errno, contentError:
		return true
	}
	switch err {
	case fs.ErrInvalid, fs.ErrPermission, fs.ErrExist, fs.ErrNotExist, fs.ErrClosed, io.EOF, errors.ErrUnsupported,
		context.Canceled, context.DeadlineExceeded:
		return true
	}
	if _, ok := err.(syscall.Errno); ok {
		return true
	}
	for _, target := range []error{
		provider.ErrPath, provider.ErrSymlink, provider.ErrIrregular, provider.ErrQuota, provider.ErrConflict, provider.ErrHardLink, provider.ErrTooMany,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// contentError is what the suite's own readers fail with.
type contentError string

func (e contentError) Error() string { return string(e) }

// nilBeside checks that exactly one of result and error is there.
func (v *invariants) nilBeside(op string, wrong bool) {
	if wrong {
		v.violate(idNil, "a result or an error, never both and never neither", op+" broke that")
	}
}

// count checks a count of bytes.
func (v *invariants) count(op string, n, asked int, err error) {
	if n < 0 || n > asked {
		v.violate(idCount, fmt.Sprintf("a count from 0 to %d", asked), fmt.Sprintf("%s returned %d, %s", op, n, describe(err)))
	} else if n < asked && err == nil {
		v.violate(idCount, "an error beside a count that is too small", fmt.Sprintf("%s of %d bytes returned %d, nil", op, asked, n))
	}
}

// info checks a FileInfo.
func (v *invariants) info(op, base string, info fs.FileInfo) {
	if info.Sys() != nil {
		v.violate(idSys, "Sys() is nil", fmt.Sprintf("%s: Sys() is a %T", op, info.Sys()))
	}
	if info.Name() != base {
		v.violate(idName, fmt.Sprintf("Name() is %q", base), fmt.Sprintf("%s: Name() is %q", op, info.Name()))
	}
}

// entries checks a listing.
func (v *invariants) entries(entries []fs.DirEntry) {
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		name := e.Name()
		if seen[name] || name == "." || name == ".." || name == "" || strings.Contains(name, "/") {
			v.violate(idEntries, `every name once, and none of "", ".", ".." and names with a slash`, fmt.Sprintf("ReadDir listed %q", name))
			return
		}
		seen[name] = true
	}
}
