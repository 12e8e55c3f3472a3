package policyfs

import (
	"bytes"
	"math/bits"
	"regexp/syntax"
	"sync/atomic"
	"unicode/utf8"
)

// A transition of a [dfa] is the offset of the next state's row, or one with
// some of these bits. Everything at or above dfaDead leaves the fast loop.
const (
	dfaUnknown = 1 << 31 // not computed yet, or a byte that needs a closer look
	dfaMatch   = 1 << 30 // a match ends (or, in reverse, starts) before this rune
	dfaDead    = 1 << 29 // no match can come any more on this line
	dfaRow     = dfaDead - 1
)

// What precedes a position, as far as assertions can tell. Inside a line there
// is no line feed, so beginning of line and beginning of text are one.
const (
	afterBegin byte = iota
	afterOther
	afterWord
)

// dfa runs a dfaProg over text and remembers every step it had to compute: a
// lazily built deterministic automaton. It answers whether a match exists, not
// which one package regexp would choose, so a state is a plain set. One
// goroutine may use it at a time.
//
// The cache is bounded (dfaProg.limit). When it is full it is thrown away and
// filled again, so the worst case is one step computed for each byte: linear in
// the text, with the program's size as its factor.
type dfa struct {
	p      *dfaProg
	stop   bool     // stop at the first match: a matching step has no next state
	trans  []uint32 // rows of p.stride transitions
	states []string // by row: kind of what precedes, then the instructions, two bytes each
	index  map[string]uint32
	start  uint32 // offset of the row before the first rune of a line
	// idle has, for each byte, 0 if the start state stays what it is after that
	// byte. It is valid unless stale.
	idle    [256]uint8
	stale   bool
	resting bool // most bytes leave the start state as it is
	memory  int
	resets  int
	steps   uint         // steps computed
	halt    *atomic.Bool // if set and true, no more steps are computed

	set   []uint64 // the set being built, a bit for each instruction
	seen  []uint32 // generation in which an instruction was last followed
	gen   uint32
	stack []uint32
	key   []byte
	saved []byte
}

// newDFA returns an empty automaton. With stop, its steps end at the first
// match, which is what a search for lines wants.
func newDFA(p *dfaProg, stop bool) *dfa {
	d := &dfa{
		p:    p,
		stop: stop,
		set:  make([]uint64, (len(p.inst)+63)/64),
		seen: make([]uint32, len(p.inst)),
	}
	d.reset()
	return d
}

// reset empties the cache and makes the start state.
func (d *dfa) reset() {
	d.trans = d.trans[:0]
	clear(d.states)
	d.states = d.states[:0]
	d.index = make(map[string]uint32)
	d.memory = 0
	d.begin()
	d.follow(d.p.start, 0, false, afterBegin)
	d.start = d.intern(afterBegin)
	d.stale, d.resting = true, false
}

// rest brings idle up to date.
func (d *dfa) rest() {
	d.stale = false
	staying := 0
	for b := range d.idle {
		d.idle[b] = 1
		if d.trans[d.start+uint32(d.p.scanTab[b])] == d.start {
			d.idle[b] = 0
			staying++
		}
	}
	d.resting = staying >= 32
}

// begin starts a new set.
func (d *dfa) begin() {
	clear(d.set)
	d.next()
}

// next makes follow forget which instructions it has been through.
func (d *dfa) next() {
	d.gen++
	if d.gen == 0 {
		clear(d.seen)
		d.gen = 1
	}
}

// follow adds to the set what pc leads to without consuming a rune. When
// resolve is set, assertions that hold under have are passed and others dropped;
// otherwise assertions stay in the set, to be judged when the next rune is
// known, except those that cannot hold after what precedes.
func (d *dfa) follow(pc uint32, have syntax.EmptyOp, resolve bool, kind byte) {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		for d.seen[pc] != d.gen {
			d.seen[pc] = d.gen
			in := &d.p.inst[pc]
			switch in.op {
			case dfaAlt:
				d.stack = append(d.stack, in.arg)
				pc = in.out
				continue
			case dfaNop:
				pc = in.out
				continue
			case dfaAssert:
				need := syntax.EmptyOp(in.arg)
				if resolve {
					if need&^have == 0 {
						pc = in.out
						continue
					}
				} else if kind == afterBegin || need&(syntax.EmptyBeginLine|syntax.EmptyBeginText) == 0 {
					d.set[pc/64] |= 1 << (pc % 64)
				}
			case dfaRune, dfaAccept:
				d.set[pc/64] |= 1 << (pc % 64)
			}
			break
		}
	}
}

// intern returns the offset of the row of the set after a rune of kind, and
// makes that row if there is none.
func (d *dfa) intern(kind byte) uint32 {
	d.key = append(d.key[:0], 0)
	asserts := false
	for w, word := range d.set {
		for ; word != 0; word &= word - 1 {
			pc := w*64 + bits.TrailingZeros64(word)
			asserts = asserts || d.p.inst[pc].op == dfaAssert
			d.key = append(d.key, byte(pc), byte(pc>>8))
		}
	}
	// What precedes matters to assertions only: without them, more states are
	// the same one.
	d.key[0] = afterOther
	if asserts && (kind == afterBegin || d.p.wordy) {
		d.key[0] = kind
	}
	return d.row(d.key)
}

// row returns the offset of the row of the state that key describes.
func (d *dfa) row(key []byte) uint32 {
	if row, ok := d.index[string(key)]; ok {
		return row
	}
	row := uint32(len(d.trans))
	for range d.p.stride {
		d.trans = append(d.trans, dfaUnknown)
	}
	state := string(key)
	d.states = append(d.states, state)
	d.index[state] = row
	d.memory += 4*d.p.stride + 2*len(state) + 64
	return row
}

