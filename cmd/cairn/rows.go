package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// rows reads what an import understands, one value after the other, on lines of their own or not:
//
//	{"type":"memory","text":…}, {"type":"edge",…}    an export of this server or of YantrikDB
//	{"memory":…,"user_id":…,"created_at":…}          a memory of mem0; {"results":[…],"relations":[…]} is many
//	{"source":…,"relationship":…,"target":…}         a relation of mem0
//	{"text":…} or "content" or "page_content"        a document; what else it says becomes metadata
//	"a text"                                         a text
//	[…]                                              any of these
type rows struct {
	d       *json.Decoder
	arrays  int // that are open
	pending []json.RawMessage
	n       int // values so far
}

func newRows(in io.Reader) *rows { return &rows{d: json.NewDecoder(in)} }

// next is the next row; io.EOF behind the last.
func (r *rows) next() (row importRow, err error) {
	for {
		raw, err := r.raw()
		if err != nil {
			return row, err
		}
		var many struct {
			Results   []json.RawMessage `json:"results"`
			Relations []json.RawMessage `json:"relations"`
		}
		switch raw[0] {
		case '{':
			if json.Unmarshal(raw, &many) == nil && (many.Results != nil || many.Relations != nil) {
				r.pending = append(append(r.pending, many.Results...), many.Relations...)
				continue
			}
			return rowOf(raw)
		case '"':
			err := json.Unmarshal(raw, &row.Text)
			return row, err
		}
		return row, fmt.Errorf("want an object or a text, got %.20s", raw)
	}
}

// raw is the next value that is no array.
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
		return bytes.TrimSpace(raw), nil
	}
}

// opens says whether the next value outside of all arrays is an array; inside of one, an array is no row.
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
		return io.ErrUnexpectedEOF
	}
	return err
}

// importRow is a row of an import: a memory or an edge.
type importRow struct {
	raw json.RawMessage // of an export, which says all in fields of its own; nil for rows of others

	Type       string          `json:"type"`
	Text       string          `json:"text"`
	MemoryType string          `json:"memory_type"`
	Importance *float64        `json:"importance"`
	Valence    *float64        `json:"valence"`
	HalfLife   *float64        `json:"half_life"`
	Created    instant         `json:"created_at"`
	Metadata   json.RawMessage `json:"metadata"`
	Namespace  string          `json:"namespace"`
	Certainty  *float64        `json:"certainty"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Emotion    *string         `json:"emotional_state"`
	Session    string          `json:"session_id"`
	Src        string          `json:"src"`
	Dst        string          `json:"dst"`
	RelType    string          `json:"rel_type"`
	Extractor  *int            `json:"extractor"`
	foreign
}

var draftFields = field.Of(reflect.TypeFor[api.Draft]())

// line is the row as an import takes it. What this server exported is sent as it is; values of others are held to the bounds of a request.
func (r *importRow) line() ([]byte, error) {
	if r.Extractor != nil {
		return append(r.raw, '\n'), nil
	}
	f := map[string]json.RawMessage{}
	if r.raw != nil {
		if err := json.Unmarshal(r.raw, &f); err != nil {
			return nil, err
		}
	} else if err := r.fill(f); err != nil {
		return nil, err
	}
	if r.Created != 0 { // gateways read numbers
		f["created_at"] = json.RawMessage(strconv.FormatFloat(float64(r.Created), 'f', -1, 64))
	}
	if r.HalfLife != nil && *r.HalfLife <= 0 { // a memory without a half-life is exported with 0
		delete(f, "half_life")
	}
	if r.Type != "edge" {
		known := maps.Clone(f)
		maps.DeleteFunc(known, func(name string, _ json.RawMessage) bool {
			return !slices.ContainsFunc(draftFields, func(f field.Field) bool { return f.Name == name })
		})
		if err := draftFields.Check(known, false); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}

// fill sets the fields of a row of others.
func (r *importRow) fill(f map[string]json.RawMessage) (err error) {
	set := func(name string, value any, given bool) {
		if given && err == nil {
			f[name], err = json.Marshal(value)
		}
	}
	set("type", "edge", r.Type == "edge")
	set("text", r.Text, r.Type != "edge")
	for name, value := range map[string]string{"memory_type": r.MemoryType, "namespace": r.Namespace, "domain": r.Domain, "source": r.Source, "session_id": r.Session,
		"src": r.Src, "dst": r.Dst, "rel_type": r.RelType} {
		set(name, value, value != "")
	}
	for name, value := range map[string]*float64{"importance": r.Importance, "valence": r.Valence, "half_life": r.HalfLife, "certainty": r.Certainty} {
		set(name, value, value != nil)
	}
	set("emotional_state", r.Emotion, r.Emotion != nil)
	set("metadata", r.Metadata, len(r.Metadata) > 0)
	return err
}

// foreign is what rows of others have beside.
type foreign struct {
	Memory       string `json:"memory"`
	Content      string `json:"content"`
	PageContent  string `json:"page_content"`
	UserID       string `json:"user_id"`
	AgentID      string `json:"agent_id"`
	RunID        string `json:"run_id"`
	Relationship string `json:"relationship"`
	Target       string `json:"target"`
	Destination  string `json:"destination"`
}

// taken are the keys that become fields of a memory; those of no consequence are left out of its metadata too.
var taken = map[string]bool{"memory": true, "content": true, "page_content": true, "created_at": true, "metadata": true, "score": true, "hash": true, "type": true, "text": true,
	"namespace": true, "importance": true, "memory_type": true, "source": true, "domain": true}

func rowOf(raw json.RawMessage) (row importRow, err error) {
	if err := json.Unmarshal(raw, &row); err != nil {
		return row, err
	}
	switch to := row.Target + row.Destination; {
	case row.Relationship != "" && row.Source != "" && to != "":
		return importRow{Type: "edge", Src: row.Source, RelType: row.Relationship, Dst: to}, nil
	case row.Type == "edge" || row.Type == "memory" || row.MemoryType != "":
		row.raw = slices.Clone(raw)
		return row, nil
	}
	if row.Text = cmp.Or(row.Text, row.Memory, row.Content, row.PageContent); row.Text == "" {
		return row, errors.New("no text: want a field text, memory, content or page_content")
	}
	row.Namespace, row.Session = cmp.Or(row.Namespace, row.UserID, row.AgentID), cmp.Or(row.Session, row.RunID)
	row.Metadata, err = metadataOf(raw)
	return row, err
}

// metadataOf is a row's own metadata with what else the row says.
func metadataOf(row json.RawMessage) (json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(row, &keys); err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if own := keys["metadata"]; len(own) > 0 && own[0] == '{' {
		if err := json.Unmarshal(own, &all); err != nil {
			return nil, err
		}
	}
	for k, v := range keys {
		if _, own := all[k]; !own && !taken[k] && string(v) != "null" {
			all[k] = v
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return json.Marshal(all)
}

// instant is seconds since 1970, written as a number or as ISO 8601 with or without a zone (UTC then): gateways write numbers, and verbs and
// other products texts.
type instant float64

// UnmarshalJSON implements json.Unmarshaler.
func (i *instant) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		return json.Unmarshal(b, (*float64)(i))
	}
	if text == "" {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			*i = instant(float64(at.UnixMicro()) / 1e6)
			return nil
		}
	}
	return fmt.Errorf("created_at %q is not a time", text)
}
