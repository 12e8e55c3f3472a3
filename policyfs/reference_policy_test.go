package policyfs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
)

// reference is a Spec judged by the formulas of the design, one rule after the
// other: slow, and plain enough to be compared with them by eye.
type reference struct{ spec Spec }

// elemsIn splits a path below the root into its elements.
func elemsIn(p namespace.Path) []string {
	s := strings.TrimPrefix(p.String(), "/workspace")
	if s == "" {
		return nil
	}
	return strings.Split(s[1:], "/")
}

func foldAll(elems []string) []string {
	folded := make([]string, len(elems))
	for i, e := range elems {
		folded[i], _ = foldWide(e)
	}
	return folded
}

func isPrefix(a, b []string) bool { return len(a) <= len(b) && slices.Equal(a, b[:len(a)]) }

// scopesOf parses the scopes of one list.
func scopesOf(list []string) [][]string {
	scopes := make([][]string, len(list))
	for i, raw := range list {
		p, err := namespace.Parse(namespace.MustParse("/"), raw)
		if err != nil {
			panic(err)
		}
		scopes[i] = elemsIn(p)
	}
	return scopes
}

// contains: an element-wise prefix, by spelling.
func contains(list []string, p []string) bool {
	return slices.ContainsFunc(scopesOf(list), func(s []string) bool { return isPrefix(s, p) })
}

// containsFolded: an element-wise prefix, folded.
func containsFolded(list []string, p []string) bool {
	return slices.ContainsFunc(scopesOf(list), func(s []string) bool { return isPrefix(foldAll(s), foldAll(p)) })
}

// onTheWay: p is a prefix of a scope, by spelling.
func onTheWay(list []string, p []string) bool {
	return slices.ContainsFunc(scopesOf(list), func(s []string) bool { return isPrefix(p, s) })
}

// belowFolded: a scope lies strictly below p, folded.
func belowFolded(list []string, p []string) bool {
	return slices.ContainsFunc(scopesOf(list), func(s []string) bool {
		return len(s) > len(p) && isPrefix(foldAll(p), foldAll(s))
	})
}

func isHidden(p []string) bool {
	return slices.ContainsFunc(p, func(e string) bool {
		_, dot := foldWide(e)
		return dot || strings.HasPrefix(e, ".")
	})
}

func sensitiveElem(e string) bool {
	folded, _ := foldWide(e)
	names := strings.Fields(".aws .azure .docker .git .git-credentials .gnupg .kube .netrc .npmrc .pypirc .ssh credentials credentials.json gcloud .env")
	return slices.Contains(names, strings.ToLower(folded)) || strings.HasPrefix(strings.ToLower(folded), ".env.")
}

func isSensitive(p []string) bool { return slices.ContainsFunc(p, sensitiveElem) }

func (r reference) componentIn(p []string) bool {
	return slices.ContainsFunc(p, func(e string) bool {
		return slices.ContainsFunc(r.spec.DenyWriteComponent, func(c string) bool {
			return foldAll([]string{c})[0] == foldAll([]string{e})[0]
		})
	})
}

func (r reference) protectedOK(p []string) bool {
	if contains(r.spec.AllowSensitive, p) {
		return true
	}
	return !isSensitive(p) && (!isHidden(p) || contains(r.spec.AllowHidden, p))
}

func (r reference) read(p []string) bool {
	return contains(r.spec.AllowRead, p) && !containsFolded(r.spec.DenyRead, p) && r.protectedOK(p)
}

func (r reference) write(p []string) bool {
	return contains(r.spec.AllowWrite, p) && !containsFolded(r.spec.DenyWrite, p) && !r.componentIn(p) && r.protectedOK(p)
}

func (r reference) traverse(p []string) bool {
	if !contains(r.spec.AllowRead, p) && !onTheWay(r.spec.AllowRead, p) || containsFolded(r.spec.DenyRead, p) {
		return false
	}
	return r.protectedOK(p) ||
		onTheWay(r.spec.AllowSensitive, p) ||
		!isSensitive(p) && onTheWay(r.spec.AllowHidden, p)
}

func (r reference) lists() [][]string {
	s := r.spec
	return [][]string{s.AllowRead, s.AllowWrite, s.DenyRead, s.DenyWrite, s.AllowHidden, s.AllowSensitive}
}

