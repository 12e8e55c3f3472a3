// Package textedit replaces exact text in a file's bytes. It never decodes: what
// lies outside an edit, a byte order mark, invalid UTF-8 and line endings
// included, comes out as it went in.
package textedit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// An Edit replaces Old by New: the one occurrence there is, or every one with
// All. New is text, never a template: "$1" and "\n" mean themselves.
type Edit struct {
	Old, New string
	All      bool
}

// Conditions of Apply.
var (
	ErrEmpty = errors.New("the text to replace is empty, and the file is not")
	ErrSame  = errors.New("the replacement equals the text to replace")
)

// AbsentError says that the text does not occur.
type AbsentError struct {
	Near int // line where the first line of the text occurs, or 0
}

func (e *AbsentError) Error() string {
	s := "the text to replace does not occur in the file"
	if e.Near > 0 {
		s += fmt.Sprintf("; its first line occurs at line %d, what follows there differs", e.Near)
	}
	return s
}

// AmbiguousError says that the text occurs more than once.
type AmbiguousError struct {
	Lines []int // where, at most maxLines of them
	More  bool
}

// maxLines bounds how many places an AmbiguousError names.
const maxLines = 10

func (e *AmbiguousError) Error() string {
	places := strings.Trim(fmt.Sprint(e.Lines), "[]")
	if e.More {
		places += " ..."
	}
	return "the text to replace occurs several times, at lines " + strings.ReplaceAll(places, " ", ", ")
}

// A Result is an edited file.
type Result struct {
	Content []byte
	Count   int // replacements
	old     []byte
	spans   []int // offsets in old of what was replaced, ascending
	oldLen  int
	newText []byte
}

// Apply makes the edit, or says why not and changes nothing. Where every line of
// the file ends in CR LF, or where the text only occurs that way, line feeds in an
// edit without any CR stand for CR LF, because a reader of the file cannot see
// the difference; everything else is taken as it is.
func Apply(content []byte, e Edit) (Result, error) {
	old, replacement := []byte(e.Old), []byte(e.New)
	switch {
	case e.Old == e.New:
		return Result{}, ErrSame
	case e.Old == "" && len(content) > 0:
		return Result{}, ErrEmpty
	case e.Old == "":
		return Result{Content: replacement, Count: 1, old: content, spans: []int{0}, newText: replacement}, nil
	}
	exact := strings.Contains(e.Old+e.New, "\r")
	if !exact && (Endings(content) == CRLF || !bytes.Contains(content, old) && bytes.Contains(content, toCRLF(old))) {
		old, replacement = toCRLF(old), toCRLF(replacement)
	}
	spans, err := find(content, old, e.All)
	if err != nil {
		return Result{}, err
	}
	r := Result{Count: len(spans), old: content, spans: spans, oldLen: len(old), newText: replacement}
	r.Content = make([]byte, 0, len(content)+len(spans)*(len(replacement)-len(old)))
	at := 0
	for _, s := range spans {
		r.Content = append(append(r.Content, content[at:s]...), replacement...)
		at = s + len(old)
	}
	r.Content = append(r.Content, content[at:]...)
	return r, nil
}

func toCRLF(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) }

// find returns the offsets of old. Without all there must be exactly one, and
// overlapping occurrences count: "aa" is ambiguous in "aaa".
func find(content, old []byte, all bool) ([]int, error) {
	first := bytes.Index(content, old)
	if first < 0 {
		return nil, &AbsentError{Near: near(content, old)}
	}
	if !all {
		if bytes.Contains(content[first+1:], old) {
			return nil, ambiguous(content, old)
		}
		return []int{first}, nil
	}
	var spans []int
	for at := first; ; {
		spans = append(spans, at)
		at += len(old)
		next := bytes.Index(content[at:], old)
		if next < 0 {
			return spans, nil
		}
		at += next
	}
}

func ambiguous(content, old []byte) error {
	e := &AmbiguousError{}
	line, counted := 1, 0
	for at := 0; ; {
		next := bytes.Index(content[at:], old)
		if next < 0 {
			return e
		}
		if len(e.Lines) == maxLines {
			e.More = true
			return e
		}
		at += next
		line += bytes.Count(content[counted:at], []byte("\n"))
		counted = at
		e.Lines = append(e.Lines, line)
		at++
	}
}

// near is the line where the first line of old that is not blank occurs.
func near(content, old []byte) int {
	for line := range bytes.Lines(old) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if at := bytes.Index(content, line); at >= 0 {
			return 1 + bytes.Count(content[:at], []byte("\n"))
		}
		return 0
	}
	return 0
}

// Line ending conventions of a file.
const (
	None  = "none"
	LF    = "lf"
	CRLF  = "crlf"
	Mixed = "mixed"
)

// Endings says how the lines of a file end.
func Endings(content []byte) string {
	lf := bytes.Count(content, []byte("\n"))
	crlf := bytes.Count(content, []byte("\r\n"))
	switch {
	case lf == 0:
		return None
	case crlf == 0:
		return LF
	case crlf == lf:
		return CRLF
	}
	return Mixed
}
