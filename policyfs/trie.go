package policyfs

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/workspacefs/workspacefs/namespace"
)

// compiled is a Spec in the form that Check needs: tries over the elements of the
// scopes, walked once for all verbs, and the texts of all rules. It is immutable
// once compile has returned it.
type compiled struct {
	*matcher
	// texts are what Decision.Rule says, indexed by rule. Compose gives a layer
	// its own copy, in which every text bears the number of the layer.
	texts []string
}

// matcher is the part of a compiled policy that does not depend on its texts.
type matcher struct {
	exact node // allow verbs and opt-ins, by spelling
	deny  node // deny_read and deny_write, by folded spelling
	all   node // every scope, by folded spelling: what a directory must not move over
	// names are the folded elements that mean something wherever they stand.
	names  table[nameRules]
	filter nameFilter // of names
	// sensitive, of quickHash, are those of names that matter to reading.
	sensitive bloom
	tree      bool  // allow_recursive_delete
	root      state // the state of the root
}

// nameRules are the rules about one folded element.
type nameRules struct{ sensitive, component rule }

// rule is the index of a text in compiled.texts; zero is no rule.
type rule uint32

const (
	_ rule = iota
	ruleUnknownOp
	ruleNoPath
	ruleNoRead
	ruleNoWrite
	ruleHidden
	ruleNoTree
	ruleOnTheWay
	ruleEnv
)

// sensitiveNames are the elements that hold credentials by convention, and
// ".env." with anything behind it (see envPrefix).
var sensitiveNames = [...]string{
	".aws", ".azure", ".docker", ".git", ".git-credentials", ".gnupg", ".kube", ".netrc",
	".npmrc", ".pypirc", ".ssh", "credentials", "credentials.json", "gcloud", ".env",
}

// envPrefix begins the folded spelling of .env.local, .env.production and so on.
const envPrefix = ".ENV."

func newCompiled(tree bool) *compiled {
	c := &compiled{
		matcher: &matcher{tree: tree},
		texts: []string{
			ruleUnknownOp: textUnknownOp,
			ruleNoPath:    textNoPath,
			ruleNoRead:    "no allow_read covers it",
			ruleNoWrite:   "no allow_write covers it",
			ruleHidden:    "hidden",
			ruleNoTree:    "allow_recursive_delete is off",
			ruleOnTheWay:  "on the way to an allow_read",
			ruleEnv:       `sensitive ".env.*"`,
		},
	}
	for _, name := range sensitiveNames {
		folded := foldElem(name)
		c.name(folded).sensitive = c.text(`sensitive "` + name + `"`)
		if !odd(folded) { // odd ones are never taken for ordinary
			c.sensitive |= bloomOf(quickHash(folded))
		}
	}
	return c
}

// name returns the rules about one folded element, to be added to.
func (m *matcher) name(folded string) *nameRules {
	m.filter.add(hashElem(folded))
	return m.names.at(folded)
}

// text stores a text and returns its rule.
func (c *compiled) text(s string) rule {
	c.texts = append(c.texts, s)
	return rule(len(c.texts) - 1)
}

// add adds one rule and returns it. Of two that say the same the first is named.
func (c *compiled) add(sc scope) rule {
	text := sc.text()
	r := c.text(text)
	if sc.verb == denyComponent {
		if name := c.name(foldElem(sc.path.Base())); name.component == 0 {
			name.component = r
		}
		return r
	}
	below := c.text(text + " lies below it")
	elems := pathElems(sc.path)
	switch sc.verb {
	case denyRead, denyWrite:
		c.deny.add(elems, foldElem, sc.verb, r, below)
	default:
		c.exact.add(elems, func(elem string) string { return elem }, sc.verb, r, below)
	}
	c.all.add(elems, foldElem, sc.verb, r, below)
	return r
}

// node is one place in a trie.
type node struct {
	next  table[node]
	ends  []ending // the scopes that end here, one for each verb
	verbs verbSet  // the verbs of scopes that end strictly below
	first rule     // of those scopes, the one that a refusal names
}

type ending struct {
	verb verb
	rule rule
}

// verbSet is a set of verbs.
type verbSet uint8

func (s verbSet) has(v verb) bool { return s&(1<<v) != 0 }

// add adds a scope below n.
func (n *node) add(elems string, key func(string) string, v verb, end, below rule) {
	for elems != "" {
		if n.first == 0 {
			n.first = below
		}
		n.verbs |= 1 << v
		var elem string
		elem, elems = cutElem(elems)
		n = n.next.at(key(elem))
	}
	if !slices.ContainsFunc(n.ends, func(e ending) bool { return e.verb == v }) {
		n.ends = append(n.ends, ending{v, end})
	}
}

