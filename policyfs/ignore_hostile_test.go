package policyfs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/namespace"
	"github.com/workspacefs/workspacefs/policyfs"
)

// TestIgnoreHostile: a .gitignore file may come from anybody. Stars in numbers cost
// no more than other rules, and whatever rules cost, a walk that is over ends.
func TestIgnoreHostile(t *testing.T) {
	policy, err := policyfs.Compile(policyfs.Spec{AllowRead: []string{"/"}, AllowHidden: []string{"/"}})
	if err != nil {
		t.Fatal(err)
	}
	files := tree{".gitignore": strings.Repeat(strings.Repeat("*a", 120)+"*b\n", 4000)}
	for i := range 20 {
		files[strings.Repeat("a", 250)+fmt.Sprint(i)] = ""
	}
	f := policyfs.New(namespace.Workspace(files.memory(t)), policyfs.Options{Policy: policy})
	start := time.Now()
	if got := len(walked(t, f, "/", policyfs.WalkOptions{Ignore: true})); got != len(files) {
		t.Errorf("walked %d names, want %d", got, len(files))
	}
	if took := time.Since(start); took > 20*time.Second { // well below a second; hours when every star is tried again
		t.Errorf("stars in numbers: %v", took)
	}

	// Rules that are slow by the book: each tries every directory of a long path.
	deep := strings.Repeat("a/", 1900)
	files = tree{".gitignore": strings.Repeat("**/"+strings.Repeat("*a/", 1000)+"b\n", 340), deep + "a": ""}
	for i := range 64 {
		files[deep+fmt.Sprint("a", i)] = ""
	}
	f = policyfs.New(namespace.Workspace(files.memory(t)), policyfs.Options{Policy: policy})
	for name, walk := range map[string]func(){
		"walk": func() {
			for range f.Walk(deep, policyfs.WalkOptions{Ignore: true}) {
				time.Sleep(50 * time.Millisecond) // the rules are being compared meanwhile
				break
			}
		},
		"grep": func() {
			c, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			for range f.WithContext(c).Grep(deep, policyfs.Query{Pattern: "a", Ignore: true}) {
			}
		},
	} {
		start := time.Now()
		walk()
		if took := time.Since(start); took > 20*time.Second { // of hundreds, if it went on
			t.Errorf("%s: ended %v after it was over", name, took)
		}
	}
}
