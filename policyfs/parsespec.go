package policyfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

const (
	// MaxSpecBytes is the longest text that [ParseSpec] reads: a policy is written
	// by hand or by a small program, and what is longer is a mistake or an attack.
	MaxSpecBytes = 1 << 20
	// MaxSpecScopes is how many rules [ParseSpec] accepts, all lists together.
	MaxSpecScopes = 10_000
)

// ParseSpec reads a [Spec] from its JSON form: one object with the keys
// allow_read, allow_write, deny_read, deny_write, deny_write_component,
// allow_hidden, allow_sensitive (arrays of strings) and allow_recursive_delete (a
// boolean), each at most once, spelled exactly so. An absent key is an empty list
// or false.
//
// It is strict, because what it lets through decides about access: an unknown or
// repeated key, another type, null, text after the object, invalid UTF-8, an
// escaped lone surrogate, more than [MaxSpecBytes] or [MaxSpecScopes], and a scope
// that [Compile] would refuse are errors that name the field, the index and the
// reason. An error of r is returned wrapped.
func ParseSpec(r io.Reader) (Spec, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSpecBytes+1))
	switch {
	case err != nil:
		return Spec{}, fmt.Errorf("policyfs: spec: %w", err)
	case len(data) > MaxSpecBytes:
		return Spec{}, specError("", fmt.Sprintf("more than %d bytes", MaxSpecBytes))
	case !utf8.Valid(data):
		return Spec{}, specError("", fmt.Sprintf("invalid UTF-8 at byte %d", invalidAt(data)))
	}
	// One pass for the syntax of JSON, trailing data included; what follows can
	// then rely on it and look at the meaning alone.
	if err := jsonSyntax(data); err != nil {
		return Spec{}, err
	}
	p := specParser{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	if err := p.object(); err != nil {
		return Spec{}, err
	}
	for _, err := range p.spec.scopes {
		if err != nil {
			return Spec{}, err
		}
	}
	return p.spec, nil
}

// specError is an error about one place of a spec.
func specError(where, reason string) error {
	if where == "" {
		return errors.New("policyfs: spec: " + reason)
	}
	return errors.New("policyfs: " + where + ": " + reason)
}

// invalidAt returns the offset of the first byte that is not UTF-8.
func invalidAt(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(data)
}

// jsonSyntax reports why data is not one JSON text.
func jsonSyntax(data []byte) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return specError("", fmt.Sprintf("%v at byte %d", e, e.Offset))
	}
	return specError("", err.Error())
}

// specParser reads the tokens of a text that is valid JSON.
type specParser struct {
	data   []byte
	dec    *json.Decoder
	spec   Spec
	scopes int
}

// next returns the next token, a string only if it is one without loss: package
// json silently turns a lone surrogate into U+FFFD, which is another name.
func (p *specParser) next(where string) (json.Token, error) {
	from := p.dec.InputOffset()
	tok, err := p.dec.Token()
	if err != nil {
		return nil, specError(where, err.Error())
	}
	if _, ok := tok.(string); ok && loneSurrogate(p.data[from:p.dec.InputOffset()]) {
		return nil, specError(where, "lone surrogate")
	}
	return tok, nil
}

// object reads the whole spec.
func (p *specParser) object() error {
	tok, err := p.next("")
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return specError("", typeName(tok)+", want an object")
	}
	seen := make(map[string]bool)
	for p.dec.More() {
		tok, err := p.next("a key of the spec")
		if err != nil {
			return err
		}
		key, _ := tok.(string) // the syntax is known to be valid
		if seen[key] {
			return specError(printableKey(key), "given twice")
		}
		seen[key] = true
		if err := p.field(key); err != nil {
			return err
		}
	}
	return nil
}

// field reads the value of one key.
func (p *specParser) field(key string) error {
	const recursiveDelete = "allow_recursive_delete"
	if key == recursiveDelete {
		tok, err := p.next(key)
		if err != nil {
			return err
		}
		on, ok := tok.(bool)
		if !ok {
			return specError(key, typeName(tok)+", want true or false")
		}
		p.spec.AllowRecursiveDelete = on
		return nil
	}
	for v := range verbs {
		if key == v.String() {
			return p.list(key, p.spec.list(v))
		}
	}
	return specError(printableKey(key), "unknown")
}

// list reads an array of strings.
func (p *specParser) list(key string, list *[]string) error {
	tok, err := p.next(key)
	if err != nil {
		return err
	}
	if tok != json.Delim('[') {
		return specError(key, typeName(tok)+", want an array of strings")
	}
	for p.dec.More() {
		where := key + "[" + strconv.Itoa(len(*list)) + "]"
		tok, err := p.next(where)
		if err != nil {
			return err
		}
		s, ok := tok.(string)
		if !ok {
			return specError(where, typeName(tok)+", want a string")
		}
		if p.scopes++; p.scopes > MaxSpecScopes {
			return specError(where, fmt.Sprintf("more than %d scopes", MaxSpecScopes))
		}
		*list = append(*list, s)
	}
	_, err = p.next(key) // the closing bracket
	return err
}

// typeName names the type of a token for an error.
func typeName(tok json.Token) string {
	switch tok := tok.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case json.Delim:
		if tok == '[' {
			return "array"
		}
		return "object"
	}
	return "unknown value"
}

// printableKey returns an unknown key fit for an error.
func printableKey(key string) string { return "key " + quoteScope(key) }

// loneSurrogate reports whether a JSON string, with whatever stands before its
// opening quote, escapes one half of a surrogate pair without the other.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(raw[i:])
		if !ok {
			i++ // an escape of one character, perhaps of a backslash
			continue
		}
		i += escapeLen - 1
		if unit < 0xd800 || 0xdfff < unit {
			continue
		}
		low, ok := escapedUnit(raw[i+1:])
		if unit > 0xdbff || !ok || low < 0xdc00 || 0xdfff < low {
			return true
		}
		i += escapeLen
	}
	return false
}

const escapeLen = len(`\uXXXX`)

// escapedUnit returns the UTF-16 unit of the \uXXXX with which raw begins.
func escapedUnit(raw []byte) (uint64, bool) {
	if len(raw) < escapeLen || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:escapeLen]), 16, 16)
	return unit, err == nil
}
