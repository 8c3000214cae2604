package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// rows is a rowReader of JSON values, with or without line breaks between them. It accepts:
//
//	{"type":"memory","text":…}, {"type":"edge",…}    an export of this server or of YantrikDB
//	{"memory":…,"user_id":…,"created_at":…}          a memory of mem0; {"results":[…],"relations":[…]} has many
//	{"source":…,"relationship":…,"target":…}         a relation of mem0
//	{"type":"entity","name":…,"observations":[…]}    a line of the memory.jsonl of @modelcontextprotocol/server-memory:
//	{"type":"relation","from":…,"relationType":…}    the keys and relations that the profile server-memory of /mcp reads
//	{"text":…} or "content" or "page_content"        a document; its other fields become metadata
//	{"text":…,"key":…} or "external_id"              a row that corrects the memory it created before
//	"a text"                                         a text
//	[…]                                              any of these
type rows struct {
	d       *json.Decoder
	arrays  int // depth of open arrays
	pending []json.RawMessage
	n       int // values so far
}

func newRows(in io.Reader) *rows { return &rows{d: json.NewDecoder(in)} }

func (r *rows) row() int { return r.n }

// next returns the next row; io.EOF after the last.
func (r *rows) next() (row importRow, err error) {
	for {
		raw, err := r.raw()
		if err != nil {
			return row, err
		}
		var one entity
		switch raw[0] {
		case '{':
			if list, ok := rowsIn(raw); ok {
				r.pending = append(r.pending, list...)
				continue
			}
			if json.Unmarshal(raw, &one) == nil && one.Line == "entity" && one.Name != "" {
				r.pending = append(one.facts(), r.pending...)
				continue
			}
			return rowOf(raw)
		case '"':
			return importRow{"text": raw}, nil
		}
		return row, fmt.Errorf("want an object or a text, got %.20s", raw)
	}
}

// textFields are the names of the text field in supported formats.
var textFields = []string{"text", "memory", "content", "page_content"}

// rowsIn returns the rows of an object that wraps rows; ok is false for other objects.
func rowsIn(raw json.RawMessage) (rows []json.RawMessage, ok bool) {
	var many struct {
		Results   []json.RawMessage `json:"results"`
		Relations []json.RawMessage `json:"relations"`
	}
	var row importRow
	if json.Unmarshal(raw, &many) != nil || many.Results == nil && many.Relations == nil || json.Unmarshal(raw, &row) != nil {
		return nil, false
	}
	return append(many.Results, many.Relations...), row.text(textFields...) == ""
}

// raw returns the next value, where an array counts as its elements.
func (r *rows) raw() (raw json.RawMessage, err error) {
	if len(r.pending) > 0 {
		raw, r.pending = r.pending[0], r.pending[1:]
		r.n++
		return raw, nil
	}
	for {
		if r.arrays > 0 && !r.d.More() {
			if _, err := r.d.Token(); err != nil { // the closing bracket
				return nil, r.readError(err)
			}
			r.arrays--
			continue
		}
		if opens, err := r.atArray(); err != nil {
			return nil, r.readError(err)
		} else if opens {
			if _, err := r.d.Token(); err != nil {
				return nil, r.readError(err)
			}
			r.arrays++
			continue
		}
		if err := r.d.Decode(&raw); err != nil {
			return nil, r.readError(err)
		}
		r.n++
		return bytes.TrimSpace(raw), field.UTF8(raw)
	}
}

// atArray reports whether the next value is an array at the top level. A nested array is not unpacked: it is not a
// row.
func (r *rows) atArray() (bool, error) {
	if r.arrays > 0 {
		return false, nil
	}
	if !r.d.More() { // the end, or a syntax error
		_, err := r.d.Token()
		return false, err
	}
	b, err := io.ReadAll(io.LimitReader(r.d.Buffered(), 256))
	return bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")), err
}

// readError returns io.EOF at the end, or an unreadableError. A row that cannot be read counts as a row.
func (r *rows) readError(err error) error {
	if errors.Is(err, io.EOF) && r.arrays == 0 {
		return err
	}
	r.n++
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &unreadableError{err}
}

// An importRow is a memory or an edge with the field names of the import operation.
type importRow map[string]json.RawMessage

var draftFields = field.Of(reflect.TypeFor[api.Draft]())

// draftField reports whether a name is a field that clients can set on a memory.
func draftField(name string) bool {
	return slices.ContainsFunc(draftFields, func(f field.Field) bool { return f.Name == name })
}

func (r importRow) has(name string) bool { return r[name] != nil && string(r[name]) != "null" }

