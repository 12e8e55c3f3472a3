package policyfs

import "github.com/workspacefs/workspacefs/namespace"

// checkMove decides whether p lets the directory from become to, whatever it
// holds: the part of a directory move that can be judged without looking at the
// tree. OpMoveTree must be allowed at both ends, and no rule may tell the two
// subtrees apart. For a compiled policy that is: no scope lies strictly below
// either end (folded), and each verb covers both ends or neither. Else a
// directory could be moved away from its protected places, or a prepared tree
// onto them. A policy that this package did not compile is asked every Op at both
// ends, and must answer alike.
//
// Whether the descendants may be moved one by one is the caller's to ask.
func checkMove(p Policy, from, to namespace.Path) Decision {
	switch p := p.(type) {
	case *compiled:
		if p != nil {
			return p.checkMove(from, to)
		}
	case *composed:
		if p != nil {
			return p.checkMove(from, to)
		}
	}
	return checkMoveCustom(p, from, to)
}

// checkMove is checkMove for a compiled policy.
func (c *compiled) checkMove(from, to namespace.Path) Decision {
	d := c.Check(Request{OpMoveTree, from})
	if !d.Allow {
		return d
	}
	if d = c.Check(Request{OpMoveTree, to}); !d.Allow {
		return d
	}
	a, b := c.root, c.root
	c.walk(&a, pathElems(from))
	c.walk(&b, pathElems(to))
	// By spelling, because that is how allows compare; and folded, because on
	// storage that folds case an allowed place has spellings that no allow covers.
	_, aFolded := c.cover(pathElems(from))
	_, bFolded := c.cover(pathElems(to))
	for v := range verbs {
		for _, r := range [...][2]rule{{a.cover[v], b.cover[v]}, {aFolded[v], bFolded[v]}} {
			if (r[0] == 0) != (r[1] == 0) {
				return Decision{Rule: c.texts[max(r[0], r[1])] + " covers only one end of the move"}
			}
		}
	}
	return d
}

// below returns the rule about a scope strictly below the path, folded, or zero.
func (m *matcher) below(elems string) rule {
	n, _ := m.cover(elems)
	if n == nil {
		return 0
	}
	return n.first
}

// cover returns, folded, the place of the path in the trie of all scopes (nil if
// no scope is there nor below) and for each verb the first scope that contains
// the path.
func (m *matcher) cover(elems string) (*node, [verbs]rule) {
	var s state
	n := s.enter(&m.all)
	for n != nil && elems != "" {
		var elem string
		elem, elems = cutElem(elems)
		key, _ := foldKey(elem)
		n = s.enter(n.next.folded(hashElem(key), key))
	}
	return n, s.cover
}

// checkMove is checkMove for a composed policy: every layer must let it move.
func (c *composed) checkMove(from, to namespace.Path) Decision {
	if len(c.layers) == 0 {
		return Decision{Rule: textNoLayers}
	}
	for i := range c.layers {
		if d := c.layers[i].checkMove(from, to); !d.Allow {
			return d
		}
	}
	return Decision{Allow: true, Rule: textAllLayers}
}

func (l *layer) checkMove(from, to namespace.Path) Decision {
	if l.rules != nil {
		return l.rules.checkMove(from, to)
	}
	return l.numbered(checkMoveCustom(l.policy, from, to))
}

// movedOps are what a policy is asked about both ends of a move besides
// OpMoveTree.
var movedOps = [...]Op{OpRead, OpStat, OpList, OpCreate, OpWrite, OpRemove, OpRemoveTree}

// checkMoveCustom is checkMove for a policy that this package did not compile.
func checkMoveCustom(p Policy, from, to namespace.Path) Decision {
	d := checkCustom(p, Request{OpMoveTree, from})
	if !d.Allow {
		return d
	}
	if d = checkCustom(p, Request{OpMoveTree, to}); !d.Allow {
		return d
	}
	for _, op := range movedOps {
		a, b := checkCustom(p, Request{op, from}), checkCustom(p, Request{op, to})
		if a.Allow != b.Allow {
			return Decision{Rule: op.String() + " is allowed at only one end of the move"}
		}
	}
	return d
}