// state is what a compiled policy knows about a path after reading its elements
// from the root down. It is a value: a cursor keeps one for its directory and
// goes on from there for each entry.
type state struct {
	exact, deny *node       // the places in the tries; nil once no scope lies below
	cover       [verbs]rule // the first scope of each verb that contains the path
	sensitive   rule        // the first sensitive element
	hidden      bool        // an element begins with a dot
}

// finish computes the state of the root, once all scopes are added.
func (m *matcher) finish() {
	m.root.exact = m.root.enter(&m.exact)
	m.root.deny = m.root.enter(&m.deny)
}

// enter takes the scopes that end at n into account. It returns n while scopes lie
// below it, else nil; n may be nil.
func (s *state) enter(n *node) *node {
	if n == nil {
		return nil
	}
	for _, e := range n.ends {
		if s.cover[e.verb] == 0 {
			s.cover[e.verb] = e.rule
		}
	}
	if n.verbs == 0 {
		return nil
	}
	return n
}

// walk reads the elements of elems, which are joined by single slashes, eight bytes
// at a time. Each word is looked at once: for its first slash, for bytes that are
// not ASCII, and for the hash of its element (see hashElem).
func (m *matcher) walk(s *state, elems string) {
	var hash, high uint64 // of the whole words of the element
	for start, i := 0, 0; start < len(elems); {
		var w uint64
		left := len(elems) - i
		if left >= 8 {
			w = word(elems[i:])
		} else {
			w = short(elems[i:])
		}
		// The lowest bit set marks the first slash; higher ones may be wrong.
		x := w ^ '/'*lowBits
		if slash := (x - lowBits) &^ x & highBits; slash != 0 {
			left = bits.TrailingZeros64(slash) / 8
			w &= (slash ^ (slash - 1)) >> 8 // the bytes before the slash
		}
		high |= w
		if left >= 8 {
			hash = mix(hash, w)
			i += 8
			continue
		}
		i += left
		elem := elems[start:i]
		switch hash = hashEnd(hash, w, len(elem)); {
		case high&highBits != 0 || odd(elem):
			m.step(s, elem)
		case m.filter.has(hash) || s.leadsOn(hash):
			m.stepTo(s, elem, elem, hash, hash)
		case s.exact != nil || s.deny != nil:
			// No rule is about it: all it does is lead off the tries.
			s.exact, s.deny = nil, nil
		}
		i++
		start, hash, high = i, 0, 0
	}
}

// odd reports whether an ASCII element begins with a dot, which hides it, or ends
// in what folding trims.
func odd(elem string) bool {
	last := elem[len(elem)-1]
	return elem[0] == '.' || last == '.' || last == ' '
}

// leadsOn reports whether a scope may go on with an element of this hash.
func (s *state) leadsOn(hash uint64) bool {
	return s.exact != nil && s.exact.next.bloom.has(hash) || s.deny != nil && s.deny.next.bloom.has(hash)
}

// step reads one element.
func (m *matcher) step(s *state, elem string) {
	key, dot := foldKey(elem)
	m.stepTo(s, elem, key, hashElem(elem), hashElem(key))
	if dot {
		s.hidden = true
		if len(key) > len(envPrefix) && sameFolded(key[:len(envPrefix)], envPrefix) {
			s.named(nameRules{sensitive: ruleEnv})
		}
	}
}

// stepTo reads one element, which is key when folded, but for being hidden. The
// hashes are those of elem and key.
func (m *matcher) stepTo(s *state, elem, key string, exact, folded uint64) {
	if n := s.exact; n != nil {
		s.exact = nil
		if n.next.bloom.has(exact) {
			s.exact = s.enter(n.next.exact(exact, elem))
		}
	}
	if n := s.deny; n != nil {
		s.deny = nil
		if n.next.bloom.has(folded) {
			s.deny = s.enter(n.next.folded(folded, key))
		}
	}
	if m.filter.has(folded) {
		if r := m.names.folded(folded, key); r != nil {
			s.named(*r)
		}
	}
}

// named takes the rules about an element into account.
func (s *state) named(r nameRules) {
	if s.sensitive == 0 {
		s.sensitive = r.sensitive
	}
	if s.cover[denyComponent] == 0 {
		s.cover[denyComponent] = r.component
	}
}

