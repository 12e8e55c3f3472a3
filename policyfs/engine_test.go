package policyfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// engineLine is what a search says about one matching line.
type engineLine struct {
	start, end, match int
}

// referenceLines is the search as DESIGN.md section 6 words it, with package
// regexp and nothing else.
func referenceLines(t testing.TB, q Query, text []byte) []engineLine {
	pattern := q.Pattern
	if q.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if q.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		t.Fatalf("pattern %q: %v", pattern, err)
	}
	var out []engineLine
	for start := 0; start < len(text); {
		end, next := len(text), len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end, next = start+i, start+i+1
			if end > start && text[end-1] == '\r' {
				end--
			}
		}
		if m := re.FindIndex(text[start:end]); m != nil {
			out = append(out, engineLine{start, end, start + m[0]})
		}
		start = next
	}
	return out
}

// scannedLines is the same with the engine.
func scannedLines(s *scanner, text []byte) []engineLine {
	s.reset()
	var out []engineLine
	for from := 0; ; {
		m, ok := s.next(text, from)
		if !ok {
			return out
		}
		out = append(out, engineLine{m.start, m.end, m.match})
		from = m.next
	}
}

// engineVariants returns scanners that must all agree: as chosen, without
// literals, and with caches so small that they are thrown away all the time.
func engineVariants(t testing.TB, q Query) map[string]*scanner {
	e, err := compileEngine(&q)
	if err != nil {
		t.Fatalf("pattern %q: %v", q.Pattern, err)
	}
	bare := *e
	bare.literals, bare.exact = nil, false
	tight := bare
	f, b := *e.forward, *e.backward
	f.limit, b.limit = 1, 1
	tight.forward, tight.backward = &f, &b
	// Without vector instructions, as on other processors.
	bytewise := *e
	bytewise.literals = nil
	for _, l := range e.literals {
		single := *l
		single.paired = false
		bytewise.literals = append(bytewise.literals, &single)
	}
	return map[string]*scanner{"chosen": e.newScanner(), "bytewise": bytewise.newScanner(), "automaton": bare.newScanner(), "tight": tight.newScanner()}
}

func checkEngine(t *testing.T, q Query, text []byte) {
	t.Helper()
	want := referenceLines(t, q, text)
	for name, s := range engineVariants(t, q) {
		got := scannedLines(s, text)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s engine, pattern %q (literal %v, ignore case %v) in %q:\n got %v\nwant %v",
				name, q.Pattern, q.Literal, q.IgnoreCase, text, got, want)
		}
	}
}

func TestEngineTable(t *testing.T) {
	texts := []string{
		"", "\n", "\r\n", "\r", "a", "a\n", "a\r\n", "a\r", "\n\n", "a\n\nb", "foo bar\nbaz\r\nqux",
		"one\r\ntwo\r\n", "one\r", "a\rb\r\n\rc\r\r\n", "foo\nFOO\nfoobar\nbarfoo\n", "K\u212a\u017fs\n",
		"h\u00e9llo w\u00f6rld\nHE\u0301LLO\n", "\xff\xfe\nfoo\xff\n\xe2\x82\nfoo", "abcd\n", "aXbXc\nxxabcxx\n",
		"a\u2028b\u0085c", "word boundary word\nwordword\n_word_\n", "error: Failed\nERROR\n", "\x00\n",
	}
	patterns := []string{
		"", "a", "^", "$", "^$", "foo", "^foo", "foo$", "^foo$", "o$", "e$", "\\bword\\b", "\\Bword", "word\\B", "\\b", "\\B",
		"(?m)^foo$", "(?s).", ".", "..", "^..$", "a.b.c", "a\\nb", "\\n", "\\r", "\\r$", "a\\r", "[\\r\\n]", "[^a]", "\\x{FFFD}",
		"abcd|c", "b|abc", "foo|bar|baz|qux", "(?i)foo", "(?i)k", "(?i)ks", "(?i)\u00e9", "h\u00e9", "[A-Z]+", "\\w+\\s\\w+", "(a|b)*c",
		"x*", "\\Aone\\z", "one\\z", "colou?r|fo+", "(?i:e)rror", "error|(?i)failed", "\\pL+", "\\PL", "[[:^ascii:]]", "\\Qa.b\\E",
		"^\\bword", "word\\b$", "(^a|b$)", "(^|x)a", "a($|b)", "\\C", "a{2,3}", "(ab){2}", "\\x00", "\xe2\x82",
	}
	for _, p := range patterns {
		for _, q := range []Query{{Pattern: p}, {Pattern: p, IgnoreCase: true}, {Pattern: p, Literal: true}, {Pattern: p, Literal: true, IgnoreCase: true}} {
			if _, err := compileEngine(&q); err != nil {
				if !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("pattern %q: %v is no fs.ErrInvalid", p, err)
				}
				continue
			}
			for _, text := range texts {
				checkEngine(t, q, []byte(text))
			}
		}
	}
}

