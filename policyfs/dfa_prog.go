package policyfs

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// The instructions of a dfaProg. A rune instruction's arg is the number of its
// rune set, an assertion's the syntax.EmptyOp that must hold.
const (
	dfaFail uint8 = iota
	dfaNop
	dfaAlt
	dfaAssert
	dfaRune
	dfaAccept
)

type dfaInst struct {
	op       uint8
	out, arg uint32
}

// dfaProg is a regular expression prepared for a [dfa]: the program of package
// regexp/syntax, with the runes gathered into classes that no instruction tells
// apart. It is immutable and shared by all automata that run it.
//
// A column of the automaton is a class of runes, or one of three more: the end
// of a line, and two that only scanTab uses for bytes that need a closer look (a
// CR, which may belong to a line end, and bytes that are not ASCII).
type dfaProg struct {
	inst   []dfaInst
	start  uint32
	accept []uint64 // a bit for each accepting instruction
	wordy  bool     // some assertion asks for word boundaries
	limit  int      // bytes one automaton's cache may take

	classes int
	endCol  int
	stride  int
	kind    []byte   // by class: afterWord or afterOther
	sets    []uint64 // by rune set, setWords each: a bit for each class
	words   int

	scanTab [256]uint16 // column of a byte in a text of many lines
	lineTab [256]uint16 // class of an ASCII rune; others are decoded
	bounds  []rune      // where the classes of other runes change,
	class   []uint16    // and what they are from there on
}

// newDFAProg prepares prog. The caller has bounded its size: instructions are
// numbered with 16 bits.
func newDFAProg(prog *syntax.Prog, limit int) *dfaProg {
	p := &dfaProg{
		inst:   make([]dfaInst, len(prog.Inst)),
		start:  uint32(prog.Start),
		accept: make([]uint64, (len(prog.Inst)+63)/64),
		limit:  limit,
	}
	var sets []*syntax.Inst // one instruction for each different rune set
	known := make(map[string]uint32)
	for pc := range prog.Inst {
		in := &prog.Inst[pc]
		out := dfaInst{out: in.Out, arg: in.Arg}
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			out.op = dfaAlt
		case syntax.InstCapture, syntax.InstNop:
			out.op = dfaNop
		case syntax.InstEmptyWidth:
			out.op = dfaAssert
			const word = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
			p.wordy = p.wordy || syntax.EmptyOp(in.Arg)&word != 0
		case syntax.InstMatch:
			out.op = dfaAccept
			p.accept[pc/64] |= 1 << (pc % 64)
		case syntax.InstFail:
			out.op = dfaFail
		default:
			out.op = dfaRune
			key := string(rune(in.Op)) + string(rune(syntax.Flags(in.Arg)&syntax.FoldCase)) + string(in.Rune)
			n, ok := known[key]
			if !ok {
				n = uint32(len(sets))
				known[key] = n
				sets = append(sets, in)
			}
			out.arg = n
		}
		p.inst[pc] = out
	}
	p.classify(sets)
	return p
}

// classify divides all runes into classes that every set holds wholly or not at
// all, and fills the tables.
func (p *dfaProg) classify(sets []*syntax.Inst) {
	bounds := []rune{0, utf8.RuneSelf, utf8.MaxRune + 1}
	split := func(lo, hi rune) { bounds = append(bounds, lo, hi+1) }
	for _, in := range sets {
		if in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL {
			continue // differ at the line feed only, which no line holds
		}
		if len(in.Rune) == 1 {
			r := in.Rune[0]
			split(r, r)
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				split(f, f)
			}
			continue
		}
		for i := 0; i+1 < len(in.Rune); i += 2 {
			split(in.Rune[i], in.Rune[i+1])
		}
	}
	if p.wordy {
		split('0', '9')
		split('A', 'Z')
		split('_', '_')
		split('a', 'z')
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	bounds = bounds[:len(bounds)-1] // the last one is beyond all runes

	// Refine one class by one set after the other.
	class := make([]uint16, len(bounds))
	p.classes = 1
	type half struct {
		class uint16
		in    bool
	}
	refine := func(has func(rune) bool) {
		ids := make(map[half]uint16, 2*p.classes)
		for i, lo := range bounds {
			h := half{class[i], has(lo)}
			id, ok := ids[h]
			if !ok {
				id = uint16(len(ids))
				ids[h] = id
			}
			class[i] = id
		}
		p.classes = len(ids)
	}
	if p.wordy {
		refine(syntax.IsWordChar)
	}
	for _, in := range sets {
		refine(func(r rune) bool { return instHas(in, r) })
	}

	p.endCol = p.classes
	p.stride = p.classes + 3
	p.words = (p.classes + 63) / 64
	p.kind = make([]byte, p.classes)
	p.sets = make([]uint64, p.words*len(sets))
	for i, lo := range bounds {
		c := class[i]
		p.kind[c] = afterOther
		if p.wordy && syntax.IsWordChar(lo) {
			p.kind[c] = afterWord
		}
		for n, in := range sets {
			if instHas(in, lo) {
				p.sets[n*p.words+int(c/64)] |= 1 << (c % 64)
			}
		}
	}
	at := 0
	for r := range rune(utf8.RuneSelf) {
		for at+1 < len(bounds) && bounds[at+1] <= r {
			at++
		}
		p.lineTab[r] = class[at]
		p.scanTab[r] = class[at]
	}
	ascii, _ := slices.BinarySearch(bounds, utf8.RuneSelf)
	p.bounds, p.class = bounds[ascii:], class[ascii:]
	p.scanTab['\n'] = uint16(p.endCol)
	p.scanTab['\r'] = uint16(p.endCol + 1)
	for b := utf8.RuneSelf; b < 256; b++ {
		p.scanTab[b] = uint16(p.endCol + 2)
	}
}

// instHas reports whether a rune instruction takes r, which is no line feed.
func instHas(in *syntax.Inst, r rune) bool {
	switch in.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return in.MatchRune(r)
}

// matches reports whether the rune set holds the class.
func (p *dfaProg) matches(set uint32, class int) bool {
	return p.sets[int(set)*p.words+class/64]>>(class%64)&1 != 0
}

// decode returns the class and the width of the rune that text begins with,
// which is not ASCII. A byte that is no UTF-8 is U+FFFD, as in package regexp.
func (p *dfaProg) decode(text []byte) (class, width int) {
	r, width := utf8.DecodeRune(text)
	if len(p.class) == 1 {
		return int(p.class[0]), width
	}
	i, found := slices.BinarySearch(p.bounds, r)
	if !found {
		i--
	}
	return int(p.class[i]), width
}

// context returns the assertions that hold between what precedes and the rune
// class (or the end of the line) that follows.
func (p *dfaProg) context(before byte, col int) syntax.EmptyOp {
	var have syntax.EmptyOp
	if before == afterBegin {
		have |= syntax.EmptyBeginLine | syntax.EmptyBeginText
	}
	after := afterOther
	if col == p.endCol {
		have |= syntax.EmptyEndLine | syntax.EmptyEndText
	} else {
		after = p.kind[col]
	}
	if (before == afterWord) != (after == afterWord) {
		return have | syntax.EmptyWordBoundary
	}
	return have | syntax.EmptyNoWordBoundary
}
