package policyfs

import (
	"regexp"
	"regexp/syntax"
)

// The bytes that the automata of one worker may cache, forwards and backwards.
// The second only looks at lines that match.
const (
	forwardCache  = 1 << 20
	backwardCache = 256 << 10
)

// engine finds the lines of a text that match a pattern. It is immutable; each
// goroutine takes a [scanner] from it.
//
// Most patterns hold literals that every match needs. Those are looked for with
// the vector instructions behind bytes.IndexByte, and only the lines in which one
// turns up are shown to an automaton. The others run the automaton over the
// whole text.
type engine struct {
	forward, backward *dfaProg
	// literals, if not empty, are strings of which every match holds one.
	literals []*literal
	// exact says that the literals are the pattern: where one is, there is a
	// match.
	exact bool
}

// compileEngine validates the pattern of a query and prepares the search for it.
// Errors are [fs.ErrInvalid].
func compileEngine(q *Query) (*engine, error) {
	if len(q.Pattern) > maxPattern {
		return nil, badPattern("pattern of more than %d bytes", maxPattern)
	}
	pattern := q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.Perl
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, &patternError{cause: err}
	}
	if programSize(re) > maxProgram {
		return nil, badPattern("pattern of more than %d instructions", maxProgram)
	}
	literals, exact := requiredLiterals(re)
	e := &engine{literals: literals, exact: exact}
	// Simplify may share what it returns with re, which reverse copies.
	if e.backward, err = compileProgram(reverse(re), backwardCache); err != nil {
		return nil, err
	}
	if e.forward, err = compileProgram(re, forwardCache); err != nil {
		return nil, err
	}
	return e, nil
}

// compileProgram compiles one direction of a pattern.
func compileProgram(re *syntax.Regexp, cache int) (*dfaProg, error) {
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, &patternError{cause: err}
	}
	if len(prog.Inst) > 2*maxProgram {
		return nil, badPattern("pattern of more than %d instructions", maxProgram)
	}
	return newDFAProg(prog, cache), nil
}

// programSize estimates how many instructions re compiles to, without compiling
// it: the compiler would first allocate what this is to refuse. It stops counting
// a little above maxProgram.
func programSize(re *syntax.Regexp) int {
	size := 1
	add := func(n int) { size = min(size+n, 4*maxProgram) }
	switch re.Op {
	case syntax.OpLiteral:
		add(len(re.Rune))
	case syntax.OpRepeat:
		// x{n,m} is n copies of x, and m-n of them optional; x{n,} ends in x*.
		times := max(re.Max, re.Min+1)
		one := programSize(re.Sub[0]) + 1
		add(min(times*one, 4*maxProgram))
	default:
		for _, sub := range re.Sub {
			add(programSize(sub))
		}
		if re.Op == syntax.OpAlternate || re.Op == syntax.OpCapture {
			add(len(re.Sub))
		}
	}
	return size
}
