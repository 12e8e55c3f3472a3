package policyfs_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// diffStep is one line of a script of the differential test: a call on names, or
// on the handle in a slot. The fields that an operation does not use are zero.
type diffStep struct {
	op     string
	slot   int    // of a handle
	name   string // in the caller's spelling
	to     string // the second name, a link's target, or a glob pattern
	flags  string // words joined by "|"
	mode   int64
	n, m   int64 // offsets, sizes, counts, whence, Unix times
	letter byte  // with size: content, see content()
	size   int
}

// diffShapes says which fields an operation has, in their order: s(lot), n(ame),
// t(o), f(lags), o(ctal mode), i and j (integers n and m), d(ata).
var diffShapes = map[string]string{
	"use": "fn", // the session that names and new handles belong to from here on
	// Calls on names.
	"mkdir": "no", "mkdirall": "no", "remove": "n", "removeall": "n", "rename": "nt", "move": "ntf",
	"readfile": "n", "writefile": "nfod", "chmod": "no", "chtimes": "nij", "stat": "n", "lstat": "n",
	"walk": "n", "glob": "t", "link": "nt",
	// Calls on handles.
	"open": "snfo", "close": "s", "read": "si", "readat": "sij", "write": "sd", "writeat": "sid", "writestring": "sd",
	"seek": "sij", "truncate": "si", "fstat": "s", "sync": "s", "readdir": "si", "readdirnames": "si", "entries": "si",
}

// diffSlots is how many handles a script can hold open.
const diffSlots = 6

// content is the data of the step. Each byte tells its position, so that content
// in the wrong place shows.
func (s diffStep) content() []byte {
	data := make([]byte, s.size)
	for i := range data {
		data[i] = 'a' + byte((int(s.letter-'a')+i)%26)
	}
	return data
}

// String renders the step as a line that parseDiffStep reads.
func (s diffStep) String() string {
	var b strings.Builder
	b.WriteString(s.op)
	for _, field := range diffShapes[s.op] {
		b.WriteByte(' ')
		switch field {
		case 's':
			b.WriteString(strconv.Itoa(s.slot))
		case 'n':
			b.WriteString(strconv.Quote(s.name))
		case 't':
			b.WriteString(strconv.Quote(s.to))
		case 'f':
			b.WriteString(s.flags)
		case 'o':
			fmt.Fprintf(&b, "%#o", s.mode)
		case 'i':
			b.WriteString(strconv.FormatInt(s.n, 10))
		case 'j':
			b.WriteString(strconv.FormatInt(s.m, 10))
		case 'd':
			fmt.Fprintf(&b, "%c*%d", s.letter, s.size)
		}
	}
	return b.String()
}

// parseDiffStep reads one line of a script.
func parseDiffStep(line string) (diffStep, error) {
	op, rest, _ := strings.Cut(line, " ")
	shape, ok := diffShapes[op]
	if !ok {
		return diffStep{}, fmt.Errorf("%q: no such operation", line)
	}
	s := diffStep{op: op}
	for _, field := range shape {
		word, err := "", error(nil)
		if field == 'n' || field == 't' {
			if word, err = strconv.QuotedPrefix(rest); err == nil {
				rest = strings.TrimPrefix(rest[len(word):], " ")
				word, err = strconv.Unquote(word)
			}
		} else {
			word, rest, _ = strings.Cut(rest, " ")
		}
		if err != nil {
			return diffStep{}, fmt.Errorf("%q: a quoted text is missing", line)
		}
		switch field {
		case 's':
			s.slot, err = strconv.Atoi(word)
		case 'n':
			s.name = word
		case 't':
			s.to = word
		case 'f':
			s.flags = word
		case 'o':
			s.mode, err = strconv.ParseInt(word, 0, 64)
		case 'i':
			s.n, err = strconv.ParseInt(word, 10, 64)
		case 'j':
			s.m, err = strconv.ParseInt(word, 10, 64)
		case 'd':
			_, err = fmt.Sscanf(word, "%c*%d", &s.letter, &s.size)
		}
		if err != nil || s.slot < 0 || s.slot >= diffSlots || s.size < 0 || field == 'd' && (s.letter < 'a' || s.letter > 'z') {
			return diffStep{}, fmt.Errorf("%q: bad field %q", line, word)
		}
	}
	if rest != "" {
		return diffStep{}, fmt.Errorf("%q: too many fields", line)
	}
	return s, nil
}

// parseDiffScript reads a script: one step a line; empty lines, and lines that
// begin with "#", say nothing.
func parseDiffScript(text string) ([]diffStep, error) {
	var steps []diffStep
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := parseDiffStep(line)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func renderDiffScript(steps []diffStep) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// has reports whether one of the step's flags is word.
func (s diffStep) has(word string) bool {
	for w := range strings.SplitSeq(s.flags, "|") {
		if w == word {
			return true
		}
	}
	return false
}

// openFlag translates the flags of an "open" step, which flagText wrote.
func (s diffStep) openFlag() int {
	flag := 0
	for word, bit := range map[string]int{
		"WRONLY": os.O_WRONLY, "RDWR": os.O_RDWR, "CREATE": os.O_CREATE, "EXCL": os.O_EXCL, "TRUNC": os.O_TRUNC, "APPEND": os.O_APPEND, "SYNC": os.O_SYNC,
		"BOTH": os.O_WRONLY | os.O_RDWR,
	} {
		if s.has(word) {
			flag |= bit
		}
	}
	return flag
}
