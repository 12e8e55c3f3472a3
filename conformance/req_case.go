package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/workspacefs/workspacefs/provider"
)

func caseRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"CASE-two-spellings-are-two-files", "With Features.CaseSensitive, names that differ in case are different names, in every directory.", needWrite | needCase, caseTwo},
		{"CASE-two-normal-forms-are-two-files", "With Features.CaseSensitive, names that differ in Unicode normalization are different names.", needWrite | needCase, caseNormal},
		{"CASE-rename-changes-the-spelling", "Rename to another spelling of the same name gives the new spelling.", needWrite, caseRename},
		{"CASE-spelling-is-kept", "A listing gives each name as it was spelled when it was made.", needWrite, caseKept},
		{"CASE-folding-storage-has-one-file", "Where two spellings are one file, exclusive creation, listing and removal agree about it.", needWrite, caseFolding},
	}
}

func caseTwo(c *probe) {
	c.build("f=lower", "F=upper", "dir/x=1", "DIR/x=2", "\u017f=long s", "s=s", "\u212a=kelvin", "k=k", "stra\u00dfe=sz", "strasse=ss")
	c.holdsTree(".", "f=lower", "F=upper", "dir/", "dir/x=1", "DIR/", "DIR/x=2", "\u017f=long s", "s=s", "\u212a=kelvin", "k=k", "stra\u00dfe=sz", "strasse=ss")
	c.absent("dir/X")
	c.absent("Dir/x")
	c.ok(c.rename("f", "dir/X"))
	c.holdsTree("dir", "X=lower", "x=1")
	c.ok(c.remove("F"))
	c.absent("F")
}

func caseNormal(c *probe) {
	c.build("caf\u00e9=composed", "cafe\u0301=decomposed")
	c.holdsTree(".", "caf\u00e9=composed", "cafe\u0301=decomposed")
}

func caseRename(c *probe) {
	c.build("readme=text", "dir/f=x")
	c.ok(c.rename("readme", "README"))
	c.ok(c.rename("dir", "Dir"))
	got := names(c.list("."))
	c.expect(slices.Equal(got, []string{"Dir", "README"}), `the names "Dir" and "README"`, "%q", got)
	c.holdsContent("README", "text")
	c.holdsContent("Dir/f", "x")
}

func caseKept(c *probe) {
	want := []string{"MiXeD", "UPPER", "lower", "\u00c9t\u00e9"}
	for _, name := range want {
		_, err := c.replace(name, "x")
		c.ok(err)
	}
	slices.Sort(want)
	got := names(c.list("."))
	c.expect(slices.Equal(got, want), fmt.Sprintf("the names %q", want), "%q", got)
	for _, name := range want {
		_, err := c.replace(name, "again")
		c.ok(err)
	}
	got = names(c.list("."))
	c.expect(slices.Equal(got, want), fmt.Sprintf("the names %q after writing again", want), "%q", got)
}

func caseFolding(c *probe) {
	if c.features.CaseSensitive {
		c.skip("Features.CaseSensitive is true")
	}
	_, err := c.replace("Name", "x")
	c.ok(err)
	if _, err := c.stat("NAME"); err != nil {
		c.note("CaseSensitive (NAME is not Name)")
		return
	}
	c.holdsContent("nAME", "x")
	_, err = c.replaceWith("name", "y", provider.ReplaceOptions{If: provider.IfAbsent()})
	c.fails(err, "Replace with IfAbsent of another spelling", provider.ErrConflict)
	got := names(c.list("."))
	c.expect(len(got) == 1 && strings.EqualFold(got[0], "name"), "one name", "%q", got)
	c.ok(c.remove("NAME"))
	c.holdsTree(".")
}
