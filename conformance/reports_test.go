package conformance_test

import (
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
)

// TestReports shows, for five faults, all that a failing requirement prints.
func TestReports(t *testing.T) {
	shown := map[string]string{
		"Rename over a directory replaces it":           "rename-over-directory.txt",
		"Truncate shows cut bytes again":                "truncate-shows-cut-bytes.txt",
		"Open follows a link at the end":                "open-follows-link.txt",
		"Replace holds a lock while it reads":           "replace-holds-lock.txt",
		"a condition is checked before content is read": "condition-checked-early.txt",
	}
	for _, mu := range mutants() {
		file, ok := shown[mu.name]
		if !ok {
			continue
		}
		delete(shown, mu.name)
		out := conformance.Examine(t, mu.harness(), mu.kills, impatience)
		if !out.Fails {
			t.Errorf("%q survives", mu.name)
			continue
		}
		golden(t, "testdata/"+file, out.Report+"\n")
		for _, part := range []string{mu.kills + ": ", "\ncalls:\n\t", "\nexpected: ", "\ngot:      "} {
			if !strings.Contains(out.Report, part) {
				t.Errorf("the report lacks %q:\n%s", part, out.Report)
			}
		}
	}
	for name := range shown {
		t.Errorf("no mutant is called %q", name)
	}
}
