package policyfs

import "github.com/bmatcuk/doublestar/v4"

// maxGlob is the longest glob pattern in bytes. No path is longer than 4,095.
const maxGlob = 4096

// expandBraces returns the patterns without braces that pattern stands for, at
// most maxBraces, in order. doublestar would try every combination at each
// position where it can match; flat patterns cost it the product of the lengths
// at most. Errors are doublestar.ErrBadPattern and a *patternError.
func expandBraces(pattern string) ([]string, error) {
	if len(pattern) > maxGlob {
		return nil, badPattern("pattern of more than %d bytes", maxGlob)
	}
	if !doublestar.ValidatePattern(pattern) {
		return nil, &patternError{cause: doublestar.ErrBadPattern}
	}
	flat := []string{""}
	if err := expandInto(&flat, pattern); err != nil {
		return nil, err
	}
	return flat, nil
}

// expandInto appends to each pattern in flat each expansion of pattern.
func expandInto(flat *[]string, pattern string) error {
	for {
		open, end, commas := firstGroup(pattern)
		if open < 0 {
			for i := range *flat {
				(*flat)[i] += pattern
			}
			return nil
		}
		var branches []string
		from := open + 1
		for _, comma := range append(commas, end) {
			branch := []string{""}
			if err := expandInto(&branch, pattern[from:comma]); err != nil {
				return err
			}
			branches = append(branches, branch...)
			from = comma + 1
		}
		if len(*flat)*len(branches) > maxBraces {
			return badPattern("braces stand for more than %d patterns", maxBraces)
		}
		joined := make([]string, 0, len(*flat)*len(branches))
		for _, head := range *flat {
			for _, branch := range branches {
				joined = append(joined, head+pattern[:open]+branch)
			}
		}
		*flat = joined
		pattern = pattern[end+1:]
	}
}

// firstGroup returns the positions of the first brace group of a valid pattern
// and of its own commas; open is -1 if there is none.
func firstGroup(pattern string) (open, end int, commas []int) {
	open = -1
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(pattern, i)
		case '{':
			if depth == 0 {
				open = i
			}
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth == 0 {
				return open, i, commas
			}
		}
	}
	return -1, -1, nil
}

// classEnd returns the position of the bracket that closes the character class
// at open.
func classEnd(pattern string, open int) int {
	i := open + 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	for first := true; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i] == ']' && !first:
			return i
		}
		first = false
	}
	return len(pattern) - 1
}
