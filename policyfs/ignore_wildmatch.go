package policyfs

import "strings"

// wildMatch reports whether name matches a pattern as git's wildmatch does, with
// WM_PATHNAME if pathname is set: then '*', '?' and brackets do not match a slash,
// and "**" between slashes matches any number of directories. Both are compared
// byte by byte, as git does.
//
// It remembers which pairs of positions have failed, so that the work is bounded
// by the product of the lengths, times the length of the name.
func wildMatch(pattern, name string, pathname bool) bool {
	w := wildMatcher{pattern: pattern, name: name, pathname: pathname}
	return w.match(0, 0)
}

type wildMatcher struct {
	pattern, name string
	pathname      bool
	failed        map[[2]int]bool // positions after a star from where nothing matches
}

// match matches pattern[p:] against name[n:].
func (w *wildMatcher) match(p, n int) bool {
	for ; p < len(w.pattern); p, n = p+1, n+1 {
		c := w.pattern[p]
		if c == '*' {
			return w.star(p, n)
		}
		if n == len(w.name) {
			return false
		}
		t := w.name[n]
		switch c {
		case '?':
			if w.pathname && t == '/' {
				return false
			}
		case '[':
			end, ok := matchBracket(w.pattern[p:], t)
			if end < 0 || !ok || w.pathname && t == '/' {
				return false
			}
			p += end
		case '\\':
			// A backslash at the end matches nothing.
			if p++; p == len(w.pattern) || w.pattern[p] != t {
				return false
			}
		default:
			if c != t {
				return false
			}
		}
	}
	return n == len(w.name)
}

// star matches what begins with the star at p.
func (w *wildMatcher) star(p, n int) bool {
	if w.failed[[2]int{p, n}] {
		return false
	}
	first := p
	for p < len(w.pattern) && w.pattern[p] == '*' {
		p++
	}
	across := !w.pathname // whether slashes are matched too
	if w.pathname && p-first > 1 {
		head := first == 0 || w.pattern[first-1] == '/'
		tail := p == len(w.pattern) || w.pattern[p] == '/' ||
			w.pattern[p] == '\\' && p+1 < len(w.pattern) && w.pattern[p+1] == '/'
		if head && tail {
			across = true
			// "**/" also matches no directory at all.
			if p < len(w.pattern) && w.pattern[p] == '/' && w.match(p+1, n) {
				return true
			}
		}
	}
	ok := w.starTail(p, n, across)
	if !ok {
		if w.failed == nil {
			w.failed = make(map[[2]int]bool)
		}
		w.failed[[2]int{first, n}] = true
	}
	return ok
}

// starTail tries every number of bytes for a star before p.
func (w *wildMatcher) starTail(p, n int, across bool) bool {
	if p == len(w.pattern) {
		return across || !strings.Contains(w.name[n:], "/")
	}
	for ; ; n++ {
		if w.match(p, n) {
			return true
		}
		if n == len(w.name) || !across && w.name[n] == '/' {
			return false
		}
	}
}

// matchBracket matches one byte against the bracket expression that text begins
// with. end is the position of the closing bracket, -1 if there is none.
func matchBracket(text string, c byte) (end int, ok bool) {
	i := 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	var prev byte
	hasPrev := false
	for first := true; ; first = false {
		if i >= len(text) {
			return -1, false
		}
		t := text[i]
		switch {
		case t == ']' && !first:
			return i, ok != negated
		case t == '-' && hasPrev && i+1 < len(text) && text[i+1] != ']':
			i++
			hi := text[i]
			if hi == '\\' {
				if i++; i >= len(text) {
					return -1, false
				}
				hi = text[i]
			}
			ok = ok || prev <= c && c <= hi
			hasPrev = false
		case t == '[' && i+1 < len(text) && text[i+1] == ':':
			close := strings.IndexByte(text[i+2:], ']')
			if close < 0 {
				return -1, false
			}
			close += i + 2
			if close-1 < i+2 || text[close-1] != ':' {
				// Not a class after all: the bracket stands for itself.
				ok = ok || c == '['
				prev, hasPrev = t, true
				break
			}
			in, known := inClass(text[i+2:close-1], c)
			if !known {
				return -1, false
			}
			ok = ok || in
			i = close
			hasPrev = false
		case t == '\\':
			if i++; i >= len(text) {
				return -1, false
			}
			ok = ok || text[i] == c
			prev, hasPrev = text[i], true
		default:
			ok = ok || t == c
			prev, hasPrev = t, true
		}
		i++
	}
}

// inClass reports whether c is in the character class of that name, in ASCII.
func inClass(name string, c byte) (in, known bool) {
	lower := 'a' <= c && c <= 'z'
	upper := 'A' <= c && c <= 'Z'
	digit := '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
