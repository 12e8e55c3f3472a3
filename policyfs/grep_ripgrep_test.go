package policyfs_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// need returns the path of a program, or skips the test: loudly, and not at all
// where everything is required.
func need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
			t.Fatalf("%s is required and missing", program)
		}
		t.Skipf("%s is missing: install it (Debian package of that name) to run this comparison", program)
	}
	return path
}

// goSource is the tree that searches are compared on.
func goSource(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	dir := filepath.Join(strings.TrimSpace(string(root)), "src")
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		if os.Getenv("WORKSPACEFS_REQUIRE_ALL") == "1" {
			t.Fatalf("the source of the Go distribution is required and missing")
		}
		t.Skip("the source of the Go distribution is missing")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// everything is a policy that hides nothing.
func everything(t testing.TB) policyfs.Policy {
	t.Helper()
	p, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}, AllowHidden: []string{"/"}, AllowSensitive: []string{"/"}, AllowRecursiveDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// searchFS is a face over a host directory.
func searchFS(t testing.TB, dir string, pol policyfs.Policy) *policyfs.FS {
	t.Helper()
	d, err := diskfs.Open(dir, diskfs.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return policyfs.New(namespace.Workspace(d), policyfs.Options{Policy: pol, MaxWalk: 10_000_000})
}

// ripgrep runs rg and returns "path:line:column:" and the text of each matching
// line, in the order of the paths.
func ripgrep(t testing.TB, rg, dir, pattern string, args ...string) []string {
	t.Helper()
	args = append([]string{"--no-config", "--no-ignore", "--hidden", "--no-heading", "--color=never", "-n", "--column", "--text", "-0", "--sort=path", "-j1"}, args...)
	args = append(args, "-e", pattern, "./")
	cmd := exec.Command(rg, args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
			t.Fatalf("rg %q: %v: %s", args, err, errs.Bytes())
		}
	}
	// ripgrep sorts by elements, we sort by bytes.
	files := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if line != "" {
			path, rest, _ := strings.Cut(strings.TrimPrefix(line, "./"), "\x00")
			files[path] = append(files[path], path+":"+rest)
		}
	}
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		lines = append(lines, files[path]...)
	}
	return lines
}

// ours is the same with Grep.
func ours(t testing.TB, f *policyfs.FS, q policyfs.Query, skipped func(string, error)) []string {
	t.Helper()
	q.Skipped = skipped
	q.MaxLineBytes = 1 << 20
	var lines []string
	for m, err := range f.Grep("/", q) {
		if err != nil {
			t.Fatalf("grep %q: %v", q.Pattern, err)
		}
		lines = append(lines, strings.TrimPrefix(m.Path.String(), "/workspace/")+":"+strconv.Itoa(m.Line)+":"+strconv.Itoa(m.Column)+":"+m.Text)
	}
	return lines
}

// patternSource makes patterns within the syntax that RE2 and ripgrep share, most
// of them out of pieces of the text that is searched.
//
// Where the syntaxes differ: ripgrep's \w, \d, \s and \b know Unicode, RE2's know
// ASCII; ripgrep's (?i) is the same for ASCII; ripgrep's "." matches no byte that
// is not UTF-8. So classes are spelled out, and ripgrep is told \b in ASCII.
type patternSource struct {
	r     *rand.Rand
	words []string
	lines []string
}

func newPatternSource(t testing.TB, dir string, seed uint64) *patternSource {
	t.Helper()
	s := &patternSource{r: rand.New(rand.NewPCG(seed, 3))}
	word := regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)
	for _, name := range []string{"fmt/print.go", "net/http/server.go", "runtime/proc.go", "go/ast/ast.go", "unicode/tables.go", "cmd/go/main.go"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		s.words = append(s.words, word.FindAllString(string(text), 4000)...)
		for line := range strings.SplitSeq(string(text), "\n") {
			if len(line) > 10 && len(line) < 80 {
				s.lines = append(s.lines, line)
			}
		}
	}
	return s
}

func (s *patternSource) word() string {
	w := s.words[s.r.IntN(len(s.words))]
	if s.r.IntN(3) == 0 {
		i := s.r.IntN(len(w) - 2)
		w = w[i:min(len(w), i+3+s.r.IntN(5))]
	}
	return w
}

