package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/provider"
)

func concRequirements() []requirement[*probe] {
	return []requirement[*probe]{
		{"CONC-exclusive-create", "Of many exclusive creates of one name, exactly one succeeds.", needInPlace, concExclusive},
		{"CONC-mkdir", "Of many Mkdirs of one name, exactly one succeeds.", needWrite, concMkdir},
		{"CONC-remove", "Of many Removes of one name, exactly one succeeds.", needWrite, concRemove},
		{"CONC-rename-from", "Of many Renames of one name to different ones, exactly one succeeds.", needWrite, concRenameFrom},
		{"CONC-NoReplace", "Of many Renames with NoReplace to one name, exactly one succeeds, and the others keep their source.", needWrite, concNoReplace},
		{"CONC-if-absent", "Of many Replaces with IfAbsent of one name, exactly one succeeds.", needWrite, concIfAbsent},
		{"CONC-if-match", "Counters that are raised by read and Replace with IfMatch lose no update.", needWrite, concIfMatch},
		{"CONC-append", "Concurrent Appends are each whole, none is lost, and each returns its own end.", needInPlace, concAppend},
		{"CONC-write", "Concurrent writes to different places all arrive.", needInPlace, concWrite},
		{"CONC-replace-is-whole", "Readers of a file that is replaced meanwhile see one whole content.", needWrite, concReplaceWhole},
		{"CONC-rename-never-misses", "A name that is renamed over is there, old or new, at every moment.", needWrite, concRenameOver},
		{"CONC-listing", "A listing made while others create and remove holds every name that stays, once.", needWrite, concListing},
		{"CONC-no-cycles", "Two renames that would put two directories into each other never both succeed.", needWrite, concCycle},
		{"CONC-nothing-in-a-removed-directory", "A directory that is removed while names are made in it is gone and empty, or full and there.", needWrite, concRemoveDir},
		{"CONC-everything-at-once", "All methods on the same names at once end, without panic, deadlock or damage to other names.", needWrite, concEverything},
	}
}

// workers is how many goroutines compete.
const workers = 8

// oneWins runs f in all workers and checks that exactly one succeeds and the
// others fail with one of losers.
func (c *probe) oneWins(what string, f func(i int) error, losers ...error) (winner int) {
	var won atomic.Int32
	var who atomic.Int32
	c.parallel(workers, func(i int) {
		err := f(i)
		if err == nil {
			won.Add(1)
			who.Store(int32(i))
			return
		}
		c.fails(err, "a losing "+what, losers...)
	})
	c.expect(won.Load() == 1, fmt.Sprintf("exactly one of %d %s succeeds", workers, what), "%d", won.Load())
	return int(who.Load())
}

// rounds repeats a race, each time on a name of its own.
func (c *probe) rounds(f func(name string)) {
	n := 40
	if testing.Short() {
		n = 15
	}
	for i := range n {
		c.calls.clear()
		f(fmt.Sprintf("n%d", i))
	}
}

func concExclusive(c *probe) {
	c.rounds(func(name string) {
		i := c.oneWins("exclusive creates", func(i int) error {
			f, err := c.open(name, optExcl)
			if err != nil {
				return err
			}
			_, err = f.WriteAt([]byte{byte('a' + i)}, 0)
			c.ok(err)
			return f.Close()
		}, fs.ErrExist)
		c.holdsContent(name, string(rune('a'+i)))
	})
}

func concMkdir(c *probe) {
	c.rounds(func(name string) {
		c.oneWins("Mkdirs", func(int) error { return c.mkdir(name) }, fs.ErrExist)
	})
}

func concRemove(c *probe) {
	c.rounds(func(name string) {
		_, err := c.replace(name, "x")
		c.ok(err)
		c.oneWins("Removes", func(int) error { return c.remove(name) }, fs.ErrNotExist)
		c.absent(name)
	})
}

func concRenameFrom(c *probe) {
	c.rounds(func(name string) {
		_, err := c.replace(name, "x")
		c.ok(err)
		i := c.oneWins("Renames", func(i int) error { return c.rename(name, fmt.Sprintf("%s-%d", name, i)) }, fs.ErrNotExist)
		c.holdsContent(fmt.Sprintf("%s-%d", name, i), "x")
		c.ok(c.remove(fmt.Sprintf("%s-%d", name, i)))
	})
	c.holdsTree(".")
}

func concNoReplace(c *probe) {
	c.rounds(func(name string) {
		c.ok(c.mkdir(name))
		for i := range workers {
			_, err := c.replace(fmt.Sprintf("%s/from%d", name, i), fmt.Sprint(i))
			c.ok(err)
		}
		i := c.oneWins("Renames with NoReplace", func(i int) error {
			return c.renameWith(fmt.Sprintf("%s/from%d", name, i), name+"/to", provider.RenameOptions{NoReplace: true})
		}, fs.ErrExist)
		c.holdsContent(name+"/to", fmt.Sprint(i))
		c.expect(len(c.list(name)) == workers, fmt.Sprintf("%d names: the losers and the winner", workers), "%q", names(c.list(name)))
	})
}

