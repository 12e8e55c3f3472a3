package policyfs

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/provider"
)

// judgeParents is parentsAllowed with no look at all directories at once.
func (v *view) judgeParents(p namespace.Path) error {
	seenWritable := false
	for q := range prefixes(p) {
		at, err := v.ns.Lookup(q)
		if err != nil || v.ns.MountPoint(q) {
			continue
		}
		d := v.allowed(OpCreate, &at)
		seenWritable = seenWritable || d.Allow
		if seenWritable && !d.Allow && !v.allowed(OpStat, &at).Allow {
			return &DeniedError{Op: OpCreate, Path: q, Rule: d.Rule}
		}
	}
	return nil
}

// uncompiled is a policy of the caller's.
type uncompiled struct{ Policy }

// randomMounts returns a table with storage at two places, and other storage below
// one of them, where that has one place less.
func randomMounts(r *rand.Rand) []namespace.Mount {
	a, b := memfs.New(memfs.Options{}), memfs.New(memfs.Options{})
	at := func() string { return randomPath(r, 2).String() }
	mounts := []namespace.Mount{
		{At: at(), Provider: a, Access: namespace.ReadWrite},
		{At: at(), Provider: a, Access: namespace.Access(r.IntN(2))},
	}
	for range r.IntN(3) {
		below := mounts[r.IntN(2)].At + "/" + pathElems(randomPath(r, 3))
		mounts = append(mounts, namespace.Mount{At: below, Provider: []provider.Provider{a, b}[r.IntN(2)], Access: namespace.ReadWrite})
	}
	return mounts
}

// TestMkdirAllParents: to look at the directories on the way at once refuses what
// judging each of them refuses, whatever the policy consists of.
func TestMkdirAllParents(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	quick, refused := 0, 0
	for range rounds(3000) {
		mounts := randomMounts(r)
		ns, err := namespace.New(mounts...)
		if err != nil {
			continue // two at one place
		}
		var specs []Spec
		var layers []Policy
		for range 1 + r.IntN(3) {
			spec := Spec{AllowRead: []string{"/"}, AllowWrite: []string{"/"}}
			for range r.IntN(3) { // few rules, or nothing is left to look at
				at := mounts[r.IntN(len(mounts))].At + "/" + pathElems(randomPath(r, 2))
				spec.DenyRead, spec.DenyWrite = append(spec.DenyRead, at), append(spec.DenyWrite, at)
			}
			if r.IntN(3) == 0 {
				spec = randomSpec(r)
			}
			p, err := Compile(spec)
			if err != nil {
				t.Fatalf("%+v: %v", spec, err)
			}
			if r.IntN(4) == 0 {
				p = uncompiled{p}
			}
			specs, layers = append(specs, spec), append(layers, p)
		}
		policy := layers[0]
		if r.IntN(3) > 0 {
			policy = Compose(layers[r.IntN(len(layers)+1):]...) // of none, too
		}
		var v view
		if err := New(ns, Options{Policy: policy}).view(&v); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			p := namespace.MustParse(mounts[r.IntN(len(mounts))].At + "/" + pathElems(randomPath(r, 5)))
			at, err := ns.Lookup(p)
			if err != nil {
				continue
			}
			got, want := v.parentsAllowed(&target{Target: at}), v.judgeParents(p)
			var g, w *DeniedError
			if errors.As(got, &g) != errors.As(want, &w) || g != nil && *g != *w {
				t.Fatalf("%+v\n%+v\n%+q: %v, want %v", ns.Mounts(), specs, p.String(), got, want)
			}
			if v.showsAbove(p) {
				quick++
				for q := range prefixes(p) {
					if at, err := ns.Lookup(q); err == nil && !v.allowed(OpStat, &at).Allow {
						t.Fatalf("%+v\n%+v\n%+q: all above is shown, but not %+q", ns.Mounts(), specs, p.String(), q.String())
					}
				}
			}
			if want != nil {
				refused++
			}
		}
	}
	if quick == 0 || refused == 0 {
		t.Errorf("%d names were judged at once, %d refused: the test compared nothing", quick, refused)
	}
	t.Logf("%d names were judged at once, %d refused", quick, refused)
}
