package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Error is an error about a field.
type Error struct {
	Field string // name as in the request; for an element of a list, with its index
	Text  string // message for the client
	Param bool   // the field is a URL parameter
}

func (e *Error) Error() string { return e.Text }

// A Field is a field of a request or an answer.
type Field struct {
	Name     string
	Others   []string // other accepted names
	Kind     Kind
	Must     bool // required
	Nullable bool
	Idle     bool // accepted and ignored; not in schemas

	Doc, Default, Example string // for help and schemas
	Code                  string // error code when a surface rejects the field
	In                    string // place in a request: path, query, body; blank: the method's usual place

	at              []int    // index path in the describing struct
	omittable       bool     // an answer may omit it
	pointer         bool     // an answer may contain null
	hiddenFromTools bool     // not shown to or read from tools
	notInCore       bool     // read from tools, but not shown in profile core
	toolOthers      []string // additional names that models use
	toolPreset      string   // default for tools; blank: Default
}

// An Object is the list of fields of a request or an answer, in the order of the documentation.
type Object []Field

// Schema returns the JSON Schema of the field.
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

// Schema returns the JSON Schema of the object. It refers to shapes by name.
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

// Standalone returns the JSON Schema of the object with the definitions of its shapes.
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
		panic("field: " + err.Error()) // cannot fail: maps of encodable values
	}
	var whole map[string]any
	if err := json.Unmarshal(bytes.ReplaceAll(b, []byte("#/components/schemas/"), []byte("#/$defs/")), &whole); err != nil {
		panic("field: " + err.Error())
	}
	return whole
}

// Check returns an error for the first invalid field of a JSON object. Values must be valid JSON. It moves values
// under other accepted names to the field's own name. If lenient, it rejects only unreadable dates, and required
// fields that are missing or have the wrong type.
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
		if err := o.checkNames(slices.Sorted(maps.Keys(body))); err != nil {
			return err
		}
	}
	for _, f := range o {
		raw := body[f.Name]
		switch {
		case absent(raw) && f.Must:
			return missing(f)
		case absent(raw):
		case lenient && f.Must && f.Kind.Type != "" && typeOf(raw) != f.Kind.Type: // otherwise it would count as absent
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

// Values checks the parameters of a URL in the same way. A blank one counts as absent. It does not check that
// required parameters are present.
func (o Object) Values(params map[string][]string, lenient bool) error {
	if !lenient {
		if err := o.checkNames(slices.Sorted(maps.Keys(params))); err != nil {
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

// checkNames returns an error for the first unknown name.
func (o Object) checkNames(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(o, func(f Field) bool { return f.Name == name || slices.Contains(f.Others, name) }) {
			return o.Unknown(name)
		}
	}
	return nil
}

// Unknown returns the error for an unknown name, with a suggestion if a similar one exists.
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

// Named returns the field with a name. It panics if there is none, which is a programming error.
func (o Object) Named(name string) Field {
	for _, f := range o {
		if f.Name == name {
			return f
		}
	}
	panic("field: no field " + name)
}

// Phrase returns the field's doc for the help of a flag: in lower case and without a full stop.
func (f Field) Phrase() string {
	doc := strings.TrimSuffix(f.Doc, ".")
	if len(doc) < 2 || strings.ToUpper(doc[:2]) == doc[:2] { // begins with a name such as JSON
		return doc
	}
	return strings.ToLower(doc[:1]) + doc[1:]
}
