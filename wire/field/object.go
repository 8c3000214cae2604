package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Error is the rejection of a field.
type Error struct {
	Field string // as the request spells it; an element of a list with its place
	Text  string // for the client
	Param bool   // it is a parameter of a URL
}

func (e *Error) Error() string { return e.Text }

// A Field is one name of a request or an answer.
type Field struct {
	Name     string
	Others   []string // other spellings of it
	Kind     Kind
	Must     bool // there, always
	Nullable bool
	Idle     bool // clients send it and the server ignores it; no schema shows it

	Doc, Default, Example string // for people, and for the schema
	Code                  string // the error code of a surface's rejection of the field
	In                    string // where in a request it comes: path, query, body; blank for its method's usual place

	at         []int    // in the struct that describes it
	may        bool     // an answer may leave it out
	pointer    bool     // an answer may have null in it
	untold     bool     // tools do not show or read it
	rare       bool     // tools read it, and the profile core does not show it
	toolOthers []string // spellings that models use
	toolPreset string   // default where a model calls; blank: Default
}

// An Object is the fields of a request or an answer, in the order they are told of.
type Object []Field

// Schema is the field as JSON Schema has it.
func (f Field) Schema() map[string]any {
	s := f.Kind.Schema()
	if f.Doc != "" {
		s["description"] = f.Doc
		if f.Kind.date {
			s["description"] = f.Doc + " (" + f.Kind.Want + ")"
		}
	}
	if f.Default != "" {
		s["default"] = f.Kind.literal(f.Default)
	}
	if f.Example != "" {
		s["examples"] = []any{f.Kind.literal(f.Example)}
	}
	if kind, ok := s["type"].(string); ok && f.Nullable {
		s["type"] = []any{kind, "null"}
	}
	return s
}

// Schema is the object as JSON Schema has it.
func (o Object) Schema() map[string]any {
	props, must := map[string]any{}, []string{}
	for _, f := range o {
		if f.Idle {
			continue
		}
		props[f.Name] = f.Schema()
		if f.Must {
			must = append(must, f.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": props}
	if len(must) > 0 {
		s["required"] = must
	}
	return s
}

// Standalone is the object as a JSON Schema that has the shapes in it.
func (o Object) Standalone(answer bool) map[string]any {
	shapes := map[string]Object{}
	o.Shapes(shapes, answer)
	s := o.Schema()
	if len(shapes) > 0 {
		defs := map[string]any{}
		for name, of := range shapes {
			defs[name] = of.Schema()
		}
		s["$defs"] = defs
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic("field: " + err.Error()) // maps of strings always encode
	}
	var whole map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(b, []byte("#/components/schemas/"), []byte("#/$defs/")), &whole); err != nil {
		panic("field: " + err.Error())
	}
	return whole
}

// Check rejects the fields that a JSON object may not have, by name. Values must be valid JSON. Other spellings of a
// field are put in its own place. Lenient rejects dates that cannot be read, and required fields that are missing or
// of another type, and nothing else.
func (o Object) Check(body map[string]json.RawMessage, lenient bool) error {
	for _, f := range o {
		for _, other := range f.Others {
			v, there := body[other]
			if !there {
				continue
			}
			delete(body, other)
			if absent(body[f.Name]) {
				body[f.Name] = v
			}
		}
	}
	if !lenient {
		if err := o.known(slices.Sorted(maps.Keys(body))); err != nil {
			return err
		}
	}
	for _, f := range o {
		raw := body[f.Name]
		switch {
		case absent(raw) && f.Must:
			return missing(f)
		case absent(raw):
		case lenient && f.Must && f.Kind.Type != "" && typeOf(raw) != f.Kind.Type: // it would count as absent
			return f.Kind.JSON(f.Name, raw)
		case lenient && !f.Kind.date && !f.Kind.window && !(f.Kind.key && typeOf(raw) == "string"):
		default:
			if err := f.Kind.JSON(f.Name, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func missing(f Field) error {
	if f.Kind.Type == "array" {
		return &Error{Field: f.Name, Text: fmt.Sprintf("missing '%s' array", f.Name)}
	}
	return &Error{Field: f.Name, Text: fmt.Sprintf("missing '%s'", f.Name)}
}

// Values checks the parameters of a URL in the same way. An empty one is missing; whether it must be there is its
// reader's to say.
func (o Object) Values(params map[string][]string, lenient bool) error {
	if !lenient {
		if err := o.known(slices.Sorted(maps.Keys(params))); err != nil {
			return err
		}
	}
	for _, f := range o {
		for _, name := range append([]string{f.Name}, f.Others...) {
			for _, v := range params[name] {
				if v == "" || lenient && !f.Kind.date {
					continue
				}
				if err := f.Kind.Text(name, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// known rejects a name that is none of the fields'.
func (o Object) known(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(o, func(f Field) bool { return f.Name == name || slices.Contains(f.Others, name) }) {
			return o.Unknown(name)
		}
	}
	return nil
}

// Unknown is the rejection of a name, with the one that was probably meant.
func (o Object) Unknown(name string) error {
	names := make([]string, len(o))
	for i, f := range o {
		names[i] = f.Name
	}
	if best := Nearest(name, names); best != "" {
		return &Error{Field: name, Text: fmt.Sprintf("unknown field '%s': did you mean '%s'?", clip(name), best)}
	}
	return &Error{Field: name, Text: fmt.Sprintf("unknown field '%s'", clip(name))}
}

// Named is a field by its name. It panics where there is none: that is a mistake in a table of ours.
func (o Object) Named(name string) Field {
	for _, f := range o {
		if f.Name == name {
			return f
		}
	}
	panic("field: no field " + name)
}

// Phrase is the meaning of the field as flags say it: a phrase and no sentence.
func (f Field) Phrase() string {
	doc := strings.TrimSuffix(f.Doc, ".")
	if len(doc) < 2 || strings.ToUpper(doc[:2]) == doc[:2] { // a name, such as JSON
		return doc
	}
	return strings.ToLower(doc[:1]) + doc[1:]
}
