package namespace

import (
	"strconv"
	"unicode/utf8"
)

// MaxQuoted is the longest text that [Quote] returns, in bytes.
const MaxQuoted = 4 << 10

// cutMark ends a quoted text that was too long.
const cutMark = `"...`

// Quote makes any text safe in one line of a log, a prompt or an error message:
// valid UTF-8, no control characters, no line breaks (U+2028 and U+2029
// included), no bidirectional controls, nothing invisible, at most 4 KiB. Text
// that already is all that, and holds neither a backslash nor a leading double
// quote, is returned as it is and without allocation. Other text becomes a Go
// string literal; one that would be longer than 4 KiB is cut and ends in `"...`.
func Quote(s string) string {
	if plain(s) {
		return s
	}
	out := make([]byte, 1, min(len(s)+16, MaxQuoted))
	out[0] = '"'
	cut := len(out) // where the mark still fits
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		out = appendQuoted(out, r, rest[:n])
		rest = rest[n:]
		if len(out)+len(`"`) > MaxQuoted {
			return string(append(out[:cut], cutMark...))
		}
		if len(out)+len(cutMark) <= MaxQuoted {
			cut = len(out)
		}
	}
	return string(append(out, '"'))
}

// plain reports whether Quote has nothing to do.
func plain(s string) bool {
	if len(s) > MaxQuoted || s != "" && s[0] == '"' {
		return false
	}
	for i, r := range s {
		if r < utf8.RuneSelf {
			if r < 0x20 || r == 0x7f || r == '\\' {
				return false
			}
			continue
		}
		if ignorable(r) || !strconv.IsPrint(r) {
			return false
		}
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// appendQuoted appends one character of a Go string literal; text is its bytes.
func appendQuoted(out []byte, r rune, text string) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == utf8.RuneError && len(text) == 1:
		return append(out, '\\', 'x', hex[text[0]>>4], hex[text[0]&0xf])
	case ignorable(r) && r > 0xffff:
		out = append(out, '\\', 'U')
		for shift := 28; shift >= 0; shift -= 4 {
			out = append(out, hex[r>>shift&0xf])
		}
		return out
	case ignorable(r):
		out = append(out, '\\', 'u')
		for shift := 12; shift >= 0; shift -= 4 {
			out = append(out, hex[r>>shift&0xf])
		}
		return out
	}
	quoted := strconv.AppendQuoteRune(nil, r)
	switch r {
	case '"':
		return append(out, '\\', '"')
	case '\'':
		return append(out, '\'')
	}
	return append(out, quoted[1:len(quoted)-1]...)
}
