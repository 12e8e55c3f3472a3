package policyfs

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

// referenceFile is a whole search of one file, as DESIGN.md section 6 words it:
// every line at once, windows as sets of line numbers.
func referenceFile(q Query, text []byte) []Match {
	re := regexp.MustCompile(q.Pattern)
	var lines []Match
	for start := 0; start < len(text); {
		end, next := len(text), len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end, next = start+i, start+i+1
			if end > start && text[end-1] == '\r' {
				end--
			}
		}
		m := Match{Line: len(lines) + 1, Offset: int64(start), Text: string(text[start:end]), Context: true}
		if loc := re.FindIndex(text[start:end]); loc != nil {
			m.Context, m.Column = false, loc[0]+1
		}
		if cut := q.MaxLineBytes; len(m.Text) > cut {
			for cut > q.MaxLineBytes-utf8.UTFMax && cut > 0 && !utf8.RuneStart(m.Text[cut]) {
				cut--
			}
			if cut == q.MaxLineBytes-utf8.UTFMax || cut == 0 {
				cut = q.MaxLineBytes
			}
			m.Text = m.Text[:cut] + lineMark
		}
		lines = append(lines, m)
		start = next
	}
	show := make([]bool, len(lines))
	found := 0
	for i := range lines {
		if lines[i].Context {
			continue
		}
		if q.MaxMatches > 0 && found == q.MaxMatches {
			lines[i].Context, lines[i].Column = true, 0
			continue
		}
		found++
		for j := max(0, i-q.Before); j <= min(len(lines)-1, i+q.After); j++ {
			show[j] = true
		}
	}
	var out []Match
	for i := range lines {
		if show[i] {
			out = append(out, lines[i])
		}
	}
	return out
}

// newFileSearch returns a search with small buffers, so that small texts meet all
// their borders.
func newFileSearch(t testing.TB, q Query, buf, longest, scratch int, emit func(Match) bool) *fileSearch {
	e, err := compileEngine(&q)
	if err != nil {
		t.Fatal(err)
	}
	return &fileSearch{
		s: e.newScanner(), buf: make([]byte, buf), longest: longest, scratch: make([]byte, scratch),
		before: q.Before, after: q.After, max: q.MaxMatches, cut: q.MaxLineBytes,
		emit: func(line, column int, offset int64, text string) bool {
			return emit(Match{Line: line, Column: column, Offset: offset, Text: text, Context: column == 0})
		},
		stop: new(atomic.Bool), bytes: new(atomic.Int64),
	}
}

// shortReader returns io.EOF together with the last bytes, or after them.
type shortReader struct {
	*bytes.Reader
	eager bool
}

func (r shortReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(p, off)
	if r.eager && err == nil && off+int64(n) == r.Size() {
		err = io.EOF
	}
	return n, err
}

func TestFileSearchEqualsReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range engineRounds(4000) {
		q := Query{Pattern: randomPattern(r, 3), Before: r.IntN(4), After: r.IntN(4), MaxMatches: r.IntN(5), MaxLineBytes: 1 + r.IntN(40)}
		if r.IntN(3) > 0 {
			q.MaxMatches, q.MaxLineBytes = 0, 1<<20
		}
		text := randomText(r, r.IntN(300))
		if r.IntN(2) == 0 {
			text = bytes.ReplaceAll(text, []byte("\n"), []byte("line feed")[:r.IntN(9)])
			text = append(text, '\n')
			text = append(text, randomText(r, r.IntN(50))...)
		}
		want := referenceFile(q, text)
		var got []Match
		buf := 16 + r.IntN(64)
		longest := buf << r.IntN(3)
		cut := min(q.MaxLineBytes, longest-1)
		if cut < q.MaxLineBytes {
			q.MaxLineBytes = cut
			want = referenceFile(q, text)
		}
		g := newFileSearch(t, q, buf, longest, max(8, cut+utf8.UTFMax), func(m Match) bool { got = append(got, m); return true })
		g.begin(shortReader{bytes.NewReader(text), r.IntN(2) == 0})
		if err := g.run(0, -1); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("query %+v, buffer %d, longest line %d, in %q:\n got %v\nwant %v", q, buf, longest, text, got, want)
		}
	}
}

// TestFileSearchParts shows that the parts of a file hold each line once.
func TestFileSearchParts(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 2))
	for range engineRounds(3000) {
		q := Query{Pattern: randomPattern(r, 3), MaxLineBytes: 15}
		text := randomText(r, r.IntN(300))
		want := referenceFile(q, text)
		size := int64(1 + r.IntN(60))
		var got []Match
		line := 0
		buf := 16 + r.IntN(40)
		for start := int64(0); start < int64(len(text)) || start == 0; start += size {
			end := start + size
			if end >= int64(len(text)) {
				end = -1
			}
			g := newFileSearch(t, q, buf, buf, 32, func(m Match) bool { m.Line += line; got = append(got, m); return true })
			g.begin(bytes.NewReader(text))
			if err := g.run(start, end); err != nil {
				t.Fatal(err)
			}
			line += g.line - 1
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("query %+v, parts of %d, buffer %d, in %q:\n got %v\nwant %v", q, size, buf, text, got, want)
		}
	}
}

