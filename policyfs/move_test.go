package policyfs

import (
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
)

// TestMoveEveryVerb: whichever verb has a scope at, above or below an end of a
// move, the rule holds: nothing strictly below either end, and both ends covered or
// neither.
func TestMoveEveryVerb(t *testing.T) {
	path := namespace.MustParse
	for _, v := range []verb{allowRead, allowWrite, denyRead, denyWrite, allowHidden, allowSensitive} {
		spec := Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}}
		list := spec.list(v)
		if v == allowRead || v == allowWrite {
			*list = nil // else everything is covered
		}
		*list = append(*list, "m/n", "both")
		if v == allowWrite {
			*list = append(*list, "a", "b") // so that there is something to move
		}
		p, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		writable := v != denyWrite
		for _, row := range []struct {
			from, to string
			want     bool
		}{
			{"a", "b", true},
			{"m", "a", false},               // a scope strictly below the old name
			{"a", "m", false},               // and below the new one
			{"a", "M", false},               // folded
			{"m/n", "a", v == allowWrite},   // the scope's own place
			{"a", "m/n", v == allowWrite},   // both are covered there
			{"m/n/x", "a", v == allowWrite}, // inside
			{"m/n/x", "m/n/y", writable},    // both inside
			{"m/n/x", "both/y", writable},   // inside two scopes of one verb
			{"m/x", "m/y", v != allowWrite}, // beside
			{"a", "M/N", false},             // a second spelling of the scope's place
			{"a", "m/\u200bn/x", false},
		} {
			d := checkMove(p, path("/"+row.from), path("/"+row.to))
			if d.Allow != row.want || d.Rule == "" {
				t.Errorf("%s: %s to %s: %+v, want %v", v, row.from, row.to, d, row.want)
			}
			if q := Compose(allowAll(t), p); checkMove(q, path("/"+row.from), path("/"+row.to)).Allow != row.want {
				t.Errorf("%s, composed: %s to %s: want %v", v, row.from, row.to, row.want)
			}
		}
	}
}

// allowAll is a policy that allows everything.
func allowAll(t testing.TB) Policy {
	t.Helper()
	p, err := Compile(Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowSensitive: []string{"/"}, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMoveCustom: a custom policy is asked OpMoveTree at both ends, and must answer
// every other Op alike at both.
func TestMoveCustom(t *testing.T) {
	from, to := namespace.MustParse("/from"), namespace.MustParse("/to")
	for op := Op(1); op < opEnd; op++ {
		for _, end := range []namespace.Path{from, to} {
			p := policyFunc(func(r Request) Decision { return Decision{Allow: r != Request{op, end}, Rule: "x"} })
			for n, q := range []Policy{p, Compose(p, allowAll(t)), Compose(allowAll(t), p)} {
				if d := checkMove(q, from, to); d.Allow || d.Rule == "" {
					t.Errorf("way %d: %s denied at %s: %+v", n, op, end, d)
				}
			}
		}
		if op == OpMoveTree {
			continue
		}
		both := policyFunc(func(r Request) Decision { return Decision{Allow: r.Op != op} })
		if d := checkMove(both, from, to); !d.Allow {
			t.Errorf("%s denied at both ends: %+v", op, d)
		}
	}
	if d := checkMove(Compose(allowEverything, allowAll(t)), from, to); !d.Allow {
		t.Errorf("%+v", d)
	}
	never := policyFunc(func(r Request) Decision { return Decision{Allow: r.Op != OpMoveTree, Rule: "stays"} })
	if d := checkMove(Compose(allowAll(t), never), from, to); d.Allow || d.Rule != "composed policy 2: stays" {
		t.Errorf("%+v", d)
	}
	once := policyFunc(func(r Request) Decision { return Decision{Allow: r != Request{OpList, to}} })
	if d := checkMove(once, from, to); d.Allow || !strings.HasPrefix(d.Rule, "list is allowed at only one end") {
		t.Errorf("%+v", d)
	}
}
