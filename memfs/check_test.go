package memfs

import (
	"cmp"
	"testing"
)

// checkTree checks everything that must hold between operations: the order and
// fill of the B-trees, the links upward, the list of open inodes, and that the
// accounted bytes and objects equal a recount.
func checkTree(t testing.TB, m *FS) {
	t.Helper()
	m.mu.lock()
	defer m.mu.unlock()
	m.openMu.Lock()
	defer m.openMu.Unlock()
	var bytes, files int64
	seen := map[*inode]bool{}
	var walk func(d *dir)
	walk = func(d *dir) {
		checkNodes(t, &d.entries)
		for key, n := range d.entries.all {
			if seen[n] {
				t.Fatalf("%q is in two places", key)
			}
			seen[n] = true
			files++
			bytes += recount(t, n)
			if n.owner == m.owner && d.owner != m.owner {
				t.Fatalf("%q belongs to the tree, its directory does not", key)
			}
			if n.dir != nil {
				if n.owner == m.owner && (n.dir.parent != d || n.dir.key != key) {
					t.Fatalf("%q does not know where it is: %q", key, n.dir.key)
				}
				walk(n.dir)
			}
			if h := n.open.Load(); h != nil && (h.state.Load()&removed != 0 || n.dir == nil && *h.at != (location{d, key})) {
				t.Fatalf("%q is open and does not know where it is: %+v", key, h.at)
			}
		}
	}
	if m.root.parent != nil {
		t.Fatal("the root has a parent")
	}
	walk(m.root)
	var prev *handles
	listed := 0
	for o := m.opened; o != nil; prev, o = o, o.next {
		listed++
		s := o.state.Load()
		if o.prev != prev || o.n.open.Load() != o || s&shut != 0 || s&countMask == 0 && s != 0 {
			t.Fatalf("list of open inodes: state %#x", s)
		}
		if s&removed != 0 {
			if seen[o.n] {
				t.Fatal("a removed inode is in the tree")
			}
			files++
			bytes += recount(t, o.n)
			continue
		}
		if o.n.owner != m.owner {
			t.Fatal("an open inode is shared")
		}
		if !seen[o.n] && o.n != &m.root.inode {
			t.Fatal("an open inode is not in the tree")
		}
	}
	if listed != m.listed {
		t.Fatalf("%d open inodes are listed, %d counted", listed, m.listed)
	}
	if got := m.Usage(); got != (Usage{bytes, files}) {
		t.Fatalf("usage %+v, recount %+v", got, Usage{bytes, files})
	}
}

// recount returns the charge of n from the buffers themselves.
func recount(t testing.TB, n *inode) int64 {
	t.Helper()
	if n.seq.Load()&1 != 0 {
		t.Fatal("attributes left half written")
	}
	c := n.content
	if c == nil {
		return 0
	}
	if n.kind() != 0 {
		t.Fatal("content of what is no file")
	}
	bytes, count, end := int64(len(c.head)), int64(0), int64(len(c.head))
	if bytes > 0 {
		count = 1
	}
	if c.chunks != nil {
		checkNodes(t, c.chunks)
		for i, ch := range c.chunks.all {
			if i <= 0 || len(ch.buf) == 0 || cap(ch.buf) > chunkSize {
				t.Fatalf("chunk %d: %d bytes, capacity %d", i, len(ch.buf), cap(ch.buf))
			}
			bytes += int64(len(ch.buf))
			count++
			end = i*chunkSize + int64(len(ch.buf))
		}
	}
	if c.bytes != bytes || c.count != count {
		t.Fatalf("content says %d bytes in %d chunks, recount %d in %d", c.bytes, c.count, bytes, count)
	}
	if size := n.size.Load(); end > size {
		t.Fatalf("bytes up to %d in a file of %d", end, size)
	}
	if bytes > fragmentCharge*(count-1) {
		return bytes
	}
	return fragmentCharge * (count - 1)
}

// checkNodes checks a B-tree.
func checkNodes[K cmp.Ordered, V any](t testing.TB, tr *tree[K, V]) {
	t.Helper()
	if tr.root == nil {
		if tr.len != 0 {
			t.Fatalf("no items of %d", tr.len)
		}
		return
	}
	items, height := 0, -1
	var last *K
	var walk func(n *treeNode[K, V], level int)
	walk = func(n *treeNode[K, V], level int) {
		items += len(n.items)
		if len(n.items) > maxItems || len(n.items) == 0 || n != tr.root && len(n.items) < minItems {
			t.Fatalf("node of %d items", len(n.items))
		}
		if len(n.kids) == 0 {
			if height < 0 {
				height = level
			}
			if level != height {
				t.Fatalf("leaves at %d and %d", level, height)
			}
		} else if len(n.kids) != len(n.items)+1 {
			t.Fatalf("%d kids, %d items", len(n.kids), len(n.items))
		}
		for i := range n.items {
			if len(n.kids) > 0 {
				walk(n.kids[i], level+1)
			}
			if last != nil && *last >= n.items[i].key {
				t.Fatalf("%v before %v", *last, n.items[i].key)
			}
			last = &n.items[i].key
		}
		if len(n.kids) > 0 {
			walk(n.kids[len(n.items)], level+1)
		}
	}
	walk(tr.root, 0)
	if items != tr.len {
		t.Fatalf("%d items, len %d", items, tr.len)
	}
}

// checkApart checks that nothing one of the trees may change in place can be
// reached from another one.
func checkApart(t testing.TB, trees ...*FS) {
	t.Helper()
	owners := map[*owner]*FS{}
	for _, m := range trees {
		owners[m.owner] = m
	}
	for _, m := range trees {
		mine := func(what string, o *owner) {
			if other := owners[o]; other != nil && other != m {
				t.Fatalf("a tree reaches a %s of another one", what)
			}
		}
		var walk func(d *dir)
		walk = func(d *dir) {
			mine("directory", d.owner)
			walkNodes(d.entries.root, func(o *owner) { mine("node", o) })
			for _, n := range d.entries.all {
				mine("file", n.owner)
				if n.owner != m.owner && n.open.Load() != nil {
					t.Fatal("a shared inode is open")
				}
				if c := n.content; c != nil {
					mine("content", c.owner)
					if c.chunks != nil {
						walkNodes(c.chunks.root, func(o *owner) { mine("chunk node", o) })
						for _, ch := range c.chunks.all {
							mine("chunk", ch.owner)
						}
					}
				}
				if n.dir != nil {
					walk(n.dir)
				}
			}
		}
		walk(m.root)
	}
}

func walkNodes[K cmp.Ordered, V any](n *treeNode[K, V], visit func(*owner)) {
	if n == nil {
		return
	}
	visit(n.owner)
	for _, kid := range n.kids {
		walkNodes(kid, visit)
	}
}
