package policyfs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// attackOverride replaces one must of a case where DESIGN.md decides otherwise, or
// where the case leaves the choice. It has to be needed: the must that it replaces
// must fail on at least one storage.
type attackOverride struct {
	must    string   // the JSON of the must
	instead []string // the JSON of what holds here
	reason  string
}

var attackOverrides = map[string][]attackOverride{
	"A19": {{`["refused@*"]`, []string{`["refused@0"]`, `["ok@1"]`, `["ok@2"]`, `["refused@3"]`, `["refused@4"]`, `["refused@5"]`, `["ok@6"]`},
		"choice; section 4: Parse refuses control characters and the nine bidi controls; other invisible code points are names, which denies see through (3.1)"}},
	"B33": {{`["refused@3"]`, []string{`["ok@2"]`, `["ok@3"]`, `["host-link", "W/proj/ln2"]`},
		"section 2: Rename moves a link itself, never what it leads to; nothing is at /proj/ln then, and RemoveAll of a missing name is nil"}},
	"E05": {{`["refused@*"]`, []string{`["refused@0"]`, `["refused@1"]`, `["refused@2"]`, `["ok@3"]`},
		"afero.TempFile cleans a pattern with .. by itself, so that the face is asked for /x, which the policy allows"}},
	"G14": {{`["refused@0"]`, []string{`["content@0", "S"]`},
		"choice; section 3: scopes are literal prefixes, there is no glob layer, and * is a legal character"}},
	"G17": {{`["lacks", "deny"]`, []string{`["lacks-output", "deny"]`, `["err@3:denied"]`},
		"section 8: the rule text in a refusal shows scope names to the model"}},
	"J06": {{`["refused@0"]`, []string{`["ok@0"]`, `["refused@1"]`, `["within-ms@1", "20000"]`},
		"a table is immutable, so that it cannot hold itself; a loop made by a provider around the face and a table swapped under it is bounded by MaxWalk"}},
	"N03": {
		{`["errors-as", "PolicyError"]`, []string{`["errors-as", "DeniedError"]`}, "section 2: the type is DeniedError"},
		{`["field", "Rule", "deny secret"]`, []string{`["field", "Rule", "deny_read \"secret\""]`}, "issue 2: the rule is named in the words of the Spec"},
		{`["field", "Path", "/secret/k"]`, []string{`["field", "Path", "/workspace/secret/k"]`}, "section 2: Path is the canonical path"},
	},
}

// attackExtra are further musts that pin choices which a case leaves open.
// The comment says which choice is pinned.
var attackExtra = map[string][]string{
	"B14": {`["refused"]`},                    // links are refused, inside the root too
	"A18": {`["refused@1"]`, `["refused@2"]`}, // nothing is a URL
	"C03": {`["ok@0"]`, `["host-absent", "W/d"]`},
	"C04": {`["ok@0"]`, `["host-content", "W/l", "A"]`}, // the link is replaced
	"C05": {`["ok@0"]`},
	"B11": {`["ok@4"]`, `["ok@5"]`, `["refused@3"]`},
	"B06": {`["refused@3"]`, `["refused@4"]`, `["refused@5"]`, `["refused@6"]`, `["refused@7"]`, `["refused@8"]`, `["refused@9"]`},
	"F03": {`["refused@*"]`}, // 3.1 folds on every platform
	"F04": {`["refused@*"]`},
	"F11": {`["refused@0"]`, `["refused@1"]`}, // byte-exact
	"G08": {`["refused@2"]`, `["refused@5"]`, `["ok@6"]`, `["ok@7"]`},
	"I01": {`["ok@1"]`, `["ok@2"]`},
	"I04": {`["ok@0"]`}, // what exists counts
	"G27": {`["refused@*"]`},
	"L02": {`["ok@0"]`, `["ok@1"]`, `["ok@2"]`},
	"O03": {`["refused@1"]`, `["ok@0"]`, `["ok@2"]`}, // /objects is missing; a bare repository is not known
	"D02": {`["host-same", "O"]`},
}

// attackElsewhere are the cases that need what this platform cannot make.
func attackElsewhere(c attackCase) string {
	switch {
	case c.Class == "reparse" && runtime.GOOS != "windows":
		return "a junction exists on Windows only; links stand for it in B01-B13"
	case c.Platform == "linux" && runtime.GOOS != "linux", c.Platform == "posix" && runtime.GOOS == "windows":
		return "host names that only a POSIX host can hold"
	case !canSpecial && slices.ContainsFunc(c.Setup, func(s []any) bool { return s[0] == "fifo" || s[0] == "socket" }):
		return "FIFOs and sockets are made on unix"
	case len(c.Call) > 0 && c.Call[0][0] == "race" && !canExchange:
		return "swapping in one step needs renameat2"
	}
	return ""
}