func (r reference) allow(op Op, p []string) bool {
	switch op {
	case OpRead:
		return r.read(p)
	case OpStat, OpList:
		return r.read(p) || r.traverse(p)
	case OpCreate, OpWrite, OpRemove:
		return r.write(p)
	case OpRemoveTree:
		return r.write(p) && r.spec.AllowRecursiveDelete
	case OpMoveTree:
		return r.write(p) && !slices.ContainsFunc(r.lists(), func(list []string) bool { return belowFolded(list, p) })
	}
	return false
}

// Check implements Policy.
func (r reference) Check(req Request) Decision {
	return Decision{Allow: r.allow(req.Op, elemsIn(req.Path))}
}

func (r reference) move(from, to []string) bool {
	if !r.allow(OpMoveTree, from) || !r.allow(OpMoveTree, to) {
		return false
	}
	for _, list := range r.lists() {
		if containsFolded(list, from) != containsFolded(list, to) {
			return false
		}
	}
	for _, list := range [][]string{r.spec.AllowRead, r.spec.AllowWrite, r.spec.AllowHidden, r.spec.AllowSensitive} {
		if contains(list, from) != contains(list, to) {
			return false
		}
	}
	return r.componentIn(from) == r.componentIn(to)
}

// explains reports whether rule is a true statement about why op on p is denied.
func (r reference) explains(rule string, op Op, p []string) bool {
	switch rule {
	case "no allow_read covers it":
		return !contains(r.spec.AllowRead, p)
	case "no allow_write covers it":
		return !contains(r.spec.AllowWrite, p)
	case "hidden":
		return isHidden(p) && !r.protectedOK(p)
	case "allow_recursive_delete is off":
		return op == OpRemoveTree && !r.spec.AllowRecursiveDelete
	}
	var verb, raw string
	if rule, ok := strings.CutSuffix(rule, " lies below it"); ok {
		if _, err := fmt.Sscanf(rule, "%s %q", &verb, &raw); err != nil {
			return false
		}
		return op == OpMoveTree && r.has(verb, raw) && belowFolded([]string{raw}, p)
	}
	if _, err := fmt.Sscanf(rule, "%s %q", &verb, &raw); err != nil {
		return false
	}
	switch verb {
	case "deny_read", "deny_write":
		return r.has(verb, raw) && containsFolded([]string{raw}, p)
	case "deny_write_component":
		return r.has(verb, raw) && (reference{Spec{DenyWriteComponent: []string{raw}}}).componentIn(p)
	case "sensitive":
		return isSensitive(p) && !contains(r.spec.AllowSensitive, p)
	}
	return false
}

// has reports whether the list of verb holds raw.
func (r reference) has(verb, raw string) bool {
	for v := range verbs {
		if v.String() == verb {
			return slices.Contains(*r.spec.list(v), raw)
		}
	}
	return false
}

// elements of random scopes and paths: few, so that they meet, and each with the
// spellings that must or must not count as the same.
var elements = []string{
	"a", "A", "b", "ab", "a.", "c", "C ", ".x", ".X", ".x.", ".env", ".ENV", ".env.local", ".env.LOCAL", ".git", ".g\u200cit",
	"credentials", "Credentials.", "gcloud", "...", "..a", "k", "K", "\u212a", "caf\u00e9", "cafe\u0301", "\u200b.x", "node_modules", "Node_Modules", "workspace",
	"seven77", "eight888", "EIGHT888", "nine99999", "credentials.json", "sixteen_sixteen_", "seventeen_seventee", "twenty-four-bytes-of-name", "caf\u00e9-au-lait-et-croissant",
}

func randomPath(r *rand.Rand, depth int) namespace.Path {
	p := namespace.MustParse("/")
	for range r.IntN(depth + 1) {
		var err error
		if p, err = p.Join(elements[r.IntN(len(elements))]); err != nil {
			panic(err)
		}
	}
	return p
}

