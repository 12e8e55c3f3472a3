package namespace

import "strings"

// joinerChunk is how many bytes of canonical text share one allocation. Whoever
// keeps one Path keeps so much.
const joinerChunk = 1 << 10

// Joiner makes the Paths of the entries of one directory after another. Their
// texts share memory, which is what makes it cheaper than [Path.Join]; the Paths
// are no others. The zero Joiner is ready to use. One goroutine may use it at a
// time, and it must not be copied.
type Joiner struct{ text strings.Builder }

// Join is [Path.Join].
func (j *Joiner) Join(dir Path, elem string) (Path, error) {
	n := len(dir.s) + 1 + len(elem)
	if dir.s == "" || n > joinerChunk/4 {
		return dir.Join(elem)
	}
	if n > j.text.Cap()-j.text.Len() {
		j.text.Reset() // what was written stays with its Paths
		j.text.Grow(joinerChunk)
	}
	begin := j.text.Len()
	j.text.WriteString(dir.s)
	j.text.WriteByte('/')
	j.text.WriteString(elem)
	text := j.text.String()[begin:]
	tree, err := dir.tree.Extend(text[len(rootText)+1:])
	if err != nil || hasBidi(elem) {
		return dir.Join(elem) // for the reason
	}
	return Path{text, tree}, nil
}
