package policyfs_test

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// The benchmarks of this file compare with a peer in one run: variants take turns,
// and what is reported is the median of the ratios of the rounds (1.0 is the peer).

// searchPatterns are the six kinds of pattern of speed-facts row D1.
var searchPatterns = []struct {
	name  string
	query policyfs.Query
	rg    []string
}{
	{"literal", policyfs.Query{Pattern: "ErrUnexpectedEOF"}, []string{"ErrUnexpectedEOF"}},
	{"common", policyfs.Query{Pattern: "return err"}, []string{"return err"}},
	{"anycase", policyfs.Query{Pattern: "unexpected eof", IgnoreCase: true}, []string{"-i", "unexpected eof"}},
	{"alternation", policyfs.Query{Pattern: "ErrNotExist|ErrPermission|ErrClosed|ErrInvalid"}, []string{"ErrNotExist|ErrPermission|ErrClosed|ErrInvalid"}},
	{"inner", policyfs.Query{Pattern: `func \([a-z]+ \*[a-zA-Z]+\) Close\(`}, []string{`func \([a-z]+ \*[a-zA-Z]+\) Close\(`}},
	{"noliteral", policyfs.Query{Pattern: `[A-Z][a-z]+[0-9]{3,}[a-z]`}, []string{`[A-Z][a-z]+[0-9]{3,}[a-z]`}},
}

