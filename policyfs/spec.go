package policyfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/namespace"
)

// Spec is a policy in words: what [Compile] makes a [Policy] of and [ParseSpec]
// reads from JSON.
//
// Scopes are names as namespace.Parse reads them, relative to the root ("src",
// "/src" and "/workspace/src" are one scope). They are literal prefixes, element
// by element: "gen" covers "gen" and "gen/x", not "generated", and "*" is an
// ordinary character.
//
// Allow verbs and opt-ins compare exactly. Deny verbs, denied components and
// sensitive names compare folded: case, canonical equivalence, invisible code
// points, trailing dots and blanks make no difference, so that no spelling
// escapes a deny and none widens an allow.
//
// The zero Spec denies everything.
type Spec struct {
	// AllowRead makes what it covers readable, and its ancestors traversable:
	// they can be listed, showing only what leads on.
	AllowRead []string `json:"allow_read,omitempty"`
	// AllowWrite lets what it covers be written, created and removed, and its
	// attributes be changed. It does not make anything readable.
	AllowWrite []string `json:"allow_write,omitempty"`
	// DenyRead wins over AllowRead.
	DenyRead []string `json:"deny_read,omitempty"`
	// DenyWrite wins over AllowWrite.
	DenyWrite []string `json:"deny_write,omitempty"`
	// DenyWriteComponent are single elements below which (and at which) nothing
	// may be written, wherever they stand.
	DenyWriteComponent []string `json:"deny_write_component,omitempty"`
	// AllowHidden opts in to names that begin with a dot, and what lies below
	// them, inside its scopes. It does not open sensitive names.
	AllowHidden []string `json:"allow_hidden,omitempty"`
	// AllowSensitive opts in to sensitive names (.env, .git, .ssh, credentials and
	// their like) and to hidden ones, inside its scopes.
	AllowSensitive []string `json:"allow_sensitive,omitempty"`
	// AllowRecursiveDelete allows removing directories that are not empty; each
	// descendant still has to be writable.
	AllowRecursiveDelete bool `json:"allow_recursive_delete,omitempty"`
}

// verb is one of the lists of a Spec.
type verb uint8

const (
	allowRead verb = iota
	allowWrite
	denyRead
	denyWrite
	denyComponent
	allowHidden
	allowSensitive
	verbs
)

var verbNames = [verbs]string{
	allowRead: "allow_read", allowWrite: "allow_write", denyRead: "deny_read", denyWrite: "deny_write",
	denyComponent: "deny_write_component", allowHidden: "allow_hidden", allowSensitive: "allow_sensitive",
}

func (v verb) String() string { return verbNames[v] }

// list returns the list of s that v names.
func (s *Spec) list(v verb) *[]string {
	return [verbs]*[]string{
		allowRead: &s.AllowRead, allowWrite: &s.AllowWrite, denyRead: &s.DenyRead, denyWrite: &s.DenyWrite,
		denyComponent: &s.DenyWriteComponent, allowHidden: &s.AllowHidden, allowSensitive: &s.AllowSensitive,
	}[v]
}

// scope is one rule of a Spec that has been parsed.
type scope struct {
	verb  verb
	index int
	raw   string
	path  namespace.Path // below the root; of a component, the component alone
}

// text is the rule in the words of the Spec.
func (s scope) text() string { return s.verb.String() + " " + quoteScope(s.raw) }

// scopes parses every rule of s, in the order in which a refusal names them, and
// yields them until told to stop.
func (s *Spec) scopes(yield func(scope, error) bool) {
	for _, v := range [...]verb{denyRead, denyWrite, denyComponent, allowSensitive, allowHidden, allowRead, allowWrite} {
		for i, raw := range *s.list(v) {
			sc, err := parseScope(v, i, raw)
			if !yield(sc, err) {
				return
			}
		}
	}
}

var (
	errBlankScope  = errors.New("blank")
	errNoComponent = errors.New("a component is one element, without a slash")
)

// parseScope parses one rule. The error names the verb, the index, the raw text
// and the reason.
func parseScope(v verb, index int, raw string) (scope, error) {
	root := namespace.MustParse("/")
	var path namespace.Path
	err := errBlankScope
	if strings.TrimSpace(raw) != "" {
		switch {
		case v != denyComponent:
			path, err = namespace.Parse(root, raw)
		case strings.Contains(raw, "/"):
			err = errNoComponent
		default:
			path, err = root.Join(raw)
		}
	}
	if err != nil {
		err = fmt.Errorf("policyfs: %s[%d]: %s: %w", v, index, quoteScope(raw), err)
	}
	return scope{v, index, raw, path}, err
}

// maxScopeText is how much of a scope's text a rule or an error shows, in bytes.
// A scope that is longer still counts in full.
const maxScopeText = 1024

// quoteScope returns raw in double quotes, fit for a line of text.
func quoteScope(raw string) string {
	if len(raw) <= maxScopeText {
		return strconv.Quote(raw)
	}
	end := maxScopeText
	for end > maxScopeText-utf8.UTFMax && !utf8.RuneStart(raw[end]) {
		end--
	}
	return strconv.Quote(raw[:end]) + "..."
}

// Compile makes a policy of s. The result never changes, is safe for concurrent
// use, and its Check does not allocate as long as names are pure ASCII.
//
// A blank scope, text that namespace.Parse refuses as a name, and a component
// that is not exactly one element are errors that name the verb, the index, the
// raw text and the reason; they are [io/fs.ErrInvalid] where Parse said so.
func Compile(s Spec) (Policy, error) {
	c, err := compile(&s)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func compile(s *Spec) (*compiled, error) {
	c := newCompiled(s.AllowRecursiveDelete)
	for sc, err := range s.scopes {
		if err != nil {
			return nil, err
		}
		c.add(sc)
	}
	c.finish()
	return c, nil
}
