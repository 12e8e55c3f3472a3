// Package conformance states what a [provider.Provider] must do, as named
// requirements, and tests them: [Run] for providers, [RunFs] for anything that
// says it is an [afero.Fs]. [Fuzz] and [Bench] use the same [Harness].
//
// A provider's test is one function:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			New: func(t testing.TB) provider.Provider { return mystore.New() },
//		})
//	}
//
// # Requirements
//
// Each requirement has an ID (its group and a few words), a statement and one
// check, and runs as a subtest named by its ID. A failing one prints the
// statement, the calls that led to the failure, what was expected and what came,
// and nothing else. REQUIREMENTS.md in this directory is the list; MUTANTS.md
// shows, for each of a set of one-change faults, the requirement that finds it.
//
// # What applies
//
// Requirements apply by [provider.Features] and by what the Harness offers: a
// provider that does not claim Write is only read, one whose Harness has no way
// to plant links is not tested for them. Everything that does not apply is
// counted at the end, with the reason. A claim that does not hold fails; a
// promise that holds without being claimed is reported at the end.
//
// # Known deviations
//
// [Harness.Known] names requirements that a provider is known to miss, with the
// reason. They are strict: one that holds after all fails the run, as does an ID
// that does not exist, so the list cannot rot.
//
// # Hangs, panics, leaks
//
// A call that does not return fails the requirement and is named; so is one that
// panics. Every error that any call returns is searched for paths of the host.
// Goroutines and descriptors are counted where the platform can count them.
package conformance
