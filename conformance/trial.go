package conformance

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// verdict is how one check ended.
type verdict uint8

const (
	holds verdict = iota
	fails
	notApplicable
)

// outcome is a verdict with what there is to say about it.
type outcome struct {
	verdict   verdict
	reason    string   // notApplicable: why
	report    string   // fails: for people
	expected  string   // fails
	got       string   // fails
	unclaimed []string // promises that hold without being claimed
	hung      bool     // fails because the patience was over
}

// patience says when a check is taken for hung.
type patience struct {
	call  time.Duration // one call of the provider
	check time.Duration // the whole check
}

// ordinaryPatience is generous: a loaded machine under the race detector must
// not look like a hang.
var ordinaryPatience = patience{call: 30 * time.Second, check: 3 * time.Minute}

// hastyCall is the patience with the calls of a provider that hung before: with
// more, a provider that hangs in many checks would reach the time limit of go
// test, which prints none of the reports.
const hastyCall = time.Second

// after is the patience with the checks that follow one that ended in out.
func (p patience) after(out outcome) patience {
	if out.hung {
		p.call = min(p.call, hastyCall)
	}
	return p
}

// trial runs one check on a goroutine of its own, so that a check that hangs,
// panics or fails half way ends in a report. The goroutine of the test stays
// free to run what must run there: the functions of the Harness.
type trial struct {
	t      testing.TB
	ctx    context.Context
	cancel context.CancelFunc
	calls  *callLog

	onTest chan func()   // work for the test's goroutine
	over   chan struct{} // closed when nobody serves onTest any more

	mu        sync.Mutex // guards what follows
	failed    bool
	expected  string
	got       string
	absent    string
	unclaimed []string
	cleanups  []func()
}

func newTrial(t testing.TB) *trial {
	ctx, cancel := context.WithCancel(context.Background())
	return &trial{t: t, ctx: ctx, cancel: cancel, calls: &callLog{}, onTest: make(chan func()), over: make(chan struct{})}
}

// run runs check to its end, or until the patience is over.
func (tr *trial) run(statement, id string, check func(), patience patience) outcome {
	defer tr.cancel()
	defer close(tr.over)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer tr.runCleanups()
		defer tr.catch()
		check()
	}()
	tick := time.NewTicker(min(patience.call/4, 250*time.Millisecond))
	defer tick.Stop()
	deadline := time.Now().Add(patience.check)
	for {
		select {
		case f := <-tr.onTest:
			f()
		case <-done:
			return tr.outcome(id, statement)
		case now := <-tick.C:
			if call, since := tr.calls.oldestRunning(); call != "" && now.Sub(since) > patience.call {
				tr.fail("every call returns", fmt.Sprintf("%s has not returned after %v", call, patience.call))
			} else if now.After(deadline) {
				tr.fail("the check ends", fmt.Sprintf("it has not ended after %v", patience.check))
			} else {
				continue
			}
			out := tr.outcome(id, statement)
			out.hung = true
			return out
		}
	}
}

// catch turns a panic into a failure.
func (tr *trial) catch() {
	r := recover()
	if r == nil {
		return
	}
	tr.fail("no panic", fmt.Sprintf("panic: %v%s", r, panicSite()))
}

// panicSite names the function that panicked, seen from a deferred call.
func panicSite() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicked := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf(" in %s, line %d", frame.Function, frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic" || frame.Function == "runtime.sigpanic"
		if !more {
			return ""
		}
	}
}

func (tr *trial) outcome(id, statement string) outcome {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	switch {
	case tr.failed:
		return outcome{verdict: fails, report: report(id, statement, tr.calls.lines(), tr.expected, tr.got), expected: tr.expected, got: tr.got}
	case tr.absent != "":
		return outcome{verdict: notApplicable, reason: tr.absent, unclaimed: tr.unclaimed}
	}
	return outcome{verdict: holds, unclaimed: tr.unclaimed}
}

// report is all that a failing requirement prints.
func report(id, statement string, calls []string, expected, got string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", id, statement)
	if len(calls) > 0 {
		b.WriteString("calls:\n")
		for _, line := range calls {
			fmt.Fprintf(&b, "\t%s\n", line)
		}
	}
	indent := strings.NewReplacer("\n", "\n          ")
	fmt.Fprintf(&b, "expected: %s\n", indent.Replace(expected))
	fmt.Fprintf(&b, "got:      %s", indent.Replace(got))
	return b.String()
}

// fail records the first failure.
func (tr *trial) fail(expected, got string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if !tr.failed {
		tr.failed, tr.expected, tr.got = true, expected, got
		tr.calls.freeze()
	}
}

// stop ends the goroutine that calls it; a deferred function still runs.
func (tr *trial) stop() { runtime.Goexit() }

// failNow records a failure and ends the goroutine.
func (tr *trial) failNow(expected, got string) {
	tr.fail(expected, got)
	tr.stop()
}

// skip ends the check as not applicable.
func (tr *trial) skip(reason string) {
	tr.mu.Lock()
	tr.absent = reason
	tr.mu.Unlock()
	tr.stop()
}

// hasFailed reports whether a failure is recorded.
func (tr *trial) hasFailed() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.failed
}

// note records a promise that holds without being claimed.
func (tr *trial) note(text string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.unclaimed = append(tr.unclaimed, text)
}

// cleanup runs f when the check has ended, however it ended.
func (tr *trial) cleanup(f func()) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.cleanups = append(tr.cleanups, f)
}

func (tr *trial) runCleanups() {
	tr.mu.Lock()
	cleanups := tr.cleanups
	tr.cleanups = nil
	tr.mu.Unlock()
	for i := len(cleanups) - 1; i >= 0; i-- {
		func() {
			defer tr.catch()
			cleanups[i]()
		}()
	}
}

// test runs f on the goroutine of the test, where a testing.TB may be failed.
func (tr *trial) test(f func(t testing.TB)) {
	done := make(chan struct{})
	select {
	case tr.onTest <- func() { defer close(done); f(tr.t) }:
	case <-tr.over:
		tr.stop()
	}
	select {
	case <-done:
	case <-tr.over:
		tr.stop()
	}
}

// parallel runs f(0) to f(n-1) at the same time and waits for all of them; if
// one fails, the check ends.
func (tr *trial) parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			defer tr.catch()
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
	if tr.hasFailed() {
		tr.stop()
	}
}
