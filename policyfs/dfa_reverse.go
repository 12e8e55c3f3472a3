package policyfs

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// reverse returns re for text read backwards: what matches re matches the
// result when both are turned round. Captures and greediness do not matter to a
// set of states and are kept as they come.
func reverse(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = reverse(sub)
	}
	switch re.Op {
	case syntax.OpConcat:
		slices.Reverse(out.Sub)
	case syntax.OpLiteral:
		out.Rune = slices.Clone(re.Rune)
		slices.Reverse(out.Rune)
	case syntax.OpBeginLine:
		out.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		out.Op = syntax.OpBeginLine
	case syntax.OpBeginText:
		out.Op = syntax.OpEndText
	case syntax.OpEndText:
		out.Op = syntax.OpBeginText
	}
	return &out
}

// A backward is where a search for the leftmost match of one line stands. It
// reads the line from its end: leftmost is known when the beginning is reached.
type backward struct {
	lineState
	best int64 // where the leftmost match found so far begins, or -1
}

// back returns the state after the last byte of a line. The automaton must be
// one of the reversed program, made without stop.
func (d *dfa) back() backward { return backward{lineState: d.line(), best: -1} }

// feedBack reads one piece of the line backwards. at is the position of the
// piece in the line. Pieces must come from the last to the first, and must not
// begin inside a rune.
func (d *dfa) feedBack(st *backward, piece []byte, at int64) {
	if st.dead {
		return
	}
	s := st.row
	if st.resets != d.resets {
		s = d.row([]byte(st.key))
	}
	tab := &d.p.lineTab
	for i := len(piece); i > 0; {
		col, width := int(tab[piece[i-1]]), 1
		if piece[i-1] >= utf8.RuneSelf {
			// Encodings synchronize themselves, so reading backwards splits
			// broken text exactly where reading forwards does.
			_, width = utf8.DecodeLastRune(piece[:i])
			col, _ = d.p.decode(piece[i-width : i])
		}
		t := d.trans[s+uint32(col)]
		if t >= dfaDead {
			if t&dfaUnknown != 0 {
				t = d.step(s, col)
			}
			if t&dfaMatch != 0 {
				st.best = at + int64(i)
			}
			if t&dfaDead != 0 {
				st.dead = true
				return
			}
			t &= dfaRow
		}
		s = t
		i -= width
	}
	st.row, st.resets, st.key = s, d.resets, d.states[s/uint32(d.p.stride)]
}

// endBack returns where the leftmost match begins, or -1.
func (d *dfa) endBack(st *backward) int64 {
	if !st.dead {
		s := st.row
		if st.resets != d.resets {
			s = d.row([]byte(st.key))
		}
		if d.atEnd(s) {
			st.best = 0
		}
	}
	return st.best
}

// leftmost returns where the leftmost match of a line begins, or -1.
func (d *dfa) leftmost(line []byte) int {
	st := d.back()
	d.feedBack(&st, line, 0)
	return int(d.endBack(&st))
}
