package namespace

import (
	"strings"
	"unicode"
)

// MountName turns a label that people chose into an element of an agent root:
// lower case, letters and digits kept, every run of anything else one hyphen,
// none at the ends. Nothing left is "workspace". Letters that render as nothing
// count as anything else. It does not shorten: a root that becomes too long is
// an error of [FromGrants].
func MountName(label string) string {
	var name strings.Builder
	gap := false
	for _, r := range label {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || ignorable(r) {
			gap = true
			continue
		}
		if gap && name.Len() > 0 {
			name.WriteByte('-')
		}
		gap = false
		name.WriteRune(unicode.ToLower(r))
	}
	if name.Len() == 0 {
		return rootName
	}
	return name.String()
}
