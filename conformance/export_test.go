package conformance

import (
	"testing"
	"time"

	"github.com/spf13/afero"
)

// Examined is the outcome of one requirement, for tests of the suite itself.
type Examined struct {
	Fails, NotApplicable, Hung    bool
	Report, Expected, Got, Reason string
	Unclaimed                     []string
}

// Examine runs one requirement without failing t when it does not hold.
func Examine(t testing.TB, h Harness, id string, call time.Duration) Examined {
	t.Helper()
	for _, r := range requirements() {
		if r.id == id {
			return examined(examine(t, h, r, patience{call: call, check: 10 * call}))
		}
	}
	t.Fatalf("no requirement %q", id)
	return Examined{}
}

func examined(out outcome) Examined {
	return Examined{
		Fails: out.verdict == fails, NotApplicable: out.verdict == notApplicable, Hung: out.hung,
		Report: out.report, Expected: out.expected, Got: out.got, Reason: out.reason, Unclaimed: out.unclaimed,
	}
}

// CallPatience is how long a call may take after a check that hung, or did not.
func CallPatience(hung bool) time.Duration {
	return ordinaryPatience.after(outcome{hung: hung}).call
}

// ExamineFs runs one requirement of RunFs without failing t when it does not
// hold.
func ExamineFs(t testing.TB, newFs func(testing.TB) afero.Fs, id string) Examined {
	t.Helper()
	for _, r := range fsRequirements() {
		if r.id == id {
			return examined(examineFs(t, newFs, r, ordinaryPatience))
		}
	}
	t.Fatalf("no requirement %q", id)
	return Examined{}
}

// Shrunk plays a script and returns the report and the script that is left.
func Shrunk(t testing.TB, h Harness, script string) (report, short string) {
	t.Helper()
	steps, err := parseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	out := play(t, h, steps)
	if out.verdict != fails {
		return "", ""
	}
	left, out := shrink(steps, out, func(steps []step) outcome { return play(t, h, steps) })
	return out.report, renderScript(left)
}

// ReplayOutcome is Replay without failing t.
func ReplayOutcome(t testing.TB, h Harness, script string) Examined {
	t.Helper()
	steps, err := parseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	return examined(play(t, h, steps))
}
