package memfs

import "cmp"

const (
	// maxItems is the size of a full tree node: two to three levels hold a
	// directory of 100,000 entries, and copying one node costs less than a
	// microsecond.
	maxItems = 32
	// minItems is the size below which a node is merged with a neighbour. It is
	// far below the half so that ascending insertions, the common way to fill a
	// directory, can leave nodes nearly full.
	minItems = 4
)

// owner is the right to change things in place. Each FS has one; what bears
// another one is shared with a clone and must be copied before it is changed.
// The pointer is the identity.
type owner struct{ _ byte }

// tree is an ordered map as a B-tree whose nodes are copied on write. Copying
// the struct shares all nodes; it is the caller's part that the two copies are
// changed under different owners from then on.
type tree[K cmp.Ordered, V any] struct {
	root *treeNode[K, V]
	len  int
}

type treeItem[K cmp.Ordered, V any] struct {
	key K
	val V
}

type treeNode[K cmp.Ordered, V any] struct {
	owner *owner
	items []treeItem[K, V]
	kids  []*treeNode[K, V] // none in a leaf, else one more than items
}

// get returns the value at k.
func (t *tree[K, V]) get(k K) (v V, ok bool) {
	for n := t.root; n != nil; {
		if len(n.kids) == 0 && len(n.items) <= fewItems {
			for i := range n.items {
				if n.items[i].key == k {
					return n.items[i].val, true
				}
			}
			break
		}
		i, found := n.search(k)
		if found {
			return n.items[i].val, true
		}
		if len(n.kids) == 0 {
			break
		}
		n = n.kids[i]
	}
	return v, false
}

// fewItems are looked at one by one: strings that differ do so in their length
// mostly, which costs less than finding out which one is the lesser.
const fewItems = 8

// ceiling returns the first item at or after k.
func (t *tree[K, V]) ceiling(k K) (key K, v V, ok bool) {
	for n := t.root; n != nil; {
		i, found := n.search(k)
		if i < len(n.items) {
			key, v, ok = n.items[i].key, n.items[i].val, true
		}
		if found || len(n.kids) == 0 {
			break
		}
		n = n.kids[i]
	}
	return key, v, ok
}

// last returns the greatest key.
func (t *tree[K, V]) last() (k K, ok bool) {
	n := t.root
	if n == nil || t.len == 0 {
		return k, false
	}
	for len(n.kids) > 0 {
		n = n.kids[len(n.kids)-1]
	}
	return n.items[len(n.items)-1].key, true
}

// all yields the items in order. The tree must not change meanwhile.
func (t *tree[K, V]) all(yield func(K, V) bool) {
	if t.root != nil {
		t.root.all(yield)
	}
}

// all recurses once a level; the height is logarithmic.
func (n *treeNode[K, V]) all(yield func(K, V) bool) bool {
	for i := range n.items {
		if len(n.kids) > 0 && !n.kids[i].all(yield) {
			return false
		}
		if !yield(n.items[i].key, n.items[i].val) {
			return false
		}
	}
	return len(n.kids) == 0 || n.kids[len(n.items)].all(yield)
}

// set puts v at k, for o.
func (t *tree[K, V]) set(o *owner, k K, v V) {
	if t.root == nil {
		t.root = &treeNode[K, V]{owner: o, items: []treeItem[K, V]{{k, v}}}
		t.len = 1
		return
	}
	t.root = t.root.mutable(o)
	if len(t.root.items) >= maxItems {
		t.root = &treeNode[K, V]{owner: o, kids: []*treeNode[K, V]{t.root}}
		t.root.split(o, 0, k)
	}
	n := t.root
	for {
		i, found := n.search(k)
		switch {
		case found:
			n.items[i].val = v
			return
		case len(n.kids) == 0:
			n.items = insertAt(n.items, i, treeItem[K, V]{k, v})
			t.len++
			return
		}
		if len(n.kids[i].items) >= maxItems {
			n.split(o, i, k)
			switch c := cmp.Compare(k, n.items[i].key); {
			case c == 0:
				n.items[i].val = v
				return
			case c > 0:
				i++
			}
		}
		n = n.kid(o, i)
	}
}

// delete takes k away, which is there, for o.
func (t *tree[K, V]) delete(o *owner, k K) {
	t.root = t.root.mutable(o)
	t.root.delete(o, k)
	t.len--
	switch {
	case t.len == 0:
		t.root = nil
	case len(t.root.items) == 0:
		t.root = t.root.kids[0]
	}
}

