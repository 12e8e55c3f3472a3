package policyfs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// auditLog collects events.
type auditLog struct {
	mu     sync.Mutex
	events []policyfs.Event
}

func (l *auditLog) add(_ context.Context, e policyfs.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *auditLog) take() (decisions, outcomes []policyfs.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Done {
			outcomes = append(outcomes, e)
		} else {
			decisions = append(decisions, e)
		}
	}
	l.events = nil
	return decisions, outcomes
}

// TestAuditCounts: one decision for every name of every call, before the provider
// is asked; one outcome for each that was allowed, none for one that was not.
func TestAuditCounts(t *testing.T) {
	base := deniedTree(t)
	for _, c := range faceCalls() {
		t.Run(c.label, func(t *testing.T) {
			if c.method == "Explain" {
				explainIsQuiet(t, c)
				return
			}
			for _, name := range []string{"/open/f", "/open", "/open/missing", "/secret/x", "/secret", "a/../b", "/open/f/"} {
				var log auditLog
				s := newSpy(base.Clone())
				asked := 0
				f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, denyScopes("secret")), Audit: func(ctx context.Context, e policyfs.Event) {
					log.add(ctx, e)
					if calls, _ := s.take(); !e.Done {
						asked += len(calls)
					}
				}})
				names := slices.Repeat([]string{name}, c.names)
				_, err := c.do(f, names...)
				decisions, outcomes := log.take()
				refused := errors.As(err, new(*policyfs.DeniedError)) || strings.Contains(name, "..")
				want := c.names
				if refused {
					want = 1 // the first name that is refused ends the call
				}
				if c.quiet {
					if len(decisions) > 2 {
						t.Errorf("%s: decisions %v", name, decisions)
					}
					continue
				}
				if len(decisions) != want {
					t.Errorf("%s (%v): %d decisions, want %d: %v", name, err, len(decisions), want, decisions)
				}
				if asked != 0 {
					t.Errorf("%s: the provider was asked before the decision", name)
				}
				for _, e := range decisions {
					if e.Allow == refused || e.Rule == "" || e.Op == 0 || e.Name == "" {
						t.Errorf("%s: decision %+v, error %v", name, e, err)
					}
				}
				switch c.method {
				case "Authorize", "HostPath":
					want = 0 // they do nothing that could have an outcome
				}
				if refused {
					want = 0
				}
				if len(outcomes) != want {
					t.Errorf("%s (%v): %d outcomes, want %d: %v", name, err, len(outcomes), want, outcomes)
				}
				for _, e := range outcomes {
					if (e.Err == nil) != (err == nil) || !e.Allow {
						t.Errorf("%s: outcome %+v, error %v", name, e, err)
					}
				}
			}
		})
	}
}

func explainIsQuiet(t *testing.T, c faceCall) {
	t.Helper()
	var log auditLog
	s := newSpy(deniedTree(t))
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, denyScopes("secret")), Audit: log.add})
	c.do(f, "/open/f")
	c.do(f, "/secret/x")
	if decisions, outcomes := log.take(); len(decisions)+len(outcomes) != 0 {
		t.Errorf("Explain tells Audit %v %v", decisions, outcomes)
	}
	if calls, _ := s.take(); len(calls) != 0 {
		t.Errorf("Explain asks the provider %v", calls)
	}
}

// TestAuditOfTrees: listings tell nothing per entry, tree operations one refusal.
func TestAuditOfTrees(t *testing.T) {
	var log auditLog
	b := newBox(t, "memory")
	for i := range 20 {
		b.file(fmt.Sprintf("W/d/f%d", i), "")
		b.file(fmt.Sprintf("W/d/.hidden%d", i), "")
	}
	f := policyfs.New(namespace.Workspace(b.w), policyfs.Options{Policy: policyfs.ReadWrite(), Audit: log.add})
	h, err := f.Open("/d")
	if err != nil {
		t.Fatal(err)
	}
	h.Readdirnames(-1)
	h.Close()
	if d, o := log.take(); len(d) != 1 || len(o) != 1 {
		t.Errorf("listing: %v %v", d, o)
	}
	for range f.Walk("/") {
	}
	if d, o := log.take(); len(d) != 1 || len(o) != 1 {
		t.Errorf("walk: %v %v", d, o)
	}
	for range f.Grep("/", policyfs.Query{Pattern: "x"}) {
	}
	if d, o := log.take(); len(d) != 1 || len(o) != 1 {
		t.Errorf("grep: %v %v", d, o)
	}
	if err := f.Rename("/d", "/e"); err == nil {
		t.Error("moved")
	}
	d, o := log.take()
	refusals := 0
	for _, e := range d {
		if !e.Allow {
			refusals++
		}
	}
	if refusals != 1 || len(o) > 2 {
		t.Errorf("rename: %v %v", d, o)
	}
}

// TestAuditNames: names are safe to log, and the whole error goes to Audit only.
func TestAuditNames(t *testing.T) {
	var log auditLog
	s := newSpy(deniedTree(t))
	cause := errors.New("dial /home/me/.config/secret.sock: refused")
	f := policyfs.New(namespace.Workspace(s), policyfs.Options{Policy: compile(t, fullSpec()), Audit: log.add})
	for _, name := range []string{"a\nFAKE allow", "a\x1b[2J", "a\u202eb", strings.Repeat("x", 1<<20)} {
		f.Stat(name)
		d, _ := log.take()
		if len(d) != 1 || strings.ContainsAny(d[0].Name, "\n\x1b\u202e") || len(d[0].Name) > 5<<10 {
			t.Errorf("%.40q: %+v", name, d)
		}
	}
	live := policyfs.New(namespace.SourceFunc(func() (*namespace.Namespace, error) { return nil, cause }), policyfs.Options{Policy: compile(t, fullSpec()), Audit: log.add})
	_, err := live.Stat("/x")
	d, _ := log.take()
	if len(d) != 1 || !errors.Is(d[0].Err, cause) || !errors.Is(err, cause) || strings.Contains(err.Error(), "secret.sock") {
		t.Errorf("%+v, %v", d, err)
	}
}
