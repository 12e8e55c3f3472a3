package policyfs

import (
	"fmt"
	"slices"

	"github.com/workspacefs/workspacefs/namespace"
)

// Compose returns the policy that allows what every one of policies allows.
// Compose() denies everything; a nil policy and one that panics deny. The verdict
// does not depend on the order. A refusal names the first policy that refuses, by
// its number from one: `composed policy 2: hidden`.
//
// A composed policy among policies is replaced by its parts, so that the numbers
// count those and composing again and again stays flat.
func Compose(policies ...Policy) Policy {
	c := &composed{}
	for _, p := range policies {
		if q, ok := p.(*composed); ok && q != nil && len(q.layers) > 0 {
			for _, l := range q.layers {
				c.add(l)
			}
			continue
		}
		c.add(layer{policy: p})
	}
	return c
}

// composed is the conjunction of its layers. It is immutable once Compose has
// returned it.
type composed struct{ layers []layer }

// layer is one part of a composed policy.
type layer struct {
	policy Policy    // as it was given; never a composed policy with layers
	rules  *compiled // policy with numbered texts, when this package compiled it
	number string    // what a custom policy's rule is prefixed with
}

const (
	textNoLayers  = "no policies were composed"
	textAllLayers = "every composed policy allows it"
)

// add appends a layer under its number. One that already bears it is shared, so
// that restricting a policy again and again copies no texts.
func (c *composed) add(l layer) {
	number := fmt.Sprintf("composed policy %d: ", len(c.layers)+1)
	if l.number == number {
		c.layers = append(c.layers, l)
		return
	}
	l.number = number
	if q, ok := l.policy.(*compiled); ok && q != nil {
		texts := slices.Clone(q.texts)
		for i, text := range texts {
			texts[i] = l.number + text
		}
		l.rules = &compiled{q.matcher, texts}
	}
	c.layers = append(c.layers, l)
}

// Check implements [Policy].
func (c *composed) Check(r Request) Decision { return c.decide(r.Op, r.Path) }

func (c *composed) decide(op Op, at namespace.Path) Decision {
	if len(c.layers) == 0 {
		return Decision{Rule: textNoLayers}
	}
	for i := range c.layers {
		if d := c.layers[i].decide(op, at); !d.Allow {
			return d
		}
	}
	return Decision{Allow: true, Rule: textAllLayers}
}

// decide asks one layer.
func (l *layer) decide(op Op, at namespace.Path) Decision {
	if l.rules != nil {
		return l.rules.decide(op, at)
	}
	return l.numbered(checkCustom(l.policy, Request{op, at}))
}

// numbered puts the number of the layer before the rule of a refusal.
func (l *layer) numbered(d Decision) Decision {
	if !d.Allow {
		d.Rule = l.number + d.Rule
	}
	return d
}
