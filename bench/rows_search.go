package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/afero"

	"github.com/workspacefs/workspacefs/policyfs"
)

// rowsSearch are the rows D and E of the goals.
func rowsSearch() []row {
	rows := []row{}
	for i, q := range searches {
		rows = append(rows, rgRow(fmt.Sprintf("D1.%d", i+1), "grep GOROOT/src: "+q.what, 1.15, q, goroot))
	}
	for i, q := range searches {
		rows = append(rows, rgRow(fmt.Sprintf("D2.%d", i+1), "grep 100,000 small files: "+q.what, 0.9, q, manyFiles))
	}
	for i, q := range searches {
		rows = append(rows, rgRow(fmt.Sprintf("D3.%d", i+1), "grep 3 files of 200 MB: "+q.what, 1.7, q, largeFiles))
	}
	walkDir := func(dir string) (int, error) {
		n := 0
		err := filepath.WalkDir(dir, func(_ string, _ fs.DirEntry, err error) error { n++; return err })
		return n - 1, err
	}
	return append(rows, naiveRow(), memGrepRow(), policyRow(),
		walkRow("E1", "walk 100,000 files, filtered", "filepath.WalkDir", 0.55, walkDir),
		onOneProcessor(walkRow("E1.1", "walk 100,000 files, filtered, on one processor", "filepath.WalkDir", 0.8, walkDir)),
		walkRow("E2", "walk 100,000 files, filtered", "afero.Walk of afero.OsFs", 0.3, func(dir string) (int, error) {
			n := 0
			err := afero.Walk(afero.NewOsFs(), dir, func(_ string, _ fs.FileInfo, err error) error { n++; return err })
			return n - 1, err
		}),
		walkRow("E3r", "walk 100,000 files, filtered", "rg --files -j2", 0.6, nil, "rg", "--no-config", "--files", "--no-ignore", "--hidden", "-j2"),
		walkRow("E3f", "walk 100,000 files, filtered", "find", 0.6, nil, "find"),
	)
}

// search is one pattern, as a query and as the arguments of ripgrep.
type search struct {
	what  string
	query policyfs.Query
	args  []string
}

// searches are the six kinds of pattern: what an engine can do about a pattern
// depends on the literals in it.
var searches = []search{
	{"rare literal", policyfs.Query{Pattern: "ErrUnsupported", Literal: true}, []string{"-F", "ErrUnsupported"}},
	{"frequent literal", policyfs.Query{Pattern: "return", Literal: true}, []string{"-F", "return"}},
	{"ignoring case", policyfs.Query{Pattern: "notexist", Literal: true, IgnoreCase: true}, []string{"-F", "-i", "notexist"}},
	{"alternation", policyfs.Query{Pattern: "EINTR|EAGAIN|ENOSYS"}, []string{"EINTR|EAGAIN|ENOSYS"}},
	{"literal inside an expression", policyfs.Query{Pattern: `func \w+\(ctx context\.Context`}, []string{`func (?-u:\w)+\(ctx context\.Context`}},
	{"no literal", policyfs.Query{Pattern: `[A-Z]{3}_[0-9]{2}[a-z]+`}, []string{`[A-Z]{3}_[0-9]{2}[a-z]+`}},
}

// goroot returns a tree of source files that every machine with Go has.
func goroot(string) (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	return filepath.Join(strings.TrimSpace(string(out)), "src"), err
}

// diskOfGoroot is the whole stack over the source of Go, which is at src.
func diskOfGoroot(dir string) (f *policyfs.FS, src string, release func(), err error) {
	if src, err = goroot(dir); err == nil {
		f, release, err = disk(src)
	}
	return f, src, release, err
}

// manyFiles plants 100,000 small files.
func manyFiles(dir string) (string, error) {
	return dir, plantText(dir, 1000, 100, 700)
}

// largeFiles plants three files of 200 MB.
func largeFiles(dir string) (string, error) {
	for i := range 3 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("large%d.log", i)))
		if err != nil {
			return "", err
		}
		text := textOf(i, 1<<20)
		for range 200 {
			if _, err := f.Write(text); err != nil {
				return "", errors.Join(err, f.Close())
			}
		}
		if err := f.Close(); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// plantText makes dirs directories of files text files each.
func plantText(dir string, dirs, files, size int) error {
	for d := range dirs {
		sub := filepath.Join(dir, fmt.Sprintf("d%04d", d))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
		for i := range files {
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%04d.go", i)), textOf(d*files+i, size), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// textOf makes lines that look like source, a few of which the searches match.
func textOf(seed, size int) []byte {
	lines := []string{
		"func handle(w http.ResponseWriter, r *http.Request) {\n", "\tif err != nil {\n", "\t\treturn fmt.Errorf(\"open: %w\", err)\n", "\t}\n",
		"// The value is copied because the caller may keep it.\n", "type config struct {\n", "\tname string\n", "}\n", "\n", "\tfor i := range items {\n",
	}
	var b strings.Builder
	for i := seed; b.Len() < size; i++ {
		b.WriteString(lines[i*7%len(lines)])
		if i%997 == 0 {
			b.WriteString("\treturn errors.ErrUnsupported // EAGAIN, ABC_12x, NotExist\n")
		}
	}
	return []byte(b.String())
}

// grep runs a search over the whole of f and returns the number of lines.
func grep(f *policyfs.FS, q policyfs.Query) (int, error) {
	n := 0
	for _, err := range f.Grep("/workspace", q) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// errSkip: a row needs a program that is not installed.
var errSkip = errors.New("not installed")

// program finds a program that is a peer.
func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, errSkip)
	}
	return path, nil
}

// rgRow compares a search with ripgrep, both with two workers.
func rgRow(id, what string, goal float64, q search, tree func(dir string) (string, error)) row {
	return row{ID: id, What: what, Peer: "rg -j2 --no-ignore --hidden", Goal: goal, Cores: 2, CPU: true,
		Prepare: func(dir string) (side, side, func(), error) {
			rg, err := program("rg")
			if err != nil {
				return nil, nil, nil, err
			}
			if dir, err = tree(dir); err != nil {
				return nil, nil, nil, err
			}
			f, release, err := disk(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			ours := func() error { _, err := grep(f, q.query); return err }
			theirs := func() error {
				cmd := exec.Command(rg, append([]string{"--no-config", "-j2", "--no-ignore", "--hidden", "-n", "--no-heading", "--color=never"}, append(q.args, dir)...)...)
				cmd.Stdout = io.Discard
				err := cmd.Run()
				var exit *exec.ExitError
				if errors.As(err, &exit) && exit.ExitCode() == 1 {
					return nil // no match
				}
				return err
			}
			return repeat(ours), repeat(theirs), release, nil
		}}
}

// naiveGrep is the search that comes to a Go programmer's mind first. It gives up
// on a file whose lines are too long, and it looks into binary files.
func naiveGrep(dir string, re *regexp.Regexp) (lines int, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		for s.Scan() {
			if re.Match(s.Bytes()) {
				lines++
			}
		}
		if err := s.Err(); !errors.Is(err, bufio.ErrTooLong) {
			return err
		}
		return nil
	})
	return lines, err
}

