package faults_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"github.com/workspacefs/workspacefs/internal/faults"
	"github.com/workspacefs/workspacefs/memfs"
	"github.com/workspacefs/workspacefs/provider"
)

// TestPlans: each plan fails the calls it names, a failing call does nothing, and
// open Files are known until they are closed.
func TestPlans(t *testing.T) {
	ctx, name := t.Context(), provider.MustPath("f")
	p, ctl := faults.Wrap(memfs.New(memfs.Options{}), faults.Op("Replace", syscall.EIO))
	if err := provider.WriteFile(ctx, p, name, nil, 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("Op(Replace): %v", err)
	}
	if _, err := p.Stat(ctx, name); err == nil {
		t.Error("a failing Replace made the file")
	}
	ctl.SetPlan(faults.Nth(2, syscall.EIO))
	if err := provider.WriteFile(ctx, p, name, []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stat(ctx, name); !errors.Is(err, syscall.EIO) {
		t.Errorf("Nth(2): %v", err)
	}
	ctl.SetPlan(faults.Like("Stat", "f", 2, syscall.EIO))
	for i, want := range []error{nil, syscall.EIO, nil} {
		if _, err := p.Stat(ctx, name); !errors.Is(err, want) {
			t.Errorf("Like, call %d: %v, want %v", i+1, err, want)
		}
	}
	ctl.SetPlan(faults.From(2, syscall.EIO))
	f, err := p.Open(ctx, name, provider.OpenOptions{Read: true})
	if err != nil {
		t.Fatal(err)
	}
	if open := ctl.OpenFiles(); !slices.Equal(open, []string{"f"}) {
		t.Errorf("open Files: %q", open)
	}
	if _, err := f.Stat(); !errors.Is(err, syscall.EIO) {
		t.Errorf("From(2): %v", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.EIO) || len(ctl.OpenFiles()) != 0 {
		t.Errorf("a failing Close: %v, open %q", err, ctl.OpenFiles())
	}
	if calls := ctl.Calls(); len(calls) != 3 || calls[1].Op != "File.Stat" || calls[2].N != 3 {
		t.Errorf("calls: %+v", calls)
	}
}
