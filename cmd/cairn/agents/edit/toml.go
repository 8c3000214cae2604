package edit

import (
	"bytes"
	"errors"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// TOML edits TOML. An entry's value is the text of one or more tables; its place is the path of the outermost one.
type TOML struct{}

// lookupTable decodes a text and returns the value at a path; nil if there is none.
func lookupTable(doc []byte, at []string) (any, error) {
	var root map[string]any
	if err := toml.Unmarshal(doc, &root); err != nil {
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := syntax.Position()
			return nil, &Error{Line: line, Column: column, Text: strings.TrimPrefix(syntax.Error(), "toml: ")}
		}
		return nil, err
	}
	var v any = root
	for _, name := range at {
		table, ok := v.(map[string]any)
		if !ok {
			return nil, nil
		}
		v = table[name]
	}
	return v, nil
}

// Find implements Format.
func (TOML) Find(doc []byte, e Entry) (taken, same bool, err error) {
	have, err := lookupTable(doc, e.At)
	if err != nil || have == nil {
		return false, false, err
	}
	want, err := lookupTable([]byte(e.Value), e.At)
	return true, err == nil && reflect.DeepEqual(have, want), err
}

// Put implements Format. It appends the tables.
func (f TOML) Put(doc []byte, e Entry) ([]byte, Trace, error) {
	out, t := appendText(doc, e.Value)
	if _, same, err := f.Find(out, e); err != nil || !same {
		return nil, t, errorAt(doc, 0, "%s cannot be added as a table: the file defines %s in another way", e, e.At[0])
	}
	return out, t, nil
}

// Remove implements Format.
func (TOML) Remove(doc []byte, e Entry, t Trace) ([]byte, error) { return cutText(doc, e, e.Value, t) }

// appendText appends lines to a text, after an empty line.
func appendText(doc []byte, text string) ([]byte, Trace) {
	nl, t := lineEnd(doc), Trace{}
	out := bytes.Clone(doc)
	if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n")) {
		t.Wrapped = true
		out = append(out, nl...)
	}
	if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n"+nl)) {
		t.Made = 1
		out = append(out, nl...)
	}
	return append(out, strings.ReplaceAll(text, "\n", nl)...), t
}

// cutText removes lines from a text, with the line ends that appendText added before them.
func cutText(doc []byte, e Entry, text string, t Trace) ([]byte, error) {
	nl := lineEnd(doc)
	text = strings.ReplaceAll(text, "\n", nl)
	from := bytes.Index(doc, []byte(text))
	if from < 0 {
		return nil, errorAt(doc, 0, "%s is written in another way than it was added", e)
	}
	to := from + len(text)
	ends := t.Made
	if t.Wrapped {
		ends++
	}
	for ; ends > 0 && bytes.HasSuffix(doc[:from], []byte(nl)); ends-- {
		if ends == 1 && t.Wrapped && to < len(doc) {
			break // text was added after the entry: keep the line end before it
		}
		from -= len(nl)
	}
	return splice(doc, from, to, ""), nil
}