// randomPattern makes a pattern out of the parts that an engine can get wrong.
func randomPattern(r *rand.Rand, depth int) string {
	atoms := []string{"a", "b", "ab", "abc", "k", "s", "foo", ".", "[ab]", "[^a]", "\\w", "\\W", "\\d", "\\s", "^", "$", "\\b", "\\B",
		"(?i)k", "(?i:foo)", "\u00e9", "[\u00e0-\u00ff]", "\\r", "\\n", "\\pL", "\u212a", "x", " ", "(?m)^", "(?m)$", "(?s).", "\\A", "\\z", "", "error", "[^\\x00-\\x7f]"}
	if depth == 0 || r.IntN(3) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	switch r.IntN(6) {
	case 0:
		return "(" + randomPattern(r, depth-1) + "|" + randomPattern(r, depth-1) + ")"
	case 1:
		return "(?:" + randomPattern(r, depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0,2}"}[r.IntN(8)]
	default:
		return randomPattern(r, depth-1) + randomPattern(r, depth-1)
	}
}

// randomText makes lines of what those patterns look for.
func randomText(r *rand.Rand, size int) []byte {
	parts := []string{"a", "b", "ab", "abc", "k", "K", "s", "\u017f", "\u212a", "foo", "FOO", "Foo", "\u00e9", "\u00c9", "\xff", "\xe2\x82",
		" ", "_", "1", "\n", "\n", "\n", "\r\n", "\r", "x", "error", "ERROR", "\u2028", "\ufffd"}
	var b []byte
	for len(b) < size {
		b = append(b, parts[r.IntN(len(parts))]...)
	}
	return b
}

// engineRounds scales the property tests: short under -short, long in .ci/long.
func engineRounds(normal int) int {
	switch {
	case os.Getenv("WORKSPACEFS_LONG") == "1":
		return normal * 20
	case testing.Short():
		return max(1, normal/10)
	}
	return normal
}

func TestEngineEqualsRegexp(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range engineRounds(3000) {
		q := Query{Pattern: randomPattern(r, 4), IgnoreCase: r.IntN(4) == 0, Literal: r.IntN(10) == 0}
		if len(q.Pattern) > maxPattern {
			continue
		}
		if _, err := compileEngine(&q); err != nil {
			continue
		}
		for range 4 {
			checkEngine(t, q, randomText(r, r.IntN(120)))
		}
	}
}

// TestEngineFeedsPieces shows that a line may come in pieces, forwards and
// backwards.
func TestEngineFeedsPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range engineRounds(2000) {
		q := Query{Pattern: randomPattern(r, 4)}
		line := bytes.ReplaceAll(randomText(r, r.IntN(60)), []byte("\n"), nil)
		for name, s := range engineVariants(t, q) {
			want := regexp.MustCompile(q.Pattern).FindIndex(line)
			st, bk := s.automaton().line(), s.backward().back()
			var cuts []int
			for i := 1; i < len(line); i++ {
				if r.IntN(5) == 0 && line[i] < 0x80 && line[i-1] < 0x80 {
					cuts = append(cuts, i)
				}
			}
			cuts = append(cuts, len(line))
			from := 0
			for _, to := range cuts {
				s.automaton().feed(&st, line[from:to])
				from = to
			}
			for i := len(cuts) - 1; i >= 0; i-- {
				from := 0
				if i > 0 {
					from = cuts[i-1]
				}
				s.backward().feedBack(&bk, line[from:cuts[i]], int64(from))
			}
			if got := s.automaton().end(&st); got != (want != nil) {
				t.Fatalf("%s: pattern %q in pieces of %q at %v: %v, want %v", name, q.Pattern, line, cuts, got, want)
			}
			if got := s.backward().endBack(&bk); want != nil && got != int64(want[0]) || want == nil && got != -1 {
				t.Fatalf("%s: pattern %q backwards in pieces of %q at %v: %d, want %v", name, q.Pattern, line, cuts, got, want)
			}
		}
	}
}

// adversarial patterns: each must be refused, or searched in time that is
// proportional to the text.
func adversarialPatterns() []string {
	return []string{
		"(a+)+$", "(a*)*b", "(x+x+)+y", "(a|aa)+$", "(.*)*=.*", strings.Repeat("(a?)", 200) + strings.Repeat("a", 50),
		"((((((((a{10}){10}){10}){10}){10}){10}){10}){10})", "(a{1000}){1000}", "a{1000}", "(a|b)*a(a|b){500}", "(?:\\pL{1000}|\\pN{1000}|.{1000}){3}",
		strings.Repeat("(", 1000), strings.Repeat("(", 499) + strings.Repeat(")", 499), strings.Repeat("a|", 500), strings.Repeat("[^a]", 250),
		strings.Repeat("a{0,60}", 140), strings.Repeat("\\pL", 333), strings.Repeat(".*", 500), strings.Repeat("(?i)", 250), "\\b{1000}", "(\\b|\\B){500}",
		strings.Repeat("x{1000}", 140), strings.Repeat("(.{50}|", 100), "[[:word:]]{300}[^[:word:]]{300}", "(?:a?){1000}a{1000}", "(?:(?:a{1,30}){1,30}){1}",
		strings.Repeat("\u00e9", 501), strings.Repeat("a", 1001), "\xff", "[", "{a", "(?P<", "\\", "[!]", "[z-a]", "a**", "(?<=a)", "(a)\\1",
	}
}