func concIfAbsent(c *probe) {
	c.rounds(func(name string) {
		i := c.oneWins("Replaces with IfAbsent", func(i int) error {
			_, err := c.replaceWith(name, fmt.Sprint(i), provider.ReplaceOptions{If: provider.IfAbsent()})
			return err
		}, provider.ErrConflict)
		c.holdsContent(name, fmt.Sprint(i))
	})
}

func concIfMatch(c *probe) {
	const each = 10
	_, err := c.replace("counter", "0")
	c.ok(err)
	c.parallel(4, func(int) {
		for done := 0; done < each; {
			data, err := provider.ReadFile(c.ctx, c.p, provider.MustPath("counter"))
			c.ok(err)
			var n int
			fmt.Sscan(string(data), &n)
			_, err = c.replaceWith("counter", fmt.Sprint(n+1), provider.ReplaceOptions{If: provider.IfMatch(digestOf(string(data)))})
			if err == nil {
				done++
				continue
			}
			c.fails(err, "a losing Replace with IfMatch", provider.ErrConflict)
		}
	})
	c.holdsContent("counter", fmt.Sprint(4*each))
}

func concAppend(c *probe) {
	c.build("log=")
	const each = 40
	var ends [workers * each]int64
	c.parallel(workers, func(i int) {
		f := c.file("log", optAppend)
		line := []byte(strings.Repeat(string(rune('a'+i)), 9+i) + "\n")
		for n := range each {
			m, end, err := f.Append(line)
			c.ok(err)
			c.expect(m == len(line), fmt.Sprintf("Append returns %d", len(line)), "%d", m)
			ends[i*each+n] = end
		}
		c.ok(f.Close())
	})
	content := c.read("log")
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	c.expect(len(lines) == workers*each, fmt.Sprintf("%d lines", workers*each), "%d", len(lines))
	for _, line := range lines {
		i := int(line[0] - 'a')
		c.expect(line == strings.Repeat(line[:1], 9+i), "whole lines", "%q", line)
	}
	slices.Sort(ends[:])
	c.expect(len(slices.Compact(slices.Clone(ends[:]))) == len(ends), "every Append returns an end of its own", "%d different ends", len(slices.Compact(ends[:])))
	for _, end := range ends {
		c.expect(end > 0 && end <= int64(len(content)) && content[end-1] == '\n', "every end is the end of a line", "%d", end)
	}
}

func concWrite(c *probe) {
	const size = 5000
	c.build("f=")
	f := c.file("f", optWrite)
	c.parallel(workers, func(i int) {
		for n := range 20 {
			off := int64((n*workers + i) * size)
			_, err := f.WriteAt(bytes.Repeat([]byte{byte('a' + i)}, size), off)
			c.ok(err)
		}
	})
	content := c.readHandle(f)
	c.expect(len(content) == 20*workers*size, fmt.Sprintf("%d bytes", 20*workers*size), "%d", len(content))
	for at := 0; at < len(content); at += size {
		want := strings.Repeat(string(rune('a'+at/size%workers)), size)
		c.expect(content[at:at+size] == want, fmt.Sprintf("what was written at %d", at), "something else")
	}
}

func concReplaceWhole(c *probe) {
	content := func(i int) string { return strings.Repeat(string(rune('a'+i)), 20_000+i*7000) }
	whole := map[string]bool{}
	for i := range 4 {
		whole[content(i)] = true
	}
	_, err := c.replace("f", content(0))
	c.ok(err)
	var stop atomic.Bool
	c.parallel(5, func(i int) {
		switch {
		case i < 2:
			defer stop.Store(true)
			for n := range 30 {
				_, err := c.replace("f", content((n+i)%4))
				c.ok(err)
			}
		default:
			for !stop.Load() {
				data, err := provider.ReadFile(c.ctx, withoutReader(c.p), provider.MustPath("f"))
				if i == 4 {
					data, err = provider.ReadFile(c.ctx, c.p, provider.MustPath("f"))
				}
				c.ok(err)
				c.expect(whole[string(data)], "one whole content", "%d bytes, beginning with %.8q and ending with %q", len(data), data, data[max(0, len(data)-8):])
			}
		}
	})
}

