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

// rows reads what an import understands, one value after the other, on their own lines or not:
//
//	{"type":"memory","text":…}, {"type":"edge",…}    an export of this server or of YantrikDB
//	{"memory":…,"user_id":…,"created_at":…}          a memory of mem0; {"results":[…],"relations":[…]} is many
//	{"source":…,"relationship":…,"target":…}         a relation of mem0
//	{"type":"entity","name":…,"observations":[…]}    a line of the memory.jsonl of @modelcontextprotocol/server-memory:
//	{"type":"relation","from":…,"relationType":…}    the keys and relations that the profile server-memory of /mcp reads
//	{"text":…} or "content" or "page_content"        a document; what else it says becomes metadata
//	{"text":…,"key":…} or "external_id"              one that corrects the memory it has made before
//	"a text"                                         a text
//	[…]                                              any of these
type rows struct {
	d       *json.Decoder
	arrays  int // that are open
	pending []json.RawMessage
	n       int // values so far
}

func newRows(in io.Reader) *rows { return &rows{d: json.NewDecoder(in)} }

func (r *rows) row() int { return r.n }

// next is the next row; io.EOF behind the last.
func (r *rows) next() (row importRow, err error) {
	for {
		raw, err := r.raw()
		if err != nil {
			return row, err
		}
		var one entity
		switch raw[0] {
		case '{':
			if list, ok := listOf(raw); ok {
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

// texts are the fields that others keep a text in.
var texts = []string{"text", "memory", "content", "page_content"}

// listOf gives the rows of an object that is no row but holds some.
func listOf(raw json.RawMessage) (rows []json.RawMessage, ok bool) {
	var many struct {
		Results   []json.RawMessage `json:"results"`
		Relations []json.RawMessage `json:"relations"`
	}
	var row importRow
	if json.Unmarshal(raw, &many) != nil || many.Results == nil && many.Relations == nil || json.Unmarshal(raw, &row) != nil {
		return nil, false
	}
	return append(many.Results, many.Relations...), row.text(texts...) == ""
}

// raw is the next value that is not an array.
func (r *rows) raw() (raw json.RawMessage, err error) {
	if len(r.pending) > 0 {
		raw, r.pending = r.pending[0], r.pending[1:]
		r.n++
		return raw, nil
	}
	for {
		if r.arrays > 0 && !r.d.More() {
			if _, err := r.d.Token(); err != nil { // its end
				return nil, r.broken(err)
			}
			r.arrays--
			continue
		}
		if opens, err := r.opens(); err != nil {
			return nil, r.broken(err)
		} else if opens {
			if _, err := r.d.Token(); err != nil {
				return nil, r.broken(err)
			}
			r.arrays++
			continue
		}
		if err := r.d.Decode(&raw); err != nil {
			return nil, r.broken(err)
		}
		r.n++
		return bytes.TrimSpace(raw), field.UTF8(raw)
	}
}

// opens reports whether the next value outside of all arrays is an array; inside of one, an array is not a row.
func (r *rows) opens() (bool, error) {
	if r.arrays > 0 {
		return false, nil
	}
	if !r.d.More() { // the end, or what is none
		_, err := r.d.Token()
		return false, err
	}
	b, err := io.ReadAll(io.LimitReader(r.d.Buffered(), 256))
	return bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")), err
}

// broken is the error of a row that cannot be read, which counts as a row; or io.EOF at the end.
func (r *rows) broken(err error) error {
	if errors.Is(err, io.EOF) && r.arrays == 0 {
		return err
	}
	r.n++
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &unreadable{err}
}

// An importRow is a row of an import, a memory or an edge, by the names that an import takes.
type importRow map[string]json.RawMessage

var draftFields = field.Of(reflect.TypeFor[api.Draft]())

// draftField reports whether a name is a field that clients give a memory.
func draftField(name string) bool {
	return slices.ContainsFunc(draftFields, func(f field.Field) bool { return f.Name == name })
}

func (r importRow) has(name string) bool { return r[name] != nil && string(r[name]) != "null" }

// text is the first of some fields that has a text.
func (r importRow) text(names ...string) (s string) {
	for _, name := range names {
		if json.Unmarshal(r[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// say sets a field to a text, unless that is empty.
func (r importRow) say(name, text string) {
	if text != "" {
		r[name], _ = json.Marshal(text) // a text always encodes
	}
}

// saying is a row of these texts, without those that are empty.
func saying(texts map[string]string) importRow {
	row := importRow{}
	for name, text := range texts {
		row.say(name, text)
	}
	return row
}

// line is the row as an import takes it. What this server exported is sent as it is; values of others are held to the
// bounds of a request.
func (r importRow) line() ([]byte, error) {
	if !r.has("extractor") {
		if err := r.bounded(); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

func (r importRow) bounded() error {
	if at, err := time.Parse("2006-01-02T15:04:05", strings.Replace(r.text("created_at"), " ", "T", 1)); err == nil { // without a zone: UTC
		r.say("created_at", at.Format(time.RFC3339Nano))
	}
	var hours float64
	if json.Unmarshal(r["half_life"], &hours) == nil && hours <= 0 { // a memory without a half-life is exported with 0
		delete(r, "half_life")
	}
	if r.text("type") == "edge" {
		return nil
	}
	known := maps.Clone(r)
	maps.DeleteFunc(known, func(name string, _ json.RawMessage) bool { return !draftField(name) })
	return draftFields.Check(known, false)
}

// edgeOf is the row of a relation.
func edgeOf(from, relation, to string) importRow {
	return saying(map[string]string{"type": "edge", "src": from, "rel_type": relation, "dst": to})
}

// An entity is a line of the memory.jsonl of server-memory.
type entity struct {
	Line         string   `json:"type"`
	Name         string   `json:"name"`
	Kind         string   `json:"entityType"`
	Observations []string `json:"observations"`
}

// facts are the rows of an entity: one says its type, and one each observation.
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
			kit.Must(saying(map[string]string{"type": "memory", "namespace": api.GraphNamespace,
				"source": api.GraphNamespace, "key": key, "text": texts[key]})))
	}
	return rows
}

// taken are the keys of others' rows that become fields of a memory, or are of no consequence. They are left out of its
// metadata.
var taken = map[string]bool{"memory": true, "content": true, "page_content": true, "score": true, "hash": true, "type": true,
	"external_id": true, "key": true}

// rowOf reads a row: one of an export, or one of others, whose names are put into ours.
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
	memory := saying(map[string]string{"text": row.text(texts...), "namespace": row.text("user_id", "agent_id"),
		"session_id":  row.text("run_id"),
		"external_id": row.text("external_id"), "key": row.text("key")})
	if memory["text"] == nil {
		return nil, errors.New("no text: want a field text, memory, content or page_content")
	}
	if row.has("memory") { // of mem0, whose ids are unique everywhere
		memory.say("external_id", row.text("id"))
	}
	more := importRow{}
	if row.has("metadata") && json.Unmarshal(row["metadata"], &more) != nil { // no object: it keeps its name
		more = importRow{"metadata": row["metadata"]}
	}
	for name, v := range row {
		switch {
		case name == "metadata" || name == "text" || string(v) == "null":
		case draftField(name):
			memory[name] = v
		case more[name] == nil && !taken[name]:
			more[name] = v
		}
	}
	if len(more) > 0 {
		memory["metadata"], err = json.Marshal(more)
	}
	return memory, err
}
