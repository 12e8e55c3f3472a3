package policyfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestParseSpec(t *testing.T) {
	got, err := ParseSpec(strings.NewReader(` {
		"allow_read": ["/"], "allow_write": ["generated", "a b"], "deny_read": ["priv\u00e9", "\ud83d\ude00"],
		"deny_write": ["generated/locked"], "deny_write_component": ["node_modules"], "allow_hidden": [".github"],
		"allow_sensitive": [".env.example"], "allow_recursive_delete": true } `))
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		AllowRead: []string{"/"}, AllowWrite: []string{"generated", "a b"}, DenyRead: []string{"priv\u00e9", "\U0001f600"},
		DenyWrite: []string{"generated/locked"}, DenyWriteComponent: []string{"node_modules"}, AllowHidden: []string{".github"},
		AllowSensitive: []string{".env.example"}, AllowRecursiveDelete: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestParseSpecErrors: each refusal names the field, the index and the reason.
func TestParseSpecErrors(t *testing.T) {
	long := `{"allow_read": ["a"` + strings.Repeat(`, "a"`, MaxSpecScopes)
	for name, c := range map[string]struct{ text, want string }{
		"empty input":          {"", "policyfs: spec: unexpected end of JSON input at byte 0"},
		"blank input":          {" \n", "policyfs: spec: unexpected end of JSON input at byte 2"},
		"null":                 {"null", "policyfs: spec: null, want an object"},
		"an array":             {"[]", "policyfs: spec: array, want an object"},
		"a string":             {`"x"`, "policyfs: spec: string, want an object"},
		"a number":             {"1", "policyfs: spec: number, want an object"},
		"a boolean":            {"true", "policyfs: spec: boolean, want an object"},
		"truncated":            {`{"allow_read": ["a"`, "policyfs: spec: unexpected end of JSON input at byte 19"},
		"trailing comma":       {`{"allow_read": ["a",]}`, "policyfs: spec: invalid character ']' looking for beginning of value at byte 21"},
		"trailing object":      {`{} {}`, "policyfs: spec: invalid character '{' after top-level value at byte 4"},
		"trailing text":        {`{}x`, "policyfs: spec: invalid character 'x' after top-level value at byte 3"},
		"byte order mark":      {"\ufeff{}", "policyfs: spec: invalid character 'ï' looking for beginning of value at byte 1"},
		"a comment":            {"{} // x", "policyfs: spec: invalid character '/' after top-level value at byte 4"},
		"unknown key":          {`{"allow_raed": []}`, `policyfs: key "allow_raed": unknown`},
		"unknown key in case":  {`{"Allow_Read": []}`, `policyfs: key "Allow_Read": unknown`},
		"key of the Go field":  {`{"AllowRead": []}`, `policyfs: key "AllowRead": unknown`},
		"key with a blank":     {`{"allow_read ": []}`, `policyfs: key "allow_read ": unknown`},
		"empty key":            {`{"": []}`, `policyfs: key "": unknown`},
		"odd key":              {`{"a\nb": []}`, `policyfs: key "a\nb": unknown`},
		"repeated key":         {`{"allow_read": [], "deny_read": [], "allow_read": []}`, `policyfs: key "allow_read": given twice`},
		"repeated, escaped":    {`{"allow_read": [], "allow\u005fread": []}`, `policyfs: key "allow_read": given twice`},
		"repeated flag":        {`{"allow_recursive_delete": false, "allow_recursive_delete": true}`, `policyfs: key "allow_recursive_delete": given twice`},
		"null list":            {`{"deny_write": null}`, "policyfs: deny_write: null, want an array of strings"},
		"string for a list":    {`{"deny_write": "a"}`, "policyfs: deny_write: string, want an array of strings"},
		"object for a list":    {`{"deny_write": {"a": 1}}`, "policyfs: deny_write: object, want an array of strings"},
		"boolean for a list":   {`{"deny_write": true}`, "policyfs: deny_write: boolean, want an array of strings"},
		"null in a list":       {`{"deny_write": ["a", null]}`, "policyfs: deny_write[1]: null, want a string"},
		"number in a list":     {`{"deny_write": ["a", 1]}`, "policyfs: deny_write[1]: number, want a string"},
		"list in a list":       {`{"deny_write": [["a"]]}`, "policyfs: deny_write[0]: array, want a string"},
		"object in a list":     {`{"deny_write": [{}]}`, "policyfs: deny_write[0]: object, want a string"},
		"null flag":            {`{"allow_recursive_delete": null}`, "policyfs: allow_recursive_delete: null, want true or false"},
		"number flag":          {`{"allow_recursive_delete": 1}`, "policyfs: allow_recursive_delete: number, want true or false"},
		"string flag":          {`{"allow_recursive_delete": "true"}`, "policyfs: allow_recursive_delete: string, want true or false"},
		"list flag":            {`{"allow_recursive_delete": []}`, "policyfs: allow_recursive_delete: array, want true or false"},
		"invalid UTF-8":        {"{\"deny_read\": [\"a\xffb\"]}", "policyfs: spec: invalid UTF-8 at byte 17"},
		"invalid UTF-8 in key": {"{\"deny_\xc0\x80\": []}", "policyfs: spec: invalid UTF-8 at byte 7"},
		"high surrogate alone": {`{"deny_read": ["x", "a\ud800b"]}`, "policyfs: deny_read[1]: lone surrogate"},
		"low surrogate alone":  {`{"deny_read": ["\udc00"]}`, "policyfs: deny_read[0]: lone surrogate"},
		"two high surrogates":  {`{"deny_read": ["\uD800\uD800"]}`, "policyfs: deny_read[0]: lone surrogate"},
		"surrogates swapped":   {`{"deny_read": ["\udc00\ud800"]}`, "policyfs: deny_read[0]: lone surrogate"},
		"pair, then one more":  {`{"deny_read": ["\ud83d\ude00\ud83d"]}`, "policyfs: deny_read[0]: lone surrogate"},
		"after a backslash":    {`{"deny_read": ["\\\ud800"]}`, "policyfs: deny_read[0]: lone surrogate"},
		"surrogate in a key":   {`{"\ud800": []}`, "policyfs: a key of the spec: lone surrogate"},
		"blank scope":          {`{"allow_write": ["a", "  "]}`, `policyfs: allow_write[1]: "  ": blank`},
		"empty scope":          {`{"allow_write": [""]}`, `policyfs: allow_write[0]: "": blank`},
		"scope out of the top": {`{"deny_read": ["../x"]}`, `policyfs: deny_read[0]: "../x": invalid path: ".." is refused`},
		"scope with a NUL":     {`{"deny_read": ["a\u0000b"]}`, `policyfs: deny_read[0]: "a\x00b": invalid path: control character`},
		"component in two":     {`{"deny_write_component": ["a", "a/b"]}`, `policyfs: deny_write_component[1]: "a/b": a component is one element, without a slash`},
		"too many scopes":      {long + "]}", fmt.Sprintf("policyfs: allow_read[%d]: more than %d scopes", MaxSpecScopes, MaxSpecScopes)},
		"too many in all":      {long[:len(long)-len(`, "a"`)] + `], "deny_read": ["b"]}`, fmt.Sprintf("policyfs: deny_read[0]: more than %d scopes", MaxSpecScopes)},
		"too long":             {"{}" + strings.Repeat(" ", MaxSpecBytes-1), fmt.Sprintf("policyfs: spec: more than %d bytes", MaxSpecBytes)},
		"too deep":             {strings.Repeat("[", 20_000), "policyfs: spec: invalid character '[' exceeded max depth at byte 10001"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, err := ParseSpec(strings.NewReader(c.text))
			if err == nil {
				t.Fatalf("no error; %+v", spec)
			}
			if err.Error() != c.want {
				t.Errorf("%s\nwant %s", err, c.want)
			}
			if !reflect.DeepEqual(spec, Spec{}) {
				t.Errorf("a spec with the error: %+v", spec)
			}
		})
	}
}

