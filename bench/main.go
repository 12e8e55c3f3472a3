// Command bench measures the library against its peers in one interleaved run
// and prints each row as a ratio, so that a figure means the same on every
// machine. With -check it exits with status 1 when a row misses its goal by more
// than the spread of its rounds.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"time"
)

// A report is what -json writes.
type report struct {
	Go      string   `json:"go"`
	OS      string   `json:"os"`
	Arch    string   `json:"arch"`
	CPUs    int      `json:"cpus"`
	Results []result `json:"results"`
}

// recordedRounds is how many rounds the figures that are published need.
const recordedRounds = 20

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) (ok bool, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	check := flags.Bool("check", false, "exit with status 1 when a row misses its goal by more than the spread")
	only := flags.String("run", "", "measure only rows whose ID matches this regular expression")
	rounds := flags.Int("rounds", 21, "interleaved rounds a row")
	slice := flags.Duration("slice", 20*time.Millisecond, "time of each side in a round")
	dir := flags.String("dir", "", "directory for the trees; default: a temporary one, on tmpfs where there is one")
	jsonFile := flags.String("json", "", "write the figures to this file")
	readme := flags.String("readme", "", "put the table into this document")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if *rounds < 1 || *slice <= 0 {
		return false, fmt.Errorf("-rounds and -slice must be positive")
	}
	if *readme != "" && *rounds < recordedRounds {
		return false, fmt.Errorf("-readme needs at least %d rounds", recordedRounds)
	}
	selected, err := regexp.Compile(*only)
	if err != nil {
		return false, err
	}
	base := *dir
	if base == "" {
		if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
			base = "/dev/shm"
		}
	}
	rep := report{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	ok = true
	fmt.Fprintln(out, "| row | what | against | ratio | spread | must reach | |\n|---|---|---|---|---|---|---|")
	for _, r := range rows() {
		if !selected.MatchString(r.ID) {
			continue
		}
		results, err := one(r, base, *rounds, *slice)
		switch {
		case errors.Is(err, errSkip):
			results[0].Absent = err.Error()
		case err != nil:
			results[0].Error = err.Error()
		}
		ok = rep.add(out, results) && ok
	}
	ok = rep.add(out, means(rep.Results)) && ok
	if *jsonFile != "" {
		data, err := json.MarshalIndent(rep, "", "\t")
		if err != nil {
			return false, err
		}
		if err := os.WriteFile(*jsonFile, append(data, '\n'), 0o644); err != nil {
			return false, err
		}
	}
	if *readme != "" {
		if err := writeTable(*readme, rep); err != nil {
			return false, err
		}
	}
	return ok || !*check, nil
}

// add prints and keeps results. It reports whether none of them missed its goal.
func (rep *report) add(out io.Writer, results []result) (ok bool) {
	ok = true
	for _, r := range results {
		printRow(out, r)
		ok = ok && !r.missed()
	}
	rep.Results = append(rep.Results, results...)
	return ok
}

// one measures a row in a directory of its own.
func one(r row, base string, rounds int, slice time.Duration) ([]result, error) {
	dir, err := os.MkdirTemp(base, "workspacefs-bench-")
	if err != nil {
		return []result{{ID: r.ID, What: r.What, Peer: r.Peer, Goal: r.Goal}}, err
	}
	defer os.RemoveAll(dir)
	return measure(r, dir, rounds, slice)
}

func printRow(out io.Writer, r result) {
	if r.Error != "" {
		fmt.Fprintf(out, "| %s | %s | %s | - | - | - | error: %s |\n", r.ID, r.What, r.Peer, r.Error)
		return
	}
	if r.Absent != "" {
		fmt.Fprintf(out, "| %s | %s | %s | - | - | - | %s |\n", r.ID, r.What, r.Peer, r.Absent)
		return
	}
	goal, verdict := "-", ""
	if r.Goal > 0 {
		goal = fmt.Sprintf("<= %.4g", r.Goal)
		switch {
		case !r.Judged:
			verdict = "not judged: too few free cores"
		case r.missed():
			verdict = "missed"
		default:
			verdict = "ok"
		}
	}
	fmt.Fprintf(out, "| %s | %s | %s | %.3g | %.2g | %s | %s |\n", r.ID, r.What, r.Peer, r.Ratio, r.Spread, goal, verdict)
}
