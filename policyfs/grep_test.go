package policyfs_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// grepVector is one case of testdata/grep.json. What belongs to the system it
// comes from (byte budgets, paging, merging of results) is left out.
type grepVector struct {
	Name        string
	Kind        string
	Query       string
	QueryRepeat []any             `json:"query_repeat"`
	Files       map[string]string `json:"files"`
	FilesHex    map[string]string `json:"files_hex"`
	FilesRepeat map[string][]any  `json:"files_repeat"`
	Options     struct {
		Before, After, Limit int
		Offset               int64
		PathPattern          string `json:"path_pattern"`
	}
	Expect struct {
		Total   int `json:"total_matches"`
		Matches []struct {
			Path string
			Line int    `json:"line_number"`
			Text string `json:"line"`
		}
		Blocks []struct {
			Path  string
			Lines []struct {
				Line  int    `json:"line_number"`
				Text  string `json:"line"`
				Match bool   `json:"is_match"`
			}
		}
	}
	ExpectTotal *int            `json:"expect_total"`
	ExpectPaths json.RawMessage `json:"expect_paths"`
	NeverOpened []string        `json:"never_opened"`
	Policy      struct {
		Preset  string
		Builder [][]string
	}
}

// spec translates the policy of a vector.
func (v *grepVector) policy(t *testing.T) policyfs.Policy {
	if v.Policy.Preset == "read_only" {
		return policyfs.ReadOnly()
	}
	var s policyfs.Spec
	for _, step := range v.Policy.Builder {
		to := map[string]*[]string{"allow_read": &s.AllowRead, "allow_write": &s.AllowWrite, "deny_read": &s.DenyRead, "allow_sensitive": &s.AllowSensitive}[step[0]]
		if to == nil {
			t.Fatalf("unknown verb %q", step[0])
		}
		*to = append(*to, step[1:]...)
	}
	return compile(t, s)
}

func TestGrepVectors(t *testing.T) {
	data, err := os.ReadFile("testdata/grep.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, raw := range file.Cases {
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind == "merge" || head.Kind == "generated_blocks" {
			continue // results of other searches, and a byte budget
		}
		var v grepVector
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		for _, kind := range boxKinds {
			t.Run(v.Name+"/"+kind, func(t *testing.T) { v.run(t, kind) })
		}
		ran++
	}
	t.Logf("%d of %d cases", ran, len(file.Cases))
}

