package policyfs_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
	"github.com/workspacefs/workspacefs/provider"
)

// viewed counts what is looked at in place. blind hides that it can be.
type viewed struct {
	provider.Provider
	t      testing.TB
	blind  bool
	looked atomic.Int64
}

func (p *viewed) Open(ctx context.Context, name provider.Path, opts provider.OpenOptions) (provider.File, error) {
	f, err := p.Provider.Open(ctx, name, opts)
	if err != nil || p.blind {
		return struct{ provider.File }{f}, err
	}
	return &viewedFile{File: f, p: p}, nil
}

type viewedFile struct {
	provider.File
	p       *viewed
	looking bool // by the one goroutine that has the file
}

func (f *viewedFile) ViewContent(limit int, fn func(content []byte)) (bool, error) {
	if limit > 1<<20 {
		f.p.t.Errorf("%d bytes are to be shown at once", limit)
	}
	f.looking = true
	defer func() { f.looking = false }()
	return f.File.(provider.ContentViewer).ViewContent(limit, func(content []byte) {
		f.p.looked.Add(1)
		before := bytes.Clone(content)
		fn(content)
		if !bytes.Equal(content, before) {
			f.p.t.Error("a search has written to what it looked at")
		}
	})
}

func (f *viewedFile) ReadAt(p []byte, off int64) (int, error) {
	if f.looking {
		f.p.t.Error("a file is read while it is looked at")
	}
	return f.File.ReadAt(p, off)
}

// viewTree is a random tree of files of all kinds that a search distinguishes.
func viewTree(r *rand.Rand) tree {
	words := strings.Fields("needle nEEdle hay nedle needles ключ x")
	tr := tree{}
	for i := range 24 {
		var b []byte
		lines := r.IntN(40)
		switch r.IntN(8) {
		case 0:
			lines = 300 + r.IntN(1000) // batches overflow
		case 1:
			lines = 0
		}
		for range lines {
			for range r.IntN(6) {
				b = append(append(b, words[r.IntN(len(words))]...), ' ')
			}
			b = append(b, []string{"\n", "\n", "\n", "\r\n", "\xff\n"}[r.IntN(5)]...)
		}
		switch r.IntN(12) {
		case 0:
			b = append(b, "needle\x00"...)
		case 1:
			b = append(b, "needle without an end"...)
		case 2:
			b = append(b, strings.Repeat("long needle ", 9000)...)
		case 3:
			b = append(b, strings.Repeat("more than one piece"+strings.Repeat(".", 500)+"\n", 600)+"needle\n"...)
		case 4:
			b = slices.Concat(bytes.Repeat(append(bytes.Repeat([]byte("y"), 1023), '\n'), 256), b)
			b = b[len(b)-256<<10:] // as much as is read at a time
		}
		tr[fmt.Sprintf("d%d/f%02d", i%3, i)] = string(b)
	}
	return tr
}

// TestGrepInPlaceEqualsGrepOfCopies: what is found does not depend on whether a
// provider shows its content, nor on whether it has a FileIntoReader.
func TestGrepInPlaceEqualsGrepOfCopies(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	patterns := []string{"needle", "n[d-f]+le", "needle|ключ", "x $", "^hay", "", "absent", `\pL+s `, "needles.*x", "one piece"}
	looked, many := int64(0), 0
	for range scale(3, 10, 100) {
		m := viewTree(r).memory(t)
		content := providerTree(t, m)
		shown := &viewed{Provider: m, t: t}
		into := &intoReading{Provider: &viewed{Provider: m, t: t, blind: true}}
		sides := [...]provider.Provider{&viewed{Provider: m, t: t, blind: true}, shown, into}
		for range 12 {
			q := policyfs.Query{Pattern: patterns[r.IntN(len(patterns))], IgnoreCase: r.IntN(3) == 0, Literal: r.IntN(4) == 0}
			if r.IntN(2) == 0 {
				q.Before, q.After = r.IntN(4), r.IntN(4)
			}
			if r.IntN(3) == 0 {
				q.MaxMatches = 1 + r.IntN(600)
			}
			if r.IntN(3) == 0 {
				q.MaxFileBytes = int64(1 + r.IntN(3000))
			}
			if r.IntN(3) == 0 {
				q.MaxLineBytes = 1 + r.IntN(30)
			}
			type result struct {
				matches []policyfs.Match
				skipped []string
				total   policyfs.Progress
			}
			var results [len(sides)]result
			for i, side := range sides {
				res := &results[i]
				q.Skipped = func(name string, reason error) { res.skipped = append(res.skipped, name+": "+reason.Error()) }
				q.Progress = func(p policyfs.Progress) { res.total = p }
				f := policyfs.New(namespace.Workspace(side), policyfs.Options{Policy: everything(t)})
				for m, err := range f.Grep("/", q) {
					if err != nil {
						t.Fatal(err)
					}
					res.matches = append(res.matches, m)
				}
				if q.MaxMatches > 0 {
					res.skipped, res.total = nil, policyfs.Progress{} // how far the workers got is chance
				}
			}
			many = max(many, len(results[1].matches))
			for i, how := range []string{1: "in place", 2: "read at once"} {
				if !reflect.DeepEqual(results[0], results[i]) {
					t.Fatalf("%+v: from copies %d matches, skipped %v, %+v; %s %d, %v, %+v", q,
						len(results[0].matches), results[0].skipped, results[0].total, how, len(results[i].matches), results[i].skipped, results[i].total)
				}
			}
		}
		if providerTree(t, m) != content {
			t.Fatal("a search has changed a file")
		}
		if shown.looked.Load() == 0 || into.read.Load() == 0 {
			t.Fatalf("%d files were looked at in place, %d read at once", shown.looked.Load(), into.read.Load())
		}
		looked += shown.looked.Load()
	}
	t.Logf("%d files were looked at, at most %d matches at once", looked, many)
}