// text returns the first nonempty text among some fields.
func (r importRow) text(names ...string) (s string) {
	for _, name := range names {
		if json.Unmarshal(r[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// setText sets a field to a text, unless the text is empty.
func (r importRow) setText(name, text string) {
	if text != "" {
		r[name], _ = json.Marshal(text) // encoding a string cannot fail
	}
}

// textRow returns a row with the nonempty texts.
func textRow(texts map[string]string) importRow {
	row := importRow{}
	for name, text := range texts {
		row.setText(name, text)
	}
	return row
}

// line encodes the row for the import operation. It checks the values against the bounds of a request, unless the row
// was exported by this server.
func (r importRow) line() ([]byte, error) {
	if !r.has("extractor") {
		if err := r.checkBounds(); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

func (r importRow) checkBounds() error {
	if at, err := time.Parse("2006-01-02T15:04:05", strings.Replace(r.text("created_at"), " ", "T", 1)); err == nil { // a time without a zone is in UTC
		r.setText("created_at", at.Format(time.RFC3339Nano))
	}
	var hours float64
	if json.Unmarshal(r["half_life"], &hours) == nil && hours <= 0 { // exports have 0 for no half-life
		delete(r, "half_life")
	}
	if r.text("type") == "edge" {
		return nil
	}
	known := maps.Clone(r)
	maps.DeleteFunc(known, func(name string, _ json.RawMessage) bool { return !draftField(name) })
	return draftFields.Check(known, false)
}

// edgeOf returns the row of a relation.
func edgeOf(from, relation, to string) importRow {
	return textRow(map[string]string{"type": "edge", "src": from, "rel_type": relation, "dst": to})
}

// An entity is a line of server-memory's memory.jsonl.
type entity struct {
	Line         string   `json:"type"`
	Name         string   `json:"name"`
	Kind         string   `json:"entityType"`
	Observations []string `json:"observations"`
}

// facts returns the rows of an entity: one for its type and one for each observation.
func (e entity) facts() (rows []json.RawMessage) {
	kind := api.GraphFact{Entity: e.Name, Says: e.Kind}
	texts := map[string]string{kind.TypeKey(): kind.Text()}
	keys := []string{kind.TypeKey()}
	for _, says := range e.Observations {
		f := api.GraphFact{Entity: e.Name, Says: says}
		if texts[f.Key()] == "" {
			keys = append(keys, f.Key())
		}
		texts[f.Key()] = f.Text()
	}
	for _, key := range keys {
		rows = append(rows,
			kit.MustJSON(textRow(map[string]string{"type": "memory", "namespace": api.GraphNamespace,
				"source": api.GraphNamespace, "key": key, "text": texts[key]})))
	}
	return rows
}

// notMetadata are the fields of foreign rows that do not become metadata, because they become fields of the memory or
// are not useful.
var notMetadata = map[string]bool{"memory": true, "content": true, "page_content": true, "score": true, "hash": true, "type": true,
	"external_id": true, "key": true}

// rowOf converts a JSON object to a row. It keeps exported rows, and maps the names of other formats to Cairn's.
func rowOf(raw json.RawMessage) (row importRow, err error) {
	if err := json.Unmarshal(raw, &row); err != nil {
		return nil, err
	}
	if relation, from, to := row.text("relationship"), row.text("source"), row.text("target", "destination"); relation != "" &&
		from != "" && to != "" {
		return edgeOf(from, relation, to), nil
	}
	if kind, from, relation, to := row.text("type"), row.text("from"), row.text("relationType"), row.text("to"); kind == "relation" &&
		from != "" && relation != "" && to != "" {
		return edgeOf(from, relation, to), nil
	}
	if kind := row.text("type"); kind == "edge" || kind == "memory" || row.text("memory_type") != "" {
		return row, nil
	}
	memory := textRow(map[string]string{"text": row.text(textFields...), "namespace": row.text("user_id", "agent_id"),
		"session_id":  row.text("run_id"),
		"external_id": row.text("external_id"), "key": row.text("key")})
	if memory["text"] == nil {
		return nil, errors.New("no text: want a field text, memory, content or page_content")
	}
	if row.has("memory") { // a row of mem0, whose ids are globally unique
		memory.setText("external_id", row.text("id"))
	}
	more := importRow{}
	if row.has("metadata") && json.Unmarshal(row["metadata"], &more) != nil { // metadata that is not an object becomes a field of it
		more = importRow{"metadata": row["metadata"]}
	}
	for name, v := range row {
		switch {
		case name == "metadata" || name == "text" || string(v) == "null":
		case draftField(name):
			memory[name] = v
		case more[name] == nil && !notMetadata[name]:
			more[name] = v
		}
	}
	if len(more) > 0 {
		memory["metadata"], err = json.Marshal(more)
	}
	return memory, err
}
