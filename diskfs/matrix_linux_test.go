package diskfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/conformance"
	"github.com/workspacefs/workspacefs/diskfs"
	"github.com/workspacefs/workspacefs/provider"
)

// The matrix: the suite of package conformance, and the attack and bug vectors
// of package policyfs, on every storage, in every mode, as root and as a user
// without privileges. A short run, and one where not everything is required,
// takes the first mode only, and no other user.

// storage is a filesystem that the matrix covers.
type storage struct {
	name    string
	dir     func(t testing.TB) string      // makes or mounts it
	give    func(t testing.TB, dir string) // makes it nobody's, where chown does not
	modes   []mode
	known   map[string]string // what it does not keep, whoever calls
	noLinks bool              // neither links nor FIFOs nor sockets
	vectors vectorLimits
}

// vectorLimits says which vectors a storage cannot hold.
type vectorLimits struct {
	skip   map[string]string // pattern of test names -> reason
	unmade int               // cases whose setup the storage refuses
	slow   bool              // short sizes
}

var storages = []storage{
	{name: "tmpfs", dir: tmpfs, modes: modes},
	{name: "temp", dir: func(t testing.TB) string { return tempDirIn(t, "") }, modes: modes[:2]},
	{name: "xfs", dir: func(t testing.TB) string { return newLoop(t, "xfs", "mkfs.xfs", "-q").dir }, modes: modes[:2]},
	{name: "ext4", dir: func(t testing.TB) string { return newLoop(t, "ext4", "mkfs.ext4", "-q").dir }, modes: modes[:2]},
	{name: "exfat", dir: func(t testing.TB) string { exfat, _ := caseMounts(t); return exfat }, give: giveExfat, modes: modes[:2],
		known: map[string]string{
			"REMOVE-an-open-directory":          "an open directory that was removed cannot be described",
			"WRITE-moves-the-modification-time": "exfat-fuse does nothing for a truncation to the present size",
		},
		noLinks: true,
		vectors: vectorLimits{
			slow: true, unmade: 97, // links, odd names, a file of gigabytes
			skip: map[string]string{
				"^TestAttackVectors$/^H08$/^disk$":   "exFAT has no FIFOs",
				"^TestAttackVectors$/^K03$/^disk$":   "exFAT has no modes",
				"^TestFSBugVectors$/^AF-M08$/^disk$": "exFAT has no modes",
				"^TestFSBugVectors$/^AF-M18$/^disk$": "exFAT has no modes",
				"^TestFSBugVectors$/^AF-M55$/^disk$": "exFAT has no modes",
				"^TestFSBugVectors$/^AF-B04$/^disk$": "exFAT has no modes",
				"^TestFSBugVectors$/^GO-17$/^disk$":  "exFAT has no modes",
			},
		},
	},
	{name: "ntfs", dir: func(t testing.TB) string { _, ntfs := caseMounts(t); return ntfs }, modes: modes[:2],
		known: map[string]string{
			"PATH-element-of-255-bytes":        "a rename over so long a name leaves a shortened one behind",
			"PATH-odd-names":                   "lowntfs-3g lists names in lower case",
			"CASE-spelling-is-kept":            "lowntfs-3g lists names in lower case",
			"CASE-rename-changes-the-spelling": "lowntfs-3g lists names in lower case",
			"REMOVE-an-open-directory":         "an open directory that was removed cannot be described",
			"LINK-swapped-in-later":            "an open file that is removed stays listed as .ghost-ntfs-3g",
		},
		vectors: vectorLimits{
			slow: true, unmade: 2, // A23: a name that is not UTF-8
			skip: map[string]string{"^TestAttackVectors$/^M16$/^disk$": "lowntfs-3g lists names in lower case"},
		},
	},
}

// harness makes providers in fresh directories below base.
func (s storage) harness(m mode, base string) conformance.Harness {
	dirs := make(map[provider.Provider]string)
	open := func(t testing.TB, dir string) provider.Provider {
		// Syncs that reach a disk take most of the time there.
		p := m.openDir(t, dir, diskfs.Options{NoSync: s.name != "tmpfs" && !long()}).Provider
		dirs[p] = dir
		return p
	}
	h := conformance.Harness{
		New: func(t testing.TB) provider.Provider { return open(t, tempDirIn(t, base)) },
		Reopen: func(t testing.TB, p provider.Provider) provider.Provider {
			p.Close()
			return open(t, dirs[p])
		},
		Known: s.known,
	}
	if !s.noLinks {
		h.HostDir = func(p provider.Provider) string { return dirs[p] }
		h.Plant = func(t testing.TB, p provider.Provider, target string, name provider.Path) {
			if err := os.Symlink(target, filepath.Join(dirs[p], name.String())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return h
}

// suite runs the suite at base.
func (s storage) suite(t *testing.T, base string) {
	for i, m := range s.modes {
		if i > 0 && s.name != "tmpfs" && !everywhere() {
			continue
		}
		t.Run(m.name, func(t *testing.T) { conformance.Run(t, s.harness(m, base)) })
	}
}

// asNobody runs test with a directory on the storage that is nobody's.
func (s storage) asNobody(t *testing.T, dir string, test func(t *testing.T, dir string)) {
	if os.Geteuid() != 0 || !everywhere() {
		return
	}
	t.Run("nobody", func(t *testing.T) {
		if s.give != nil {
			s.give(t, dir)
		} else {
			mustDo(t, os.Chmod(dir, 0o755))
			dir = tempDirIn(t, dir)
			mustDo(t, os.Chown(dir, nobody, nobody))
		}
		test(t, dir)
	})
}

// suiteEnv tells a child which storage it is on, and where.
const suiteEnv = "DISKFS_TEST_SUITE"

// TestConformance runs the whole suite where nothing has to be mounted.
func TestConformance(t *testing.T) { conform(t, storages[:2]) }

// TestConformanceMounted runs it on filesystems that the test mounts.
func TestConformanceMounted(t *testing.T) {
	whereAllIsRequired(t)
	conform(t, storages[2:])
}

func conform(t *testing.T, storages []storage) {
	for _, s := range storages {
		t.Run(s.name, func(t *testing.T) {
			if s.name == "ext4" && !everywhere() {
				t.Skip("in a run of everything; the temporary directory is on a disk too")
			}
			dir := s.dir(t)
			s.suite(t, dir)
			s.asNobody(t, dir, func(t *testing.T, dir string) {
				child{uid: nobody, run: "^TestSuiteAsNobody$", env: []string{suiteEnv + "=" + s.name + "|" + dir}}.mustPass(t)
			})
		})
	}
}

// TestSuiteAsNobody is the child.
func TestSuiteAsNobody(t *testing.T) {
	name, dir, ok := strings.Cut(os.Getenv(suiteEnv), "|")
	if !ok {
		t.Skip("runs in a child process")
	}
	for _, s := range storages {
		if s.name == name {
			s.suite(t, dir)
		}
	}
}
