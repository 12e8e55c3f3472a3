package policyfs

import (
	"errors"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
)

// policyFunc is a policy of a test.
type policyFunc func(Request) Decision

func (f policyFunc) Check(r Request) Decision { return f(r) }

// pointerPolicy works on a nil pointer, and must not be asked on one.
type pointerPolicy struct{}

func (*pointerPolicy) Check(Request) Decision { return Decision{Allow: true} }

type mapPolicy map[string]bool

func (mapPolicy) Check(Request) Decision { return Decision{Allow: true} }

type slicePolicy []string

func (slicePolicy) Check(Request) Decision { return Decision{Allow: true} }

var allowEverything = policyFunc(func(Request) Decision { return Decision{Allow: true, Rule: "everything"} })

func TestOpString(t *testing.T) {
	for op, want := range map[Op]string{
		OpRead: "read", OpStat: "stat", OpList: "list", OpCreate: "create", OpWrite: "write", OpRemove: "remove",
		OpRemoveTree: "remove_tree", OpMoveTree: "move_tree", 0: "op(0)", 9: "op(9)", 255: "op(255)",
	} {
		if got := op.String(); got != want {
			t.Errorf("Op(%d): %q, want %q", uint8(op), got, want)
		}
	}
}

// TestCheckFailsClosed: whatever a policy cannot answer is denied, alone and
// composed, with a rule.
func TestCheckFailsClosed(t *testing.T) {
	at := namespace.MustParse("/a")
	everything, err := Compile(Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowSensitive: []string{"/"}, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy Policy
		req    Request
		rule   string
	}{
		"nil":                     {nil, Request{OpRead, at}, textNoPolicy},
		"nil pointer":             {(*pointerPolicy)(nil), Request{OpRead, at}, textNoPolicy},
		"nil func":                {policyFunc(nil), Request{OpRead, at}, textNoPolicy},
		"nil map":                 {mapPolicy(nil), Request{OpRead, at}, textNoPolicy},
		"nil slice":               {slicePolicy(nil), Request{OpRead, at}, textNoPolicy},
		"nil compiled":            {(*compiled)(nil), Request{OpRead, at}, textNoPolicy},
		"nil composed":            {(*composed)(nil), Request{OpRead, at}, textNoPolicy},
		"panic":                   {policyFunc(func(Request) Decision { panic(errors.New("x")) }), Request{OpRead, at}, textPanic},
		"panic with nil":          {policyFunc(func(Request) Decision { panic(nil) }), Request{OpRead, at}, textPanic},
		"nil dereference":         {policyFunc(func(Request) Decision { return *(*Decision)(nil) }), Request{OpRead, at}, textPanic},
		"no reason":               {policyFunc(func(Request) Decision { return Decision{} }), Request{OpRead, at}, textCustom},
		"zero Op":                 {allowEverything, Request{0, at}, textUnknownOp},
		"unknown Op":              {allowEverything, Request{opEnd, at}, textUnknownOp},
		"unset Path":              {allowEverything, Request{OpRead, namespace.Path{}}, textNoPath},
		"zero Op, compiled":       {everything, Request{0, at}, textUnknownOp},
		"unknown Op, compiled":    {everything, Request{opEnd, at}, textUnknownOp},
		"greatest Op, compiled":   {everything, Request{255, at}, textUnknownOp},
		"unset Path, compiled":    {everything, Request{OpRead, namespace.Path{}}, textNoPath},
		"composed of no policies": {Compose(), Request{OpRead, at}, textNoLayers},
		"the zero composed":       {&composed{}, Request{OpRead, at}, textNoLayers},
	} {
		t.Run(name, func(t *testing.T) {
			if d := check(c.policy, c.req); d.Allow || d.Rule != c.rule {
				t.Errorf("%+v, want a denial by %q", d, c.rule)
			}
			for n, p := range []Policy{Compose(c.policy, everything), Compose(everything, c.policy), Compose(everything, Compose(everything, c.policy), allowEverything)} {
				d := check(p, c.req)
				if d.Allow || !strings.HasPrefix(d.Rule, "composed policy ") || !strings.HasSuffix(d.Rule, ": "+c.rule) {
					t.Errorf("composed, way %d: %+v", n, d)
				}
				if d := p.Check(c.req); d.Allow {
					t.Errorf("composed, way %d, asked directly: %+v", n, d)
				}
			}
			if d := checkMove(c.policy, at, at); d.Allow && c.req.Op == OpRead && c.req.Path == at {
				t.Errorf("checkMove: %+v", d)
			}
			if c.req.Op == OpRead && c.req.Path == at {
				cur := newCursor(c.policy, namespace.MustParse("/"))
				if cur.entry("a", true) || cur.entry("a", false) {
					t.Error("the cursor shows something")
				}
			}
		})
	}
	if d := check(everything, Request{OpRead, at}); !d.Allow {
		t.Errorf("the control denies: %+v", d)
	}
	if d := check(Compose(everything, allowEverything), Request{OpMoveTree, at}); !d.Allow {
		t.Errorf("the composed control denies: %+v", d)
	}
}