// delete takes k, which is there, out of the subtree of n, which is mutable and
// (unless it is the root) holds more than minItems.
func (n *treeNode[K, V]) delete(o *owner, k K) {
	for {
		i, found := n.search(k)
		if len(n.kids) == 0 {
			n.items = deleteAt(n.items, i)
			return
		}
		if len(n.kids[i].items) <= minItems {
			n.grow(o, i)
			continue // the item may have moved
		}
		kid := n.kid(o, i)
		if found {
			n.items[i] = kid.deleteMax(o)
			return
		}
		n = kid
	}
}

// deleteMax takes the greatest item out of the subtree of n.
func (n *treeNode[K, V]) deleteMax(o *owner) treeItem[K, V] {
	for len(n.kids) > 0 {
		i := len(n.kids) - 1
		if len(n.kids[i].items) <= minItems {
			n.grow(o, i)
			continue
		}
		n = n.kid(o, i)
	}
	i := len(n.items) - 1
	item := n.items[i]
	n.items = deleteAt(n.items, i)
	return item
}

// grow gives the kid at i more items: one of a neighbour, or all of them.
func (n *treeNode[K, V]) grow(o *owner, i int) {
	const rich = maxItems / 2 // enough to give; less fits into a merged node
	switch {
	case i > 0 && len(n.kids[i-1].items) > rich:
		from, to := n.kid(o, i-1), n.kid(o, i)
		last := len(from.items) - 1
		to.items = insertAt(to.items, 0, n.items[i-1])
		n.items[i-1] = from.items[last]
		from.items = deleteAt(from.items, last)
		if len(from.kids) > 0 {
			to.kids = insertAt(to.kids, 0, from.kids[last+1])
			from.kids = deleteAt(from.kids, last+1)
		}
	case i < len(n.items) && len(n.kids[i+1].items) > rich:
		from, to := n.kid(o, i+1), n.kid(o, i)
		to.items = append(to.items, n.items[i])
		n.items[i] = from.items[0]
		from.items = deleteAt(from.items, 0)
		if len(from.kids) > 0 {
			to.kids = append(to.kids, from.kids[0])
			from.kids = deleteAt(from.kids, 0)
		}
	default:
		if i == len(n.items) {
			i--
		}
		from, to := n.kids[i+1], n.kid(o, i)
		to.items = append(append(to.items, n.items[i]), from.items...)
		to.kids = append(to.kids, from.kids...)
		n.items = deleteAt(n.items, i)
		n.kids = deleteAt(n.kids, i+1)
	}
}

// split divides the full kid at i; one item of it moves up to n. k is about to
// be inserted: beyond the kid's last item, the left part stays nearly full.
func (n *treeNode[K, V]) split(o *owner, i int, k K) {
	left := n.kid(o, i)
	at := len(left.items) / 2
	if k > left.items[len(left.items)-1].key {
		at = len(left.items) - minItems - 1
	}
	right := &treeNode[K, V]{owner: o}
	right.items = append(make([]treeItem[K, V], 0, maxItems), left.items[at+1:]...)
	up := left.items[at]
	clear(left.items[at:])
	left.items = left.items[:at]
	if len(left.kids) > 0 {
		right.kids = append(make([]*treeNode[K, V], 0, maxItems+1), left.kids[at+1:]...)
		clear(left.kids[at+1:])
		left.kids = left.kids[:at+1]
	}
	n.items = insertAt(n.items, i, up)
	n.kids = insertAt(n.kids, i+1, right)
}

// kid returns the kid at i, which o may change.
func (n *treeNode[K, V]) kid(o *owner, i int) *treeNode[K, V] {
	kid := n.kids[i].mutable(o)
	n.kids[i] = kid
	return kid
}

// mutable returns n if it belongs to o, else a copy that does.
func (n *treeNode[K, V]) mutable(o *owner) *treeNode[K, V] {
	if n.owner == o {
		return n
	}
	c := &treeNode[K, V]{owner: o}
	c.items = append(make([]treeItem[K, V], 0, len(n.items)+1), n.items...)
	if len(n.kids) > 0 {
		c.kids = append(make([]*treeNode[K, V], 0, len(n.kids)+1), n.kids...)
	}
	return c
}

// search returns the index of the first item at or after k, and whether that
// one is k.
func (n *treeNode[K, V]) search(k K) (int, bool) {
	lo, hi := 0, len(n.items)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.items[mid].key < k {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(n.items) && n.items[lo].key == k
}

// insertAt is slices.Insert for one value, bounded to the growth of append.
func insertAt[E any](s []E, i int, e E) []E {
	s = append(s, e)
	copy(s[i+1:], s[i:])
	s[i] = e
	return s
}

// deleteAt is slices.Delete for one value, and moves nothing to take the first one:
// trees are emptied in order.
func deleteAt[E any](s []E, i int) []E {
	if i == 0 {
		clear(s[:1])
		return s[1:]
	}
	copy(s[i:], s[i+1:])
	clear(s[len(s)-1:])
	return s[:len(s)-1]
}
