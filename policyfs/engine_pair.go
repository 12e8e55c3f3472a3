package policyfs

import "unicode/utf8"

// pair is two bytes of a literal that a search looks for at once: a place where
// both are is seldom anything but the literal. A mask of 0x20 makes a letter match
// in either case.
type pair struct {
	first, dist    int // position of the first byte in the literal, and of the second behind it
	b1, m1, b2, m2 byte
}

// at reports whether the pair is at text[i] and text[i+dist].
func (p *pair) at(text []byte, i int) bool {
	return text[i]|p.m1 == p.b1 && text[i+p.dist]|p.m2 == p.b2
}

// newPair chooses the two rarest bytes of a fragment that lie at a fixed distance
// in everything it matches. ok is false when there are no two.
func newPair(f fragment) (p pair, ok bool) {
	best := 2.0
	// In any case, a k or s may be three or two bytes, and so may what is not
	// ASCII: distances are fixed between those only.
	for from := 0; from < len(f.text); from++ {
		for to := from; to < len(f.text) && (!f.fold || steady(f.text[to])); to++ {
			if to == from {
				continue
			}
			if share := f.share(from) * f.share(to); share < best {
				best, ok = share, true
				p = pair{first: from, dist: to - from}
			}
		}
		if len(f.text) > 32 && ok && from > 32 {
			break // enough to choose from
		}
	}
	if ok {
		p.b1, p.m1 = f.masked(p.first)
		p.b2, p.m2 = f.masked(p.first + p.dist)
	}
	return p, ok
}

// steady reports whether a byte of a folded fragment is a rune of which all cases
// are one byte.
func steady(c byte) bool { return c < utf8.RuneSelf && c|0x20 != 'k' && c|0x20 != 's' }

// share is how often the byte at i of a fragment comes up.
func (f fragment) share(i int) float64 {
	c := f.text[i]
	if other, ok := otherCase(c); ok && f.fold {
		return frequency(c) + frequency(other)
	}
	return frequency(c)
}

// masked returns what to compare the byte at i with, and the mask for that.
func (f fragment) masked(i int) (b, mask byte) {
	c := f.text[i]
	if _, ok := otherCase(c); ok && f.fold {
		return c | 0x20, 0x20
	}
	return c, 0
}

// indexPair returns the first i in [from, end) where the pair is, or -1. The caller
// guarantees that end+dist <= len(text).
func indexPair(text []byte, from, end int, p *pair) int {
	if n := (end - from) &^ 31; n > 0 {
		if i := indexBlocks(text[from:], n, p); i >= 0 {
			return from + i
		}
		from += n
	}
	for ; from < end; from++ {
		if p.at(text, from) {
			return from
		}
	}
	return -1
}
