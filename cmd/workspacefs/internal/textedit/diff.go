package textedit

import (
	"bytes"
	"fmt"
	"strings"
)

// context is how many unchanged lines surround a change.
const context = 3

// maxDiff bounds a diff, which a model has to read.
const maxDiff = 64 << 10

// Diff is the edit as a unified diff. It is made from the places of the edit, so
// it costs what they cost and not what the file does.
func (r Result) Diff(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	shift, line, counted := 0, 1, 0 // shift: new line numbers minus old ones
	for i := 0; i < len(r.spans); {
		from, to := r.hunk(r.spans[i])
		last := i + 1
		for last < len(r.spans) {
			nextFrom, nextTo := r.hunk(r.spans[last])
			if linesBetween(r.old, to, nextFrom) > 2*context {
				break
			}
			to = nextTo
			last++
		}
		before, after := back(r.old, from, context), forward(r.old, to, context)
		line += bytes.Count(r.old[counted:before], []byte("\n"))
		counted = before
		oldText := r.old[from:to]
		newText := r.replaced(from, to, r.spans[i:last])
		head, tail := r.old[before:from], r.old[to:after]
		oldCount := countLines(head) + countLines(oldText) + countLines(tail)
		newCount := countLines(head) + countLines(newText) + countLines(tail)
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", hunkRange(line, oldCount), hunkRange(line+shift, newCount))
		printLines(&b, ' ', head)
		printLines(&b, '-', oldText)
		printLines(&b, '+', newText)
		printLines(&b, ' ', tail)
		shift += newCount - oldCount
		i = last
		if b.Len() > maxDiff {
			return strings.ToValidUTF8(b.String()[:maxDiff], "\uFFFD") + "\n... the diff goes on\n"
		}
	}
	return b.String()
}

// hunk returns the whole lines that the replacement at offset s touches. Where
// the replacement runs into the next line, because a line feed went, that line
// belongs to it.
func (r Result) hunk(s int) (from, to int) {
	from = bytes.LastIndexByte(r.old[:s], '\n') + 1
	end := s + r.oldLen
	if end > from && r.oldLen > 0 && r.old[end-1] == '\n' && bytes.HasSuffix(r.newText, []byte("\n")) {
		return from, end
	}
	return from, forward(r.old, end, 1)
}

// replaced is old[from:to] with the spans in it replaced.
func (r Result) replaced(from, to int, spans []int) []byte {
	var b []byte
	at := from
	for _, s := range spans {
		b = append(append(b, r.old[at:s]...), r.newText...)
		at = s + r.oldLen
	}
	return append(b, r.old[at:to]...)
}

// back is the start of the n-th line before the line that starts at offset.
func back(text []byte, offset, n int) int {
	for ; n > 0 && offset > 0; n-- {
		offset = bytes.LastIndexByte(text[:offset-1], '\n') + 1
	}
	return offset
}

// forward is the end of the n-th line from offset.
func forward(text []byte, offset, n int) int {
	for ; n > 0 && offset < len(text); n-- {
		next := bytes.IndexByte(text[offset:], '\n')
		if next < 0 {
			return len(text)
		}
		offset += next + 1
	}
	return offset
}

func linesBetween(text []byte, from, to int) int {
	if to <= from {
		return 0
	}
	return bytes.Count(text[from:to], []byte("\n"))
}

func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// hunkRange is one half of a hunk header: an empty side names the line before it.
func hunkRange(line, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", line-1)
	}
	return fmt.Sprintf("%d,%d", line, count)
}

func printLines(b *strings.Builder, mark byte, text []byte) {
	for line := range bytes.Lines(text) {
		b.WriteByte(mark)
		b.Write(line)
		if line[len(line)-1] != '\n' {
			b.WriteString("\n\\ No newline at end of file\n")
		}
		if b.Len() > maxDiff+(4<<10) {
			return
		}
	}
}