// unsteady is a file that changes its size between two reads.
type unsteady struct {
	data  []byte
	reads int
	then  func(u *unsteady)
}

func (u *unsteady) ReadAt(p []byte, off int64) (int, error) {
	u.reads++
	if u.then != nil {
		u.then(u)
	}
	if off >= int64(len(u.data)) {
		return 0, io.EOF
	}
	n := copy(p, u.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestFileSearchOfChangingFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(*unsteady)
	}{
		{"grows", func(u *unsteady) {
			if len(u.data) < 1<<14 {
				u.data = append(u.data, "needle more\n"...)
			}
		}},
		{"shrinks", func(u *unsteady) { u.data = u.data[:len(u.data)*9/10] }},
		{"empties", func(u *unsteady) {
			if u.reads > 3 {
				u.data = nil
			}
		}},
		{"flips", func(u *unsteady) {
			slices.Reverse(u.data)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, text := range []string{strings.Repeat("a needle\nb\n", 300), strings.Repeat("a needle ", 300)} {
				for _, q := range []Query{{Pattern: "needle", Before: 3, After: 3, MaxLineBytes: 20}, {Pattern: "n[e-f]+dle$", Before: 50, MaxLineBytes: 20}} {
					u := &unsteady{data: []byte(text), then: c.then}
					last := int64(-1)
					g := newFileSearch(t, q, 64, 128, 40, func(m Match) bool {
						if m.Offset < last {
							t.Fatalf("line at %d after one at %d", m.Offset, last)
						}
						last = m.Offset
						return true
					})
					g.begin(u)
					if err := g.run(0, -1); err != nil {
						t.Fatalf("run: %v", err)
					}
				}
			}
		})
	}
}

// TestLongLinesOfOneText: a pattern that is one text is found in lines of many pieces
// exactly where it is, across their ends and beside broken runes.
func TestLongLinesOfOneText(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	pieces := []string{"a", "b", "ab", "\u00e9", "\xc3", "\xa9", "\u20ac", "\xe2\x82", "\xf0\x9f\x98", "x"}
	random := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	found := 0
	for range engineRounds(20000) {
		text := random(1 + r.IntN(9))
		for !utf8.ValidString(text) {
			text = random(1 + r.IntN(9))
		}
		line := random(r.IntN(300))
		if r.IntN(2) == 0 {
			line = strings.ReplaceAll(line, text, "")
		}
		if r.IntN(4) == 0 {
			at := r.IntN(len(line) + 1)
			line = line[:at] + text + line[at:]
		}
		q := Query{Pattern: text, Literal: true, MaxLineBytes: 20}
		var got []Match
		g := newFileSearch(t, q, 24, 24, 32, func(m Match) bool { got = append(got, m); return true })
		g.begin(strings.NewReader(line + "\nx"))
		if err := g.run(0, -1); err != nil {
			t.Fatal(err)
		}
		got = slices.DeleteFunc(got, func(m Match) bool { return m.Line != 1 })
		switch at := strings.Index(line, text); {
		case at < 0 && len(got) > 0, at >= 0 && (len(got) != 1 || got[0].Column != at+1):
			t.Fatalf("%q in %q: %v, want it at %d", text, line, got, at)
		case at >= 0:
			found++
		}
	}
	if found < engineRounds(20000)/10 {
		t.Errorf("found only %d times", found)
	}
}

// TestLongLinesOfPatterns: of a pattern that is more than a text, no piece is left out.
func TestLongLinesOfPatterns(t *testing.T) {
	far := strings.Repeat("x", 500)
	for _, tc := range []struct{ pattern, line string }{
		{"ab.*y", "ab" + far + "y"},
		{"ab[^y]*y", "--ab" + far + "y" + far},
		{"ab|y", far + "y" + far},
		{"abx+$", far + "ab" + far},
		{"^x+ab", far + "ab"},
		{"(?i)aby", far + "ABY" + far},
	} {
		for _, line := range []string{tc.line, strings.Replace(tc.line, "a", "", 1)} {
			n := 0
			q := Query{Pattern: tc.pattern, MaxLineBytes: 20}
			g := newFileSearch(t, q, 24, 24, 32, func(Match) bool { n++; return true })
			g.begin(strings.NewReader(line))
			if err := g.run(0, -1); err != nil {
				t.Fatal(err)
			}
			if want := regexp.MustCompile(tc.pattern).MatchString(line); n > 1 || (n == 1) != want {
				t.Errorf("%q in %q: %d matches, want %v", tc.pattern, line, n, want)
			}
		}
	}
}
