package conformance

import (
	"strings"
	"testing"
	"time"
)

// TestRule: Known is strict, and what does not apply is skipped with the reason.
func TestRule(t *testing.T) {
	failed := outcome{verdict: fails, report: "the report"}
	absent := outcome{verdict: notApplicable, reason: "no links"}
	for _, tt := range []struct {
		name          string
		out           outcome
		reason        string
		known         bool
		failure, skip string // parts of the texts
	}{
		{"holds", outcome{}, "", false, "", ""},
		{"fails", failed, "", false, "the report", ""},
		{"fails as known", failed, "why", true, "", "known: why"},
		{"holds against Known", outcome{}, "why", true, "remove it there", ""},
		{"holds this time", outcome{}, "sometimes two win", true, "", "known: sometimes"},
		{"not applicable", absent, "", false, "", "not applicable: no links"},
		{"not applicable, and known", absent, "why", true, "", "not applicable: no links"},
	} {
		failure, skip := rule("X-id", tt.out, tt.reason, tt.known)
		if !strings.Contains(failure, tt.failure) || (failure == "") != (tt.failure == "") || !strings.Contains(skip, tt.skip) || (skip == "") != (tt.skip == "") {
			t.Errorf("%s: failure %q, skip %q", tt.name, failure, skip)
		}
	}
}

func TestUnknownIDs(t *testing.T) {
	reqs := requirements()
	got := unknownIDs(map[string]string{reqs[0].id: "x", "RENAME-sideways": "y", "": "z"}, reqs)
	if len(got) != 2 || got[0] != "" || got[1] != "RENAME-sideways" {
		t.Errorf("unknown IDs: %q", got)
	}
}

func TestSummary(t *testing.T) {
	var s summary
	s.add("A-holds", outcome{unclaimed: []string{"CaseSensitive"}}, false)
	s.add("A-fails", outcome{verdict: fails}, false)
	s.add("A-known", outcome{verdict: fails}, true)
	s.add("A-absent", outcome{verdict: notApplicable, reason: "no links"}, false)
	got := s.String()
	for _, want := range []string{
		"4 requirements: 1 hold, 1 fail, 1 known, 1 not applicable", "not applicable: no links: A-absent", "known: A-known", "holds without being claimed: CaseSensitive",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

// try runs a check in a trial of its own.
func try(t *testing.T, check func(tr *trial), p patience) outcome {
	t.Helper()
	tr := newTrial(t)
	return tr.run("The statement.", "X-id", func() { check(tr) }, p)
}

// TestTrial: hangs, panics, failures of other goroutines and of cleanups end in
// a report.
func TestTrial(t *testing.T) {
	short := patience{call: 200 * time.Millisecond, check: 400 * time.Millisecond}
	block := make(chan struct{})
	defer close(block)
	for _, tt := range []struct {
		name  string
		check func(tr *trial)
		want  string
	}{
		{"a hang names the call", func(tr *trial) { tr.calls.begin("Open(%q)", "f"); <-block }, `Open("f") has not returned after 200ms`},
		{"a hang outside of calls", func(tr *trial) { <-block }, "it has not ended after 400ms"},
		{"a panic", func(tr *trial) { panic("oh") }, "panic: oh in "},
		{"a panic elsewhere", func(tr *trial) { tr.parallel(2, func(int) { panic("oh") }) }, "panic: oh in "},
		{"a failure elsewhere", func(tr *trial) { tr.parallel(2, func(int) { tr.failNow("this", "that") }) }, "got:      that"},
		{"the first failure counts", func(tr *trial) { tr.fail("this", "first"); tr.failNow("this", "second") }, "got:      first"},
		{"a failing cleanup", func(tr *trial) { tr.cleanup(func() { tr.fail("this", "late") }) }, "got:      late"},
	} {
		out := try(t, tt.check, short)
		if out.verdict != fails || !strings.Contains(out.report, tt.want) || !strings.HasPrefix(out.report, "X-id: The statement.\n") {
			t.Errorf("%s: %d\n%s", tt.name, out.verdict, out.report)
		}
	}
	if out := try(t, func(tr *trial) { tr.skip("no links") }, short); out.verdict != notApplicable || out.reason != "no links" {
		t.Errorf("skip: %+v", out)
	}
	if out := try(t, func(tr *trial) { tr.test(func(tb testing.TB) { tb.Helper() }) }, short); out.verdict != holds {
		t.Errorf("a call on the test's goroutine: %+v", out)
	}
}

// TestCallLog: a report shows the last calls, and says how many there were
// before.
func TestCallLog(t *testing.T) {
	var l callLog
	for i := range maxLines + 5 {
		l.begin("Stat(%d)", i)("nil")
	}
	lines := l.lines()
	if len(lines) != maxLines+1 || lines[0] != "... 5 calls before these" || lines[maxLines] != "Stat(44) = nil" {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	end := l.begin("Open(x)")
	l.freeze()
	end("nil")
	if last := l.lines(); last[len(last)-1] != "Open(x) has not returned" {
		t.Errorf("the last line of a frozen log: %q", last[len(last)-1])
	}
}

// TestScripts: what a script prints is what it reads.
func TestScripts(t *testing.T) {
	steps := decode([]byte(pattern(2000)))
	again, err := parseScript(renderScript(steps))
	if err != nil {
		t.Fatal(err)
	}
	if renderScript(again) != renderScript(steps) || len(steps) != maxSteps {
		t.Errorf("%d steps became %d", len(steps), len(again))
	}
	for _, bad := range []string{"fly a", "mkdir", "mkdir ../a", "mkdir a b", "hread 9", "write a x \"y\"", "replace a none y"} {
		if _, err := parseScript(bad); err == nil {
			t.Errorf("%q is a script", bad)
		}
	}
}
