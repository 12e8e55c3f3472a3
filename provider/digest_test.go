package provider_test

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/workspacefs/workspacefs/provider"
)

func TestDigest(t *testing.T) {
	d := provider.Digest(sha256.Sum256([]byte("abc")))
	const want = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if d.String() != want {
		t.Errorf("String() = %q", d)
	}
	if got, err := provider.ParseDigest(want); err != nil || got != d {
		t.Errorf("ParseDigest(String()) = %v, %v", got, err)
	}
	for _, s := range []string{
		"", "sha256:", strings.TrimPrefix(want, "sha256:"), strings.ToUpper(want), "sha256:" + strings.ToUpper(want[7:]), "SHA256:" + want[7:],
		want + "0", want[:len(want)-1], want[:len(want)-1] + "g", " " + want, want + "\n", "sha512:" + want[7:],
	} {
		if got, err := provider.ParseDigest(s); !errors.Is(err, fs.ErrInvalid) || got != (provider.Digest{}) {
			t.Errorf("ParseDigest(%q) = %v, %v; want fs.ErrInvalid", s, got, err)
		}
	}
}

func TestCondition(t *testing.T) {
	d := provider.Digest{1}
	var none provider.Condition
	if _, ok := none.Match(); ok || none.Absent() {
		t.Error("the zero Condition demands something")
	}
	if c := provider.IfAbsent(); !c.Absent() || c == none || c != provider.IfAbsent() {
		t.Error("IfAbsent is not Absent, or not comparable")
	} else if _, ok := c.Match(); ok {
		t.Error("IfAbsent is a match")
	}
	c := provider.IfMatch(d)
	if got, ok := c.Match(); !ok || got != d || c.Absent() {
		t.Errorf("IfMatch(d).Match() = %v, %v", got, ok)
	}
	if c == provider.IfMatch(provider.Digest{2}) || provider.IfMatch(provider.Digest{}) == none {
		t.Error("different conditions are equal")
	}
}

func FuzzParseDigest(f *testing.F) {
	f.Add("sha256:" + strings.Repeat("0a", 32))
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := provider.ParseDigest(s); err == nil && d.String() != s {
			t.Fatalf("ParseDigest(%q).String() = %q", s, d)
		}
	})
}
