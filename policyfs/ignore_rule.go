package policyfs

import "strings"

// ignoreRule is one line of a .gitignore file, as gitignore(5) words it.
type ignoreRule struct {
	negated  bool // the line begins with '!': what matches is included again
	dirOnly  bool // the line ends in '/'
	anchored bool // the line holds another '/': it is matched against the path
	literal  bool // the pattern has no special characters
	pattern  string
}

// parseIgnore reads a .gitignore file. Lines that git takes for no pattern are
// left out.
func parseIgnore(text string) []ignoreRule {
	text = strings.TrimPrefix(text, "\ufeff")
	var rules []ignoreRule
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
			if len(rules) == maxIgnoreRules {
				break
			}
		}
	}
	return rules
}

// parseIgnoreLine reads one line.
func parseIgnoreLine(line string) (r ignoreRule, ok bool) {
	if line == "" || line[0] == '#' {
		return r, false
	}
	line = trimIgnoreBlanks(line)
	if strings.HasPrefix(line, "!") {
		r.negated = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly = true
		line = line[:len(line)-1]
	}
	if strings.Contains(line, "/") {
		r.anchored = true
		line = strings.TrimPrefix(line, "/")
	}
	r.pattern = line
	r.literal = !strings.ContainsAny(line, `*?[\`)
	return r, line != ""
}

// trimIgnoreBlanks drops trailing blanks that no backslash protects.
func trimIgnoreBlanks(line string) string {
	keep := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
		case '\\':
			if i++; i < len(line) {
				keep = i + 1
			} else {
				keep = i
			}
		default:
			keep = i + 1
		}
	}
	return line[:keep]
}

// matches reports whether the rule is about an entry: rel is its path below the
// directory of the rule, base its name.
func (r *ignoreRule) matches(rel, base string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	name := rel
	if !r.anchored {
		name = base
	}
	if r.literal {
		return name == r.pattern
	}
	return wildMatch(r.pattern, name, r.anchored)
}
