package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

// Harness tells the suite how to get at a provider. Only New (or, for storage
// that cannot be written, NewWith) is required; every other field makes more
// requirements apply.
type Harness struct {
	// New returns an empty provider that nothing else uses. It registers its
	// cleanup with t.Cleanup; a Close that the suite has already called is no
	// error there. A provider that claims Features.Quota is given limits that
	// the suite can reach: more than 16 MiB and less than 64 MiB of content.
	New func(t testing.TB) provider.Provider
	// NewWith returns a provider holding the given files, whose keys are names
	// in the form of package io/fs and whose parents are implied. It serves
	// storage that cannot be written through the provider, and is used only
	// when New is nil.
	NewWith func(t testing.TB, files map[string]string) provider.Provider
	// Reopen closes p, as far as that is needed, and returns a provider over
	// the same storage, as a process that starts later would.
	Reopen func(t testing.TB, p provider.Provider) provider.Provider
	// HostDir returns the directory of the host that p serves. It lets the
	// suite make links, FIFOs and odd names there, and swap directories while
	// the provider works.
	HostDir func(p provider.Provider) string
	// Plant makes a symbolic link at name. Without it links are made in
	// HostDir.
	Plant func(t testing.TB, p provider.Provider, target string, name provider.Path)
	// Known maps the IDs of requirements that the provider is known to miss to
	// the reason. An unexpected pass fails, and so does an unknown ID. Only a
	// reason that begins with "sometimes" lets the requirement hold as well: a
	// race cannot be lost every time.
	Known map[string]string
}

// Requirement is one published requirement.
type Requirement struct {
	// ID is the group and a few words, "RENAME-over-directory". It is stable:
	// Known lists and bug reports name it.
	ID string
	// Group is the part of ID before the first hyphen.
	Group string
	// Statement says what must hold.
	Statement string
}

// requirement is a Requirement with its check.
type requirement[C any] struct {
	id        string
	statement string
	needs     need
	check     func(C)
}

func (r requirement[C]) published() Requirement {
	group, _, _ := strings.Cut(r.id, "-")
	return Requirement{ID: r.id, Group: group, Statement: r.statement}
}

// Requirements returns what [Run] tests, in its order.
func Requirements() []Requirement { return published(requirements()) }

func published[C any](reqs []requirement[C]) []Requirement {
	list := make([]Requirement, len(reqs))
	for i, r := range reqs {
		list[i] = r.published()
	}
	return list
}

// requirements returns the table of all checks, group by group.
func requirements() []requirement[*probe] {
	return slices.Concat(
		pathRequirements(),
		openRequirements(),
		readRequirements(),
		viewRequirements(),
		writeRequirements(),
		dirRequirements(),
		mkdirRequirements(),
		removeRequirements(),
		renameRequirements(),
		replaceRequirements(),
		attrRequirements(),
		linkRequirements(),
		errRequirements(),
		ctxRequirements(),
		closeRequirements(),
		concRequirements(),
		quotaRequirements(),
		durRequirements(),
		caseRequirements(),
	)
}

// Run tests a provider against every requirement, each in a subtest named by
// its ID.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.New == nil && h.NewWith == nil {
		t.Fatal("conformance: the Harness has neither New nor NewWith")
	}
	runAll(t, h.Known, requirements(), func(t testing.TB, r requirement[*probe], patience patience) outcome {
		return examine(t, h, r, patience)
	})
}

// sometimes begins the reason of a deviation that does not always show.
const sometimes = "sometimes"

// runAll runs reqs in subtests, holds them against known and prints the counts.
func runAll[C any](t *testing.T, known map[string]string, reqs []requirement[C], examine func(testing.TB, requirement[C], patience) outcome) {
	t.Helper()
	for _, id := range unknownIDs(known, reqs) {
		t.Errorf("Known names %q, which is no requirement", id)
	}
	var sum summary
	patience := ordinaryPatience
	for _, r := range reqs {
		t.Run(r.id, func(t *testing.T) {
			t.Helper()
			out := examine(t, r, patience)
			patience = patience.after(out)
			reason, isKnown := known[r.id]
			sum.add(r.id, out, isKnown)
			if failure, skip := rule(r.id, out, reason, isKnown); failure != "" {
				t.Error(failure)
			} else if skip != "" {
				t.Skip(skip)
			}
		})
	}
	if sum.total > 0 {
		t.Log(sum.String())
	}
}

// unknownIDs returns the keys of known that name no requirement.
func unknownIDs[C any](known map[string]string, reqs []requirement[C]) []string {
	left := maps.Clone(known)
	for _, r := range reqs {
		delete(left, r.id)
	}
	return slices.Sorted(maps.Keys(left))
}

// rule says what an outcome means for the test: the text of a failure, or why
// the test is skipped, or neither.
func rule(id string, out outcome, reason string, isKnown bool) (failure, skip string) {
	switch {
	case out.verdict == notApplicable:
		return "", "not applicable: " + out.reason
	case isKnown && out.verdict == holds && !strings.HasPrefix(reason, sometimes):
		return fmt.Sprintf("%s holds, but Known says it does not (%s): remove it there", id, reason), ""
	case isKnown:
		return "", "known: " + reason
	case out.verdict == fails:
		return out.report, ""
	}
	return "", ""
}

// summary counts outcomes.
type summary struct {
	total, holding int
	failing        []string
	known          []string
	absent         map[string][]string // reason -> IDs
	unclaimed      []string
}

func (s *summary) add(id string, out outcome, known bool) {
	s.total++
	s.unclaimed = append(s.unclaimed, out.unclaimed...)
	switch {
	case out.verdict == notApplicable:
		if s.absent == nil {
			s.absent = map[string][]string{}
		}
		s.absent[out.reason] = append(s.absent[out.reason], id)
	case known:
		s.known = append(s.known, id)
	case out.verdict == holds:
		s.holding++
	default:
		s.failing = append(s.failing, id)
	}
}

// maxListed is how many IDs a line of the summary names.
const maxListed = 8

func (s *summary) String() string {
	absent := 0
	for _, ids := range s.absent {
		absent += len(ids)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d requirements: %d hold, %d fail, %d known, %d not applicable", s.total, s.holding, len(s.failing), len(s.known), absent)
	for _, reason := range slices.Sorted(maps.Keys(s.absent)) {
		ids := s.absent[reason]
		if len(ids) > maxListed {
			fmt.Fprintf(&b, "\n\tnot applicable: %s: %d requirements", reason, len(ids))
			continue
		}
		fmt.Fprintf(&b, "\n\tnot applicable: %s: %s", reason, strings.Join(ids, " "))
	}
	if len(s.known) > 0 {
		fmt.Fprintf(&b, "\n\tknown: %s", strings.Join(s.known, " "))
	}
	slices.Sort(s.unclaimed)
	for _, text := range slices.Compact(s.unclaimed) {
		fmt.Fprintf(&b, "\n\tholds without being claimed: %s", text)
	}
	return b.String()
}