// TestComposeCustom: a custom policy in a composed one sees each request, and its
// words arrive.
func TestComposeCustom(t *testing.T) {
	noSecrets := policyFunc(func(r Request) Decision {
		if strings.Contains(r.Path.String(), "secret") {
			return Decision{Rule: "names a secret"}
		}
		return Decision{Allow: true}
	})
	p := Compose(ReadOnly(), noSecrets)
	for at, want := range map[string]Decision{
		"/a":       {true, textAllLayers},
		"/secrets": {false, "composed policy 2: names a secret"},
		"/.x":      {false, "composed policy 1: hidden"},
	} {
		if got := p.Check(Request{OpRead, namespace.MustParse(at)}); got != want {
			t.Errorf("%s: %+v, want %+v", at, got, want)
		}
		parent := namespace.MustParse("/")
		if got := newCursor(p, parent).entry(strings.TrimPrefix(at, "/"), false); got != want.Allow {
			t.Errorf("cursor: %s: %v", at, got)
		}
	}
}

// TestComposeShares: restricting a policy again and again keeps numbers and does
// not copy the layers' texts.
func TestComposeShares(t *testing.T) {
	p := Compose(ReadOnly(), ReadWrite())
	q := Compose(p, ReadOnly()).(*composed)
	if len(q.layers) != 3 || q.layers[1].rules != p.(*composed).layers[1].rules {
		t.Errorf("%d layers; shared: %v", len(q.layers), q.layers[1].rules == p.(*composed).layers[1].rules)
	}
	if d := Compose(ReadWrite(), p).Check(Request{OpWrite, namespace.MustParse("/a")}); d.Rule != "composed policy 2: no allow_write covers it" {
		t.Errorf("%+v", d)
	}
	if len(p.(*composed).layers) != 2 {
		t.Error("Compose changed what it was given")
	}
}

// TestPresets: the presets compile, once.
func TestPresets(t *testing.T) {
	for name, preset := range map[string]func() Policy{"ReadOnly": ReadOnly, "ReadWrite": ReadWrite} {
		if p := preset(); p == nil || p != preset() {
			t.Errorf("%s: %v", name, p)
		}
	}
	for name, spec := range map[string]Spec{"ReadOnly": readOnlySpec, "ReadWrite": readWriteSpec} {
		if _, err := Compile(spec); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompileCopies: changing a Spec does not change what was compiled from it.
func TestCompileCopies(t *testing.T) {
	spec := Spec{AllowRead: []string{"/"}, DenyRead: []string{"private"}}
	p, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	spec.DenyRead[0] = "public"
	if p.Check(Request{OpRead, namespace.MustParse("/private")}).Allow {
		t.Error("the policy changed")
	}
}

// TestLongScope: a rule shows the beginning of a scope that is long, and counts it
// in full.
func TestLongScope(t *testing.T) {
	raw := strings.Repeat("./", maxScopeText) + "private"
	p, err := Compile(Spec{AllowRead: []string{"/"}, DenyRead: []string{raw}})
	if err != nil {
		t.Fatal(err)
	}
	d := p.Check(Request{OpRead, namespace.MustParse("/private/x")})
	if d.Allow || len(d.Rule) > maxScopeText+40 || !strings.HasPrefix(d.Rule, `deny_read "./`) {
		t.Errorf("%+v", d)
	}
}
