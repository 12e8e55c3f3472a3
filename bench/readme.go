package main

import (
	"fmt"
	"os"
	"strings"
)

// The table of the README stands between these lines.
const (
	tableBegins = "<!-- table: go run ./bench -json bench/baseline.json -readme README.md -->\n"
	tableEnds   = "<!-- table ends -->\n"
)

// table is a report for readers: a line a row, the machine below.
func table(rep report) string {
	var b strings.Builder
	b.WriteString("| what | against | ratio | must reach |\n|---|---|---|---|\n")
	for _, r := range rep.Results {
		goal := "-"
		if r.Goal > 0 {
			goal = fmt.Sprintf("<= %.4g", r.Goal)
		}
		ratio := fmt.Sprintf("%.3g", r.Ratio)
		switch {
		case r.Error != "":
			ratio = "failed"
		case r.Absent != "":
			ratio = "not measured: " + r.Absent
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.What, r.Peer, ratio, goal)
	}
	fmt.Fprintf(&b, "\n%s, %s/%s, %d cores; medians of interleaved rounds.\n", rep.Go, rep.OS, rep.Arch, rep.CPUs)
	return b.String()
}

// replaceTable puts the table of a report into a document.
func replaceTable(doc string, rep report) (string, error) {
	before, rest, ok := strings.Cut(doc, tableBegins)
	_, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		return "", fmt.Errorf("no table in the document")
	}
	return before + tableBegins + "\n" + table(rep) + "\n" + tableEnds + after, nil
}

// writeTable is replaceTable on a file.
func writeTable(file string, rep report) error {
	doc, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	out, err := replaceTable(string(doc), rep)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(out), 0o644)
}