func concRenameOver(c *probe) {
	_, err := c.replace("f", "old")
	c.ok(err)
	var stop atomic.Bool
	var missed atomic.Int32
	renames := 150
	if !c.features.AtomicRename {
		renames = 40 // only for the note below
	}
	c.parallel(3, func(i int) {
		if i == 0 {
			defer stop.Store(true)
			for range renames {
				_, err := c.replace("next", "new")
				c.ok(err)
				c.ok(c.rename("next", "f"))
			}
			return
		}
		for !stop.Load() {
			info, err := c.stat("f")
			if !c.features.AtomicRename && (err != nil || info.Size() != 3) {
				missed.Add(1)
				continue
			}
			c.ok(err)
			c.expect(info.Size() == 3, "3 bytes", "%s", describeInfo(info))
		}
	})
	if !c.features.AtomicRename {
		if missed.Load() == 0 {
			c.note(fmt.Sprintf("AtomicRename (no reader missed the name in %d renames)", renames))
		}
		c.skip("Features.AtomicRename is false")
	}
}

func concListing(c *probe) {
	layout := []string{"d/"}
	var stay []string
	for i := range 200 {
		name := fmt.Sprintf("stay%03d", i)
		stay = append(stay, name)
		layout = append(layout, "d/"+name+"=")
	}
	c.build(layout...)
	c.calls.clear()
	var listings atomic.Int32
	const enough = 40
	c.parallel(4, func(i int) {
		if i < 2 {
			for n := 0; listings.Load() < enough && !c.hasFailed(); n++ {
				name := fmt.Sprintf("d/come%d-%d", i, n)
				c.ok(c.makeEmpty(name))
				if n%3 == 0 {
					c.ok(c.rename(name, name+"x"))
					name += "x"
				}
				c.ok(c.remove(name))
			}
			return
		}
		f := c.file("d", optDir)
		for listings.Add(1) <= enough {
			entries, err := f.ReadDir(0)
			c.ok(err)
			got := slices.DeleteFunc(names(entries), func(s string) bool { return strings.HasPrefix(s, "come") })
			c.expect(slices.Equal(got, stay), "the 200 names that stay, each once", "%d of them", len(got))
		}
	})
}

func concCycle(c *probe) {
	c.rounds(func(name string) {
		c.ok(c.mkdir(name))
		c.build(name+"/a/f=1", name+"/b/g=2")
		c.parallel(2, func(i int) {
			from, to := name+"/a", name+"/b/a"
			if i == 1 {
				from, to = name+"/b", name+"/a/b"
			}
			if err := c.rename(from, to); err != nil {
				c.fails(err, "a losing Rename", fs.ErrNotExist, syscall.EINVAL)
			}
		})
		tree := c.observe(name)
		c.expect(len(tree) == 4, "both directories and both files are still there", "%s", describeTree(tree))
	})
}

func concRemoveDir(c *probe) {
	round := 0
	c.rounds(func(name string) {
		round++
		late := time.Duration(round%5) * 40 * time.Microsecond
		c.ok(c.mkdir(name))
		var removed, made error
		c.parallel(2, func(i int) {
			if i == 0 {
				removed = c.remove(name)
				return
			}
			time.Sleep(late) // so that each meets the other at another place
			_, made = c.replace(name+"/f", "x")
		})
		switch {
		case removed == nil:
			c.fails(made, "Replace in the directory that was removed", fs.ErrNotExist)
			c.absent(name)
		case made == nil:
			c.fails(removed, "Remove of the directory that was filled", syscall.ENOTEMPTY)
			c.holdsContent(name+"/f", "x")
		default:
			// Both lost: a temporary may have been in the way. Nothing is half done.
			c.fails(removed, "Remove of a directory in use", syscall.ENOTEMPTY)
			c.holdsTree(name)
		}
	})
}

func concEverything(c *probe) {
	c.build("d/a=1", "d/b=2", "d/e/", "stays/f=here", source+"="+sourceContent)
	deadline := time.Now().Add(raceBudget)
	list := []string{"d", "d/a", "d/b", "d/e", "d/e/x", "free name", source}
	c.parallel(workers, func(i int) {
		all := ops()
		for n := i; time.Now().Before(deadline); n++ {
			o := all[n%len(all)]
			if o.applies(c) {
				o.act(c, list[(n/len(all)+i)%len(list)])
			}
			if n%16 == 0 {
				c.holdsContent("stays/f", "here")
				c.rename("d/e", "d/a")
				c.rename("d", "free name")
				c.rename("free name", "d")
				c.mkdir("d")
				c.mkdir("d/e")
			}
		}
	})
	c.calls.clear()
	tree := c.observe(".")
	c.expect(slices.Contains(tree, "stays/f=here"), "the name that nobody touched is as before", "%s", describeTree(tree))
	if err := c.remove("stays"); !errors.Is(err, syscall.ENOTEMPTY) {
		c.fails(err, "Remove of a full directory", syscall.ENOTEMPTY)
	}
}
