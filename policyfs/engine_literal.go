package policyfs

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds on sets of literals. Each of them is looked for by itself, so that
// a large set would be slower than the automaton.
const (
	maxLiterals   = 8
	maxLiteralLen = 128 // longer ones are no better as a filter
)

// A fragment is a string that a match holds, exactly or in any case.
type fragment struct {
	text string
	fold bool
}

// literalInfo is what is known about the texts that a part of a pattern matches.
type literalInfo struct {
	// exact, if not nil, are all those texts.
	exact []fragment
	// needs, if not nil, are fragments of which each of those texts holds one.
	needs []fragment
}

// best returns the better filter of what exact and needs say, or nil.
func (l literalInfo) best() []fragment {
	if usable(l.exact) && (l.needs == nil || cost(l.exact) <= cost(l.needs)) {
		return l.exact
	}
	return l.needs
}

// requiredLiterals returns the strings of which every match of re holds one, and
// whether finding one is finding a match. It returns none when the automaton is
// likely to be faster.
func requiredLiterals(re *syntax.Regexp) (literals []*literal, exact bool) {
	info := describe(re)
	best := info.best()
	if best == nil || cost(best) > automatonCost {
		return nil, false
	}
	exact = info.exact != nil && &info.exact[0] == &best[0] && !asserts(re)
	for _, f := range best {
		lit := newLiteral(f)
		if lit == nil {
			return nil, false
		}
		literals = append(literals, lit)
		// A CR may be the one that a line end swallows, and a line feed is
		// never part of a line: let the automaton judge.
		exact = exact && !strings.ContainsAny(f.text, "\r\n")
	}
	return literals, exact
}

// asserts reports whether re looks at what is around a position.
func asserts(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, asserts)
}

// describe computes the literalInfo of re. An assertion is described as the
// empty text: it consumes nothing.
func describe(re *syntax.Regexp) literalInfo {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText,
		syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return literalInfo{exact: []fragment{{}}}
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, utf8.RuneError) {
			break // it also matches bytes that are no UTF-8
		}
		text := string(re.Rune)
		fold := re.Flags&syntax.FoldCase != 0 && strings.ContainsFunc(text, folds)
		return literalInfo{exact: []fragment{{text, fold}}}
	case syntax.OpCharClass:
		return describeClass(re)
	case syntax.OpCapture:
		return describe(re.Sub[0])
	case syntax.OpConcat:
		return describeConcat(re.Sub)
	case syntax.OpAlternate:
		return describeAlternate(re.Sub)
	case syntax.OpQuest:
		sub := describe(re.Sub[0])
		if sub.exact != nil && len(sub.exact) < maxLiterals {
			return literalInfo{exact: append([]fragment{{}}, sub.exact...)}
		}
	case syntax.OpPlus:
		return literalInfo{needs: describe(re.Sub[0]).best()}
	case syntax.OpRepeat:
		if re.Min == 0 {
			break
		}
		if re.Min == re.Max && re.Min <= 4 {
			return describeConcat(slices.Repeat(re.Sub[:1], re.Min))
		}
		return literalInfo{needs: describe(re.Sub[0]).best()}
	}
	return literalInfo{}
}

// folds reports whether r has other cases.
func folds(r rune) bool { return unicode.SimpleFold(r) != r }

// describeClass takes a small class for the texts of its runes.
func describeClass(re *syntax.Regexp) literalInfo {
	var info literalInfo
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(info.exact) == maxLiterals || r == utf8.RuneError {
				return literalInfo{}
			}
			info.exact = append(info.exact, fragment{text: string(r)})
		}
	}
	return info
}

// describeConcat joins what is exact as far as that goes, and keeps the best
// fragment of what is not.
func describeConcat(subs []*syntax.Regexp) literalInfo {
	run := []fragment{{}} // the texts of the parts since the last inexact one
	var needs []fragment
	exact := true
	better := func(set []fragment) {
		if usable(set) && (needs == nil || cost(set) < cost(needs)) {
			needs = set
		}
	}
	for _, sub := range subs {
		info := describe(sub)
		if joined := join(run, info.exact); joined != nil {
			run = joined
			continue
		}
		exact = false
		better(run)
		run = []fragment{{}}
		if info.exact != nil {
			run = info.exact
		} else {
			better(info.needs)
		}
	}
	if exact {
		return literalInfo{exact: run}
	}
	better(run)
	return literalInfo{needs: needs}
}

