package advice

import (
	"slices"
	"strconv"

	"github.com/workspacefs/workspacefs/policyfs"
)

// maxScopes bounds the search for the one scope that denies: advice is made
// while somebody waits for an answer.
const maxScopes = 1000

// A change is one edit of a Spec, with the words for it.
type change struct {
	text  string
	apply func(*policyfs.Spec)
}

// changesFor finds a minimal set of edits after which spec allows req, as words;
// nil when no set of these edits does. Scopes are proposed as narrow as the path
// itself.
func changesFor(spec policyfs.Spec, req policyfs.Request) []string {
	all := candidates(spec, req)
	if !allowed(spec, all, req) {
		return nil
	}
	for i := 0; i < len(all); {
		fewer := slices.Delete(slices.Clone(all), i, i+1)
		if allowed(spec, fewer, req) {
			all = fewer
		} else {
			i++
		}
	}
	var texts []string
	for _, c := range all {
		texts = append(texts, c.text)
	}
	return texts
}

func allowed(spec policyfs.Spec, changes []change, req policyfs.Request) bool {
	for _, c := range changes {
		c.apply(&spec)
	}
	p, err := policyfs.Compile(spec)
	return err == nil && p.Check(req).Allow
}

// candidates are all edits that could matter, the least welcome first, so that
// the elimination keeps the most harmless that suffice.
func candidates(spec policyfs.Spec, req policyfs.Request) []change {
	path := req.Path.String()
	if path == "" {
		return nil
	}
	quoted := strconv.Quote(path)
	add := func(key string, list func(*policyfs.Spec) *[]string) change {
		return change{"with " + strconv.Quote(key) + ": [" + quoted + "]", func(s *policyfs.Spec) {
			l := list(s)
			*l = append(slices.Clip(*l), path)
		}}
	}
	changes := []change{
		{`with "allow_recursive_delete": true`, func(s *policyfs.Spec) { s.AllowRecursiveDelete = true }},
		add("allow_sensitive", func(s *policyfs.Spec) *[]string { return &s.AllowSensitive }),
		add("allow_hidden", func(s *policyfs.Spec) *[]string { return &s.AllowHidden }),
	}
	for _, key := range []struct {
		name string
		list func(*policyfs.Spec) *[]string
	}{
		{"deny_write", func(s *policyfs.Spec) *[]string { return &s.DenyWrite }},
		{"deny_read", func(s *policyfs.Spec) *[]string { return &s.DenyRead }},
		{"deny_write_component", func(s *policyfs.Spec) *[]string { return &s.DenyWriteComponent }},
	} {
		changes = append(changes, removals(key.name, spec, key.list, req)...)
	}
	return append(changes,
		add("allow_write", func(s *policyfs.Spec) *[]string { return &s.AllowWrite }),
		add("allow_read", func(s *policyfs.Spec) *[]string { return &s.AllowRead }),
	)
}

// removals finds the entries of a deny list that refuse req by themselves.
func removals(key string, spec policyfs.Spec, list func(*policyfs.Spec) *[]string, req policyfs.Request) []change {
	entries := *list(&spec)
	if len(entries) > maxScopes {
		return nil
	}
	var changes []change
	for _, entry := range entries {
		open := policyfs.Spec{
			AllowRead: []string{"/"}, AllowWrite: []string{"/"},
			AllowHidden: []string{"/"}, AllowSensitive: []string{"/"}, AllowRecursiveDelete: true,
		}
		*list(&open) = []string{entry}
		if p, err := policyfs.Compile(open); err != nil || p.Check(req).Allow {
			continue
		}
		changes = append(changes, change{
			"without " + strconv.Quote(entry) + " in " + strconv.Quote(key),
			func(s *policyfs.Spec) {
				l := list(s)
				*l = slices.DeleteFunc(slices.Clone(*l), func(e string) bool { return e == entry })
			},
		})
	}
	return changes
}
