package policyfs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
)

// deepPath has eight elements below the root, all inside what benchSpec allows.
const deepPath = "/workspace/services/billing/internal/ledger/posting/rules/tax/table.go"

// benchSpec returns a spec of n scopes: those of a policy for a service in a
// monorepo, and as many more as it takes.
func benchSpec(n int) Spec {
	s := Spec{
		AllowRead:          []string{"/"},
		AllowWrite:         []string{"services/billing", "docs", "tools/gen"},
		DenyRead:           []string{"services/billing/secrets", "private", "services/billing/internal/keys"},
		DenyWrite:          []string{"services/billing/api/v1", "services/billing/generated", "docs/legal"},
		DenyWriteComponent: []string{"node_modules", "target", "dist", "build", ".venv", "vendor"},
		AllowHidden:        []string{".github", "services/billing/.config"},
		AllowSensitive:     []string{"services/billing/.env.example", "docs/.env.sample"},
	}
	for i := count(s); i < n; i++ {
		list := []*[]string{&s.AllowWrite, &s.DenyRead, &s.DenyWrite}[i%3]
		*list = append(*list, fmt.Sprintf("services/team%d/internal/part%d", i%40, i))
	}
	return s
}

func count(s Spec) int {
	n := 0
	for v := range verbs {
		n += len(*s.list(v))
	}
	return n
}

func benchPolicy(t testing.TB, n int) Policy {
	t.Helper()
	s := benchSpec(n)
	if count(s) != n {
		t.Fatalf("%d scopes, want %d", count(s), n)
	}
	p, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var benchPolicies = map[string]func(testing.TB) Policy{
	"20 scopes":   func(t testing.TB) Policy { return benchPolicy(t, 20) },
	"2000 scopes": func(t testing.TB) Policy { return benchPolicy(t, 2000) },
	"read_write":  func(testing.TB) Policy { return ReadWrite() },
	"composed":    func(t testing.TB) Policy { return Compose(benchPolicy(t, 20), ReadWrite(), ReadOnly()) },
}

// TestCheckAllocations: a decision about a path of ASCII names allocates nothing,
// whatever it is and whoever made it.
func TestCheckAllocations(t *testing.T) {
	for name, build := range benchPolicies {
		p := build(t)
		for _, at := range []string{
			"/", deepPath, "/private/x", "/.env", "/a/.ENV.local/b", "/services/billing/api/v1/x", "/Services/BILLING/Secrets/x",
			"/services/billing/node_modules/x", "/.github/x/.y", "/nowhere", "/services/team20/internal/part20/x", "/x./y ",
			"/" + strings.Repeat("x/", 2000) + "x",
		} {
			path := namespace.MustParse(at)
			for op := range opEnd + 1 {
				if n := testing.AllocsPerRun(20, func() { check(p, Request{op, path}) }); n != 0 {
					t.Errorf("%s: %s %.40s: %v allocations", name, op, at, n)
				}
			}
		}
	}
}

// TestCursorAllocations: a listed entry costs no allocation.
func TestCursorAllocations(t *testing.T) {
	for name, build := range benchPolicies {
		c := newCursor(build(t), namespace.MustParse("/services/billing"))
		for _, entry := range []string{"main.go", "a", "internal", "INTERNAL", ".env.example", ".env", ".x", "node_modules", "credentials", "x.", "..", "a\\b", "", strings.Repeat("x", 300)} {
			for what, f := range map[string]func(){
				"entry, a file":      func() { c.entry(entry, false) },
				"entry, a directory": func() { c.entry(entry, true) },
			} {
				if n := testing.AllocsPerRun(20, f); n != 0 && !(n <= 2 && strings.ContainsAny(entry, "\\.") && !c.spells(entry)) {
					t.Errorf("%s: %s %.40q: %v allocations", name, what, entry, n)
				}
			}
		}
	}
}

// BenchmarkCheck is rows C1 and C2; path.Clean of the same path is the peer.
func BenchmarkCheck(b *testing.B) {
	at := namespace.MustParse(deepPath)
	b.Run("path.Clean", func(b *testing.B) {
		for b.Loop() {
			path.Clean(deepPath)
		}
	})
	for _, name := range []string{"20 scopes", "2000 scopes", "read_write", "composed"} {
		p := benchPolicies[name](b)
		for _, op := range []Op{OpRead, OpWrite} {
			b.Run(name+"/"+op.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if !check(p, Request{op, at}).Allow && name != "composed" {
						b.Fatal("denied")
					}
				}
			})
		}
	}
	b.Run("linear reference", func(b *testing.B) {
		p := newLinear(benchSpec(20))
		for b.Loop() {
			if !p.read(deepPath) {
				b.Fatal("denied")
			}
		}
	})
}

