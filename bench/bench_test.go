package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rows run, quickly, and their figures are sane; speed is judged by -check. Those
// that build large trees run with WORKSPACEFS_LONG=1.
func TestRows(t *testing.T) {
	selected := "^(path|base|A[0-9]+|B[1-4]|B1[01]|C|D6)"
	if os.Getenv("WORKSPACEFS_LONG") != "" {
		selected = ""
	}
	out := filepath.Join(t.TempDir(), "bench.json")
	var table strings.Builder
	if _, err := run([]string{"-run", selected, "-rounds", "1", "-slice", "1ms", "-json", out}, &table); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var rep report
	if err := json.Unmarshal(data, &rep); err != nil {
		t.Fatal(err)
	}
	if len(rep.Results) < 25 {
		t.Fatalf("only %d rows ran", len(rep.Results))
	}
	for _, r := range rep.Results {
		if r.Absent != "" {
			if os.Getenv("WORKSPACEFS_REQUIRE_ALL") != "" {
				t.Errorf("row %s: %s", r.ID, r.Absent)
			}
			continue
		}
		if r.Error != "" || r.Ours <= 0 || r.Theirs <= 0 || r.Ratio <= 0 {
			t.Errorf("row %s: %+v", r.ID, r)
		}
	}
}

// A missed goal must be seen, or -check could never fail.
func TestMissed(t *testing.T) {
	for _, tc := range []struct {
		r    result
		want bool
	}{
		{result{Ratio: 1.2, Spread: 0.1, Goal: 1, Judged: true}, true},
		{result{Ratio: 1.05, Spread: 0.1, Goal: 1, Judged: true}, false},
		{result{Ratio: 1.2, Spread: 0.1, Goal: 1}, false},
		{result{Ratio: 9, Judged: true}, false},
		{result{Error: "no"}, true},
	} {
		if got := tc.r.missed(); got != tc.want {
			t.Errorf("%+v: missed %v, want %v", tc.r, got, tc.want)
		}
	}
}
