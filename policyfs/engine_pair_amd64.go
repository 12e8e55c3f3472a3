//go:build amd64 && !purego

package policyfs

// pairIndexAVX2 returns the first i in [0, n) for which p[i]|m1 == b1 and
// p[i+dist]|m2 == b2, or -1. n must be a multiple of 32, and n+dist bytes must be
// readable at p: [indexPair] is the only caller and sees to it.
//
//go:noescape
func pairIndexAVX2(p *byte, n, dist int, b1, m1, b2, m2 byte) int

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() (a uint32)

// vectors reports whether pairIndexAVX2 works here: the processor has AVX2 and the
// system saves its registers. It never changes.
var vectors = hasAVX2()

func hasAVX2() bool {
	highest, _, _, _ := cpuid(0, 0)
	if highest < 7 {
		return false
	}
	const saved, avx, avx2, state = 1 << 27, 1 << 28, 1 << 5, 0b110
	_, _, c, _ := cpuid(1, 0)
	if c&saved == 0 || c&avx == 0 || xgetbv()&state != state {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

// indexBlocks looks at the first n places of text, n a multiple of 32.
func indexBlocks(text []byte, n int, p *pair) int {
	if n == 0 || n+p.dist > len(text) {
		return -1
	}
	return pairIndexAVX2(&text[0], n, p.dist, p.b1, p.m1, p.b2, p.m2)
}