// attackStorages returns the storages that a case runs on.
func attackStorages(c attackCase) []string {
	for _, s := range c.Setup {
		switch str(s[0]) {
		case "rootpath", "cwd", "grant", "grant-label", "fifo", "socket", "filehex-name", "session-host":
			return []string{"disk"}
		case "symlink", "file", "dir", "chmod":
			// Names that a provider.Path cannot hold, and links in O, are the host's.
			if strings.Contains(str(s[1]), `\`) {
				return []string{"disk"}
			}
		}
	}
	if c.Call[0][0] == "race" || c.Call[0][0] == "chain-long-dirs-and-links" {
		return []string{"disk"}
	}
	if c.Provider == "memory" {
		return []string{"memory", "disk"} // the answers do not depend on the storage
	}
	return boxKinds
}

// TestAttackVectors replays testdata/attacks.json, every case on every storage
// that can hold its setup, through the methods of afero and through those that
// this package adds.
func TestAttackVectors(t *testing.T) {
	cases := loadAttacks(t)
	if len(cases) != 131 {
		t.Fatalf("%d cases, want 131", len(cases))
	}
	ran := map[string]int{}
	elsewhere := map[string]string{}
	for _, c := range cases {
		if reason := attackElsewhere(c); reason != "" {
			elsewhere[c.Name] = reason
			continue
		}
		ran[c.Class]++
		needed := make([]bool, len(attackOverrides[c.Name]))
		t.Run(c.Name, func(t *testing.T) {
			if c.Class == "mem-parity" && c.Provider == "parity" {
				attackParity(t, c)
				return
			}
			for _, kind := range attackStorages(c) {
				for _, fl := range []flavor{flavorAfero, flavorOwn} {
					t.Run(kind+"/"+string(fl), func(t *testing.T) {
						attackOne(t, c, kind, fl, needed)
					})
				}
			}
			for i, n := range needed {
				if !n && !t.Failed() {
					t.Errorf("override of %s is not needed: it holds as the case says", attackOverrides[c.Name][i].must)
				}
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(elsewhere)) {
		t.Logf("not here: %s: %s", name, elsewhere[name])
	}
	n := 0
	for _, class := range slices.Sorted(maps.Keys(ran)) {
		t.Logf("class %-24s %d", class, ran[class])
		n += ran[class]
	}
	t.Logf("%d cases ran, %d need another platform", n, len(elsewhere))
	if n+len(elsewhere) != len(cases) {
		t.Errorf("%d of %d cases accounted for", n+len(elsewhere), len(cases))
	}
	for name := range attackOverrides {
		if !slices.ContainsFunc(cases, func(c attackCase) bool { return c.Name == name }) {
			t.Errorf("override for %s, which is no case", name)
		}
	}
}

func attackOne(t *testing.T, c attackCase, kind string, fl flavor, needed []bool) {
	r := runAttack(t, c, kind, fl)
	musts := []string{}
	used := make([]bool, len(attackOverrides[c.Name]))
	for _, m := range c.Must {
		text := mustJSON(t, m)
		replaced := false
		for i, o := range attackOverrides[c.Name] {
			if canonicalJSON(t, o.must) == text {
				used[i], replaced = true, true
				if r.check(m) != nil {
					needed[i] = true
				}
				musts = append(musts, o.instead...)
			}
		}
		if !replaced {
			musts = append(musts, text)
		}
	}
	for i, u := range used {
		if !u {
			t.Errorf("override of %s, which the case does not say", attackOverrides[c.Name][i].must)
		}
	}
	for _, text := range append(musts, attackExtra[c.Name]...) {
		var m []any
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		if err := r.check(m); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if t.Failed() {
		for i, res := range r.results {
			t.Logf("call %d %v: %v %q %q %d", i, c.Call[i], res.err, res.names, res.text, res.count)
		}
	}
}

// attackParity runs a case on both storages and compares.
func attackParity(t *testing.T, c attackCase) {
	var texts []string
	for _, kind := range boxKinds {
		r := runAttack(t, c, kind, flavorAfero)
		text := ""
		for _, res := range r.results {
			text += fmt.Sprintf("%v %q %q\n", res.err, res.names, res.text)
		}
		texts = append(texts, text)
	}
	if texts[0] != texts[1] {
		t.Errorf("memory:\n%s\ndisk:\n%s", texts[0], texts[1])
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func canonicalJSON(t testing.TB, s string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return mustJSON(t, v)
}