// foldKey returns what to look elem up by in a table of folded elements: its
// folded form, or text that differs from that in the case of ASCII letters only.
// dot reports whether elem is hidden. It allocates only if elem is not ASCII.
func foldKey(elem string) (key string, dot bool) {
	if isASCII(elem) {
		return trimASCII(elem), elem[0] == '.'
	}
	key, dot = foldWide(elem)
	return key, dot || elem[0] == '.'
}

// Check implements [Policy].
func (c *compiled) Check(r Request) Decision { return c.decide(r.Op, r.Path) }

func (c *compiled) decide(op Op, at namespace.Path) Decision {
	if at.String() == "" {
		return Decision{Rule: c.texts[ruleNoPath]}
	}
	s := c.root
	elems := pathElems(at)
	c.walk(&s, elems)
	rule, ok := c.judge(&s, op)
	if ok && op == OpMoveTree {
		if below := c.below(elems); below != 0 {
			rule, ok = below, false
		}
	}
	return Decision{Allow: ok, Rule: c.texts[rule]}
}

// judge answers op for the path that s has read, except what OpMoveTree asks
// about places below it. These are the formulas of the design, each condition in
// the order in which a refusal names it.
func (m *matcher) judge(s *state, op Op) (rule, bool) {
	switch op {
	case OpRead:
		return s.read()
	case OpStat, OpList:
		if r, ok := s.read(); ok {
			return r, true
		}
		return s.traverse()
	case OpCreate, OpWrite, OpRemove, OpMoveTree:
		return s.write()
	case OpRemoveTree:
		r, ok := s.write()
		if ok && !m.tree {
			return ruleNoTree, false
		}
		return r, ok
	default:
		return ruleUnknownOp, false
	}
}

// read: an allow_read contains the path, no deny_read does, and it is not
// protected.
func (s *state) read() (rule, bool) {
	if s.cover[allowRead] == 0 {
		return ruleNoRead, false
	}
	if r := s.cover[denyRead]; r != 0 {
		return r, false
	}
	if r := s.protected(); r != 0 {
		return r, false
	}
	return s.cover[allowRead], true
}

// write: an allow_write contains the path, no deny_write does, no element is a
// denied component, and it is not protected.
func (s *state) write() (rule, bool) {
	if s.cover[allowWrite] == 0 {
		return ruleNoWrite, false
	}
	if r := s.cover[denyWrite]; r != 0 {
		return r, false
	}
	if r := s.cover[denyComponent]; r != 0 {
		return r, false
	}
	if r := s.protected(); r != 0 {
		return r, false
	}
	return s.cover[allowWrite], true
}

// traverse: an allow_read contains the path or lies below it, no deny_read
// contains it, and it is not protected or leads to an opt-in. A hidden opt-in
// leads through hidden elements only, a sensitive one through any.
func (s *state) traverse() (rule, bool) {
	ahead := s.ahead()
	allow := s.cover[allowRead]
	if allow == 0 {
		if !ahead.has(allowRead) {
			return ruleNoRead, false
		}
		allow = ruleOnTheWay
	}
	if r := s.cover[denyRead]; r != 0 {
		return r, false
	}
	r := s.protected()
	if r == 0 || ahead.has(allowSensitive) || s.sensitive == 0 && ahead.has(allowHidden) {
		return allow, true
	}
	return r, false
}

// ahead returns the allow verbs and opt-ins that have scopes strictly below.
func (s *state) ahead() verbSet {
	if s.exact == nil {
		return 0
	}
	return s.exact.verbs
}

// protected returns why the path is protected, or zero: a sensitive opt-in
// contains it; else it is not sensitive, and not hidden or inside a hidden opt-in.
func (s *state) protected() rule {
	switch {
	case s.cover[allowSensitive] != 0:
		return 0
	case s.sensitive != 0:
		return s.sensitive
	case s.hidden && s.cover[allowHidden] == 0:
		return ruleHidden
	}
	return 0
}

// rootText is the canonical text of the root, with which every Path begins.
const rootText = "/workspace"

// pathElems returns the elements of p below the root, joined by single slashes;
// "" for the root.
func pathElems(p namespace.Path) string {
	s := p.String()
	if len(s) <= len(rootText) {
		return ""
	}
	return s[len(rootText)+1:]
}

// cutElem splits elems, which is not empty, after its first element.
func cutElem(elems string) (elem, rest string) {
	if i := strings.IndexByte(elems, '/'); i >= 0 {
		return elems[:i], elems[i+1:]
	}
	return elems, ""
}