// manyScopes is a policy of 20 scopes that shows everything.
func manyScopes(tb testing.TB) policyfs.Policy {
	tb.Helper()
	s := policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{"/"}, AllowSensitive: []string{"/"}}
	for i := range 17 {
		s.DenyRead = append(s.DenyRead, fmt.Sprintf("none/of/these%d", i))
	}
	p, err := policyfs.Compile(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// usage is the wall time and the processor time of something.
type usage struct{ wall, cpu time.Duration }

// measure runs f in this process.
func measure(f func()) usage {
	cpu, begin := ownCPU(), time.Now()
	f()
	return usage{time.Since(begin), ownCPU() - cpu}
}

// measureCmd runs a program and throws its output away.
func measureCmd(tb testing.TB, dir string, name string, args ...string) usage {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = out
	begin := time.Now()
	err = cmd.Run()
	wall := time.Since(begin)
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		tb.Fatal(err)
	}
	return usage{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// duel runs two variants in turn for a while and reports the median ratios.
func duel(b *testing.B, peer, own func() usage) (wall, cpu float64) {
	b.Helper()
	var walls, cpus []float64
	peer()
	own()
	rounds := 0
	for b.Loop() {
		p, o := peer(), own()
		walls = append(walls, float64(o.wall)/float64(p.wall))
		cpus = append(cpus, float64(o.cpu)/float64(max(p.cpu, 1)))
		rounds++
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	wall, cpu = walls[len(walls)/2], cpus[len(cpus)/2]
	b.ReportMetric(wall, "wall/peer")
	b.ReportMetric(cpu, "cpu/peer")
	b.ReportMetric(0, "ns/op")
	return wall, cpu
}

// rgArgs are the arguments of the peer of rows D and E.
func rgArgs(extra ...string) []string {
	return append([]string{"--no-config", "-j2", "--no-ignore", "--hidden", "-n", "--no-heading", "--color=never"}, extra...)
}

func grepAll(tb testing.TB, f *policyfs.FS, q policyfs.Query) int {
	n := 0
	for _, err := range f.Grep("/", q) {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return n
}

// benchGrep compares with ripgrep over one tree.
func benchGrep(b *testing.B, dir string, f *policyfs.FS) {
	rg := need(b, "rg")
	walls, cpus := 1.0, 1.0
	n := 0
	for _, p := range searchPatterns {
		b.Run(p.name, func(b *testing.B) {
			wall, cpu := duel(b,
				func() usage { return measureCmd(b, dir, rg, rgArgs(append(p.rg, "./")...)...) },
				func() usage { return measure(func() { grepAll(b, f, p.query) }) })
			walls, cpus, n = walls*wall, cpus*cpu, n+1
		})
	}
	if n > 0 {
		b.Logf("geometric mean of %d patterns: wall %.2f, processor %.2f", n, math.Pow(walls, 1/float64(n)), math.Pow(cpus, 1/float64(n)))
	}
}

// BenchmarkGrepSource is row D1.
func BenchmarkGrepSource(b *testing.B) {
	dir := goSource(b)
	benchGrep(b, dir, searchFS(b, dir, manyScopes(b)))
}

// BenchmarkGrepMemory is row D5: the same tree in memory, against ripgrep on disk.
func BenchmarkGrepMemory(b *testing.B) {
	dir := goSource(b)
	f := policyfs.New(namespace.Workspace(loadTree(b, dir)), policyfs.Options{Policy: manyScopes(b), MaxWalk: 1 << 30})
	benchGrep(b, dir, f)
}

// BenchmarkGrepPolicy is row D6: a policy against none to speak of.
func BenchmarkGrepPolicy(b *testing.B) {
	dir := goSource(b)
	with, without := searchFS(b, dir, manyScopes(b)), searchFS(b, dir, openPolicy{})
	q := policyfs.Query{Pattern: "ErrUnexpectedEOF"}
	duel(b,
		func() usage { return measure(func() { grepAll(b, without, q) }) },
		func() usage { return measure(func() { grepAll(b, with, q) }) })
}

// openPolicy allows everything without looking.
type openPolicy struct{}

func (openPolicy) Check(policyfs.Request) policyfs.Decision { return policyfs.Decision{Allow: true} }

// manyFiles makes small files: 1,000 in each directory.
func manyFiles(tb testing.TB, count int) string {
	tb.Helper()
	dir := tb.TempDir()
	text := strings.Repeat("a line of text that says little, with a number 12345 in it\n", 20)
	for i := range count {
		sub := filepath.Join(dir, fmt.Sprintf("d%03d", i/1000))
		if i%1000 == 0 {
			if err := os.Mkdir(sub, 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		body := text
		if i%97 == 0 {
			body += "io.ErrUnexpectedEOF and Unexpected EOF; return err Abc1234x\nfunc (f *File) Close() ErrClosed\n"
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%04d.txt", i%1000)), []byte(body), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// benchFiles is how many files rows D2 and E take here; the bench module takes
// 100,000.
func benchFiles() int {
	if os.Getenv("WORKSPACEFS_LONG") == "1" {
		return 100_000
	}
	return 20_000
}

// BenchmarkGrepManyFiles is row D2.
func BenchmarkGrepManyFiles(b *testing.B) {
	dir := manyFiles(b, benchFiles())
	benchGrep(b, dir, searchFS(b, dir, manyScopes(b)))
}

// BenchmarkGrepLargeFiles is row D3: three large files.
func BenchmarkGrepLargeFiles(b *testing.B) {
	dir, size := b.TempDir(), 40<<20
	if os.Getenv("WORKSPACEFS_LONG") == "1" {
		size = 200 << 20
	}
	source, err := os.ReadFile(filepath.Join(goSource(b), "net/http/server.go"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 3 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("large%d.txt", i)))
		if err != nil {
			b.Fatal(err)
		}
		for n := 0; n < size; n += len(source) {
			if _, err := f.Write(source); err != nil {
				b.Fatal(err)
			}
		}
		f.Close()
	}
	benchGrep(b, dir, searchFS(b, dir, manyScopes(b)))
}

func walkFace(tb testing.TB, f *policyfs.FS) {
	for _, err := range f.Walk("/") {
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkWalk is rows E1 to E3.
func BenchmarkWalk(b *testing.B) {
	dir := manyFiles(b, benchFiles())
	f := searchFS(b, dir, manyScopes(b))
	own := func() usage { return measure(func() { walkFace(b, f) }) }
	b.Run("vs-WalkDir", func(b *testing.B) {
		duel(b, func() usage {
			return measure(func() {
				filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { return nil })
			})
		}, own)
	})
	b.Run("vs-aferoWalk", func(b *testing.B) {
		os := afero.NewOsFs()
		duel(b, func() usage {
			return measure(func() { afero.Walk(os, dir, func(string, fs.FileInfo, error) error { return nil }) })
		}, own)
	})
	b.Run("vs-rg", func(b *testing.B) {
		rg := need(b, "rg")
		duel(b, func() usage { return measureCmd(b, dir, rg, rgArgs("--files", "./")...) }, own)
	})
	b.Run("vs-find", func(b *testing.B) {
		find := need(b, "find")
		duel(b, func() usage { return measureCmd(b, dir, find, ".") }, own)
	})
}

// BenchmarkGrepAlone searches without a peer, for profiles.
func BenchmarkGrepAlone(b *testing.B) {
	dir := goSource(b)
	f := searchFS(b, dir, manyScopes(b))
	for _, p := range searchPatterns {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			cpu := ownCPU()
			for b.Loop() {
				grepAll(b, f, p.query)
			}
			b.ReportMetric(float64(ownCPU()-cpu)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}

// BenchmarkWalkAlone walks without a peer, for profiles.
func BenchmarkWalkAlone(b *testing.B) {
	f := searchFS(b, manyFiles(b, benchFiles()), manyScopes(b))
	b.ReportAllocs()
	cpu := ownCPU()
	for b.Loop() {
		walkFace(b, f)
	}
	b.ReportMetric(float64(ownCPU()-cpu)/float64(b.N)/1e6, "cpu-ms/op")
}

// BenchmarkGrepManyAlone is BenchmarkGrepAlone on small files.
func BenchmarkGrepManyAlone(b *testing.B) {
	f := searchFS(b, manyFiles(b, benchFiles()), manyScopes(b))
	b.ReportAllocs()
	cpu := ownCPU()
	for b.Loop() {
		grepAll(b, f, searchPatterns[0].query)
	}
	b.ReportMetric(float64(ownCPU()-cpu)/float64(b.N)/1e6, "cpu-ms/op")
}
