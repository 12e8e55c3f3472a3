package namespace

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"/workspace/src/x.go":  "/workspace/src/x.go",
		"a b é 日本 '\"' \ufffd": "a b é 日本 '\"' \ufffd",
		"a\nFAKE LOG LINE":     `"a\nFAKE LOG LINE"`,
		"a\x1b[2Jb":            `"a\x1b[2Jb"`,
		"a\u202eb":             `"a\u202eb"`,
		"a\u2028b\u2029":       `"a\u2028b\u2029"`,
		"a\u200bb":             `"a\u200bb"`,
		"a\u034fb":             `"a\u034fb"`,
		"a\ufe0fb":             `"a\ufe0fb"`,
		"a\U000e0041b":         `"a\U000e0041b"`,
		"a\xffb":               `"a\xffb"`,
		"a\\b":                 `"a\\b"`,
		"\"a\"":                `"\"a\""`,
		"a\u00a0b":             `"a\u00a0b"`,
		"it's\n":               `"it's\n"`,
		"a\u0085":              `"a\u0085"`,
		"\x00":                 `"\x00"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%+q) = %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{strings.Repeat("x", MaxQuoted), strings.Repeat("x", MaxQuoted+1), strings.Repeat("\n", MaxQuoted), strings.Repeat("\U000e0041", 1000), strings.Repeat("é\x00", 5000)} {
		got := Quote(in)
		if len(got) > MaxQuoted || len(got) < MaxQuoted-16 {
			t.Errorf("Quote of %d bytes has %d", len(in), len(got))
		}
		checkQuoted(t, in, got)
	}
	if got := testing.AllocsPerRun(100, func() { Quote("/workspace/src/é.go") }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// checkQuoted checks what Quote promises of any text.
func checkQuoted(t *testing.T, in, got string) {
	t.Helper()
	if len(got) > MaxQuoted || !utf8.ValidString(got) {
		t.Errorf("Quote(%+q) = %+q", in, got)
	}
	for _, r := range got {
		if unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || ignorable(r) || isBidi(r) || !unicode.IsPrint(r) {
			t.Errorf("Quote(%+q) holds %U", in, r)
		}
	}
	if got != in && !strings.HasSuffix(got, cutMark) {
		if back, err := strconv.Unquote(got); err != nil || back != in {
			t.Errorf("Quote(%+q) = %s, which reads as %+q, %v", in, got, back, err)
		}
	}
}
