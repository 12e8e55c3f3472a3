package policyfs

import (
	"bytes"
	"sync/atomic"
)

// scanner looks for the matching lines of texts, one after the other. It belongs
// to one goroutine; what it caches serves all texts.
type scanner struct {
	e       *engine
	forward *dfa // made when first needed, like backward
	back    *dfa
	finders []finder
	// dense says that the literals turn up so often in this text, in lines that
	// do not match, that the automaton alone is faster.
	dense             bool
	failed, failedFor int
	// stop, if set and true, ends a search that takes long; what it then says is
	// of no use.
	stop *atomic.Bool
}

// newScanner returns a scanner for the pattern.
func (e *engine) newScanner() *scanner {
	s := &scanner{e: e, finders: make([]finder, len(e.literals))}
	for i, l := range e.literals {
		s.finders[i].literal = l
	}
	s.reset()
	return s
}

// reset must be called before each new text, and when text has moved in its
// buffer.
func (s *scanner) reset() {
	for i := range s.finders {
		s.finders[i].reset()
	}
	s.dense, s.failed, s.failedFor = false, 0, 0
}

// automaton returns the forward automaton.
func (s *scanner) automaton() *dfa {
	if s.forward == nil {
		s.forward = newDFA(s.e.forward, true)
		s.forward.halt = s.stop
	}
	return s.forward
}

// backward returns the automaton that finds where a match begins.
func (s *scanner) backward() *dfa {
	if s.back == nil {
		s.back = newDFA(s.e.backward, false)
		s.back.halt = s.stop
	}
	return s.back
}

// lineMatch is a matching line in a text.
type lineMatch struct {
	start, end int // the line, without its line end
	next       int // the beginning of the line after it
	match      int // where the leftmost match begins
}

// next returns the first line of text at or after from that matches. from must
// be the beginning of a line, and text must end with one, or with a line feed.
// Positions must not decrease from call to call until reset.
func (s *scanner) next(text []byte, from int) (lineMatch, bool) {
	for from < len(text) {
		at, exact := s.candidate(text, from)
		if at < 0 {
			break
		}
		m := lineAround(text, from, at)
		line := text[m.start:m.end]
		if exact {
			m.match = at
			return m, true
		}
		if len(s.finders) == 0 || s.dense || s.automaton().match(line) {
			m.match = m.start + s.backward().leftmost(line)
			return m, true
		}
		s.failed++
		s.failedFor += m.next - from
		s.dense = s.failed > 32 && s.failedFor < 100*s.failed
		from = m.next
	}
	return lineMatch{}, false
}

// candidate returns a position in the first line that may match, or that does
// for certain where no literals are used; exact says that the leftmost match
// begins there.
func (s *scanner) candidate(text []byte, from int) (at int, exact bool) {
	if len(s.finders) == 0 || s.dense {
		return s.automaton().find(text, from), false
	}
	at = len(text)
	for i := range s.finders {
		at = min(at, s.finders[i].index(text, from))
	}
	if at == len(text) {
		return -1, false
	}
	return at, s.e.exact
}

// lineAround returns the line of text that holds at, or whose line end does. It
// begins at or after from.
func lineAround(text []byte, from, at int) lineMatch {
	m := lineMatch{start: from}
	if i := bytes.LastIndexByte(text[from:at], '\n'); i >= 0 {
		m.start = from + i + 1
	}
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		m.end = at + i
		m.next = m.end + 1
		if m.end > m.start && text[m.end-1] == '\r' {
			m.end--
		}
	} else {
		m.end, m.next = len(text), len(text)
	}
	return m
}