// join returns every text of a followed by every text of b, or nil when that is
// too much or mixes texts in one case with texts in any case.
func join(a, b []fragment) []fragment {
	if b == nil || len(a)*len(b) > maxLiterals {
		return nil
	}
	out := make([]fragment, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if len(x.text)+len(y.text) > maxLiteralLen {
				return nil
			}
			if x.fold != y.fold {
				caseless := x.text
				if x.fold {
					caseless = y.text
				}
				if strings.ContainsFunc(caseless, folds) {
					return nil
				}
			}
			out = append(out, fragment{x.text + y.text, x.fold || y.fold})
		}
	}
	return out
}

// describeAlternate needs something of each branch.
func describeAlternate(subs []*syntax.Regexp) literalInfo {
	var all, needs []fragment
	exact, needed := true, true
	for _, sub := range subs {
		info := describe(sub)
		exact = exact && info.exact != nil && len(all)+len(info.exact) <= maxLiterals
		if exact {
			all = append(all, info.exact...)
		}
		best := info.best()
		needed = needed && best != nil && len(needs)+len(best) <= maxLiterals
		if needed {
			needs = append(needs, best...)
		}
		if !exact && !needed {
			return literalInfo{}
		}
	}
	if exact {
		return literalInfo{exact: all}
	}
	return literalInfo{needs: needs}
}

// usable reports whether a set can filter at all: the empty text is everywhere.
func usable(set []fragment) bool {
	return len(set) > 0 && !slices.ContainsFunc(set, func(f fragment) bool { return f.text == "" || anchor(f) < 0 })
}

// The measured costs of a search in nanoseconds, relative to each other.
const (
	scanCost      = 0.05  // for a byte that vector instructions pass over
	stopCost      = 6.0   // for a stop at a byte that may begin a literal
	automatonCost = 0.9   // for a byte that the automaton reads
	lengthWorth   = 0.001 // for a byte of the shortest literal: longer ones are found in fewer wrong lines
)

// cost estimates the search for a set of literals, a byte of text.
func cost(set []fragment) float64 {
	sum, shortest := 0.0, 20
	for _, f := range set {
		at := anchor(f)
		if at < 0 {
			return automatonCost * 2
		}
		shortest = min(shortest, len(f.text))
		if p, ok := newPair(f); ok && vectors {
			sum += scanCost + stopCost*f.share(p.first)*f.share(p.first+p.dist)
			continue
		}
		sum += scanCost + stopCost*f.share(at)
		if _, ok := otherCase(f.text[at]); ok && f.fold {
			sum += scanCost
		}
	}
	return sum - lengthWorth*float64(shortest)
}

// anchor returns the position of the byte of f that a search should look for:
// the rarest one, and in a fragment of any case an ASCII byte whose other cases
// are ASCII too. It is -1 if there is none.
func anchor(f fragment) int {
	best, at := 2.0, -1
	for i := range len(f.text) {
		c := f.text[i]
		p := frequency(c)
		if f.fold {
			if c >= utf8.RuneSelf || c|0x20 == 'k' || c|0x20 == 's' {
				continue // U+212A is a k, U+017F an s
			}
			p = f.share(i)
		}
		if p < best {
			best, at = p, i
		}
	}
	return at
}

// otherCase returns the other case of an ASCII letter.
func otherCase(c byte) (byte, bool) {
	if l := c | 0x20; 'a' <= l && l <= 'z' {
		return c ^ 0x20, true
	}
	return c, false
}

// frequency is how often a byte comes up in source code and prose, as a share of
// all bytes. It only decides which byte to look for; any value is right.
func frequency(c byte) float64 { return float64(byteRank[c]) / 10_000 }
