package namespace

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGrantProperties makes random grant sets over one tree of directories, and
// checks what must hold for every path of every table.
func TestGrantProperties(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	if os.Getenv("WORKSPACEFS_LONG") == "1" {
		rounds = 20_000
	}
	top := dirs(t, "w/a/b/c", "w/a/bb", "w/d", "x/y/z", "x/y y", "v")
	var all []string // every directory
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != top {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"la": "w/a", "lx": "x", "ly": "x/y"} {
		if err := os.Symlink(filepath.Join(top, target), filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	spellings := append(slices.Clone(all), filepath.Join(top, "la"), filepath.Join(top, "la/b"), filepath.Join(top, "lx/y"), filepath.Join(top, "ly")+"/../y", filepath.Join(top, "ly")+"/..")

	seed := uint64(rounds) // fixed: a failure repeats
	rng := rand.New(rand.NewPCG(seed, 7))
	valid, refusals := 0, make(map[string]int)
	for round := range rounds {
		mode := Mode(rng.IntN(2))
		grants := make([]Grant, 1+rng.IntN(5))
		for i := range grants {
			grants[i] = Grant{
				Dir:    spellings[rng.IntN(len(spellings))],
				Label:  []string{"App", "my docs", "x", "data", "notes"}[rng.IntN(5)],
				Kind:   Kind(rng.IntN(3)),
				Access: Access(rng.IntN(2)),
			}
			if mode == Portable && rng.IntN(4) == 0 {
				grants[i].At = []string{"/workspace", "/opt/x", "/workspace/app/deep", "/data/in", "/a b"}[rng.IntN(5)]
			}
		}
		n, err := FromGrants(mode, openMem, grants...)
		if err != nil {
			_, reason, _ := strings.Cut(err.Error(), "): ")
			reason, _, _ = strings.Cut(reason, " /")
			refusals[strings.TrimRight(reason, "0123456789")]++
			continue
		}
		valid++
		if err := checkTable(n, grants, all, rng); err != nil {
			t.Fatalf("round %d, %v, %+v:\n%s\n%v", round, mode, grants, table(n), err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d valid tables of %d; refused: %v", valid, rounds, refusals)
	if valid < rounds/5 {
		t.Error("too few tables are valid")
	}
}

// checkTable checks one table against what its grants say.
func checkTable(n *Namespace, grants []Grant, all []string, rng *rand.Rand) error {
	rights := rightsOf(grants)
	var paths []Path
	for _, m := range n.Mounts() {
		paths = append(paths, m.At)
		for _, rel := range []string{"f", "a", "a/b", "a/b/c/f", "b", "b/c", "y/z", "d/new file", "y y/f", "z"} {
			if p, err := m.At.join(rel); err == nil {
				paths = append(paths, p)
			}
		}
	}
	for _, p := range paths {
		if again, err := Parse(Path{}, p.String()); err != nil || again != p {
			return fmt.Errorf("parsing %v again gives %v, %v", p, again, err)
		}
		target, err := n.Lookup(p)
		if err != nil {
			return fmt.Errorf("Lookup(%v): %w", p, err)
		}
		if back, err := n.Resolve(Path{}, n.Display(p)); err != nil || back.Path != p || back.Requested != p {
			return fmt.Errorf("Display(%v) = %q leads to %v, %w", p, n.Display(p), back.Path, err)
		}
		host, ok := n.ToHost(p)
		if !ok {
			return fmt.Errorf("ToHost(%v) fails", p)
		}
		if want, _ := rights(host); target.Access != want {
			return fmt.Errorf("%v is %v, its directory on the host %v", p, target.Access, want)
		}
		for _, alias := range n.Aliases(p) {
			other, ok := n.ToHost(alias)
			if !ok || other != host {
				return fmt.Errorf("%v has the alias %v, which is another object", p, alias)
			}
		}
		if err := checkFromHost(n, host, rights); err != nil {
			return err
		}
	}
	for _, m := range n.Mounts() {
		for p := m.At; !p.IsRoot(); p = p.Parent() {
			if back, err := n.Resolve(Path{}, n.Display(p.Parent())); err != nil || back.Path != p.Parent() || back.Requested != back.Path {
				return fmt.Errorf("Display(%v) = %q leads to %v, %w", p.Parent(), n.Display(p.Parent()), back.Path, err)
			}
			if !n.MountPoint(p) || !slices.Contains(n.Children(p.Parent()), p.Base()) {
				return fmt.Errorf("%v is no way to a mount point", p)
			}
		}
	}
	for range 8 {
		host := all[rng.IntN(len(all))]
		for _, host := range []string{host, filepath.Join(host, "new", "file")} {
			if err := checkFromHost(n, host, rights); err != nil {
				return err
			}
		}
	}
	return checkBinds(n)
}

// checkFromHost checks the way from a host path and back.
func checkFromHost(n *Namespace, host string, rights func(string) (Access, bool)) error {
	p, ok := n.FromHost(host)
	access, granted := rights(host)
	if ok && !granted {
		return fmt.Errorf("FromHost(%q) = %v, which nobody granted", host, p)
	}
	if !ok {
		// Only a root that covers the place can hide it.
		for _, m := range n.mounts {
			if _, inside := cutDir(m.hostDir, host); inside && !n.hides(m, host) {
				return fmt.Errorf("FromHost(%q) finds nothing", host)
			}
		}
		return nil
	}
	if back, ok := n.ToHost(p); !ok || back != host {
		return fmt.Errorf("FromHost(%q) = %v, which is %q", host, p, back)
	}
	if target, err := n.Lookup(p); err != nil || target.Access != access {
		return fmt.Errorf("FromHost(%q) = %v, %v, the directory is %v", host, p, target.Access, access)
	}
	return nil
}

// hides reports whether what m would show at host is covered by another mount.
func (n *Namespace) hides(m *mount, host string) bool {
	rel, _ := cutDir(m.hostDir, host)
	if rel == "" {
		return false
	}
	p, err := m.at.join(filepath.ToSlash(rel))
	return err != nil || n.mountOf(p) != m
}

// rightsOf is the rule by itself: the innermost granted directory decides, and
// of equal ones the least.
func rightsOf(grants []Grant) func(host string) (Access, bool) {
	type right struct {
		dir    string
		access Access
	}
	var list []right
	for _, g := range grants {
		dir, err := filepath.EvalSymlinks(g.Dir)
		if err != nil {
			panic(err)
		}
		list = append(list, right{dir, g.Access})
	}
	return func(host string) (access Access, ok bool) {
		longest := -1
		for _, r := range list {
			if _, inside := cutDir(r.dir, host); !inside {
				continue
			}
			switch {
			case len(r.dir) > longest:
				longest, access, ok = len(r.dir), r.access, true
			case len(r.dir) == longest:
				access = min(access, r.access)
			}
		}
		return access, ok
	}
}

// checkBinds: everything that Display says is below a bind mount that shows the
// same host path with the same access.
func checkBinds(n *Namespace) error {
	binds := n.BindMounts()
	for _, m := range n.Mounts() {
		p, err := m.At.join("some/file")
		if err != nil {
			continue
		}
		shown := n.Display(p)
		host, _ := n.ToHost(p)
		var inner *BindMount
		for i, b := range binds {
			if _, ok := cutDir(b.At, shown); ok {
				inner = &binds[i] // the last one mounted wins
			}
		}
		if inner == nil {
			return fmt.Errorf("%q is in no bind mount of %v", shown, binds)
		}
		rel, _ := cutDir(inner.At, shown)
		if joinHost(inner.HostDir, rel) != host || inner.ReadOnly != (m.Access == ReadOnly) {
			return fmt.Errorf("%q is %q for the tools and %v for the shell", shown, host, *inner)
		}
	}
	return nil
}
