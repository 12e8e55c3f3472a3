package main

import (
	"math"
	"regexp"
)

// A family is rows that have a goal together, for the geometric mean of their
// ratios, besides the goal of each.
type family struct {
	id, what string
	goal     float64
	members  *regexp.Regexp // of the IDs
}

var families = []family{
	{"D1.m", "grep GOROOT/src: geometric mean of the six", 1.0, regexp.MustCompile(`^D1\.[0-9]+$`)},
	{"D1.mc", "grep GOROOT/src: geometric mean of the six, CPU time", 1.0, regexp.MustCompile(`^D1\.[0-9]+c$`)},
	{"D3.m", "grep 3 files of 200 MB: geometric mean of the six", 1.1, regexp.MustCompile(`^D3\.[0-9]+$`)},
	{"D3.mc", "grep 3 files of 200 MB: geometric mean of the six, CPU time", 1.1, regexp.MustCompile(`^D3\.[0-9]+c$`)},
}

// means returns the families all of whose members have been measured: the mean
// of a part would be judged by a goal that is not its own.
func means(results []result) []result {
	var out []result
	for _, f := range families {
		mean, n := result{ID: f.id, What: f.what, Goal: f.goal, Judged: true}, 0
		var ours, theirs, ratio, variance float64
		for _, r := range results {
			if !f.members.MatchString(r.ID) || r.Error != "" || r.Absent != "" {
				continue
			}
			n++
			ours, theirs, ratio = ours+math.Log(r.Ours), theirs+math.Log(r.Theirs), ratio+math.Log(r.Ratio)
			variance += r.Spread / r.Ratio * r.Spread / r.Ratio
			mean.Peer, mean.Rounds, mean.Judged = r.Peer, r.Rounds, mean.Judged && r.Judged
		}
		if n != len(searches) {
			continue
		}
		by := float64(n)
		mean.Ours, mean.Theirs, mean.Ratio = math.Exp(ours/by), math.Exp(theirs/by), math.Exp(ratio/by)
		mean.Spread = mean.Ratio * math.Sqrt(variance) / by // of independent members
		out = append(out, mean)
	}
	return out
}