func randomSpec(r *rand.Rand) Spec {
	list := func(odds int) []string {
		var scopes []string
		for r.IntN(odds) != 0 && len(scopes) < 12 {
			s := pathElems(randomPath(r, 3))
			switch r.IntN(8) {
			case 0:
				s = "/workspace/" + s
			case 1:
				s = "/"
			case 2:
				s += "/"
			}
			scopes = append(scopes, "/"+s)
		}
		return scopes
	}
	s := Spec{
		AllowRead: list(4), AllowWrite: list(4), DenyRead: list(2), DenyWrite: list(2),
		AllowHidden: list(2), AllowSensitive: list(2), AllowRecursiveDelete: r.IntN(2) == 0,
	}
	if r.IntN(3) != 0 {
		s.AllowRead = append(s.AllowRead, "/")
	}
	if r.IntN(3) != 0 {
		s.AllowWrite = append(s.AllowWrite, "/")
	}
	for r.IntN(2) == 0 {
		s.DenyWriteComponent = append(s.DenyWriteComponent, elements[r.IntN(len(elements))])
	}
	return s
}

// long reports whether tests should take their time.
func long() bool { return os.Getenv("WORKSPACEFS_LONG") == "1" }

// rounds scales a property test: fewer with -short, more for .ci/long.
func rounds(n int) int {
	switch {
	case long():
		return n * 10
	case testing.Short():
		return n / 10
	}
	return n
}

// compare checks everything a compiled policy says about p against the formulas.
func compare(t *testing.T, spec Spec, policy Policy, p namespace.Path) {
	t.Helper()
	ref, elems := reference{spec}, elemsIn(p)
	for op := range opEnd + 1 {
		d := check(policy, Request{op, p})
		if want := ref.allow(op, elems); d.Allow != want {
			t.Fatalf("%+v\n%s %+q: %+v, want allow %v", spec, op, p.String(), d, want)
		}
		if !d.Allow && op.known() && !ref.explains(d.Rule, op, elems) {
			t.Fatalf("%+v\n%s %+q: denied by %q, which is not so", spec, op, p.String(), d.Rule)
		}
		if d.Rule == "" {
			t.Fatalf("%+v\n%s %+q: no rule", spec, op, p.String())
		}
	}
	if showsAbove(policy, p) {
		for q := range prefixes(p) {
			if d := check(policy, Request{OpStat, q}); !d.Allow {
				t.Fatalf("%+v\nshowsAbove of %+q, but not %+q: %+v", spec, p.String(), q.String(), d)
			}
		}
	}
	compareCursor(t, policy, p)
}

// compareCursor checks that the cursor of p's parent says of p what check
// says.
func compareCursor(t *testing.T, policy Policy, p namespace.Path) {
	t.Helper()
	if p.IsRoot() {
		return
	}
	read := check(policy, Request{OpRead, p}).Allow
	stat := check(policy, Request{OpStat, p}).Allow
	c := newCursor(policy, p.Parent())
	if got := c.entry(p.Base(), false); got != read {
		t.Fatalf("entry(%+q, file) is %v, check says %v", p.String(), got, read)
	}
	if got := c.entry(p.Base(), true); got != (read || stat) {
		t.Fatalf("entry(%+q, dir) is %v, check says %v", p.String(), got, read || stat)
	}
}

// TestPolicyAgainstReference compares tries and cursors with the formulas over
// random specs and paths, composed policies with the conjunction of their parts,
// and moves with their static rule.
func TestPolicyAgainstReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var previous Policy = ReadWrite()
	previousSpec := readWriteSpec
	allowed, moved := 0, 0
	for range rounds(400) {
		spec := randomSpec(r)
		policy, err := Compile(spec)
		if err != nil {
			t.Fatalf("%+v: %v", spec, err)
		}
		both := Compose(previous, policy)
		paths := []namespace.Path{namespace.MustParse("/")}
		for range 20 {
			paths = append(paths, randomPath(r, 4))
		}
		for _, v := range []verb{allowRead, allowWrite, denyRead, denyWrite, allowHidden, allowSensitive} {
			for _, raw := range *spec.list(v) { // where it matters: at, above and below the scopes
				p := namespace.MustParse(raw)
				below, _ := p.Join(elements[r.IntN(len(elements))])
				paths = append(paths, p, p.Parent(), below)
			}
		}
		for i, p := range paths {
			compare(t, spec, policy, p)
			compareCursor(t, both, p)
			for op := range opEnd {
				got := check(both, Request{op, p}).Allow
				if want := check(previous, Request{op, p}).Allow && check(policy, Request{op, p}).Allow; got != want {
					t.Fatalf("%+v and %+v\n%s %s: composed says %v", previousSpec, spec, op, p, got)
				}
				if got {
					allowed++
				}
			}
			q := paths[(i*7+1)%len(paths)]
			got := checkMove(policy, p, q)
			if want := (reference{spec}).move(elemsIn(p), elemsIn(q)); got.Allow != want || got.Rule == "" {
				t.Fatalf("%+v\nmove %s to %s: %+v, want %v", spec, p, q, got, want)
			}
			if got.Allow {
				moved++
			}
			if want := got.Allow && checkMove(previous, p, q).Allow; checkMove(both, p, q).Allow != want {
				t.Fatalf("%+v and %+v\nmove %s to %s: composed says %v", previousSpec, spec, p, q, !want)
			}
		}
		previous, previousSpec = policy, spec
	}
	if allowed == 0 || moved == 0 {
		t.Errorf("%d requests and %d moves were allowed: the test compared nothing", allowed, moved)
	}
}

