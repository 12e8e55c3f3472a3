package conformance_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

func FuzzMemfs(f *testing.F) { conformance.Fuzz(f, memHarness(memfs.Options{})) }

func FuzzDiskfs(f *testing.F) {
	conformance.Fuzz(f, diskHarness(openDisk(diskfs.Options{NoSync: true})))
}

// TestReplay: a script is the same after printing and reading, and a fault shows.
func TestReplay(t *testing.T) {
	const script = `
# a directory, renamed with a File open in it
mkdir a
replace a/b none "one"
hold 0 a/b Read|Write|Append
rename a c none
happend 0 "two"
read c/b
hread 0
list c
stat a
chmod c/b 384
replace c/b match "three"
hwrite 0 10 "x"
htruncate 0 4
hstat 0
hclose 0
truncate c/b 2
write c/b 5 "y"
append c/b "z"
open c Read|Directory
remove c
remove c/b
remove c
`
	conformance.Replay(t, memHarness(memfs.Options{}), script)
	conformance.Replay(t, diskHarness(openDisk(diskfs.Options{NoSync: true})), script)
}

// TestShrink: a fault that needs three steps among many is reported with few.
func TestShrink(t *testing.T) {
	faulty := mutant{wrap: func(m *mutated) provider.Provider {
		m.rename = func(ctx ctxT, from, to pathT, o renameT) error {
			err := m.Provider.Rename(ctx, from, to, o)
			if err == nil && !isDir(ctx, m.mem, to) {
				m.mem.Chmod(ctx, to, fs.ModePerm)
				return provider.WriteFile(ctx, m.mem, to, []byte("lost"), 0)
			}
			return err
		}
		return m
	}}
	noise := strings.Repeat("mkdir b\nstat b\nlist .\nremove b\n", 12)
	report, script := conformance.Shrunk(t, faulty.harness(), noise+"replace a none \"x\"\n"+noise+"rename a b/c none\nmkdir b\nrename a b/c none\n"+noise)
	if report == "" {
		t.Fatal("the fault was not found")
	}
	if lines := strings.Count(script, "\n"); lines > 4 {
		t.Errorf("%d lines are left:\n%s", lines, script)
	}
	if out := conformance.ReplayOutcome(t, faulty.harness(), script); !out.Fails {
		t.Errorf("the script does not show the fault:\n%s", script)
	}
	t.Log(report, script)
}