func (v *grepVector) run(t *testing.T, kind string) {
	b := newBox(t, kind)
	for name, text := range v.Files {
		b.file("W"+name, text)
	}
	for name, text := range v.FilesHex {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		b.file("W"+name, string(raw))
	}
	for name, rep := range v.FilesRepeat {
		b.file("W"+name, strings.Repeat(rep[0].(string), int(rep[1].(float64))))
	}
	b.open()
	pol := policyfs.Policy(policyfs.ReadOnly())
	if v.Kind == "policy_search" {
		pol = v.policy(t)
	}
	s := newSpy(b.w)
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: pol})
	q := policyfs.Query{Pattern: v.Query, Before: v.Options.Before, After: v.Options.After, MaxFileBytes: 512 << 10}
	if v.QueryRepeat != nil {
		q.Pattern = strings.Repeat(v.QueryRepeat[0].(string), int(v.QueryRepeat[1].(float64)))
	}
	if v.Options.PathPattern != "" {
		q.Include = []string{v.Options.PathPattern}
	}
	var lines, matches []policyfs.Match
	var failed error
	for m, err := range f.Grep("/", q) {
		if err != nil {
			failed = err
			break
		}
		lines = append(lines, m)
		if !m.Context {
			matches = append(matches, m)
		}
	}
	name := func(m policyfs.Match) string { return strings.TrimPrefix(m.Path.String(), "/workspace") }
	if v.Kind == "error" {
		calls, _ := s.take()
		if !errors.Is(failed, fs.ErrInvalid) || len(calls) > 0 {
			t.Errorf("%v, after %v", failed, calls)
		}
		return
	}
	if string(v.ExpectPaths) == `"error"` {
		if !errors.Is(failed, fs.ErrPermission) {
			t.Errorf("%v, want a refusal", failed)
		}
		return
	}
	if failed != nil {
		t.Fatal(failed)
	}
	if v.ExpectTotal != nil && len(matches) != *v.ExpectTotal {
		t.Errorf("%d matches, want %d", len(matches), *v.ExpectTotal)
	}
	if v.Kind == "search" {
		if len(matches) != v.Expect.Total {
			t.Errorf("%d matches, want %d", len(matches), v.Expect.Total)
		}
		page := matches[min(v.Options.Offset, int64(len(matches))):]
		for i, want := range v.Expect.Matches {
			if i >= len(page) || name(page[i]) != want.Path || page[i].Line != want.Line || page[i].Text != want.Text {
				t.Errorf("match %d of %v, want %+v", i, page, want)
			}
		}
		i := 0
		for _, block := range v.Expect.Blocks {
			for _, want := range block.Lines {
				// A match that the page skips is context there and a match here.
				if i >= len(lines) || name(lines[i]) != block.Path || lines[i].Line != want.Line || lines[i].Text != want.Text || want.Match && lines[i].Context {
					t.Fatalf("line %d of %v, want %s %+v", i, lines, block.Path, want)
				}
				i++
			}
		}
		if len(v.Expect.Blocks) > 0 && i != len(lines) {
			t.Errorf("%d lines, want %d", len(lines), i)
		}
	}
	if v.ExpectPaths != nil {
		var want []string
		if err := json.Unmarshal(v.ExpectPaths, &want); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range matches {
			got = append(got, name(m))
		}
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("paths %q, want %q", got, want)
		}
	}
	_, paths := s.take()
	for _, p := range v.NeverOpened {
		if paths[provider.MustPath(strings.TrimPrefix(p, "/"))] {
			t.Errorf("the provider was asked for %s", p)
		}
	}
}

// matchText is a Match in one line: ">" marks a match.
func matchText(m policyfs.Match) string {
	mark := " "
	if !m.Context {
		mark = ">"
	}
	return fmt.Sprintf("%s%s:%d:%d@%d %s", mark, m.Path.Base(), m.Line, m.Column, m.Offset, m.Text)
}

func grepText(t testing.TB, f *policyfs.FS, root string, q policyfs.Query) string {
	t.Helper()
	var out []string
	for m, err := range f.Grep(root, q) {
		if err != nil {
			return err.Error()
		}
		out = append(out, matchText(m))
	}
	return strings.Join(out, "|")
}