// step computes the transition of the state at row for column col, stores it and
// returns it. It may throw the cache away; row is void afterwards, the result is
// not. Once halted it makes every step a match, which ends a search; its answer is
// then of no use.
func (d *dfa) step(row uint32, col int) uint32 {
	if d.steps++; d.steps%64 == 0 && d.halt != nil && d.halt.Load() {
		d.steps-- // and the next one too
		return dfaMatch | d.start
	}
	if d.memory > d.p.limit {
		d.saved = append(d.saved[:0], d.states[row/uint32(d.p.stride)]...)
		d.resets++
		d.reset()
		row = d.row(d.saved)
	}
	t := d.compute(d.states[row/uint32(d.p.stride)], col)
	d.trans[row+uint32(col)] = t
	d.stale = d.stale || row == d.start
	return t
}

// compute is the transition of a state for a class of runes, or for the end of
// the line.
func (d *dfa) compute(state string, col int) uint32 {
	p := d.p
	end := col == p.endCol
	have := p.context(state[0], col)
	// Judge the assertions now that both neighbours are known.
	d.begin()
	matched := false
	for i := 1; i < len(state); i += 2 {
		pc := uint32(state[i]) | uint32(state[i+1])<<8
		switch in := &p.inst[pc]; in.op {
		case dfaAssert:
			d.follow(pc, have, true, afterOther)
		default:
			d.set[pc/64] |= 1 << (pc % 64)
		}
	}
	for w, word := range d.set {
		if word&p.accept[w] != 0 {
			matched = true
			break
		}
	}
	var flags uint32
	if matched {
		flags = dfaMatch
		if d.stop {
			return flags
		}
	}
	if end {
		return flags | d.start
	}
	now := append(d.key[:0], 0)
	for w, word := range d.set {
		for ; word != 0; word &= word - 1 {
			pc := w*64 + bits.TrailingZeros64(word)
			if in := &p.inst[pc]; in.op == dfaRune && p.matches(in.arg, col) {
				now = append(now, byte(in.out), byte(in.out>>8))
			}
		}
	}
	d.key = now
	d.begin()
	kind := p.kind[col]
	for i := 1; i < len(now); i += 2 {
		d.follow(uint32(now[i])|uint32(now[i+1])<<8, 0, false, kind)
	}
	d.follow(p.start, 0, false, kind) // a match may begin after this rune
	next := d.intern(kind)
	if len(d.key) == 1 {
		flags |= dfaDead
	}
	return flags | next
}

// find returns a position in the first matching line of buf at or after from,
// which must be the beginning of a line, or -1. A line ends at LF, a CR before it
// left out; the last one may end with buf. It returns a position inside the line
// or that of its line end.
func (d *dfa) find(buf []byte, from int) int {
	p := d.p
	tab := &p.scanTab
	s := d.start
	if d.dead(s) || from >= len(buf) {
		return -1
	}
	i := from
	for {
		if d.stale {
			d.rest()
		}
		trans := d.trans
		var t uint32
		for i+8 <= len(buf) {
			if s == d.start && d.resting {
				// Nothing has begun: look for a byte that can begin a match. The
				// steps below depend on one another, these do not.
				for i+8 <= len(buf) {
					b := buf[i : i+8 : i+8]
					if d.idle[b[0]]|d.idle[b[1]]|d.idle[b[2]]|d.idle[b[3]]|d.idle[b[4]]|d.idle[b[5]]|d.idle[b[6]]|d.idle[b[7]] != 0 {
						break
					}
					i += 8
				}
				for i < len(buf) && d.idle[buf[i]] == 0 {
					i++
				}
				if i+8 > len(buf) {
					break
				}
			}
			b := buf[i : i+4 : i+4]
			if t = trans[s+uint32(tab[b[0]])]; t >= dfaDead {
				break
			}
			s = t
			if t = trans[s+uint32(tab[b[1]])]; t >= dfaDead {
				i++
				break
			}
			s = t
			if t = trans[s+uint32(tab[b[2]])]; t >= dfaDead {
				i += 2
				break
			}
			s = t
			if t = trans[s+uint32(tab[b[3]])]; t >= dfaDead {
				i += 3
				break
			}
			s = t
			i += 4
		}
		if i >= len(buf) {
			break
		}
		// The byte at i needs a closer look, or is one of the last three.
		col, width := int(tab[buf[i]]), 1
		switch c := buf[i]; {
		case c == '\r':
			col = int(p.lineTab[c])
			if i+1 < len(buf) && buf[i+1] == '\n' {
				col, width = p.endCol, 2
			}
		case c >= utf8.RuneSelf:
			col, width = p.decode(buf[i:])
		}
		if t = d.trans[s+uint32(col)]; t&dfaUnknown != 0 {
			t = d.step(s, col)
		}
		if t&dfaMatch != 0 {
			return i
		}
		i += width
		if t&dfaDead != 0 {
			// Nothing can match before the next line.
			j := bytes.IndexByte(buf[i:], '\n')
			if j < 0 {
				return -1
			}
			i += j + 1
			t = d.start
		}
		s = t & dfaRow
	}
	if buf[len(buf)-1] != '\n' && d.atEnd(s) {
		return len(buf) - 1
	}
	return -1
}

// atEnd reports whether a line that ends in the state at s matches there.
func (d *dfa) atEnd(s uint32) bool {
	t := d.trans[s+uint32(d.p.endCol)]
	if t&dfaUnknown != 0 {
		t = d.step(s, d.p.endCol)
	}
	return t&dfaMatch != 0
}

// dead reports whether nothing can match from the state at row on.
func (d *dfa) dead(row uint32) bool { return len(d.states[row/uint32(d.p.stride)]) == 1 }
