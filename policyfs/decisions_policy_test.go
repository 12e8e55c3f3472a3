package policyfs

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
)

// decisionRow is one row of testdata/decisions.txt.
type decisionRow struct {
	line       int
	policyName string
	policy     Policy
	op         string
	paths      []namespace.Path
	want       Decision
}

// decisionRows reads testdata/decisions.txt.
func decisionRows(t *testing.T) []decisionRow {
	t.Helper()
	f, err := os.Open("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	policies := map[string]Policy{}
	var rows []decisionRow
	var name string
	gap := regexp.MustCompile(`\s{2,}`)
	scanner := bufio.NewScanner(f)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "policy "); ok {
			var text string
			name, text, _ = strings.Cut(rest, " = ")
			if policies[name] != nil {
				t.Fatalf("line %d: policy %s is there already", n, name)
			}
			policies[name] = tablePolicy(t, n, text, policies)
			continue
		}
		cols := gap.Split(line, -1)
		op := cols[0]
		paths := 1
		if op == "move" {
			paths = 2
		}
		if len(cols) != paths+3 {
			t.Fatalf("line %d: %d columns", n, len(cols))
		}
		row := decisionRow{line: n, policyName: name, policy: policies[name], op: op}
		for _, text := range cols[1 : 1+paths] {
			if strings.HasPrefix(text, `"`) {
				if text, err = strconv.Unquote(text); err != nil {
					t.Fatalf("line %d: %v", n, err)
				}
			}
			row.paths = append(row.paths, namespace.MustParse(text))
		}
		verdict := cols[1+paths]
		if verdict != "allow" && verdict != "deny" {
			t.Fatalf("line %d: verdict %q", n, verdict)
		}
		row.want = Decision{Allow: verdict == "allow", Rule: cols[2+paths]}
		rows = append(rows, row)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// tablePolicy makes the policy of one line.
func tablePolicy(t *testing.T, line int, text string, named map[string]Policy) Policy {
	t.Helper()
	switch text {
	case "read_only":
		return ReadOnly()
	case "read_write":
		return ReadWrite()
	case "compose of nothing":
		return Compose()
	}
	if strings.HasPrefix(text, "{") {
		spec, err := ParseSpec(strings.NewReader(text))
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		p, err := Compile(spec)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		return p
	}
	var parts []Policy
	for part := range strings.SplitSeq(text, " + ") {
		if named[part] == nil {
			t.Fatalf("line %d: no policy %q", line, part)
		}
		parts = append(parts, named[part])
	}
	return Compose(parts...)
}

// TestDecisions holds the policies to the table that reviewers read.
func TestDecisions(t *testing.T) {
	ops := map[string]Op{}
	for op := Op(1); op < opEnd; op++ {
		ops[op.String()] = op
	}
	asked := map[string]bool{}
	for _, row := range decisionRows(t) {
		asked[row.op] = true
		var got Decision
		if row.op == "move" {
			got = checkMove(row.policy, row.paths[0], row.paths[1])
		} else {
			op, ok := ops[row.op]
			if !ok {
				t.Fatalf("line %d: unknown op %q", row.line, row.op)
			}
			got = check(row.policy, Request{op, row.paths[0]})
		}
		if got != row.want {
			t.Errorf("decisions.txt:%d: %s: %s %v: %+v, want %+v", row.line, row.policyName, row.op, row.paths, got, row.want)
		}
	}
	for op := range ops {
		if !asked[op] {
			t.Errorf("the table has no row for %s", op)
		}
	}
}

// TestComposeOrder: the verdict of a composed policy does not depend on the order
// or nesting of its parts.
func TestComposeOrder(t *testing.T) {
	rows := decisionRows(t)
	var policies []Policy
	for _, row := range rows {
		if !slices.Contains(policies, row.policy) {
			policies = append(policies, row.policy)
		}
	}
	for i, a := range policies {
		b, c := policies[(i*5+2)%len(policies)], policies[(i*3+1)%len(policies)]
		ways := []Policy{
			Compose(a, b, c), Compose(c, b, a), Compose(b, a, c), Compose(Compose(a, b), c), Compose(a, Compose(b, c)),
			Compose(Compose(Compose(c)), Compose(a), b),
		}
		for _, row := range rows {
			for op := range opEnd {
				want := check(a, Request{op, row.paths[0]}).Allow && check(b, Request{op, row.paths[0]}).Allow && check(c, Request{op, row.paths[0]}).Allow
				for w, p := range ways {
					if d := check(p, Request{op, row.paths[0]}); d.Allow != want {
						t.Fatalf("way %d of %d: %s %s: %+v, want %v", w, i, op, row.paths[0], d, want)
					}
				}
			}
		}
	}
}