// TestParseSpecLimits: what is just inside the limits is read.
func TestParseSpecLimits(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":  "{}" + strings.Repeat(" ", MaxSpecBytes-2),
		"scopes": `{"allow_read": ["a"` + strings.Repeat(`, "a"`, MaxSpecScopes-1) + "]}",
		"empty":  "{}",
	} {
		if _, err := ParseSpec(strings.NewReader(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An endless text is not read to its end.
	if _, err := ParseSpec(endless{}); err == nil {
		t.Error("endless text was read")
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestParseSpecReaderError(t *testing.T) {
	broken := errors.New("broken")
	if _, err := ParseSpec(io.MultiReader(strings.NewReader("{}"), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestSpecRoundTrip: what package json writes, ParseSpec reads.
func TestSpecRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		spec := randomSpec(r)
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSpec(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(got, spec) {
			t.Fatalf("%s: %+v, want %+v", text, got, spec)
		}
	}
}

// TestCompileErrors: each refusal names the verb, the index, the raw text and the
// reason, and what Parse refused is fs.ErrInvalid.
func TestCompileErrors(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for v := range verbs {
		for _, c := range []struct {
			raw, reason string
			invalid     bool
		}{
			{"", `"": blank`, false},
			{" \t", `" \t": blank`, false},
			{"\u00a0", `"\u00a0": blank`, false},
			{"..", `"..": invalid path: `, true},
			{"a\\b", `"a\\b": invalid path: backslash`, true},
			{"a\x00b", `"a\x00b": invalid path: control character`, true},
			{"a\xffb", `"a\xffb": invalid path: invalid UTF-8`, true},
			{"a\u202eb", `"a\u202eb": invalid path: bidirectional control character`, true},
			{long, `"` + long[:maxScopeText] + `"...: invalid path: element longer than 255 bytes`, true},
			{strings.Repeat("\u00e9", 1000), `..."...: invalid path: element longer than 255 bytes`, true},
		} {
			spec := Spec{}
			*spec.list(v) = []string{"ok", c.raw}
			p, err := Compile(spec)
			if err == nil || p != nil {
				t.Errorf("%s %.40q: %v, %v", v, c.raw, p, err)
				continue
			}
			where := fmt.Sprintf("policyfs: %s[1]: ", v)
			reason := strings.TrimPrefix(c.reason, "...")
			if !strings.HasPrefix(err.Error(), where) || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s %.40q: %s", v, c.raw, err)
			}
			if errors.Is(err, fs.ErrInvalid) != c.invalid {
				t.Errorf("%s %.40q: fs.ErrInvalid is %v", v, c.raw, !c.invalid)
			}
			if strings.ContainsAny(err.Error(), "\x00\n\t\u202e") || len(err.Error()) > 8*maxScopeText {
				t.Errorf("%s: the error is not fit for a line: %.100q", v, err)
			}
		}
	}
	for _, raw := range []string{"a/b", "/a", "a/", "/", ".", ".."} {
		if _, err := Compile(Spec{DenyWriteComponent: []string{raw}}); err == nil {
			t.Errorf("component %q was accepted", raw)
		}
	}
}

// FuzzParseSpec compares ParseSpec with package json, which it may only be
// stricter than: what it accepts, json reads as the same Spec, and no key, value or
// character got lost.
func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"allow_read":["/"],"allow_recursive_delete":true}`, `{"allow_read":["a"],"allow_read":["b"]}`, `{"Allow_Read":["a"]}`,
		`{"deny_read":["\ud83d\ude00"]}`, `{"deny_read":["\ud83d"]}`, `{"deny_read":["\\ud800"]}`, `{"deny_write":null}`, `null`, `{} {}`,
		"{\"deny_read\":[\"\xff\"]}", `{"deny_write_component":["a/b"]}`, `{"allow_hidden":[" "]}`, `{"allow_sensitive":[[]]}`, `[[[[`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		spec, err := ParseSpec(bytes.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "policyfs: ") || strings.ContainsAny(err.Error(), "\x00\n") {
				t.Errorf("error %q", err)
			}
			return
		}
		var want Spec
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("package json refuses %q: %v", text, err)
		}
		for v := range verbs {
			if list := want.list(v); len(*list) == 0 {
				*list = nil
			}
		}
		if !reflect.DeepEqual(spec, want) {
			t.Fatalf("%q: %+v, package json says %+v", text, spec, want)
		}
		if _, err := Compile(spec); err != nil {
			t.Fatalf("%q: parsed, but: %v", text, err)
		}
		again, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ParseSpec(bytes.NewReader(again)); err != nil || !reflect.DeepEqual(got, spec) {
			t.Fatalf("%q became %q: %+v, %v", text, again, got, err)
		}
		if bytes.Contains(again, []byte("\ufffd")) && !bytes.Contains(text, []byte("\ufffd")) && !bytes.Contains(bytes.ToLower(text), []byte(`\ufffd`)) {
			t.Fatalf("%q: a character was replaced", text)
		}
	})
}
