package policyfs_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// diffGenerator makes random scripts. Names are few, so that operations meet.
type diffGenerator struct {
	rand  *rand.Rand
	known []string          // names that the script has used, to be used again
	open  [diffSlots]string // the flags of what may be open
}

// diffWeights says how often an operation comes.
var diffWeights = []struct {
	op     string
	weight int
}{
	{"use", 2},
	{"mkdir", 9}, {"mkdirall", 6}, {"remove", 6}, {"removeall", 2}, {"rename", 12}, {"move", 5},
	{"readfile", 4}, {"writefile", 9}, {"chmod", 4}, {"chtimes", 5}, {"stat", 4}, {"lstat", 3}, {"walk", 1}, {"glob", 1}, {"link", 2},
	{"open", 26}, {"close", 3}, {"read", 6}, {"readat", 4}, {"write", 8}, {"writeat", 5}, {"writestring", 2},
	{"seek", 7}, {"truncate", 5}, {"fstat", 3}, {"sync", 1}, {"readdir", 3}, {"readdirnames", 3}, {"entries", 3},
}

// script makes a script of n steps. The first ones grow a tree, or most of the
// others would be refused for want of one.
func (g *diffGenerator) script(n int) []diffStep {
	const growing = 15
	g.known, g.open = nil, [diffSlots]string{}
	total := 0
	for _, w := range diffWeights {
		total += w.weight
	}
	steps := make([]diffStep, n)
	for i := 0; i < n; i++ {
		if i < growing {
			steps[i] = g.step(g.one("mkdirall", "mkdirall", "mkdir", "writefile", "writefile", "open"))
			continue
		}
		k := g.rand.IntN(total)
		for _, w := range diffWeights {
			if k -= w.weight; k < 0 {
				steps[i] = g.step(w.op)
				break
			}
		}
		if steps[i].op == "read" && i+1 < n && !g.chance(3) {
			// Writing leaves the position at the end, mostly, with nothing to read.
			steps[i+1] = steps[i]
			steps[i] = diffStep{op: "seek", slot: steps[i].slot, n: g.rand.Int64N(20), letter: 'a'}
			i++
		}
	}
	return steps
}

func (g *diffGenerator) one(of ...string) string { return of[g.rand.IntN(len(of))] }

// chance is true once in n times.
func (g *diffGenerator) chance(n int) bool { return g.rand.IntN(n) == 0 }

func (g *diffGenerator) step(op string) diffStep {
	s := diffStep{op: op, letter: 'a'}
	for _, field := range diffShapes[op] {
		switch field {
		case 's':
			s.slot = g.slot(op)
		case 'n':
			s.name = g.name(op)
		case 't':
			s.to = g.to(op)
		case 'f':
			s.flags = g.flags(op)
			if op == "open" && !isFileName(s.name) && !g.chance(3) {
				s.flags = "RDONLY" // a directory, it seems
			}
		case 'o':
			s.mode = g.mode()
		case 'i':
			s.n = g.number(op)
		case 'j':
			s.m = g.second(op)
		case 'd':
			s.letter, s.size = byte('a'+g.rand.IntN(26)), g.size()
		}
	}
	switch op {
	case "open":
		g.open[s.slot] = s.flags
	case "close":
		if !g.chance(5) { // some go on to use what is closed
			g.open[s.slot] = ""
		}
	case "remove", "removeall", "rename", "move":
		if !g.chance(4) {
			g.known = slices.DeleteFunc(g.known, func(name string) bool { return name == s.name })
		}
	}
	return s
}

// slot is any, at times, or one that may hold what the operation is for.
func (g *diffGenerator) slot(op string) int {
	slot := g.rand.IntN(diffSlots)
	if op == "open" || g.chance(10) {
		return slot
	}
	suits := func(flags string) bool { return flags != "" }
	switch op {
	case "write", "writeat", "writestring", "truncate":
		suits = func(flags string) bool { return strings.Contains(flags, "WR") }
	case "read", "readat":
		suits = func(flags string) bool { return flags != "" && !strings.Contains(flags, "WRONLY") }
	case "readdir", "readdirnames", "entries":
		suits = func(flags string) bool { return flags == "RDONLY" }
	}
	for i := range diffSlots {
		if k := (slot + i) % diffSlots; suits(g.open[k]) {
			return k
		}
	}
	return slot
}

// plain is a name that the script has used before, as often as not, or a new one.
func (g *diffGenerator) plain(op string) string {
	if len(g.known) > 0 && !g.chance(3) {
		name := g.known[g.rand.IntN(len(g.known))]
		if up := strings.LastIndexByte(name, '/'); up > 0 && (op == "walk" || op == "use" || g.chance(6)) {
			return name[:up]
		}
		if (op == "open" || op == "writefile" || op == "readfile") && !isFileName(name) && g.chance(2) {
			return name + g.one("/f", "/f", "/g")
		}
		return name
	}
	name := g.fresh(op)
	if len(g.known) < 12 {
		g.known = append(g.known, name)
	} else {
		g.known[g.rand.IntN(len(g.known))] = name
	}
	return name
}

// isFileName reports whether the generator calls files so.
func isFileName(name string) bool {
	return strings.HasSuffix(name, "f") || strings.HasSuffix(name, "g")
}