// FuzzCheck compares a compiled policy with the formulas: spec is the JSON form of
// a Spec, name and other are names of paths.
func FuzzCheck(f *testing.F) {
	f.Add(`{"allow_read":["/"],"deny_read":["private"]}`, "\u200bprivate/x", "a")
	f.Add(`{"allow_read":["a/b"],"allow_write":["/"],"deny_write":["A/B/c"],"allow_recursive_delete":true}`, "a", "a/b./C")
	f.Add(`{"allow_read":["/"],"allow_write":["/"],"allow_hidden":[".x"],"allow_sensitive":[".x/.env.d"]}`, ".x/.env.d/k", ".X")
	f.Add(`{"allow_write":["/"],"deny_write_component":["...","stra\u00dfe"],"allow_sensitive":["/"]}`, "a/STRASSE/b", "...")
	f.Add(`{"allow_read":["/"]}`, ".env. .", "gcloud.")
	f.Add(`{"allow_read":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/12345678"],"allow_write":["/"]}`, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "12345678/1234567/123456789")
	f.Fuzz(func(t *testing.T, text, name, other string) {
		spec, err := ParseSpec(strings.NewReader(text))
		if err != nil || len(text) > 2000 || len(name) > 1000 {
			return
		}
		policy, err := Compile(spec)
		if err != nil {
			t.Fatalf("%q: parsed, but: %v", text, err)
		}
		root := namespace.MustParse("/")
		p, err := namespace.Parse(root, name)
		if err != nil {
			return
		}
		q, err := namespace.Parse(root, other)
		if err != nil {
			q = root
		}
		for _, p := range []namespace.Path{p, p.Parent(), q} {
			compare(t, spec, policy, p)
		}
		got := checkMove(policy, p, q)
		if want := (reference{spec}).move(elemsIn(p), elemsIn(q)); got.Allow != want || got.Rule == "" {
			t.Fatalf("%q\nmove %s to %s: %+v, want %v", text, p, q, got, want)
		}
		// An element is visible only if a Path can be made of it, whatever it is.
		dir, err := p.Join(other)
		if visible := newCursor(policy, p).entry(other, true); visible && err != nil {
			t.Fatalf("entry %+q below %s is visible, but: %v", other, p, err)
		} else if err == nil && visible != check(policy, Request{OpStat, dir}).Allow {
			t.Fatalf("entry %+q below %s: visible is %v", other, p, visible)
		}
	})
}

// TestWritesAreOneQuestion: what FS.pure supposes of compiled policies, alone and
// composed.
func TestWritesAreOneQuestion(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 1))
	compile := func() Policy {
		p, err := Compile(randomSpec(r))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	allowed, denied := 0, 0
	for range engineRounds(300) {
		for _, p := range []Policy{compile(), Compose(compile(), compile()), ReadOnly(), ReadWrite()} {
			if !allCompiled(p) {
				t.Fatalf("%T is not compiled", p)
			}
			for range 20 {
				at := randomPath(r, 4)
				want := check(p, Request{OpCreate, at})
				for _, op := range []Op{OpWrite, OpRemove} {
					if got := check(p, Request{op, at}); got != want {
						t.Fatalf("%s: %v %+v, but %v %+v", at, op, got, OpCreate, want)
					}
				}
				if want.Allow {
					allowed++
				} else {
					denied++
				}
			}
		}
	}
	if allowed < 100 || denied < 100 {
		t.Errorf("%d allowed, %d denied: not worth much", allowed, denied)
	}
}
