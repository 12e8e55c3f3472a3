package textedit

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	big := strings.Repeat("0123456789abcdef\n", 50<<20/17)
	for _, tc := range []struct {
		name, content string
		edit          Edit
		want          string
		count         int
	}{
		{"plain", "a\nb\nc\n", Edit{Old: "b", New: "x"}, "a\nx\nc\n", 1},
		{"crlf single line", "a\r\nb\r\n", Edit{Old: "b", New: "x"}, "a\r\nx\r\n", 1},
		{"crlf several lines", "a\r\nb\r\nc\r\n", Edit{Old: "a\nb", New: "x\ny\nz"}, "x\r\ny\r\nz\r\nc\r\n", 1},
		{"crlf new lines", "a\r\nb\r\n", Edit{Old: "b", New: "x\ny"}, "a\r\nx\r\ny\r\n", 1},
		{"crlf said exactly", "a\r\nb\r\n", Edit{Old: "a\r\nb", New: "x\r\ny"}, "x\r\ny\r\n", 1},
		{"mixed: exact bytes", "a\r\nb\nc\r\n", Edit{Old: "b\nc", New: "x\ny"}, "a\r\nx\ny\r\n", 1},
		{"mixed: only as crlf", "a\r\nb\nc\r\n", Edit{Old: "a\nb", New: "x\ny"}, "x\r\ny\nc\r\n", 1},
		{"crlf leading line feed", "a\r\nb\r\n", Edit{Old: "\nb", New: "\nx"}, "a\r\nx\r\n", 1},
		{"crlf remove line feed", "a\r\nb\r\n", Edit{Old: "a\n", New: "a"}, "ab\r\n", 1},
		{"bom", "\xef\xbb\xbfa\nb\n", Edit{Old: "a", New: "x"}, "\xef\xbb\xbfx\nb\n", 1},
		{"invalid utf-8", "\xff\xfea\x80b\n\xc3", Edit{Old: "b", New: "x"}, "\xff\xfea\x80x\n\xc3", 1},
		{"empty file", "", Edit{New: "x\n"}, "x\n", 1},
		{"to empty", "x", Edit{Old: "x"}, "", 1},
		{"dollar", "price\n", Edit{Old: "price", New: "$& $1 ${x} \\1 %s"}, "$& $1 ${x} \\1 %s\n", 1},
		{"all", "a a a", Edit{Old: "a", New: "aa", All: true}, "aa aa aa", 3},
		{"all overlapping", "aaa", Edit{Old: "aa", New: "b", All: true}, "ba", 1},
		{"no final line feed", "a\nb", Edit{Old: "b", New: "c"}, "a\nc", 1},
		{"lone cr", "a\rb\rc", Edit{Old: "b", New: "x"}, "a\rx\rc", 1},
		{"nul", "a\x00b", Edit{Old: "b", New: "c"}, "a\x00c", 1},
		{"50 MB", big + "needle\n" + big, Edit{Old: "needle", New: "thread"}, big + "thread\n" + big, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := strings.Clone(tc.content)
			r, err := Apply([]byte(tc.content), tc.edit)
			if err != nil || r.Count != tc.count || string(r.Content) != tc.want {
				t.Fatalf("count %d, error %v, content equal: %v", r.Count, err, string(r.Content) == tc.want)
			}
			if before != tc.content {
				t.Error("the input changed")
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	var absent *AbsentError
	var ambiguous *AmbiguousError
	if _, err := Apply([]byte("a\nb\n"), Edit{Old: "c", New: "x"}); !errors.As(err, &absent) || absent.Near != 0 {
		t.Errorf("absent: %v", err)
	}
	if _, err := Apply([]byte("a\n  b\nd\n"), Edit{Old: "b\nc", New: "x"}); !errors.As(err, &absent) || absent.Near != 2 {
		t.Errorf("absent, near: %v", err)
	}
	if _, err := Apply([]byte("a\nb\na\n"), Edit{Old: "a", New: "x"}); !errors.As(err, &ambiguous) || len(ambiguous.Lines) != 2 || ambiguous.Lines[1] != 3 {
		t.Errorf("ambiguous: %v", err)
	}
	if _, err := Apply([]byte("aaa"), Edit{Old: "aa", New: "x"}); !errors.As(err, &ambiguous) {
		t.Errorf("overlapping: %v", err)
	}
	if _, err := Apply([]byte(strings.Repeat("a\n", 100)), Edit{Old: "a", New: "x"}); !errors.As(err, &ambiguous) || len(ambiguous.Lines) != maxLines || !ambiguous.More {
		t.Errorf("many: %v", err)
	}
	if _, err := Apply([]byte("a"), Edit{New: "x"}); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty: %v", err)
	}
	if _, err := Apply([]byte("a"), Edit{Old: "a", New: "a"}); !errors.Is(err, ErrSame) {
		t.Errorf("same: %v", err)
	}
}

// Every diff, applied by git, must give the edited file.
func TestDiffApplies(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
			t.Fatal("git is missing")
		}
		t.Skip("git is missing: nothing to apply the diffs with")
	}
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	words := []string{"a", "b", "needle", "", "a needle b", "needle needle", "c\r", "é"}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		var content bytes.Buffer
		for range 1 + r.IntN(40) {
			content.WriteString(words[r.IntN(len(words))])
			content.WriteByte('\n')
		}
		content.WriteString([]string{"", "needle", "end"}[r.IntN(3)])
		e := Edit{Old: []string{"needle", "needle\n", "\n", "a\n"}[r.IntN(4)], New: []string{"", "thread", "x\ny", "x\n", "\n"}[r.IntN(5)], All: true}
		res, err := Apply(content.Bytes(), e)
		if err != nil {
			continue
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, content.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(git, "apply", "-p0", "--whitespace=nowarn", "--unidiff-zero", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(res.Diff("f"))
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, res.Content) {
			t.Fatalf("seed %d, edit %+v: %v %s\ncontent %q\ndiff\n%s\ngot  %q\nwant %q", seed, e, err, out, content.Bytes(), res.Diff("f"), got, res.Content)
		}
	}
}
