package policyfs

import "strings"

// wildMatch reports whether name matches a pattern as git's wildmatch does, with
// WM_PATHNAME if pathname is set: then '*', '?' and brackets do not match a slash,
// and "**" between slashes matches any number of directories. Both are compared
// byte by byte, as git does.
//
// Patterns come with the files of a tree, from anybody, so the work must not
// explode: of the stars before a mismatch, only the last one is tried again, and
// where that may not cross a slash, the last one that may. Earlier ones could only
// lead to places further on, from where less can match.
func wildMatch(pattern, name string, pathname bool) bool {
	var star, across wildRetry // the last '*' within an element, the last that is not
	for p, n := 0, 0; ; {
		if p < len(pattern) && pattern[p] == '*' {
			r, crosses := wildStar(pattern, p, pathname)
			if crosses && r.p == len(pattern) && !r.dirs {
				return true
			}
			r.n, r.set = n, true
			if star = r; crosses {
				star, across = wildRetry{}, r
			}
			p = r.p
			continue
		}
		if p == len(pattern) && n == len(name) {
			return true
		}
		if p < len(pattern) {
			if n == len(name) {
				return false // whatever a star takes more, is missing here
			}
			if width := wildByte(pattern[p:], name[n], pathname); width > 0 {
				p, n = p+width, n+1
				continue
			}
		}
		switch {
		case star.set && star.n < len(name) && name[star.n] != '/':
			star.n++
			p, n = star.p, star.n
		case across.again(name):
			star = wildRetry{}
			p, n = across.p, across.n
		default:
			return false
		}
	}
}

// wildRetry is where to go on with a star: the pattern behind it, and the name
// behind what it has taken so far.
type wildRetry struct {
	p, n int
	set  bool
	dirs bool // it takes whole directories: "**/"
}

// again makes a star that crosses slashes take more. It returns false at the end
// of the name.
func (r *wildRetry) again(name string) bool {
	step := 1
	if r.dirs && r.set {
		step = strings.IndexByte(name[r.n:], '/') + 1
	}
	if !r.set || step == 0 || r.n+step > len(name) {
		return false
	}
	r.n += step
	return true
}

// wildStar reads the star at p: where the pattern goes on behind it, and whether
// it crosses slashes.
func wildStar(pattern string, p int, pathname bool) (r wildRetry, crosses bool) {
	first := p
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	r.p = p
	if !pathname || p-first == 1 || first > 0 && pattern[first-1] != '/' {
		return r, !pathname
	}
	switch rest := pattern[p:]; {
	case rest == "", strings.HasPrefix(rest, `\/`):
		return r, true
	case rest[0] == '/':
		r.p, r.dirs = p+1, true
		return r, true
	}
	return r, false
}

// wildByte returns the length of what matches the byte t at the beginning of a
// pattern, which is no star; 0 if it does not match.
func wildByte(pattern string, t byte, pathname bool) int {
	switch c := pattern[0]; {
	case c == '?' || c == '[':
		if pathname && t == '/' {
			return 0
		}
		if c == '?' {
			return 1
		}
		if end, ok := matchBracket(pattern, t); ok {
			return end + 1
		}
		return 0
	case c == '\\':
		// A backslash at the end matches nothing.
		if len(pattern) > 1 && pattern[1] == t {
			return 2
		}
		return 0
	case c == t:
		return 1
	}
	return 0
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
