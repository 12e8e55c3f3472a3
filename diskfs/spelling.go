package diskfs

import "strings"

// mayBeAlias reports whether s holds a tilde followed by a digit.
func mayBeAlias(s string) bool {
	for i := strings.IndexByte(s, '~'); i >= 0 && i+1 < len(s); {
		if c := s[i+1]; '0' <= c && c <= '9' {
			return true
		}
		j := strings.IndexByte(s[i+1:], '~')
		if j < 0 {
			return false
		}
		i += 1 + j
	}
	return false
}

// flipCase turns the case of every ASCII letter around.
func flipCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - ('a' - 'A')
		case 'A' <= r && r <= 'Z':
			return r + ('a' - 'A')
		}
		return r
	}, s)
}
