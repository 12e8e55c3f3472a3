package namespace

import "unsafe"

// joinerChunk is how many bytes of canonical text share one allocation. Whoever
// keeps one Path keeps so much.
const joinerChunk = 1 << 10

// Joiner makes the Paths of the entries of one directory after another. Their
// texts share memory, which is what makes it cheaper than [Path.Join]; the Paths
// are no others. The zero Joiner is ready to use. One goroutine may use it at a
// time, copies of it included.
type Joiner struct{ chunk *joined }

// joined is text that Paths share. What lies before used is never written again:
// used is beside the text and not in the Joiner, so that a copy of a Joiner goes on
// where the other has stopped.
type joined struct {
	used int
	text [joinerChunk - 8]byte
}

// Join is [Path.Join].
func (j *Joiner) Join(dir Path, elem string) (Path, error) {
	n := len(dir.s) + 1 + len(elem)
	if dir.s == "" || n > joinerChunk/4 {
		return dir.Join(elem)
	}
	if j.chunk == nil || n > len(j.chunk.text)-j.chunk.used {
		j.chunk = new(joined) // what was written stays with its Paths
	}
	c := j.chunk
	b := c.text[c.used : c.used+n]
	copy(b, dir.s)
	b[len(dir.s)] = '/'
	copy(b[len(dir.s)+1:], elem)
	text := unsafe.String(&b[0], n)
	tree, err := dir.tree.Extend(text[len(rootText)+1:])
	if err != nil || hasBidi(elem) {
		return dir.Join(elem) // for the reason
	}
	c.used += n
	return Path{text, tree}, nil
}