// TestGrepWhileItsFileIsWritten: a caller may change a file between two of its
// matches. It does not wait for the search, and the search yields the file as it was,
// in matches that stay what they are.
func TestGrepWhileItsFileIsWritten(t *testing.T) {
	const lines = 40_000 // far more than are handed over at a time
	text := strings.Repeat("n123\n", lines)
	for what, change := range map[string]func(f *policyfs.FS) error{
		"written": func(f *policyfs.FS) error { return writeOver(f, "/f", strings.Repeat("x", len(text))) },
		"cut":     func(f *policyfs.FS) error { return writeOver(f, "/f", "") },
		"replaced": func(f *policyfs.FS) error {
			_, err := f.WriteFile("/f", []byte("x"), provider.ReplaceOptions{})
			return err
		},
		"removed":    func(f *policyfs.FS) error { return f.Remove("/f") },
		"left alone": func(f *policyfs.FS) error { return nil },
	} {
		m := tree{"f": text}.memory(t)
		f := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: everything(t)})
		done := make(chan bool)
		go func() {
			defer close(done)
			n := 0
			var kept []string
			for match, err := range f.Grep("/f", policyfs.Query{Pattern: "n"}) {
				if err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				if n++; n == 1 {
					if err := change(f); err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				if match.Text != "n123" || match.Line != n {
					t.Errorf("%s: match %d is %+v", what, n, match)
					return
				}
				kept = append(kept, match.Text)
			}
			writeOver(f, "/f", strings.Repeat("y", len(text))) // fails where it was removed
			for i, text := range kept {
				if text != "n123" {
					t.Errorf("%s: match %d has become %q", what, i, text)
					return
				}
			}
			if n != lines {
				t.Errorf("%s: %d matches of %d", what, n, lines)
			}
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: the caller waits for its own search", what)
		}
	}
}

// writeOver writes to a file where it is, or empties it.
func writeOver(f *policyfs.FS, name, text string) error {
	file, err := f.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if text == "" {
		return file.Truncate(0)
	}
	_, err = file.WriteAt([]byte(text), 0)
	return err
}

// TestGrepBesideWriters: each file is searched as it was at one moment, whoever
// writes meanwhile.
func TestGrepBesideWriters(t *testing.T) {
	const files, lines = 4, 2000
	m := memfs.New(memfs.Options{})
	text := func(gen int) []byte { return bytes.Repeat(fmt.Appendf(nil, "n%04d\n", gen%10_000), lines) }
	var open []provider.File
	for i := range files {
		f, err := m.Open(t.Context(), provider.MustPath(fmt.Sprintf("f%d", i)), provider.OpenOptions{Read: true, Write: true, Create: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.WriteAt(text(i), 0)
		open = append(open, f)
	}
	var over atomic.Bool
	var writes atomic.Int64
	var wg sync.WaitGroup
	for i, f := range open {
		wg.Go(func() {
			for gen := i; !over.Load(); gen++ {
				if _, err := f.WriteAt(text(gen), 0); err != nil {
					t.Error(err)
				}
				writes.Add(1)
				if gen%50 == 0 {
					m.Clone()
				}
			}
		})
	}
	face := policyfs.New(namespace.Workspace(m), policyfs.Options{Policy: everything(t)})
	for range scale(5, 30, 300) {
		first, n := map[string]string{}, 0
		for match, err := range face.Grep("/", policyfs.Query{Pattern: "n[0-9]"}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; first[match.Name] == "" {
				first[match.Name] = match.Text
			}
			if match.Text != first[match.Name] {
				t.Fatalf("%s: %q beside %q", match.Name, match.Text, first[match.Name])
			}
		}
		if n != files*lines {
			t.Fatalf("%d matches of %d", n, files*lines)
		}
	}
	over.Store(true)
	wg.Wait()
	t.Logf("%d writes beside the searches", writes.Load())
}
