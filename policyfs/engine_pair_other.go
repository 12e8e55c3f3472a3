//go:build !amd64 || purego

package policyfs

// vectors: no instructions for pairs of bytes are used here.
const vectors = false

// indexBlocks looks at the first n places of text.
func indexBlocks(text []byte, n int, p *pair) int {
	for i := range n {
		if p.at(text, i) {
			return i
		}
	}
	return -1
}