func TestEngineAdversarial(t *testing.T) {
	size := 20_000
	text := append(bytes.Repeat([]byte("a"), size), '\n')
	text = append(text, bytes.Repeat([]byte("abba \u00e9"), size/7)...)
	for _, p := range adversarialPatterns() {
		begin := time.Now()
		q := Query{Pattern: p}
		e, err := compileEngine(&q)
		if err != nil {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%.40q: %v is no fs.ErrInvalid", p, err)
			}
			continue
		}
		for _, prog := range []*dfaProg{e.forward, e.backward} {
			if len(prog.inst) > 2*maxProgram {
				t.Errorf("%.40q: program of %d instructions", p, len(prog.inst))
			}
		}
		s := e.newScanner()
		scannedLines(s, text)
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%.40q: took %v for %d bytes", p, took, len(text))
		} else if testing.Verbose() {
			t.Logf("%.40q: %v, %d instructions", p, took.Round(time.Millisecond), len(e.forward.inst))
		}
		for _, d := range []*dfa{s.forward, s.back} {
			if d != nil && d.memory > d.p.limit+(64<<10) {
				t.Errorf("%.40q: cache of %d bytes", p, d.memory)
			}
		}
	}
}

// TestEngineHalts: once the search is over, an automaton that has a step to compute
// for every byte computes no more than a few.
func TestEngineHalts(t *testing.T) {
	const few = 64
	text := make([]byte, 4096)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range text {
		text[i] = "ab"[r.IntN(2)] // so that hardly two states are the same
	}
	e, err := compileEngine(&Query{Pattern: "(a|b)*a(a|b){300}e|e(a|b){300}a(a|b)*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range []bool{false, true} {
		for name, run := range map[string]func(s *scanner) *dfa{
			"find":  func(s *scanner) *dfa { s.automaton().find(text, 0); return s.forward },
			"match": func(s *scanner) *dfa { s.automaton().match(text); return s.forward },
			"feed": func(s *scanner) *dfa {
				st := s.automaton().line()
				for piece := range slices.Chunk(text, 100) {
					s.forward.feed(&st, piece)
				}
				return s.forward
			},
			"leftmost": func(s *scanner) *dfa { s.backward().leftmost(text); return s.back },
		} {
			s := e.newScanner()
			s.stop = new(atomic.Bool)
			s.stop.Store(over)
			steps := run(s).steps
			switch {
			case over && steps > few:
				t.Errorf("%s: %d steps were computed for nobody", name, steps)
			case !over && steps < uint(len(text)/2):
				t.Errorf("%s: %d steps for %d bytes: the pattern proves nothing", name, steps, len(text))
			}
		}
	}
}

// TestEngineRefusesBeforeItCompiles: what a pattern that is too large would compile
// to is not built first.
func TestEngineRefusesBeforeItCompiles(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("x{1000}", 140),
		strings.Repeat("(?:x{1,20}){1,50}", 58),
		strings.Repeat("(?:a|b{400,}){2}", 62),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := compileEngine(&Query{Pattern: pattern})
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "instructions") {
			t.Errorf("%.20q: %v", pattern, err)
		}
		// One instruction has 40 bytes.
		if n := after.TotalAlloc - before.TotalAlloc; n > 40*2*maxProgram {
			t.Errorf("%.20q: %d bytes were allocated to refuse it", pattern, n)
		}
	}
}

func TestEnginePatternLimits(t *testing.T) {
	for _, c := range []struct {
		pattern string
		literal bool
		ok      bool
	}{
		{strings.Repeat("a", 1000), false, true},
		{strings.Repeat("a", 1001), false, false},
		{strings.Repeat("\u00e9", 500), false, true},
		{strings.Repeat("\u00e9", 501), false, false},
		{strings.Repeat(".", 1000), true, true},
		{"[invalid", false, false},
		{"[invalid", true, true},
		{"(", false, false},
		{"\xff", false, false},
		{"\xff", true, false},
	} {
		_, err := compileEngine(&Query{Pattern: c.pattern, Literal: c.literal})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("pattern %.20q: %v, want ok %v", c.pattern, err, c.ok)
		}
	}
}

func FuzzEngine(f *testing.F) {
	f.Add("a+b|c$", "aab\nc\r\n", false)
	f.Add("(?i)k\\b", "K\u212a\n", true)
	f.Fuzz(func(t *testing.T, pattern, text string, ignoreCase bool) {
		q := Query{Pattern: pattern, IgnoreCase: ignoreCase}
		if len(text) > 4096 {
			return
		}
		if _, err := compileEngine(&q); err != nil {
			return
		}
		checkEngine(t, q, []byte(text))
	})
}