// BenchmarkEntry is row C3: entries of one directory through its cursor.
func BenchmarkEntry(b *testing.B) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("component_%d.go", i)
	}
	for _, name := range []string{"20 scopes", "2000 scopes", "read_write", "composed"} {
		for _, dir := range []string{"/services/billing/internal/ledger", "/services"} {
			b.Run(name+dir, func(b *testing.B) {
				c := newCursor(benchPolicies[name](b), namespace.MustParse(dir))
				b.ReportAllocs()
				for b.Loop() {
					for _, n := range names {
						c.entry(n, false)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/entry")
			})
		}
	}
}

// BenchmarkPolicyRows measures rows C1 to C3 as they are stated: interleaved rounds,
// medians of the ratios within a round.
func BenchmarkPolicyRows(b *testing.B) {
	at, dir := namespace.MustParse(deepPath), namespace.MustParse("/services/billing/internal/ledger")
	few, many, slow := benchPolicy(b, 20), benchPolicy(b, 2000), newLinear(benchSpec(20))
	entries := newCursor(few, dir)
	const ops = 300
	timed := func(f func()) float64 {
		start := time.Now()
		for range ops {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / ops
	}
	rows := map[string][]float64{}
	for b.Loop() {
		clean := timed(func() { path.Clean(deepPath) })
		linear := timed(func() { slow.read(deepPath) })
		c20 := timed(func() { check(few, Request{OpRead, at}) })
		c2000 := timed(func() { check(many, Request{OpRead, at}) })
		entry := timed(func() { entries.entry("component_17.go", false) })
		for row, value := range map[string]float64{
			"C1-x-path.Clean": c20 / clean, "C1-x-linear": c20 / linear, "C2-x": c2000 / c20, "C3-ns/entry": entry, "ns/check": c20,
		} {
			rows[row] = append(rows[row], value)
		}
	}
	for row, values := range rows {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], row)
	}
}

// linear judges as a straightforward policy would: rule after rule, with string
// prefixes. It is the peer of row C1, no reference for correctness.
type linear struct{ allow, deny, hidden, sensitive []string }

func newLinear(s Spec) linear {
	parse := func(list []string) []string {
		out := make([]string, len(list))
		for i, raw := range list {
			out[i] = namespace.MustParse("/" + strings.TrimPrefix(raw, "/")).String()
		}
		return out
	}
	return linear{parse(s.AllowRead), parse(s.DenyRead), parse(s.AllowHidden), parse(s.AllowSensitive)}
}

func (l linear) read(p string) bool {
	in := func(list []string, same func(a, b string) bool) bool {
		for _, s := range list {
			if len(p) >= len(s) && same(p[:len(s)], s) && (len(p) == len(s) || p[len(s)] == '/') {
				return true
			}
		}
		return false
	}
	exact := func(a, b string) bool { return a == b }
	if !in(l.allow, exact) || in(l.deny, strings.EqualFold) {
		return false
	}
	hidden := false
	for elem := range strings.SplitSeq(p, "/") {
		for _, name := range sensitiveNames {
			if strings.EqualFold(elem, name) {
				return in(l.sensitive, exact)
			}
		}
		hidden = hidden || strings.HasPrefix(elem, ".")
	}
	return !hidden || in(l.hidden, exact)
}
