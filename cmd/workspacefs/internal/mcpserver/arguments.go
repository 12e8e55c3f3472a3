package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/workspacefs/workspacefs/namespace"
)

// maxInteger is the largest integer argument: it fits every platform's int. None
// may be negative.
const maxInteger = math.MaxInt32

// decodeArguments fills in, a pointer to the struct that schema was made of. What
// it finds wrong it says all at once, in words that a model can act on: which
// argument, what is wrong with it, what the tool takes. An argument that is null
// counts as left out.
func decodeArguments(schema *jsonschema.Schema, raw json.RawMessage, in any) error {
	given := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return errors.New("the arguments must be one JSON object; the tool takes " + takes(schema))
		}
	}
	var wrong []string
	for _, name := range schema.Required {
		if given[name] == nil {
			wrong = append(wrong, "the argument "+describe(schema, name)+" is missing")
		}
	}
	unknown := false
	for _, name := range sortedKeys(given) {
		value := given[name]
		property, ok := schema.Properties[name]
		switch {
		case !ok:
			unknown = true
			wrong = append(wrong, "there is no argument "+namespace.Quote(name))
			continue
		case value == nil:
			delete(given, name)
			continue
		}
		if text := mismatch(property, value); text != "" {
			wrong = append(wrong, "the argument "+describe(schema, name)+" must be "+text)
		}
	}
	if unknown {
		wrong = append(wrong, "the tool takes "+takes(schema))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	data, err := json.Marshal(given) // 2.0 has become 2
	if err != nil {
		return err
	}
	return json.Unmarshal(data, in)
}

// mismatch says what an argument must be and is not, or "".
func mismatch(property *jsonschema.Schema, value any) string {
	switch want := typeOf(property); want {
	case "string":
		if _, ok := value.(string); !ok {
			return "a string, not " + shown(value)
		}
	case "boolean":
		if _, ok := value.(bool); !ok {
			return "true or false, not " + shown(value)
		}
	case "integer":
		n, ok := value.(float64)
		if !ok || n != math.Trunc(n) {
			return "a whole number, not " + shown(value)
		}
		if n < 0 || n > maxInteger {
			return fmt.Sprintf("from 0 to %d", maxInteger)
		}
	case "array":
		list, ok := value.([]any)
		if !ok {
			return "a list of strings, not " + shown(value)
		}
		for _, e := range list {
			if _, ok := e.(string); !ok {
				return "a list of strings; it holds " + shown(e)
			}
		}
	default:
		return "something else: its type " + want + " is unknown" // a test looks at every tool
	}
	return ""
}

// typeOf is the type of a property, which may also be null if it is optional.
func typeOf(property *jsonschema.Schema) string {
	for _, t := range property.Types {
		if t != "null" {
			return t
		}
	}
	return property.Type
}

// shown is a value as it was given, if it is short.
func shown(value any) string {
	const short = 40
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > short {
			return "a string"
		}
		return "the string " + strconv.Quote(v)
	}
	return fmt.Sprint(value)
}

// describe names an argument with what it is for.
func describe(schema *jsonschema.Schema, name string) string {
	return name + " (" + schema.Properties[name].Description + ")"
}

// takes lists the arguments of a tool, the required ones first.
func takes(schema *jsonschema.Schema) string {
	if len(schema.Properties) == 0 {
		return "none"
	}
	var required, optional []string
	for _, name := range sortedKeys(schema.Properties) {
		if slices.Contains(schema.Required, name) {
			required = append(required, describe(schema, name))
		} else {
			optional = append(optional, name)
		}
	}
	text := strings.Join(required, ", ")
	switch {
	case len(optional) == 0:
	case text == "":
		text = "optionally " + strings.Join(optional, ", ")
	default:
		text += ", optionally " + strings.Join(optional, ", ")
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