func TestGrepTable(t *testing.T) {
	tr := tree{"a": "hit 1\nx\ny\nhit 2\nz\nhit 3\nw\n", "b": "no\nhit b", "sub/c.go": "hit c\r\nHIT C\r\n", "sub/d.txt": "a hit d\n", ".agents/x": "other"}
	f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: policyfs.ReadOnly()})
	for _, c := range []struct {
		root string
		q    policyfs.Query
		want string
	}{
		{"/", policyfs.Query{Pattern: "hit"}, ">a:1:1@0 hit 1|>a:4:1@10 hit 2|>a:6:1@18 hit 3|>b:2:1@3 hit b|>c.go:1:1@0 hit c|>d.txt:1:3@0 a hit d"},
		{"/sub", policyfs.Query{Pattern: "HIT", IgnoreCase: true}, ">c.go:1:1@0 hit c|>c.go:2:1@7 HIT C|>d.txt:1:3@0 a hit d"},
		{"/a", policyfs.Query{Pattern: "hit", MaxMatches: 1}, ">a:1:1@0 hit 1"},
		{"/a", policyfs.Query{Pattern: "hit", MaxMatches: 2, After: 1}, ">a:1:1@0 hit 1| a:2:0@6 x|>a:4:1@10 hit 2| a:5:0@16 z"},
		{"/a", policyfs.Query{Pattern: "hit", MaxMatches: 2, After: 2}, ">a:1:1@0 hit 1| a:2:0@6 x| a:3:0@8 y|>a:4:1@10 hit 2| a:5:0@16 z| a:6:0@18 hit 3"},
		{"/a", policyfs.Query{Pattern: "hit 2", Before: 1, After: 1}, " a:3:0@8 y|>a:4:1@10 hit 2| a:5:0@16 z"},
		{"/", policyfs.Query{Pattern: "hit", MaxMatches: 4, After: 5}, ">a:1:1@0 hit 1| a:2:0@6 x| a:3:0@8 y|>a:4:1@10 hit 2| a:5:0@16 z|>a:6:1@18 hit 3| a:7:0@24 w|>b:2:1@3 hit b"},
		{"/", policyfs.Query{Pattern: "hit", Include: []string{"*.go"}}, ">c.go:1:1@0 hit c"},
		{"/", policyfs.Query{Pattern: "hit", Include: []string{"sub/*"}}, ">c.go:1:1@0 hit c|>d.txt:1:3@0 a hit d"},
		{"/", policyfs.Query{Pattern: "hit", Include: []string{"/sub/*.{go,txt}"}, Exclude: []string{"*.go"}}, ">d.txt:1:3@0 a hit d"},
		{"/", policyfs.Query{Pattern: "hit", Exclude: []string{"sub", "a"}}, ">b:2:1@3 hit b"},
		{"/", policyfs.Query{Pattern: "hit", Exclude: []string{"**/*.*"}, Include: []string{"**"}, MaxMatches: 1}, ">a:1:1@0 hit 1"},
		{"/", policyfs.Query{Pattern: "hit", Exclude: []string{"sub/", "a/"}}, ">a:1:1@0 hit 1|>a:4:1@10 hit 2|>a:6:1@18 hit 3|>b:2:1@3 hit b"},
		{"/", policyfs.Query{Pattern: "hit", Exclude: []string{"/c.go", "./a", "**/d.*"}}, ">b:2:1@3 hit b|>c.go:1:1@0 hit c"},
		{"/", policyfs.Query{Pattern: "hit", Include: []string{"/b", "/d.txt"}}, ">b:2:1@3 hit b"},
		{"/", policyfs.Query{Pattern: "hit", Include: []string{".*", "./sub/d*"}}, ">d.txt:1:3@0 a hit d"},
		{"/", policyfs.Query{Pattern: "other", Include: []string{".agents/*"}}, ">x:1:1@0 other"},
		{"/", policyfs.Query{Pattern: "other", Exclude: []string{".agents"}}, ""},
		{"/", policyfs.Query{Pattern: "hit", Include: []string{"nothing"}}, ""},
		{"/sub", policyfs.Query{Pattern: "hit", Include: []string{"sub/*"}}, ""},
		{"/sub/c.go", policyfs.Query{Pattern: "hit", Include: []string{"*.txt"}}, ""},
		{"/", policyfs.Query{Pattern: "a hit.d", MaxLineBytes: 3}, ">d.txt:1:1@0 a h…"},
		{"/", policyfs.Query{Pattern: "hit."}, ">a:1:1@0 hit 1|>a:4:1@10 hit 2|>a:6:1@18 hit 3|>b:2:1@3 hit b|>c.go:1:1@0 hit c|>d.txt:1:3@0 a hit d"},
		{"/", policyfs.Query{Pattern: "hit.", Literal: true}, ""},
		{"/b", policyfs.Query{Pattern: ""}, ">b:1:1@0 no|>b:2:1@3 hit b"},
		{"/", policyfs.Query{Pattern: "a", Include: []string{"["}}, "grep /: syntax error in pattern"},
		{"/", policyfs.Query{Pattern: "a", Exclude: []string{strings.Repeat("{a,b}", 7)}}, "grep /: braces stand for more than 64 patterns"},
		{"/", policyfs.Query{Pattern: "a", Before: 1001}, "grep /: context of more than 1000 lines: invalid argument"},
		{"/", policyfs.Query{Pattern: "a", After: -1}, "grep /: context of more than 1000 lines: invalid argument"},
		{"/", policyfs.Query{Pattern: "a", MaxMatches: -1}, "grep /: negative limit: invalid argument"},
		{"/", policyfs.Query{Pattern: "("}, "grep /: error parsing regexp: missing closing ): `(`"},
		{"/", policyfs.Query{Pattern: "(a{1000}){1000}"}, "grep /: error parsing regexp: invalid repeat count: `{1000}`"},
		{"/", policyfs.Query{Pattern: strings.Repeat("x{1000}", 100)}, "grep /: pattern of more than 4096 instructions"},
	} {
		if got := grepText(t, f, c.root, c.q); got != c.want {
			t.Errorf("grep %s %+v:\n got %s\nwant %s", c.root, c.q, got, c.want)
		}
	}
}

