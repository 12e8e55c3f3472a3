package main

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n")
}

// blocks are the fenced blocks of a language in a document.
func blocks(text, language string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^( *)```"+language+"\n(.*?)^ *```$").FindAllStringSubmatch(text, -1) {
		var b strings.Builder
		for line := range strings.Lines(m[2]) {
			b.WriteString(strings.TrimPrefix(line, m[1]))
		}
		found = append(found, b.String())
	}
	return found
}

// The first example is a test that runs, it is short, and all Go in the README
// is formatted.
func TestReadmeExample(t *testing.T) {
	code := blocks(readFile(t, "README.md"), "go")
	if len(code) == 0 {
		t.Fatal("no Go in the README")
	}
	if n := strings.Count(code[0], "\n"); n > 15 {
		t.Errorf("the example has %d lines", n)
	}
	tested := readFile(t, "policyfs/example_readme_test.go")
	if body := strings.TrimSuffix(code[0], "}\n"); !strings.Contains(tested, body) {
		t.Error("the example of the README is not that of policyfs/example_readme_test.go")
	}
	for _, block := range code {
		formatted, err := format.Source([]byte(block))
		if err != nil || string(formatted) != block {
			t.Errorf("not formatted (%v):\n%s", err, block)
		}
	}
}

// The two commands of the README work, and CI runs the second.
func TestReadmeCommands(t *testing.T) {
	readme := readFile(t, "README.md")
	_, section, _ := strings.Cut(readme, "\n## Two commands\n")
	commands := blocks(section, "sh")
	if len(commands) < 2 {
		t.Fatal("the README does not name two commands")
	}
	first, second := strings.TrimSpace(commands[0]), strings.TrimSpace(commands[1])
	if !slices.Contains(strings.Split(readFile(t, ".ci/run"), "\n"), second) {
		t.Errorf(".ci/run does not run %q", second)
	}
	if first != "go run ./cmd/workspacefs grep --root . 'func New'" {
		t.Fatalf("the first command is %q", first)
	}
	cmd := exec.Command("go", "run", "./cmd/workspacefs", "grep", "--root", ".", "func New")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	matches := 0
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "func New") || strings.HasPrefix(line, ".git") {
			t.Errorf("unexpected line %q", line)
		}
		matches++
	}
	if matches < 3 || !strings.Contains(string(out), "policyfs/fs.go:") {
		t.Errorf("%d matches:\n%s", matches, out)
	}
}

// Links between the documents lead somewhere.
func TestDocumentLinks(t *testing.T) {
	for _, doc := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readFile(t, doc), -1) {
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
}

// Figures that the README takes from generated documents are theirs.
func TestReadmeFigures(t *testing.T) {
	readme := strings.Join(strings.Fields(readFile(t, "README.md")), " ")
	score := regexp.MustCompile(`(?m)^(\d+) mutants, (\d+) killed`).FindStringSubmatch(readFile(t, "conformance/MUTANTS.md"))
	if score == nil || !strings.Contains(readme, "of "+score[1]+" mutants "+score[2]+" are killed") {
		t.Errorf("the README does not give the detection score %v", score)
	}
	all := regexp.MustCompile(`(?m)^\| \*\*all\*\* (.*)$`).FindString(readFile(t, "conformance/COMPARISON.md"))
	counts := regexp.MustCompile(`(\d+) of (\d+)`).FindAllStringSubmatch(all, -1) // policyfs twice, OsFs, BasePathFs, MemMapFs
	if len(counts) != 5 {
		t.Fatalf("the comparison counts %v", counts)
	}
	total := counts[0][2]
	for i := range 3 {
		if counts[i][1] != total {
			t.Errorf("column %d of the comparison misses some of %s: the README says all", i, total)
		}
	}
	for _, want := range []string{"for " + total + " rules", counts[3][1] + " for `BasePathFs`", counts[4][1] + " for `MemMapFs`"} {
		if !strings.Contains(readme, want) {
			t.Errorf("the README does not say %q", want)
		}
	}
}
