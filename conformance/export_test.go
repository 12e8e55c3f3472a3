package conformance

import (
	"testing"
	"time"

	"github.com/spf13/afero"
)

// Examined is the outcome of one requirement, for tests of the suite itself.
type Examined struct {
	Fails, NotApplicable          bool
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
		Fails: out.verdict == fails, NotApplicable: out.verdict == notApplicable,
		Report: out.report, Expected: out.expected, Got: out.got, Reason: out.reason, Unclaimed: out.unclaimed,
	}
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
