package policyfs

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// fileBuffer is how much of a file is read at a time. It fits the second
	// level cache, so that what was read is searched while it is there.
	fileBuffer = 256 << 10
	// maxLineBuffer is the longest line that is held as a whole; longer ones are
	// matched piece by piece.
	maxLineBuffer = 1 << 20
	// maxText is the longest Text. A buffer holds it and the rune behind it.
	maxText = maxLineBuffer - utf8.UTFMax
	// contextBuffer is how much is read at a time to find lines of context that
	// are no longer in the buffer.
	contextBuffer = 64 << 10
	// binaryPrefix is how far a NUL makes a file binary.
	binaryPrefix = 8 << 10
	// seam is how much is read at a time of the line that the end of a part cuts.
	seam = 4 << 10
	// textChunk is how many bytes of Text share one allocation. A caller that
	// keeps one Text keeps so much.
	textChunk = 2 << 10
)

// fileSearch yields the matching lines of one file, or of a part of it, with
// their context. It holds no more of the file than its buffer, whatever the file
// or its lines are, and asks again for lines of context that it has passed.
type fileSearch struct {
	s       *scanner
	r       io.ReaderAt
	buf     []byte // may be replaced by a larger one
	longest int    // length to which buf may grow
	before  int
	after   int
	max     int                                                    // matching lines after which the search ends; 0 is no limit
	cut     int                                                    // longest Text
	emit    func(line, column int, offset int64, text string) bool // column 0: of context
	stop    *atomic.Bool
	bytes   *atomic.Int64 // what all searches have read, but for small
	// small is the bytes of whole files, which the owner adds to bytes now and then:
	// goroutines that write to one place for each small file slow each other down.
	small int64

	base    int64 // offset in the file of the text that is being searched
	line    int   // number of the line at counted
	counted int   // position in the text
	shown   int64 // offset of the end of the last line that was emitted
	trail   int   // lines of context that are still to come
	found   int
	halted  bool
	scratch []byte
	texts   strings.Builder // of the Texts, up to textChunk
}

// begin prepares for a file.
func (g *fileSearch) begin(r io.ReaderAt) {
	g.r = r
	g.base, g.line, g.counted, g.shown, g.trail, g.found, g.halted = 0, 1, 0, 0, 0, 0, false
}

// isBinary reports whether a file that begins with text is taken for binary.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), binaryPrefix)], 0) >= 0
}

// run searches the lines that begin in [start, end) of the file; end < 0 is its
// end. What changes in the file meanwhile changes what is found, and is no error.
func (g *fileSearch) run(start, end int64) error {
	g.base, g.shown = start, start
	skip := start > 0
	if skip {
		g.base-- // the byte before tells whether a line begins here
	}
	for have := 0; ; {
		if g.done() {
			return nil
		}
		room := g.buf[have:]
		if end >= 0 {
			room = room[:min(int64(len(room)), max(end-g.base-int64(have), 0)+seam)]
		}
		if skip {
			room = room[:min(len(room), seam)]
		}
		n, err := g.r.ReadAt(room, g.base+int64(have))
		have += n
		g.bytes.Add(int64(n))
		eof := errors.Is(err, io.EOF)
		if err != nil && !eof {
			return err
		}
		if skip {
			i := bytes.IndexByte(g.buf[:have], '\n')
			if i < 0 {
				g.base += int64(have)
				have = 0
			} else {
				g.base += int64(i) + 1
				have = copy(g.buf, g.buf[i+1:have])
				skip = false
			}
			if eof && have == 0 || end >= 0 && g.base >= end {
				return nil
			}
			g.shown = g.base
			if skip {
				continue
			}
		}
		used, last := have, eof
		if !eof {
			used = bytes.LastIndexByte(g.buf[:have], '\n') + 1
		}
		if p := end - 1 - g.base; end >= 0 && p < int64(have) {
			// The last line that begins before end is the one that holds the
			// byte before it.
			if i := bytes.IndexByte(g.buf[p:have], '\n'); i >= 0 {
				used, last = int(p)+i+1, true
			}
		}
		switch {
		case used > 0 || last:
			g.lines(g.buf[:used])
			g.pass(g.buf[:used])
			have = copy(g.buf, g.buf[used:have])
		case have < len(g.buf):
			continue
		case len(g.buf) < g.longest:
			g.buf = append(g.buf, make([]byte, len(g.buf))...)
			continue
		default:
			if err := g.longLine(have); err != nil {
				return err
			}
			have = 0
		}
		if last || end >= 0 && g.base >= end {
			return nil
		}
	}
}

// whole searches a file that text is the whole of. It does not write to text, nor keep
// it, nor read from the file.
func (g *fileSearch) whole(text []byte) {
	g.small += int64(len(text))
	g.lines(text)
}

// done reports whether nothing more is wanted: also when all matches wanted and their
// context were found just at the end of what was read, since the line behind it may
// have no end.
func (g *fileSearch) done() bool {
	return g.halted || g.full() && g.trail == 0 || g.stop.Load()
}

// full reports whether the last match wanted has been found.
func (g *fileSearch) full() bool { return g.max > 0 && g.found >= g.max }