// fresh is a name of one to four elements: directories are called a, b and c,
// mostly, and files f and g.
func (g *diffGenerator) fresh(op string) string {
	elems := make([]string, []int{1, 1, 1, 2, 2, 2, 2, 3, 3, 4}[g.rand.IntN(10)])
	for i := range elems {
		elems[i] = g.one("a", "b", "c")
		if g.chance(60) {
			elems[i] = g.one("A", ".h", ".env", "node_modules", "secret", "\u00e9", "e\u0301", "a b", "*", "CON", "a.", "~1")
		}
	}
	files := 2 // names of a file in 4
	switch op {
	case "mkdir", "mkdirall", "removeall", "use", "walk":
		files = 0
	case "open", "writefile", "readfile":
		files = 3
	}
	if g.rand.IntN(4) < files {
		elems[len(elems)-1] = g.one("f", "g")
	}
	return strings.Join(elems, "/")
}

// name is a plain name, mostly, or another spelling, or what is no name.
func (g *diffGenerator) name(op string) string {
	if op == "use" && !g.chance(6) {
		return "/"
	}
	name := g.plain(op)
	if !g.chance(10) {
		return name
	}
	switch g.rand.IntN(16) {
	case 0:
		return ""
	case 1:
		return g.one(".", "/", "/workspace", "/workspace/", "//", "/.", "./")
	case 2, 3:
		return name + "/"
	case 4:
		return name + "/."
	case 5:
		return "/" + name
	case 6:
		return "/workspace/" + name
	case 7:
		return "workspace/" + name
	case 8:
		return "./" + name
	case 9:
		return strings.ReplaceAll(name, "/", "//")
	case 10:
		return name + "/../" + g.plain(op)
	case 11:
		return "../" + name
	case 12:
		return name + g.one("\x00", "\n", `\x`, "\xff", "\u202e", "\u200b", " ")
	case 13:
		return name + "/" + strings.Repeat("n", 255+g.rand.IntN(2))
	case 14:
		return strings.Repeat("a/", 2050) + "b" // too long; a tree of that depth would only cost time
	}
	return name + "/.."
}

func (g *diffGenerator) to(op string) string {
	switch op {
	case "link":
		return g.one("a", "f", "b/c", ".", "..", "nowhere", "../b", "../outside", "../outside/f")
	case "glob":
		return g.one("*", "**", "a/*", "*/b", "**/c", "a*/**", "[", "{a,b}/c", "", "/a/*", "c/**/a")
	}
	return g.name(op)
}

func (g *diffGenerator) flags(op string) string {
	switch op {
	case "use":
		words := []string{"strict"}
		for _, w := range []string{"parents", "dotdot", "policed", "fewentries", "portable"} {
			if g.chance(8) || w == "parents" && g.chance(2) {
				words = append(words, w)
			}
		}
		return strings.Join(words, "|")
	case "move":
		return g.one("none", "noreplace", "noreplace", "notdir", "noreplace|notdir")
	case "writefile":
		return g.one("none", "none", "none", "none", "absent", "match", "match", "stale")
	}
	if g.chance(2) {
		return g.one("RDONLY", "RDONLY", "RDWR|CREATE", "RDWR|CREATE|TRUNC", "WRONLY|CREATE|APPEND", "RDWR|CREATE|APPEND", "RDWR")
	}
	if g.chance(60) {
		return "BOTH"
	}
	flag := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR}[g.rand.IntN(4)]
	for _, f := range []struct{ bit, n int }{{os.O_CREATE, 2}, {os.O_EXCL, 6}, {os.O_TRUNC, 5}, {os.O_APPEND, 4}, {os.O_SYNC, 20}} {
		if g.chance(f.n) {
			flag |= f.bit
		}
	}
	return flagText(flag)
}

// mode is one that lets the owner in: memory keeps permission bits and does not
// enforce them, and the test does not always run as root.
func (g *diffGenerator) mode() int64 {
	if g.chance(8) {
		return 0o7700 | g.rand.Int64N(0o100) // the bits above 0o777 are to be dropped
	}
	return 0o700 | g.rand.Int64N(0o100)
}

// offset is small, mostly; at times around the chunks of memfs, around the limit
// of the session, or far beyond it.
func (g *diffGenerator) offset() int64 {
	switch g.rand.IntN(40) {
	case 0:
		return -1 - g.rand.Int64N(3)
	case 1:
		return g.rand.Int64N(3)*(256<<10) + g.rand.Int64N(5) - 2
	case 2:
		return diffMaxFile + g.rand.Int64N(5) - 2
	case 3:
		return []int64{1 << 40, 1<<63 - 1, -1 << 63, 1<<63 - 10}[g.rand.IntN(4)]
	}
	return g.rand.Int64N(50)
}

func (g *diffGenerator) number(op string) int64 {
	switch op {
	case "read":
		return g.rand.Int64N(40)
	case "readdir", "readdirnames", "entries":
		return g.rand.Int64N(5) - 1
	case "chtimes":
		return g.second(op)
	}
	return g.offset()
}

func (g *diffGenerator) second(op string) int64 {
	switch op {
	case "seek":
		return []int64{0, 0, 0, 1, 1, 2, 2, 9}[g.rand.IntN(8)]
	case "chtimes":
		if g.chance(4) {
			return 0
		}
		return 1 + g.rand.Int64N(1_500_000_000)
	}
	return g.rand.Int64N(40) // the length of a readat
}

func (g *diffGenerator) size() int {
	if g.chance(60) {
		return g.rand.IntN(300 << 10)
	}
	if g.chance(6) {
		return 0
	}
	return 1 + g.rand.IntN(40)
}
