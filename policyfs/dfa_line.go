package policyfs

import "unicode/utf8"

// A lineState is where the matching of one line stands between two pieces.
type lineState struct {
	row     uint32
	resets  int
	key     string // the state itself, in case the cache was emptied meanwhile
	matched bool
	dead    bool
}

// line returns the state before the first byte of a line.
func (d *dfa) line() lineState {
	return lineState{row: d.start, resets: d.resets, dead: d.dead(d.start)}
}

// feed matches the next piece of a line. The piece must not hold the line end
// nor stop inside a rune.
func (d *dfa) feed(st *lineState, piece []byte) {
	if st.matched || st.dead {
		return
	}
	s := st.row
	if st.resets != d.resets {
		s = d.row([]byte(st.key))
	}
	tab := &d.p.lineTab
	for i := 0; i < len(piece); {
		col, width := int(tab[piece[i]]), 1
		if piece[i] >= utf8.RuneSelf {
			col, width = d.p.decode(piece[i:])
		}
		t := d.trans[s+uint32(col)]
		if t >= dfaDead {
			if t&dfaUnknown != 0 {
				t = d.step(s, col)
			}
			if t&dfaMatch != 0 {
				st.matched = true
				return
			}
			if t&dfaDead != 0 {
				st.dead = true
				return
			}
		}
		s = t
		i += width
	}
	st.row, st.resets, st.key = s, d.resets, d.states[s/uint32(d.p.stride)]
}

// end reports whether the line, all of it fed, matches.
func (d *dfa) end(st *lineState) bool {
	if st.matched || st.dead {
		return st.matched
	}
	s := st.row
	if st.resets != d.resets {
		s = d.row([]byte(st.key))
	}
	return d.atEnd(s)
}

// match reports whether one line, without its line end, matches.
func (d *dfa) match(line []byte) bool {
	st := d.line()
	d.feed(&st, line)
	return d.end(&st)
}
