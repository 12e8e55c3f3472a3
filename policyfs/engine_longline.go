package policyfs

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// longLine searches a line that is longer than the buffer, which is full of its
// beginning. The automaton reads it piece by piece; where the match begins is
// then found from the line's end backwards. It ends with the text behind the line.
func (g *fileSearch) longLine(have int) error {
	begin := g.base
	head := bytes.Clone(g.buf[:min(have, g.cut+1)])
	search := !g.full()
	at, end, next, matched := begin, int64(-1), int64(0), false
	if search || g.trail > 0 {
		g.s.reset()
	}
	state := g.s.automaton().line()
	for end < 0 {
		if g.done() {
			return nil
		}
		piece := g.buf[:have]
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			piece = bytes.TrimSuffix(piece[:i], []byte{'\r'})
			end, next = at+int64(len(piece)), at+int64(i)+1
		} else {
			piece = piece[:wholeRunes(piece)]
		}
		if search {
			g.s.feed(&state, piece)
		}
		if end >= 0 {
			break
		}
		at += int64(len(piece))
		have = copy(g.buf, g.buf[len(piece):have])
		n, err := g.r.ReadAt(g.buf[have:], at+int64(have))
		have += n
		g.bytes.Add(int64(n))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil && bytes.IndexByte(g.buf[:have], '\n') < 0 {
			if search {
				g.s.feed(&state, g.buf[:have])
			}
			end = at + int64(have)
			next = end
		}
	}
	text := g.text(head[:min(int64(len(head)), end-begin)])
	matched = search && g.s.automaton().end(&state)
	if g.done() {
		return nil
	}
	switch {
	case matched:
		column := g.columnBefore(begin, end)
		if g.before > 0 {
			g.reread(g.before)
		}
		g.found++
		g.trail, g.shown = g.after, next
		g.send(g.line, column, begin, text)
	case g.trail > 0:
		g.trail--
		g.shown = next
		g.send(g.line, 0, begin, text)
	}
	g.line++
	g.base = next
	return nil
}

// feed has the automaton read the next piece of a line. Where the pattern is one text
// that the piece does not hold, it reads no more than what may belong to one that lies
// in two pieces: at its begin with a byte behind that, which the automaton reads to
// know a match. A rune that is cut there belongs to none.
func (s *scanner) feed(state *lineState, piece []byte) {
	d := s.automaton()
	if s.e.exact && len(s.e.literals) == 1 && !s.e.literals[0].fold {
		text := s.e.literals[0].text
		if len(piece) > 2*len(text) && !bytes.Contains(piece, text) {
			d.feed(state, piece[:len(text)])
			if !state.matched {
				*state = d.line()
			}
			piece = piece[len(piece)-len(text):]
		}
	}
	d.feed(state, piece)
}

// wholeRunes returns how much of a piece of a line can be matched without
// knowing what follows: not a rune that is cut off, nor a CR that may belong to
// the line end.
func wholeRunes(piece []byte) int {
	n := len(piece)
	if n > 0 && piece[n-1] == '\r' {
		return n - 1
	}
	for i := n - 1; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(piece[i]) {
			if !utf8.FullRune(piece[i:]) {
				return i
			}
			break
		}
	}
	return n
}

// columnBefore returns the column of the leftmost match in the line [begin, end).
// It reads the line again, from its end; if the file has shrunk meanwhile it is 1.
func (g *fileSearch) columnBefore(begin, end int64) int {
	back := g.s.backward()
	state := back.back()
	for hi := end; hi > begin && !state.dead && !g.done(); {
		lo := max(begin, hi-int64(len(g.buf)))
		piece := g.buf[:hi-lo]
		if n, _ := g.r.ReadAt(piece, lo); n < len(piece) {
			return 1
		}
		if lo > begin {
			// Leave a rune that may begin before this piece to the next one.
			i := 0
			for i < utf8.UTFMax-1 && !utf8.RuneStart(piece[i]) {
				i++
			}
			piece, lo = piece[i:], lo+int64(i)
		}
		back.feedBack(&state, piece, lo-begin)
		hi = lo
	}
	return int(max(back.endBack(&state), 0)) + 1
}