// naiveRow compares a search with naiveGrep, where its pattern has a literal for
// package regexp to look for.
func naiveRow() row {
	return row{ID: "D4", What: "grep GOROOT/src: rare literal", Peer: "filepath.WalkDir, bufio.Scanner, regexp", Goal: 0.2, Cores: 2,
		Prepare: func(dir string) (side, side, func(), error) {
			f, dir, release, err := diskOfGoroot(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			q := searches[0].query
			re := regexp.MustCompile(regexp.QuoteMeta(q.Pattern))
			found := func(n int, err error) error {
				if err == nil && n == 0 {
					err = errors.New("nothing found")
				}
				return err
			}
			return repeat(func() error { return found(grep(f, q)) }),
				repeat(func() error { return found(naiveGrep(dir, re)) }), release, nil
		}}
}

// policyRow compares a search under twenty scopes with one under a single scope.
func policyRow() row {
	return row{ID: "D6", What: "grep GOROOT/src under 20 scopes", Peer: "under one scope", Goal: 1.05,
		Prepare: func(dir string) (side, side, func(), error) {
			f, dir, release, err := diskOfGoroot(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			g, releaseBare, err := diskUnder(dir, policyOf(0))
			if err != nil {
				return nil, nil, nil, err
			}
			q := searches[0].query
			return repeat(func() error { _, err := grep(f, q); return err }),
				repeat(func() error { _, err := grep(g, q); return err }), func() { release(); releaseBare() }, nil
		}}
}

// memGrepRow compares a search over memfs with ripgrep over the same tree on disk.
func memGrepRow() row {
	return row{ID: "D5", What: "grep GOROOT/src held in memfs: rare literal", Peer: "rg -j2 on disk", Goal: 0.5, Cores: 2,
		Prepare: func(dir string) (side, side, func(), error) {
			r := rgRow("", "", 0, searches[0], goroot)
			_, theirs, release, err := r.Prepare(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			src, err := goroot(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			f, m := memory()
			if err := copyTree(m, src); err != nil {
				return nil, nil, nil, err
			}
			return repeat(func() error { _, err := grep(f, searches[0].query); return err }), theirs, release, nil
		}}
}

// walkRow compares a walk over 100,000 files with a function or a program.
func walkRow(id, what, peer string, goal float64, walk func(dir string) (int, error), command ...string) row {
	const dirs, files = 1000, 100
	return row{ID: id, What: what, Peer: peer, Goal: goal, Cores: 2,
		Prepare: func(dir string) (side, side, func(), error) {
			if walk == nil {
				path, err := program(command[0])
				if err != nil {
					return nil, nil, nil, err
				}
				walk = func(dir string) (int, error) {
					cmd := exec.Command(path, append(command[1:len(command):len(command)], dir)...)
					cmd.Stdout = io.Discard
					return dirs + dirs*files, cmd.Run()
				}
			}
			if err := plantTree(dir, dirs, files); err != nil {
				return nil, nil, nil, err
			}
			f, release, err := disk(dir)
			if err != nil {
				return nil, nil, nil, err
			}
			ours := func() error {
				n := 0
				for _, err := range f.Walk("/workspace") {
					if err != nil {
						return err
					}
					n++
				}
				if n < dirs+dirs*files {
					return fmt.Errorf("walked %d entries, want %d", n, dirs+dirs*files)
				}
				return nil
			}
			theirs := func() error {
				n, err := walk(dir)
				if err == nil && n != dirs+dirs*files {
					err = fmt.Errorf("peer walked %d entries, want %d", n, dirs+dirs*files)
				}
				return err
			}
			runtime.GC()
			return repeat(ours), repeat(theirs), release, nil
		}}
}

// onOneProcessor gives both sides of a row one processor. How many goroutines a
// walk takes follows from that, and nothing else selects it.
func onOneProcessor(r row) row {
	limited := func(s side) side {
		return func(n int) (time.Duration, error) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			return s(n)
		}
	}
	prepare := r.Prepare
	r.Cores = 1
	r.Prepare = func(dir string) (side, side, func(), error) {
		ours, peer, release, err := prepare(dir)
		if err != nil {
			return nil, nil, nil, err
		}
		return limited(ours), limited(peer), release, nil
	}
	return r
}
