package conformance

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/workspacefs/workspacefs/provider"
)

// step is one line of a script: a call, on names or on a File that an earlier
// "hold" has opened. The fields that an operation does not use are zero.
type step struct {
	op     string
	slot   int // of a held File
	name   string
	to     string
	flags  string // options, as in Read|Write; or none, absent, match, stale; or noreplace, notdir
	number int64  // an offset, a size or a mode
	text   string
}

// shape says which fields an operation has, in their order: s(lot), n(ame),
// t(o), f(lags), i(nteger), q(uoted text).
var shapes = map[string]string{
	"mkdir": "n", "open": "nf", "replace": "nfq", "write": "niq", "append": "nq", "truncate": "ni", "remove": "n", "rename": "ntf",
	"stat": "n", "list": "n", "read": "n", "chmod": "ni",
	"hold": "snf", "hread": "s", "hwrite": "siq", "happend": "sq", "htruncate": "si", "hstat": "s", "hlist": "s", "hclose": "s",
}

// String renders the step as a line that parseStep reads.
func (s step) String() string {
	parts := []string{s.op}
	for _, field := range shapes[s.op] {
		switch field {
		case 's':
			parts = append(parts, strconv.Itoa(s.slot))
		case 'n':
			parts = append(parts, s.name)
		case 't':
			parts = append(parts, s.to)
		case 'f':
			parts = append(parts, s.flags)
		case 'i':
			parts = append(parts, strconv.FormatInt(s.number, 10))
		case 'q':
			parts = append(parts, strconv.Quote(s.text))
		}
	}
	return strings.Join(parts, " ")
}

// parseStep reads one line of a script.
func parseStep(line string) (step, error) {
	op, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	s := step{op: op}
	fields, ok := shapes[op]
	if !ok {
		return step{}, fmt.Errorf("%q: no such operation", line)
	}
	for _, field := range fields {
		var word string
		if field == 'q' {
			word, rest = rest, ""
		} else {
			word, rest, _ = strings.Cut(rest, " ")
		}
		var err error
		switch field {
		case 's':
			s.slot, err = strconv.Atoi(word)
		case 'n':
			s.name = word
			_, err = provider.ParsePath(word)
		case 't':
			s.to = word
			_, err = provider.ParsePath(word)
		case 'f':
			s.flags = word
		case 'i':
			s.number, err = strconv.ParseInt(word, 10, 64)
		case 'q':
			s.text, err = strconv.Unquote(word)
		}
		if err != nil || field == 's' && (s.slot < 0 || s.slot >= heldFiles) {
			return step{}, fmt.Errorf("%q: bad field %q", line, word)
		}
	}
	if strings.TrimSpace(rest) != "" {
		return step{}, fmt.Errorf("%q: too many fields", line)
	}
	return s, nil
}

// parseScript reads a script: one step a line; empty lines and lines that begin
// with "#" say nothing.
func parseScript(text string) ([]step, error) {
	var steps []step
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parseStep(line)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func renderScript(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(s.String() + "\n")
	}
	return b.String()
}

// parseOptions reads what describeOpen writes.
func parseOptions(text string) provider.OpenOptions {
	var o provider.OpenOptions
	for word := range strings.SplitSeq(text, "|") {
		switch word {
		case "Read":
			o.Read = true
		case "Write":
			o.Write = true
		case "Append":
			o.Append = true
		case "Create":
			o.Create = true
		case "Exclusive":
			o.Exclusive = true
		case "Truncate":
			o.Truncate = true
		case "Directory":
			o.Directory = true
		}
	}
	return o
}

// heldFiles is how many Files a script can hold open.
const heldFiles = 4

// decode makes a script of any bytes, so that a fuzzer can change it a little at
// a time.
func decode(data []byte) []step {
	d := decoder{data}
	var steps []step
	for len(d.data) > 0 && len(steps) < maxSteps {
		steps = append(steps, d.step())
	}
	return steps
}

// maxSteps bounds a script: long ones find no more and shrink slowly.
const maxSteps = 120

// decodedOps gives common operations more weight.
var decodedOps = []string{
	"mkdir", "mkdir", "mkdir", "open", "open", "open", "replace", "replace", "replace", "replace", "write", "write", "append", "truncate",
	"remove", "remove", "remove", "rename", "rename", "rename", "rename", "rename", "stat", "list", "read", "chmod",
	"hold", "hold", "hold", "hread", "hwrite", "hwrite", "happend", "htruncate", "hstat", "hlist", "hclose",
}

type decoder struct{ data []byte }

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

// name is the root or one of the names of up to three elements of a, b and c.
func (d *decoder) name() string {
	n := int(d.byte())
	if n >= 250 {
		return "."
	}
	elems := make([]string, 1+n%3)
	n /= 3
	for i := range elems {
		elems[i] = string(rune('a' + n%3))
		n /= 3
	}
	return strings.Join(elems, "/")
}

func (d *decoder) step() step {
	s := step{op: decodedOps[int(d.byte())%len(decodedOps)]}
	for _, field := range shapes[s.op] {
		switch field {
		case 's':
			s.slot = int(d.byte()) % heldFiles
		case 'n':
			s.name = d.name()
		case 't':
			s.to = d.name()
		case 'f':
			s.flags = d.flags(s.op)
		case 'i':
			s.number = int64(d.byte()) * int64(1+d.byte()%40)
			if s.op == "chmod" {
				s.number = s.number&0o077 | 0o700
			}
		case 'q':
			n := int(d.byte())
			s.text = strings.Repeat(string(rune('a'+n%26)), n%32*(1+n/32*8))
		}
	}
	return s
}

func (d *decoder) flags(op string) string {
	switch b := d.byte(); op {
	case "replace":
		return []string{"none", "none", "absent", "match", "stale"}[b%5]
	case "rename":
		return []string{"none", "none", "none", "noreplace", "notdir", "noreplace|notdir"}[b%6]
	default:
		o := provider.OpenOptions{
			Read: b&1 != 0, Write: b&2 != 0, Append: b&4 != 0, Create: b&8 != 0, Exclusive: b&16 != 0, Truncate: b&32 != 0, Directory: b&192 == 192,
		}
		if op == "hold" && o.Check() != nil {
			o = provider.OpenOptions{Read: true, Write: b&2 != 0, Append: b&4 != 0, Create: b&8 != 0}
		}
		return describeOpen(o)
	}
}

func (s step) renameOptions() provider.RenameOptions {
	return provider.RenameOptions{NoReplace: strings.Contains(s.flags, "noreplace"), NotDir: strings.Contains(s.flags, "notdir")}
}

func (s step) mode() fs.FileMode { return fs.FileMode(s.number) & fs.ModePerm }
