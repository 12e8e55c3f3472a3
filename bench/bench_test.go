package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Rows run, quickly, and their figures are sane; speed is judged by -check. Those
// that build large trees run with WORKSPACEFS_LONG=1.
func TestRows(t *testing.T) {
	selected := "^(path|base|A[0-9]+|B[1-4]|B1[01]|C|D1[.]1|D6)"
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

// What no implementation can make faster moves a goal only where it leaves too little
// of it for the rest.
func TestFixed(t *testing.T) {
	busy := func(d time.Duration) func() error {
		return func() error {
			for start := time.Now(); time.Since(start) < d; {
			}
			return nil
		}
	}
	for _, tc := range []struct {
		fixed    time.Duration // of a peer's 100 µs
		min, max float64       // the goal
	}{{10 * time.Microsecond, 1, 1}, {80 * time.Microsecond, 1.3, 1.8}} {
		r := row{ID: "x", What: "work", Goal: 1, Fixed: fixed(busy(tc.fixed)), FixedIs: "part", FixedLeaves: 0.75,
			Prepare: func(string) (side, side, func(), error) {
				return repeat(busy(100 * time.Microsecond)), repeat(busy(100 * time.Microsecond)), func() {}, nil
			}}
		results, err := measure(r, "", 5, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if got := results[0]; got.Goal < tc.min || got.Goal > tc.max || got.Fixed <= 0 || !strings.HasPrefix(got.What, "work (part alone: ") {
			t.Errorf("%v of 100 µs: %+v, want a goal of %v to %v", tc.fixed, got, tc.min, tc.max)
		}
	}
	none := row{Goal: 1, Fixed: func(string) (side, func(), error) { return nil, func() {}, nil }, Prepare: func(string) (side, side, func(), error) {
		return repeat(busy(time.Microsecond)), repeat(busy(time.Microsecond)), func() {}, nil
	}}
	if results, err := measure(none, "", 1, time.Microsecond); err != nil || results[0].Goal != 1 || results[0].Fixed != 0 {
		t.Errorf("no part: %+v, %v", results, err)
	}
	for what, part := range map[string]func(string) (side, func(), error){
		"fails":              fixed(func() error { return io.EOF }),
		"cannot be prepared": func(string) (side, func(), error) { return nil, nil, io.EOF },
	} {
		r := row{Fixed: part, FixedIs: "part", Prepare: func(string) (side, side, func(), error) {
			return repeat(busy(1)), repeat(busy(1)), func() {}, nil
		}}
		if _, err := measure(r, "", 1, time.Microsecond); !errors.Is(err, io.EOF) {
			t.Errorf("a part that %s: %v", what, err)
		}
	}
}

// On one core two goroutines are no faster than one, and the control says so. The
// least of many times is what the machine can do, whatever else it does.
func TestControl(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, two := spin(1), spin(2)
	for range 20 {
		one, two = min(one, spin(1)), min(two, spin(2))
	}
	if two/one <= oneCore {
		t.Errorf("on one core two goroutines take %.2f of the time of one", two/one)
	}
}

// A family is judged by its geometric mean, and only when it is complete.
func TestMeans(t *testing.T) {
	var results []result
	for i := range searches {
		ratio := 0.5
		if i%2 == 1 {
			ratio = 2
		}
		results = append(results, result{ID: fmt.Sprintf("D3.%d", i+1), Peer: "rg", Ours: 8, Theirs: 8, Ratio: ratio, Judged: true},
			result{ID: fmt.Sprintf("D3.%dc", i+1), Peer: "rg", Ours: 8, Theirs: 4, Ratio: 2, Spread: 0.6, Judged: i > 0})
	}
	got := means(results)
	if len(got) != 2 || got[0].ID != "D3.m" || got[1].ID != "D3.mc" {
		t.Fatalf("means: %+v", got)
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if m := got[0]; !near(m.Ratio, 1) || !near(m.Ours, 8) || m.Spread != 0 || m.Peer != "rg" || !m.Judged || m.Goal != 1.1 {
		t.Errorf("wall: %+v", m)
	}
	if m := got[1]; !near(m.Ratio, 2) || !near(m.Spread, 0.6/math.Sqrt(6)) || m.Judged {
		t.Errorf("CPU time: %+v", m)
	}
	results[0].Error = "failed"
	if got := means(results); len(got) != 1 || got[0].ID != "D3.mc" {
		t.Errorf("with a member that failed: %+v", got)
	}
	if got := means(results[2:]); len(got) != 0 {
		t.Errorf("with a member not measured: %+v", got)
	}
}
