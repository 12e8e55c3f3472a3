package policyfs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// The limits of a [Query].
const (
	// maxPattern is the longest pattern in bytes. It also bounds what an agent
	// can make the compiler do.
	maxPattern = 1000
	// maxProgram is the largest compiled pattern in instructions. The slowest
	// search does work in proportion to it for each byte, so this is what keeps
	// nested repetition from being a way to hang the host. `\w{1000}` fits four
	// times.
	maxProgram = 4096
	// maxContext is the largest Before and After.
	maxContext = 1000
	// defaultMaxLine is Query.MaxLineBytes 0.
	defaultMaxLine = 64 << 10
	// maxBraces is how many patterns without braces one Include, Exclude or
	// Glob pattern may stand for: each group multiplies them.
	maxBraces = 64
)

// lineMark ends the Text of a line that was cut at Query.MaxLineBytes.
const lineMark = "…"

// ErrBinary is the reason for which a search skips a file that has a NUL in its
// first 8 KiB.
var ErrBinary = errors.New("binary file")

// Query says what [FS.Grep] looks for, where, and how it reports it. Only Pattern
// is required; the empty Pattern matches every line.
type Query struct {
	// Pattern is a regular expression in RE2 syntax (package regexp/syntax, the
	// flags of Perl), at most 1,000 bytes. It is matched against each line by
	// itself, so ^ and $ are the ends of the line, and a line feed in a pattern
	// matches nothing.
	//
	// What ripgrep takes differently: \w, \d, \s, \b and the [[:name:]] classes
	// are ASCII here (write \pL and \p{Nd} for Unicode); "." and negated classes
	// match a byte that is not UTF-8, as U+FFFD; a file is binary only for a NUL
	// in its first 8 KiB, and is left out then instead of cut; a CR before LF is
	// no part of the line, so that $ matches before it.
	Pattern string
	// Literal takes Pattern as plain text.
	Literal bool
	// IgnoreCase matches letters of either case, as (?i) does.
	IgnoreCase bool
	// Include, if not empty, keeps the files that one of these doublestar
	// patterns matches; Exclude drops the files that one matches, and directories
	// with everything below them (only those, if it ends in a slash). They are
	// relative to the root of the search; one without a slash elsewhere is matched
	// against the base name. Braces may stand for at most 64 patterns. Filters
	// only narrow: one that matches nothing is no error.
	Include, Exclude []string
	// Before and After are how many lines of context come with each match, at
	// most 1,000.
	Before, After int
	// MaxMatches stops the search after so many matching lines; their lines of
	// context still come. 0 is no limit.
	MaxMatches int
	// MaxFileBytes skips larger files, with syscall.EFBIG. 0 is no limit.
	MaxFileBytes int64
	// MaxLineBytes is where the Text of a long line is cut, at the last whole
	// rune before it, and marked with "…". The whole line is searched all the
	// same. 0 is 64 KiB, and no Text is longer than about 1 MiB.
	MaxLineBytes int
	// Ignore leaves out what the .gitignore files of the tree exclude, as far as
	// the policy lets the caller read those files. The root of the search is
	// never left out.
	Ignore bool
	// Skipped, if set, is told about each permitted file that was not searched,
	// and each permitted directory that could not be listed, and why: ErrBinary,
	// syscall.EFBIG, or the error of the storage. It runs on the iterating
	// goroutine.
	Skipped func(name string, reason error)
	// Progress, if set, is called on the iterating goroutine, at most ten times
	// a second and once at the end.
	Progress func(Progress)
}

// patternError is what is wrong with a pattern. It is [fs.ErrInvalid].
type patternError struct {
	text  string
	cause error
}

func (e *patternError) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.text
}

// Unwrap makes errors.Is(e, fs.ErrInvalid) hold and finds the error of the
// package that read the pattern.
func (e *patternError) Unwrap() []error {
	if e.cause != nil {
		return []error{fs.ErrInvalid, e.cause}
	}
	return []error{fs.ErrInvalid}
}

// badPattern returns a *patternError with a formatted text.
func badPattern(format string, args ...any) error {
	return &patternError{text: fmt.Sprintf(format, args...)}
}

// check validates everything but the regular expression and fills in defaults.
func (q *Query) check() error {
	if q.Before < 0 || q.Before > maxContext || q.After < 0 || q.After > maxContext {
		return fmt.Errorf("context of more than %d lines: %w", maxContext, syscall.EINVAL)
	}
	if q.MaxMatches < 0 || q.MaxFileBytes < 0 || q.MaxLineBytes < 0 {
		return fmt.Errorf("negative limit: %w", syscall.EINVAL)
	}
	if q.MaxLineBytes == 0 {
		q.MaxLineBytes = defaultMaxLine
	}
	return nil
}
