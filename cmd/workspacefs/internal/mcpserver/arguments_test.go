package mcpserver

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/workspacefs/workspacefs/cmd/workspacefs/internal/setup"
)

// For every argument of every tool: what is missing, unknown or of the wrong type
// is a tool error that names the argument and what it must be.
func TestArguments(t *testing.T) {
	s := serve(t, t.TempDir(), setup.ReadWrite).connect(t)
	right := map[string]any{"string": "x", "integer": 1, "boolean": true, "array": []string{"x"}}
	must := map[string]string{"string": "must be a string", "integer": "must be a whole number", "boolean": "must be true or false", "array": "must be a list of strings"}
	refusals := 0
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		refused := func(args any, want ...string) {
			t.Helper()
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: args})
			if err != nil {
				t.Errorf("%s %v: a protocol error: %v", tool.Name, args, err)
				return
			}
			text := res.Content[0].(*mcp.TextContent).Text
			for _, w := range append(want, tool.Name+": ") {
				if !res.IsError || !strings.Contains(text, w) {
					t.Errorf("%s %v: no %q in %v %q", tool.Name, args, w, res.IsError, text)
				}
			}
			refusals++
		}
		full := map[string]any{}
		for name, p := range schema.Properties {
			if must[typeOf(p)] == "" || p.Description == "" {
				t.Errorf("%s: the argument %s is of type %q, described as %q", tool.Name, name, typeOf(p), p.Description)
			}
			full[name] = right[typeOf(p)]
		}
		for name, p := range schema.Properties {
			args := maps.Clone(full)
			for of, value := range map[string]any{"string": "secret", "boolean": true, "integer": 1.5, "array": []any{1}, "object": map[string]any{}} {
				if of == typeOf(p) && of != "integer" && of != "array" {
					continue
				}
				args[name] = value
				refused(args, "argument "+name+" (", must[typeOf(p)])
			}
			for _, gone := range []bool{false, true} {
				args[name] = nil
				if gone {
					delete(args, name)
				}
				if slices.Contains(schema.Required, name) {
					refused(args, "argument "+name+" (", "is missing", p.Description)
				}
			}
			if typeOf(p) == "integer" {
				for _, n := range []float64{-1, 1e300} {
					args[name] = n
					refused(args, "argument "+name+" (", "must be from 0 to")
				}
			}
		}
		args := maps.Clone(full)
		args["no\nsuch"] = 1
		refused(args, `there is no argument "no\nsuch"`, "the tool takes "+takes(&schema))
		refused([]any{1}, "must be one JSON object")
		if len(schema.Required) > 1 {
			refused(map[string]any{"nope": 1}, schema.Required[0], schema.Required[1], "no argument nope")
		}
	}
	t.Logf("%d refusals", refusals)
	for _, args := range []map[string]any{{"path": ".", "depth": 2.0}, {"path": nil, "depth": nil}} {
		if text, failed := use(t, s, "tree", args); failed {
			t.Errorf("%v: %s", args, text)
		}
	}
}