func TestGrepSkips(t *testing.T) {
	for _, kind := range boxKinds {
		t.Run(kind, func(t *testing.T) {
			b := newBox(t, kind)
			b.file("W/a.txt", "needle\n")
			b.file("W/bin", "needle\x00")
			b.file("W/big", strings.Repeat("needle\n", 100))
			b.file("W/late-nul", strings.Repeat("needle\n", 2000)+"\x00")
			b.file("W/.env", "needle\x00")
			b.big("W/huge", 64<<20)
			b.link("W/link", "a.txt")
			if kind == "disk" && runtime.GOOS != "windows" {
				hostSpecial(t, "fifo", filepath.Join(b.root, "fifo"))
			}
			b.open()
			f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: policyfs.ReadOnly()})
			var skipped []string
			files := map[string]int{}
			for m, err := range f.Grep("/", policyfs.Query{Pattern: "needle", MaxFileBytes: 20_000, Skipped: func(name string, reason error) {
				skipped = append(skipped, name+" "+reason.Error())
				if name == "/workspace/bin" && reason != policyfs.ErrBinary || name == "/workspace/big" && reason != syscall.EFBIG {
					t.Errorf("%s: %v", name, reason)
				}
			}}) {
				if err != nil {
					t.Fatal(err)
				}
				files[m.Path.Base()]++
			}
			if want := "map[a.txt:1 big:100 late-nul:2000]"; fmt.Sprint(files) != want {
				t.Errorf("%v, want %s", files, want)
			}
			if want := "[/workspace/bin binary file /workspace/huge " + syscall.EFBIG.Error() + "]"; fmt.Sprint(skipped) != want && fmt.Sprint(skipped) != "[/workspace/bin binary file /workspace/huge binary file]" {
				t.Errorf("skipped %v, want %s", skipped, want)
			}
			for _, err := range f.Grep("/link", policyfs.Query{Pattern: "needle"}) {
				if !errors.Is(err, provider.ErrSymlink) {
					t.Errorf("grep of a link: %v", err)
				}
			}
			if kind == "disk" {
				for _, err := range f.Grep("/fifo", policyfs.Query{Pattern: "needle"}) {
					if !errors.Is(err, provider.ErrIrregular) && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("grep of a FIFO: %v", err)
					}
				}
			}
		})
	}
}