// lines searches text, which holds whole lines.
func (g *fileSearch) lines(text []byte) {
	g.s.reset()
	for from := 0; from < len(text) && !g.halted; {
		var m lineMatch
		ok := false
		if !g.full() {
			m, ok = g.s.next(text, from)
		} else if g.trail == 0 {
			g.halted = true
		}
		if g.done() {
			return
		}
		to := len(text)
		if ok {
			to = m.start
		}
		if g.trail > 0 {
			g.following(text, from, to)
		}
		if !ok {
			return
		}
		if g.before > 0 {
			g.preceding(text, m.start)
		}
		g.matching(text, m)
		from = m.next
	}
}

// matching emits a matching line.
func (g *fileSearch) matching(text []byte, m lineMatch) {
	g.found++
	g.trail = g.after
	g.shown = g.base + int64(m.next)
	g.send(g.lineAt(text, m.start), m.match-m.start+1, g.base+int64(m.start), g.text(text[m.start:m.end]))
}

// send passes a line on, unless the search was halted.
func (g *fileSearch) send(line, column int, offset int64, text string) {
	if !g.halted && !g.emit(line, column, offset, text) {
		g.halted = true
	}
}

// text returns the Text of a line.
func (g *fileSearch) text(line []byte) string {
	switch {
	case len(line) > g.cut:
		return string(line[:runeCut(line, g.cut)]) + lineMark
	case len(line) > textChunk/8:
		return string(line)
	case len(line) > g.texts.Cap()-g.texts.Len():
		g.texts.Reset() // what was written stays with its Texts
		g.texts.Grow(textChunk)
	}
	begin := g.texts.Len()
	g.texts.Write(line)
	return g.texts.String()[begin:]
}

// runeCut returns the last rune boundary of text at or before n, which is less
// than its length.
func runeCut(text []byte, n int) int {
	for i := n; i > 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n // no UTF-8 anyway
}

// lineAt returns the number of the line that begins at pos. Positions must not
// decrease.
func (g *fileSearch) lineAt(text []byte, pos int) int {
	g.line += bytes.Count(text[g.counted:pos], newline)
	g.counted = pos
	return g.line
}

var newline = []byte{'\n'}

// pass leaves text behind.
func (g *fileSearch) pass(text []byte) {
	g.lineAt(text, len(text))
	g.counted = 0
	g.base += int64(len(text))
}

// following emits the lines of context after a match, as far as they lie in
// text[from:to].
func (g *fileSearch) following(text []byte, from, to int) {
	for from < to && g.trail > 0 && !g.halted {
		m := lineAround(text, from, from)
		g.context(text, m)
		g.trail--
		from = m.next
	}
}

// context emits a line of context.
func (g *fileSearch) context(text []byte, m lineMatch) {
	g.shown = g.base + int64(m.next)
	g.send(g.lineAt(text, m.start), 0, g.base+int64(m.start), g.text(text[m.start:m.end]))
}

// preceding emits the lines of context before the line at pos that were not
// emitted yet.
func (g *fileSearch) preceding(text []byte, pos int) {
	floor := int(max(g.shown-g.base, 0))
	start, missing := pos, g.before
	for missing > 0 && start > floor {
		start = floor + bytes.LastIndexByte(text[floor:start-1], '\n') + 1
		missing--
	}
	if missing > 0 && start == 0 {
		g.reread(missing)
	}
	for start < pos && !g.halted {
		m := lineAround(text, start, start)
		g.context(text, m)
		start = m.next
	}
}

// reread emits up to n lines of context from before the text that is being
// searched, reading the file once more.
func (g *fileSearch) reread(n int) {
	if g.shown >= g.base {
		return
	}
	if g.scratch == nil {
		g.scratch = make([]byte, max(contextBuffer, g.cut+utf8.UTFMax))
	}
	// Find where they begin. The byte at base-1 ends the last of them.
	lines, start := 0, g.base-1
	for start > g.shown && lines < n {
		from := max(g.shown, start-int64(len(g.scratch)))
		block := g.scratch[:start-from]
		if m, _ := g.r.ReadAt(block, from); m < len(block) {
			return // the file has shrunk: its earlier lines are gone
		}
		start = from
		for lines < n {
			i := bytes.LastIndexByte(block, '\n')
			if i < 0 {
				break
			}
			block = block[:i]
			if lines++; lines == n {
				start = from + int64(i) + 1
			}
		}
	}
	if lines < n {
		lines++ // the one that begins at shown
	}
	g.contextRange(start, g.base, g.line-lines)
}

// contextRange emits the lines in [from, to) of the file as context; line is the
// number of the first. It uses scratch.
func (g *fileSearch) contextRange(from, to int64, line int) {
	emit := func(text []byte) {
		g.send(line, 0, from, g.text(text))
		line++
	}
	for from < to && !g.done() {
		block := g.scratch[:min(int64(len(g.scratch)), to-from)]
		n, _ := g.r.ReadAt(block, from)
		block = block[:n]
		if n == 0 {
			return
		}
		i := bytes.IndexByte(block, '\n')
		if i < 0 {
			emit(block) // longer than the Text of a line may be
			for i < 0 && from < to {
				from += int64(n)
				n, _ = g.r.ReadAt(g.scratch[:min(int64(len(g.scratch)), max(to-from, 0))], from)
				if n == 0 {
					return
				}
				i = bytes.IndexByte(g.scratch[:n], '\n')
			}
			from += int64(i) + 1
			continue
		}
		for i >= 0 && !g.halted {
			emit(bytes.TrimSuffix(block[:i], []byte{'\r'}))
			from += int64(i) + 1
			block = block[i+1:]
			i = bytes.IndexByte(block, '\n')
		}
	}
	g.shown = max(g.shown, to)
}
