package policyfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"strings"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// SeedFile is one starter file of [FS.Seed].
type SeedFile struct {
	Name string      // as for FS.WriteFile: absolute, or relative to the directory of the FS
	Data []byte      // the whole content
	Perm fs.FileMode // of a new file; 0 is 0o644
	// ReadOnly denies every change of the file from then on, as an exact
	// deny_write would; what lies above it can be neither removed nor moved.
	ReadOnly bool
}

// Seed writes starter files, making missing directories (mode 0755). It is
// trusted: it bypasses the policy and the access of mounts, not the provider,
// which still refuses links and its own limits. Existing files are replaced.
//
// ReadOnly holds in this FS and in everything derived from the same New, before
// and after; it is not stored anywhere. Later access to seeded files is judged
// like any other. Files are written in order; at the first error Seed stops, and
// what was written stays.
func (f *FS) Seed(files ...SeedFile) error {
	var v view
	if err := f.view(&v); err != nil {
		return pathErr("seed", "", f.refuseAll(OpWrite, "", err))
	}
	for _, file := range files {
		if err := f.seedOne(&v, file); err != nil {
			return pathErr("seed", file.Name, err)
		}
	}
	return nil
}

func (f *FS) seedOne(v *view, file SeedFile) error {
	if f.seeds == nil {
		return fs.ErrPermission // the zero FS
	}
	p, err := namespace.Parse(v.dir, file.Name)
	if err != nil {
		return &textError{err}
	}
	var t namespace.Target
	if err := v.ns.ResolveParsed(&t, &v.dir, p, file.Name); err != nil {
		return err
	}
	// Exclusively for a pin: what is under way was judged without it.
	lock, err := lockStruct(f.context(), t.Provider, file.ReadOnly)
	if err != nil {
		return err
	}
	defer lock.unlock()
	if err := seedParents(f.context(), t); err != nil {
		return err
	}
	_, err = t.Provider.Replace(f.context(), t.Rel, bytes.NewReader(file.Data), provider.ReplaceOptions{Perm: file.Perm})
	if err != nil {
		return err
	}
	if file.ReadOnly {
		for _, path := range append(v.ns.Aliases(t.Path), t.Path) {
			f.pin(path)
		}
	}
	return nil
}

// seedParents makes the directories above t.
func seedParents(ctx context.Context, t namespace.Target) error {
	var rel provider.Path
	var err error
	for elem := range t.Rel.Parent().Elems() {
		if rel, err = rel.Join(elem); err != nil {
			return err
		}
		if err = t.Provider.Mkdir(ctx, rel, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// seedSet holds the folded paths of read-only starter files. It is immutable;
// pinning one publishes a new set.
type seedSet struct{ paths map[string]struct{} }

// pin adds p to the read-only starter files.
func (f *FS) pin(p namespace.Path) {
	key := foldPath(p)
	for {
		old := f.seeds.Load()
		next := &seedSet{map[string]struct{}{}}
		if old != nil {
			next.paths = maps.Clone(old.paths)
		}
		next.paths[key] = struct{}{}
		if f.seeds.CompareAndSwap(old, next) {
			return
		}
	}
}

// readOnly reports whether p is a read-only starter file, in any spelling that
// case-insensitive storage could take for it.
func (s *seedSet) readOnly(p namespace.Path) bool {
	if s == nil {
		return false
	}
	_, ok := s.paths[foldPath(p)]
	return ok
}

// lockShared locks the structure for an operation on one name, or the two of a
// rename. What became a read-only starter file since it was judged is refused.
func (v *view) lockShared(targets ...*target) (heldLock, error) {
	lock, err := lockStruct(v.fs.context(), targets[0].Provider, false)
	if err != nil {
		return lock, err
	}
	return lock, v.judgeSeeds(lock, targets, false)
}

// lockTree is lockShared for an operation on a tree, of which nothing may be a
// read-only starter file.
func (v *view) lockTree(targets ...*target) (heldLock, error) {
	lock, err := lockStruct(v.fs.context(), targets[0].Provider, true)
	if err != nil {
		return lock, err
	}
	return lock, v.judgeSeeds(lock, targets, true)
}

// judgeSeeds brings the snapshot's starter files up to date, which do not change
// while the lock is held. It releases the lock when it refuses.
func (v *view) judgeSeeds(lock heldLock, targets []*target, tree bool) error {
	seed := v.fs.seeds.Load()
	if seed == v.seed {
		return nil
	}
	v.seed = seed
	for _, t := range targets {
		switch {
		case seed.readOnly(t.Path):
			lock.unlock()
			return &DeniedError{Op: OpWrite, Path: t.Path, Rule: "read-only starter file"}
		case tree && seed.below(t.Path):
			lock.unlock()
			return &DeniedError{Op: OpWrite, Path: t.Path, Rule: "read-only starter file below"}
		}
	}
	return nil
}

// below reports whether a read-only starter file is at p or below it.
func (s *seedSet) below(p namespace.Path) bool {
	if s == nil {
		return false
	}
	key := foldPath(p)
	for path := range s.paths {
		if path == key || strings.HasPrefix(path, key+"/") {
			return true
		}
	}
	return false
}

// foldPath folds every element of p as denies are compared.
func foldPath(p namespace.Path) string {
	var b strings.Builder
	for elem := range strings.SplitSeq(p.String(), "/") {
		if elem != "" {
			b.WriteByte('/')
			b.WriteString(foldElem(elem))
		}
	}
	return b.String()
}
