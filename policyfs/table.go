package policyfs

import "math/bits"

// table maps elements, in one of their spellings, to rules about them or places in
// a trie. It is a hash table of our own for two reasons: one hash of an element
// serves all tables of all composed policies, and an ASCII element is looked up by
// its folded form without being folded. Its elements come from a Spec, which is
// trusted; hostile names only ever miss.
type table[T any] struct {
	slots []slot[T] // a power of two, at most half full; nil while empty
	shift uint8     // hash >> shift is a slot's number
	count int
	bloom bloom // of hashElem
	quick bloom // of quickHash
}

type slot[T any] struct {
	hash uint64
	key  string
	val  *T // nil: free
}

// exact returns what is under elem, or nil; hash is hashElem(elem).
func (t *table[T]) exact(hash uint64, elem string) *T {
	if t.slots == nil {
		return nil
	}
	for i := hash >> t.shift; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.val == nil || s.hash == hash && s.key == elem {
			return s.val
		}
	}
}

// folded returns what is under the folded form of key, which foldKey returned, or
// nil; hash is hashElem(key). The table holds folded elements.
func (t *table[T]) folded(hash uint64, key string) *T {
	if t.slots == nil {
		return nil
	}
	for i := hash >> t.shift; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.val == nil || s.hash == hash && sameFolded(key, s.key) {
			return s.val
		}
	}
}

// sameFolded reports whether key, which foldKey returned, is folded once its ASCII
// letters are upper case.
func sameFolded(key, folded string) bool {
	n := len(key)
	switch {
	case n != len(folded):
		return false
	case n < 8:
		return upperWord(short(key)) == short(folded)
	}
	for i := 0; i+8 < n; i += 8 {
		if upperWord(word(key[i:])) != word(folded[i:]) {
			return false
		}
	}
	return upperWord(word(key[n-8:])) == word(folded[n-8:])
}

// upperWord is upper for eight bytes, which need not be ASCII.
func upperWord(w uint64) uint64 {
	low := w &^ highBits
	fromA, overZ := low+(0x80-'a')*lowBits, low+(0x7f-'z')*lowBits
	return w ^ (fromA&^overZ&^w&highBits)>>2 // bit 7 of each letter to its bit 5
}

// at returns what is under key, made if there is nothing.
func (t *table[T]) at(key string) *T {
	hash := hashElem(key)
	if val := t.exact(hash, key); val != nil {
		return val
	}
	if 2*(t.count+1) > len(t.slots) {
		old := t.slots
		size := max(2, 2*len(old))
		t.slots = make([]slot[T], size)
		t.shift = uint8(64 - bits.TrailingZeros(uint(size)))
		for _, s := range old {
			if s.val != nil {
				t.put(s)
			}
		}
	}
	val := new(T)
	t.put(slot[T]{hash, key, val})
	t.count++
	t.bloom |= bloomOf(hash)
	t.quick |= bloomOf(quickHash(key))
	return val
}

// put stores s in the first free slot.
func (t *table[T]) put(s slot[T]) {
	for i := s.hash >> t.shift; ; i++ {
		if free := &t.slots[i&uint64(len(t.slots)-1)]; free.val == nil {
			*free = s
			return
		}
	}
}

// hashElem hashes an element without regard to ASCII case, so that elements that
// foldKey holds for one have one hash: word by word, the bytes that are left over
// and the length last.
func hashElem(elem string) uint64 {
	n := len(elem)
	if n < 8 {
		return hashEnd(0, short(elem), n)
	}
	var h uint64
	for i := 0; i+8 <= n; i += 8 {
		h = mix(h, word(elem[i:]))
	}
	return hashEnd(h, word(elem[n-8:])>>(64-n%8*8), n)
}

// mix takes eight bytes into a hash. Bit 5 is all in which the two cases of a
// letter differ.
func mix(h, w uint64) uint64 {
	h = (h ^ (w | 0x20*lowBits)) * golden
	return h ^ h>>32
}

// hashEnd takes the last bytes, at most seven, and the length into a hash.
func hashEnd(h, w uint64, n int) uint64 { return mix(h^uint64(n)<<56, w) }

// quickHash is a hash of the length, the first bytes and the last, without regard to
// ASCII case: all that a filter needs.
func quickHash(elem string) uint64 {
	n := len(elem)
	if n < 8 {
		return quickMix(short(elem), 0, n)
	}
	return quickMix(word(elem), word(elem[n-8:]), n)
}

func quickMix(first, last uint64, n int) uint64 {
	const lower = 0x20 * lowBits
	return ((first | lower) ^ bits.RotateLeft64(last|lower, 20) ^ uint64(n)<<56) * golden
}

// golden spreads every bit of a word to the top of the product.
const golden = 0x9e3779b97f4a7c15

// short returns the bytes of s, at most seven, as the low ones of a word.
func short(s string) uint64 {
	switch n := len(s); {
	case n >= 4:
		return half(s) | half(s[n-4:])<<((n-4)*8)
	case n > 0:
		return uint64(s[0]) | uint64(s[n/2])<<(n/2*8) | uint64(s[n-1])<<((n-1)*8)
	}
	return 0
}

// half loads the first four bytes of s, which has as many.
func half(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// bloom is a Bloom filter for a few elements, two bits each.
type bloom uint64

func bloomOf(hash uint64) bloom { return 1<<(hash>>58) | 1<<(hash>>52&63) }

// has reports whether an element of this hash may be among those of b.
func (b bloom) has(hash uint64) bool {
	want := bloomOf(hash)
	return b&want == want
}

// nameFilter is a Bloom filter for some dozen elements, one bit each.
type nameFilter [16]uint64

func (f *nameFilter) add(hash uint64) { f[hash>>60] |= 1 << (hash >> 54 & 63) }

// has reports whether an element of this hash may be among those of f.
func (f *nameFilter) has(hash uint64) bool { return f[hash>>60]>>(hash>>54&63)&1 != 0 }
