package policyfs

import (
	"context"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
)

// guardTag is the struct tag that Guard reads.
const guardTag = "workspace"

// Guard wraps a tool so that the paths in its input are authorized before it
// runs. Fields of In that hold paths carry the tag workspace:"read" (OpRead) or
// workspace:"write" (OpWrite): a string, a []string, a pointer to either, also in
// nested structs, slices, pointers to structs, and what an interface holds. Blank
// strings are skipped.
//
// An unknown tag value, a tag on a field of another type or inside a map, and an In
// that is no struct (or pointer to one) are errors of Guard itself, so that a typo
// cannot pass in silence; in what an interface holds, they are errors of the call.
// A path that is refused is the error of the call, and the tool does not run. The
// tool gets f bound to the context of the call.
func Guard[In, Out any](f *FS, tool func(context.Context, *FS, In) (Out, error)) (func(context.Context, In) (Out, error), error) {
	t := reflect.TypeFor[In]()
	if err := checkGuarded(t, "", map[reflect.Type]bool{}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, in In) (Out, error) {
		g := f.WithContext(ctx)
		if err := g.guard(reflect.ValueOf(&in).Elem(), 0); err != nil {
			var zero Out
			return zero, err
		}
		return tool(ctx, g, in)
	}, nil
}

// guardOp translates a tag.
func guardOp(tag string) (Op, bool) {
	switch tag {
	case "read":
		return OpRead, true
	case "write":
		return OpWrite, true
	}
	return 0, false
}

// checkGuarded refuses a type whose tags cannot be honoured.
func checkGuarded(t reflect.Type, where string, seen map[reflect.Type]bool) error {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if where == "" && t.Kind() != reflect.Struct {
		return fmt.Errorf("guard: input %v is no struct: %w", t, fs.ErrInvalid)
	}
	if t.Kind() == reflect.Map && holdsTags(t, map[reflect.Type]bool{}) {
		return fmt.Errorf("guard: field %s: tags inside a map are not reached: %w", strings.TrimSuffix(where, "."), fs.ErrInvalid)
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		field := t.Field(i)
		name := where + field.Name
		tag, ok := field.Tag.Lookup(guardTag)
		if !ok {
			if err := checkGuarded(field.Type, name+".", seen); err != nil {
				return err
			}
			continue
		}
		if _, ok := guardOp(tag); !ok {
			return fmt.Errorf(`guard: field %s: tag %s:%q is neither "read" nor "write": %w`, name, guardTag, tag, fs.ErrInvalid)
		}
		if !field.IsExported() {
			return fmt.Errorf("guard: field %s: tagged and not exported: %w", name, fs.ErrInvalid)
		}
		if !holdsStrings(field.Type) {
			return fmt.Errorf("guard: field %s: tag on %v, want a string or a slice of them: %w", name, field.Type, fs.ErrInvalid)
		}
	}
	return nil
}

// holdsTags reports whether somewhere in t a field is tagged.
func holdsTags(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsTags(t.Elem(), seen)
	case reflect.Map:
		return holdsTags(t.Key(), seen) || holdsTags(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if _, ok := t.Field(i).Tag.Lookup(guardTag); ok || holdsTags(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// holdsStrings reports whether t is a string, or pointers and slices around one.
func holdsStrings(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() == reflect.String
}

// maxGuardDepth bounds how deep an input is searched; a value that is its own
// descendant would have no end.
const maxGuardDepth = 64

// guard authorizes every tagged path in v.
func (f *FS) guard(v reflect.Value, depth int) error {
	if depth > maxGuardDepth {
		return fmt.Errorf("guard: input nested deeper than %d: %w", maxGuardDepth, fs.ErrInvalid)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return f.guard(v.Elem(), depth+1)
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		held := v.Elem() // of a type that Guard could not check
		if err := checkGuarded(held.Type(), held.Type().String()+".", map[reflect.Type]bool{}); err != nil {
			return err
		}
		return f.guard(held, depth)
	case reflect.Map:
		// No tags inside, except in what interfaces hold.
		for entry := v.MapRange(); entry.Next(); {
			if err := f.guard(entry.Key(), depth+1); err != nil {
				return err
			}
			if err := f.guard(entry.Value(), depth+1); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := f.guard(v.Index(i), depth+1); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if op, ok := guardOp(field.Tag.Get(guardTag)); ok {
				if err := f.guardStrings(op, v.Field(i)); err != nil {
					return err
				}
			} else if err := f.guard(v.Field(i), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// guardStrings authorizes the paths in v.
func (f *FS) guardStrings(op Op, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return f.guardStrings(op, v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := f.guardStrings(op, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	if v.String() == "" {
		return nil
	}
	return f.Authorize(op, v.String())
}
