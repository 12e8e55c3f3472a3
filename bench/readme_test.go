package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// The README shows the figures of the recorded run, and no others.
func TestReadmeTable(t *testing.T) {
	doc, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("baseline.json")
	if err != nil {
		t.Fatal(err)
	}
	var rep report
	if err := json.Unmarshal(data, &rep); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(doc), "\r\n", "\n")
	want, err := replaceTable(text, rep)
	if err != nil {
		t.Fatal(err)
	}
	if text != want {
		t.Error("the table of the README is not that of bench/baseline.json: run go run ./bench -json bench/baseline.json -readme README.md")
	}
	if len(rep.Results) == 0 || rep.Results[0].Rounds < 5 {
		t.Errorf("%d rows recorded", len(rep.Results))
	}
}