// TestGrepLargeFile: a file that is searched in parts has the lines, in order, of
// one that is not.
func TestGrepLargeFile(t *testing.T) {
	old := runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	defer runtime.GOMAXPROCS(old)
	r := rand.New(rand.NewPCG(1, 1))
	var text bytes.Buffer
	var want []string
	size := scale(17<<20, 36<<20, 200<<20)
	for line := 1; text.Len() < size; line++ {
		switch {
		case line%20_011 == 0:
			want = append(want, fmt.Sprintf(">large:%d:3@%d a needle", line, text.Len()))
			text.WriteString("a needle\n")
		case line%50_021 == 0: // longer than a buffer, and than two
			text.WriteString(strings.Repeat("long ", 100_000+r.IntN(400_000)) + "\n")
		default:
			text.WriteString("a line without it\n"[r.IntN(10):])
		}
	}
	m := memfs.New(memfs.Options{})
	if err := provider.WriteFile(t.Context(), m, provider.MustPath("large"), text.Bytes(), 0); err != nil {
		t.Fatal(err)
	}
	c := &counting{Provider: m}
	before := runtime.NumGoroutine()
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: everything(t)})
	for _, pattern := range []string{"needle", "n[e]+dl[a-f]", "(?i)NEEDLE$"} {
		if got := grepText(t, f, "/", policyfs.Query{Pattern: pattern}); got != strings.Join(want, "|") {
			t.Errorf("%s: %s", pattern, firstDifference(strings.Split(got, "|"), want))
		}
	}
	if got := grepText(t, f, "/large", policyfs.Query{Pattern: "needle", MaxMatches: 7}); got != strings.Join(want[:7], "|") {
		t.Errorf("MaxMatches: %s", got)
	}
	if got := strings.Count(grepText(t, f, "/large", policyfs.Query{Pattern: "needle", Before: 2, After: 2}), ">"); got != len(want) {
		t.Errorf("with context: %d matches, want %d", got, len(want))
	}
	noLeak(t, c, before)
}

// TestGrepLargestFile: a file with a hole up to the largest size of all is searched,
// in parts too.
func TestGrepLargestFile(t *testing.T) {
	old := runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	defer runtime.GOMAXPROCS(old)
	m := memfs.New(memfs.Options{})
	f, err := m.Open(t.Context(), provider.MustPath("hole"), provider.OpenOptions{Write: true, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("a line\n", 2000)+"a needle\n"), 0) // no NUL where it would be binary
	if err := errors.Join(err, f.Truncate(math.MaxInt64), f.Close()); err != nil {
		t.Fatal(err)
	}
	face := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: everything(t)})
	if got, want := grepText(t, face, "/", policyfs.Query{Pattern: "needle", MaxMatches: 1, Skipped: func(n string, err error) { t.Errorf("skipped: %v", err) }}), ">hole:2001:3@14000 a needle"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGrepManyMatches: the matches of a large file that has many are right, and stay
// it: what they were handed over in is used again, and what they point to is not.
func TestGrepManyMatches(t *testing.T) {
	old := runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0)))
	defer runtime.GOMAXPROCS(old)
	var text bytes.Buffer
	var want []policyfs.Match
	p := namespace.MustParse("/large")
	for line := 1; text.Len() < 33<<20; line++ {
		body := fmt.Sprintf("a needle in line %d", line)
		if line%7 != 0 {
			body = strings.Repeat("hay ", line%10)
		} else {
			want = append(want, policyfs.Match{Path: p, Name: p.String(), Line: line, Column: 3, Offset: int64(text.Len()), Text: body})
		}
		text.WriteString(body + "\n")
	}
	m := memfs.New(memfs.Options{})
	if err := provider.WriteFile(t.Context(), m, provider.MustPath("large"), text.Bytes(), 0); err != nil {
		t.Fatal(err)
	}
	c := &counting{Provider: m}
	goroutines := runtime.NumGoroutine()
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: everything(t)})
	search := func(most int) (got []policyfs.Match) {
		for m, err := range f.Grep("/", policyfs.Query{Pattern: "needle"}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, m); len(got) == most {
				break
			}
		}
		return got
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := search(0)
	runtime.ReadMemStats(&after)
	if !slices.Equal(got, want) {
		t.Errorf("got %d matches, want %d, or they differ", len(got), len(want))
	}
	if n := after.Mallocs - before.Mallocs; n > uint64(len(want)/10) {
		t.Errorf("%d allocations for %d matches", n, len(want))
	}
	for _, most := range []int{1, 1000, 100_000} {
		if got := search(most); !slices.Equal(got, want[:most]) {
			t.Errorf("the first %d matches differ", most)
		}
	}
	noLeak(t, c, goroutines)
}