// query returns a query and the arguments that ripgrep needs for the same.
func (s *patternSource) query() (q policyfs.Query, args []string) {
	w := s.word
	class := func() string {
		return []string{"[a-z]", "[A-Z]", "[0-9]", "[a-zA-Z0-9_]", "[^a-z]", `[ \t]`, "[aeiou]", "."}[s.r.IntN(8)]
	}
	times := func() string { return []string{"+", "*", "?", "{2}", "{1,3}", "{3,}"}[s.r.IntN(6)] }
	kind := s.r.IntN(14)
	switch kind {
	case 0, 1:
		q.Pattern = w()
	case 2:
		q.Pattern, q.Literal = s.lines[s.r.IntN(len(s.lines))], true
		i := s.r.IntN(len(q.Pattern) - 4)
		q.Pattern = q.Pattern[i : i+4+s.r.IntN(len(q.Pattern)-i-3)]
		args = append(args, "-F")
	case 3:
		q.Pattern = w() + "|" + w()
	case 4:
		q.Pattern = w() + "|" + w() + "|" + w() + "|" + w() + "|" + w()
	case 5:
		q.Pattern = class() + times() + w()
	case 6:
		q.Pattern = w() + class() + times() + w()
	case 7:
		q.Pattern = `\b` + w() + `\b`
	case 8:
		q.Pattern = "^" + `[ \t]*` + w()
	case 9:
		q.Pattern = regexp.QuoteMeta(w()) + class() + "$"
	case 10:
		q.Pattern = "(" + w() + "|" + w() + ")" + class() + times()
	case 11:
		q.Pattern = class() + "{4}" + class() + times() + class() + "{3}"
	case 12:
		q.Pattern = "[A-Z][a-z]{" + strconv.Itoa(5+s.r.IntN(9)) + "}[A-Z]"
	case 13:
		q.Pattern = w() + ".*" + w()
	}
	if kind < 11 && s.r.IntN(4) == 0 && !regexp.MustCompile(`[ks]`).MatchString(strings.ToLower(q.Pattern)) {
		q.IgnoreCase = true
		args = append(args, "-i")
	}
	return q, args
}

// TestGrepEqualsRipgrep: the same lines, columns, texts and order, over the source
// of the Go distribution, for patterns generated anew each time. Every other pattern
// is searched under a policy that denies a part of the tree; then what ripgrep finds
// there is left out.
func TestGrepEqualsRipgrep(t *testing.T) {
	rg, dir := need(t, "rg"), goSource(t)
	open := searchFS(t, dir, everything(t))
	denies := compile(t, policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"net", "cmd/compile/internal", "fmt/print.go"}})
	narrow := searchFS(t, dir, denies)
	denied := map[string]bool{} // what ripgrep has found there
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newPatternSource(t, dir, seed)
	count, budget := 100, 4*time.Second
	switch {
	case os.Getenv("WORKSPACEFS_LONG") == "1":
		count, budget = 500, time.Hour
	case testing.Short():
		count = 10
	}
	// Not compared: files we call binary, and those with a CRLF, whose CR ripgrep
	// takes for a part of the line and we drop.
	crlf := map[string]bool{}
	for _, line := range ripgrep(t, rg, dir, `\r$`) {
		path, _, _ := strings.Cut(line, ":")
		crlf[path] = true
	}
	begin := time.Now()
	lines, narrowed := 0, 0
	for i := range count {
		if time.Since(begin) > budget && os.Getenv("WORKSPACEFS_REQUIRE_ALL") != "1" {
			t.Logf("stopped after %d of %d patterns and %v: the machine is slow", i, count, budget)
			break
		}
		q, args := s.query()
		left := maps.Clone(crlf)
		f := open
		if i%2 == 1 {
			f = narrow
			narrowed++
		}
		got := ours(t, f, q, func(name string, err error) {
			if err != policyfs.ErrBinary {
				t.Errorf("%s: %v", name, err)
			}
			left[strings.TrimPrefix(name, "/workspace/")] = true
		})
		leave := func(line string) bool {
			path, _, _ := strings.Cut(line, ":")
			return left[path] || !utf8.ValidString(line)
		}
		refused := func(line string) bool {
			path, _, _ := strings.Cut(line, ":")
			hidden := f == narrow && !denies.Check(policyfs.Request{Op: policyfs.OpRead, Path: namespace.MustParse("/" + path)}).Allow
			if hidden {
				denied[path] = true
			}
			return hidden
		}
		got = slices.DeleteFunc(got, leave)
		var want []string
		for _, line := range ripgrep(t, rg, dir, strings.ReplaceAll(q.Pattern, `\b`, `(?-u:\b)`), args...) {
			if !leave(line) && !refused(line) {
				want = append(want, line)
			}
		}
		lines += len(want)
		if msg := firstDifference(got, want); msg != "" {
			t.Fatalf("pattern %q (literal %v, ignore case %v): %s", q.Pattern, q.Literal, q.IgnoreCase, msg)
		}
	}
	t.Logf("%d lines compared; %d files with matches were denied", lines, len(denied))
	if len(denied) == 0 && narrowed > 10 {
		t.Error("ripgrep has found nothing in what is denied: the comparison says nothing about the policy")
	}
}

// firstDifference says where two lists differ, or "".
func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if cut, ok := strings.CutSuffix(g, "…"); ok && len(cut) > 1<<19 && strings.HasPrefix(w, cut) {
			continue // a line over Query.MaxLineBytes
		}
		if g != w {
			return fmt.Sprintf("%d lines against %d, the first difference at %d:\n got %.200q\nwant %.200q", len(got), len(want), i, g, w)
		}
	}
	return ""
}

// loadTree copies a host tree into memory.
func loadTree(t testing.TB, dir string) *memfs.FS {
	t.Helper()
	m := memfs.New(memfs.Options{})
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		name, err := provider.ParsePath(filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		if d.IsDir() {
			return m.Mkdir(t.Context(), name, 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return provider.WriteFile(t.Context(), m, name, data, 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
