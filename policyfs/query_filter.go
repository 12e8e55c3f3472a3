package policyfs

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// queryFilter is Query.Include and Query.Exclude, compiled.
type queryFilter struct {
	include, exclude []filterPattern
	paths            bool // some pattern is about more than the base name
}

// filterPattern is a pattern without braces, so that the work of doublestar is
// bounded by the product of the lengths.
type filterPattern struct {
	text    string
	path    bool // matched against the path below the root, not the base name
	dirOnly bool
}

// newQueryFilter validates the patterns of a query.
func newQueryFilter(q *Query) (*queryFilter, error) {
	f := &queryFilter{}
	for _, list := range []struct {
		from []string
		to   *[]filterPattern
	}{{q.Include, &f.include}, {q.Exclude, &f.exclude}} {
		for _, pattern := range list.from {
			flat, err := expandBraces(pattern)
			if err != nil {
				return nil, err
			}
			for _, text := range flat {
				p := newFilterPattern(text)
				f.paths = f.paths || p.path
				*list.to = append(*list.to, p)
			}
		}
	}
	return f, nil
}

// newFilterPattern reads one pattern.
func newFilterPattern(text string) filterPattern {
	p := filterPattern{dirOnly: strings.HasSuffix(text, "/")}
	text = strings.TrimSuffix(text, "/")
	p.path = strings.Contains(text, "/")
	p.text = strings.TrimPrefix(strings.TrimPrefix(text, "./"), "/")
	return p
}

// keeps reports whether a file is searched. rel is its path below the root.
func (f *queryFilter) keeps(rel, base string) bool {
	return (len(f.include) == 0 || matchAny(f.include, rel, base, false)) && !matchAny(f.exclude, rel, base, false)
}

// prunes reports whether a directory is left out with everything below it.
func (f *queryFilter) prunes(rel, base string) bool {
	return len(f.exclude) > 0 && matchAny(f.exclude, rel, base, true)
}

// matchAny reports whether one of the patterns matches.
func matchAny(patterns []filterPattern, rel, base string, dir bool) bool {
	for i := range patterns {
		p := &patterns[i]
		name := base
		if p.path {
			name = rel
		}
		if (dir || !p.dirOnly) && doublestar.MatchUnvalidated(p.text, name) {
			return true
		}
	}
	return false
}