// TestGrepLongLine: a line longer than every buffer is searched to its end.
func TestGrepLongLine(t *testing.T) {
	long := strings.Repeat("0123456789", 450_000)
	tr := tree{"f": "first\n" + long + "needle" + long + "\r\nlast\n"}
	f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
	for _, pattern := range []string{"needle", "9n[a-e]+dle0"} {
		column := len(long) + 1
		if pattern != "needle" {
			column--
		}
		want := fmt.Sprintf(" f:1:0@0 first|>f:2:%d@6 0123456…| f:3:0@%d last", column, 6+2*len(long)+8)
		if got := grepText(t, f, "/", policyfs.Query{Pattern: pattern, MaxLineBytes: 7, Before: 1, After: 1}); got != want {
			t.Errorf("%s: got %.200s\nwant %s", pattern, got, want)
		}
	}
	if got := grepText(t, f, "/", policyfs.Query{Pattern: "last|first"}); !strings.HasPrefix(got, ">f:1:1@0 first|>f:3:1@") {
		t.Errorf("got %.200s", got)
	}
	for m, err := range f.Grep("/", policyfs.Query{Pattern: "needle"}) {
		if err != nil || len(m.Text) != 64<<10+len("…") {
			t.Errorf("Text of %d bytes, %v", len(m.Text), err)
		}
	}
}

// shifty is a provider whose files change while they are read.
type shifty struct {
	provider.Provider
	reads atomic.Int64
}

func (p *shifty) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := p.Provider.Open(ctx, name, opts)
	if err != nil || opts.Directory {
		return f, err
	}
	if name.Base() == "vanishes" {
		f.Close()
		return nil, fs.ErrNotExist
	}
	return &shiftyFile{f, p, name.Base()}, nil
}

type shiftyFile struct {
	provider.File
	p    *shifty
	name string
}

func (f *shiftyFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	switch reads := f.p.reads.Add(1); {
	case f.name == "fails" && off > 0:
		return 0, syscall.EIO
	case f.name == "shrinks" && reads%2 == 0:
		return n / 2, io.EOF
	case f.name == "grows" && err == io.EOF && off < 3<<20:
		clear(b)
		return len(b), nil
	}
	return n, err
}

func TestGrepOfChangingFiles(t *testing.T) {
	text := strings.Repeat("some needle here\n", 40_000)
	tr := tree{"a": text, "fails": text, "grows": text, "shrinks": text, "vanishes": text, "z": text}
	for name, p := range withAndWithoutInto(&shifty{Provider: tr.memory(t)}) {
		f := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: everything(t)})
		for _, q := range []policyfs.Query{{Pattern: "needle"}, {Pattern: "n[e]+dle", Before: 1000, After: 1000}} {
			counts := map[string]int{}
			var skipped []string
			q.Skipped = func(name string, err error) { skipped = append(skipped, name+" "+err.Error()) }
			for m, err := range f.Grep("/", q) {
				if err != nil {
					t.Fatal(err)
				}
				if !m.Context {
					counts[m.Path.Base()]++
				}
			}
			if counts["a"] != 40_000 || counts["z"] != 40_000 || counts["vanishes"] != 0 {
				t.Errorf("%s: %v", name, counts)
			}
			if want := "[/workspace/fails input/output error /workspace/vanishes " + syscall.ENOENT.Error() + "]"; fmt.Sprint(skipped) != want {
				t.Errorf("%s: skipped %v, want %s", name, skipped, want)
			}
		}
	}
}

