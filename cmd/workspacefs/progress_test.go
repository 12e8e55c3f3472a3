package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/workspacefs/workspacefs/policyfs"
)

// A long search tells on a terminal how far it has come, on a line that the next
// output replaces; a short one, a pipe and a program that reads JSON see nothing.
func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	bar := (&terminal{err: &errs, errTTY: true}).startProgress()
	report := bar.callback()
	report(policyfs.Progress{Files: 1})
	bar.clear()
	if errs.Len() > 0 {
		t.Errorf("a short search shows %q", errs.String())
	}
	bar.started = time.Now().Add(-2 * progressAfter)
	report(policyfs.Progress{Files: 1234, Bytes: 5_600_000})
	if want := "\r\x1b[K1234 files, 5.6 MB searched"; errs.String() != want {
		t.Errorf("a long search shows %q, want %q", errs.String(), want)
	}
	errs.Reset()
	bar.clear()
	bar.stop()
	if want := "\r\x1b[K"; errs.String() != want {
		t.Errorf("the line is cleared by %q, want %q, once", errs.String(), want)
	}
	for _, quiet := range []*terminal{{err: &errs}, {err: &errs, errTTY: true, json: true}} {
		if quiet.startProgress().callback() != nil {
			t.Errorf("%+v has progress", quiet)
		}
	}
}
