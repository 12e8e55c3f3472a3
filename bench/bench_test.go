package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every row runs, quickly, and its figures are sane; speed is judged by -check.
func TestRows(t *testing.T) {
	out := filepath.Join(t.TempDir(), "bench.json")
	var table strings.Builder
	if _, err := run([]string{"-rounds", "1", "-slice", "1ms", "-json", out}, &table); err != nil {
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
	if len(rep.Results) != len(rows()) {
		t.Fatalf("%d results for %d rows", len(rep.Results), len(rows()))
	}
	for _, r := range rep.Results {
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