// TestGrepCancellation: a search ends soon after its context, whatever it is at.
func TestGrepCancellation(t *testing.T) {
	// Without a period, so that the automaton meets new states all the time.
	r := rand.New(rand.NewPCG(5, 5))
	text := make([]byte, 8<<20)
	for i := range text {
		text[i] = "abc"[r.IntN(3)]
	}
	m := memfs.New(memfs.Options{})
	if err := provider.WriteFile(t.Context(), m, provider.MustPath("f"), text, 0); err != nil {
		t.Fatal(err)
	}
	lines := bytes.ReplaceAll(text, []byte("bb"), []byte("\n"))
	if err := provider.WriteFile(t.Context(), m, provider.MustPath("g"), lines, 0); err != nil {
		t.Fatal(err)
	}
	c := &counting{Provider: m}
	before := runtime.NumGoroutine()
	f := policyfs.New(namespace.Workspace(c), policyfs.Options{Policy: everything(t)})
	for _, root := range []string{"/f", "/g", "/"} {
		for _, pattern := range []string{"(a|b|c)*a(a|b|c){900}[d-z]", "[a-c]{500}[^a-c]", "(?i)abcabcx", "x$"} {
			best := time.Hour
			for range 5 { // other processes may have the processor
				ctx, cancel := context.WithCancel(t.Context())
				var at time.Time
				timer := time.AfterFunc(5*time.Millisecond, func() { at = time.Now(); cancel() })
				var last error
				for _, err := range f.WithContext(ctx).Grep(root, policyfs.Query{Pattern: pattern}) {
					last = err
				}
				if timer.Stop() || !errors.Is(last, context.Canceled) {
					best = 0 // it was over before
				} else {
					best = min(best, time.Since(at))
				}
				cancel()
				if best < 50*time.Millisecond {
					break
				}
			}
			if best > 50*time.Millisecond {
				t.Errorf("%s %s: ended %v after its context", root, pattern, best)
			}
		}
	}
	noLeak(t, c, before)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.opened.Store(0)
	for _, err := range f.WithContext(ctx).Grep("/", policyfs.Query{Pattern: "a"}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if n := c.opened.Load(); n > 0 {
		t.Errorf("%d opens after the context was done", n)
	}
}

// TestGrepMemory: what is held while the caller waits stays below 64 MiB, with
// matches in every line of many files and with lines without end.
func TestGrepMemory(t *testing.T) {
	m := memfs.New(memfs.Options{})
	dense := bytes.Repeat([]byte("n\n"), 500_000)
	endless := bytes.Repeat([]byte("n"), 4<<20)
	for i := range 24 {
		data := dense
		if i%3 == 0 {
			data = endless
		}
		if err := provider.WriteFile(t.Context(), m, provider.MustPath(fmt.Sprintf("f%02d", i)), data, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := provider.WriteFile(t.Context(), m, provider.MustPath("e-large"), bytes.Repeat(dense, 20), 0); err != nil {
		t.Fatal(err)
	}
	f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: everything(t)})
	for _, q := range []policyfs.Query{{Pattern: "n"}, {Pattern: "[^a-m]", Before: 1000, After: 1000}, {Pattern: "(n|m)*n(n|m){1000}", MaxLineBytes: 1 << 20}} {
		base := heap()
		n, peak := 0, int64(0)
		for _, err := range f.Grep("/", q) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 || n == 1000 {
				time.Sleep(150 * time.Millisecond) // let the workers run into their bounds
				peak = max(peak, heap()-base)
			}
			if n == 2000 {
				break
			}
		}
		if peak > 64<<20 {
			t.Errorf("%+v: %d MiB", q.Pattern, peak>>20)
		}
		t.Logf("%s: %d MiB after %d lines", q.Pattern, peak>>20, n)
	}
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestGrepOpensNothingDenied: not a file, not a directory, whatever the root, the
// filters and the pattern.
func TestGrepOpensNothingDenied(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range scale(20, 100, 1000) {
		tr := randomTree(r, 60)
		for i, extra := range []string{".env", ".git/config", "private/x", "a/private/y", ".gitignore", "a/.gitignore", "credentials"} {
			if _, ok := tr[strings.Split(extra, "/")[0]]; !ok {
				tr[extra] = fmt.Sprint("text ", i)
			}
		}
		spec := policyfs.Spec{AllowRead: []string{"/"}, DenyRead: []string{"private", "/a/private", "/z"}}
		if r.IntN(2) == 0 {
			spec.AllowRead = []string{"/a", "/x/y", "b"}
		}
		pol := compile(t, spec)
		s := newSpy(tr.memory(t))
		var p provider.Provider = s
		if r.IntN(2) == 0 {
			p = &intoReading{Provider: s}
		}
		f := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: pol})
		for _, err := range f.Grep("/", policyfs.Query{Pattern: "text", Ignore: r.IntN(2) == 0, Before: r.IntN(2)}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for range f.Walk("/", policyfs.WalkOptions{Ignore: true}) {
		}
		for _, p := range []string{"**/*", "**/private/*", "{a,.git,private}/**", "*/*/*"} {
			if _, err := f.Glob(p); err != nil {
				t.Fatal(err)
			}
		}
		_, paths := s.take()
		for p := range paths {
			at := namespace.MustParse("/" + p.String())
			if p.IsRoot() {
				at = namespace.MustParse("/")
			}
			if !pol.Check(policyfs.Request{Op: policyfs.OpRead, Path: at}).Allow && !pol.Check(policyfs.Request{Op: policyfs.OpList, Path: at}).Allow {
				t.Fatalf("the provider was asked for %v", p)
			}
		}
	}
}

// turning is a policy that is not pure: it refuses to read a file once it has let a
// listing show it.
type turning struct{ asked sync.Map }

func (p *turning) Check(r policyfs.Request) policyfs.Decision {
	if r.Path.Base() != "f" || r.Op != policyfs.OpRead {
		return policyfs.Decision{Allow: true}
	}
	_, again := p.asked.LoadOrStore(r.Path, true)
	return policyfs.Decision{Allow: !again, Rule: "not twice"}
}

// TestGrepAuthorizesTheOpen: the decision of the listing is not all there is.
func TestGrepAuthorizesTheOpen(t *testing.T) {
	s := newSpy(tree{"d/f": "k", "d/g": "k"}.memory(t))
	for name, p := range withAndWithoutInto(s) {
		f := policyfs.New(namespace.Workspace(p), policyfs.Options{Policy: new(turning)})
		var skipped []string
		got := grepText(t, f, "/", policyfs.Query{Pattern: "k", Skipped: func(name string, err error) {
			skipped = append(skipped, fmt.Sprint(name, errors.Is(err, fs.ErrPermission)))
		}})
		if got != ">g:1:1@0 k" || fmt.Sprint(skipped) != "[/workspace/d/ftrue]" {
			t.Errorf("%s: %s, skipped %v", name, got, skipped)
		}
		if _, paths := s.take(); paths[provider.MustPath("d/f")] {
			t.Errorf("%s: a file was opened that the policy refuses now", name)
		}
	}
}

func TestGrepIsConcurrent(t *testing.T) {
	tr := tree{}
	for i := range 200 {
		tr[fmt.Sprintf("d%d/f%d", i%9, i)] = fmt.Sprintf("line\nneedle %d\n", i)
	}
	f := policyfs.New(namespace.Workspace(tr.memory(t)), policyfs.Options{Policy: everything(t)})
	want := grepText(t, f, "/", policyfs.Query{Pattern: "needle", Before: 1})
	done := make(chan string)
	for range 8 {
		go func() { done <- grepText(t, f, "/", policyfs.Query{Pattern: "needle", Before: 1}) }()
	}
	for range 8 {
		if got := <-done; got != want {
			t.Error("two searches at a time disturb each other")
		}
	}
}
