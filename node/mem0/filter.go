package mem0

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/wire/field"
)

// A selection holds the fields of a call that select memories.
type selection struct {
	ids
	Filters    json.RawMessage `json:"filters"`
	Metadata   json.RawMessage `json:"metadata"`
	Categories []string        `json:"categories"`
	Start      string          `json:"start_date"`
	End        string          `json:"end_date"`
	Keywords   json.RawMessage `json:"keywords"`
}

// selected reads a selection from the parameters of the URL.
func (x *exchange) selected() selection {
	get := func(name string) id { return id(x.Params.Get(name)) }
	return selection{ids: ids{get("user_id"), get("agent_id"), get("app_id"), get("run_id"), get("session_id")},
		Filters: json.RawMessage(x.Params.Get("filters")), Metadata: json.RawMessage(x.Params.Get("metadata")),
		Categories: x.Params["categories"],
		Start:      x.Params.Get("start_date"), End: x.Params.Get("end_date"), Keywords: json.RawMessage(x.Params.Get("keywords"))}
}

// filter translates a selection to a filter of the table. It rejects a selection that names no entity.
func (s *selection) filter() (field.Map, error) {
	t := translation{}
	if len(s.Filters)+len(s.Metadata) > filter.MaxFilter {
		return nil, oplog.Errorf(oplog.Invalid, "filters: over %d bytes", filter.MaxFilter)
	}
	all := []any{object{"@namespace": oplog.Mem0Namespace}} // lists never return rows of other namespaces
	for _, name := range slices.Sorted(maps.Keys(s.named())) {
		all = append(all, t.leaf(name, quoted(string(s.named()[name])), 0))
	}
	if !absent(s.Filters) {
		all = append(all, t.tree(s.Filters, 0))
	}
	all = append(all, t.leaf("metadata", s.Metadata, 0), t.leaf("keywords", s.Keywords, 0))
	if len(s.Categories) > 0 {
		raw, _ := json.Marshal(s.Categories) // strings always encode
		all = append(all, t.leaf("categories", raw, 0))
	}
	if s.Start != "" {
		all = append(all, t.comparison("@created_at", "gte", quoted(s.Start)))
	}
	if s.End != "" {
		all = append(all, t.comparison("@created_at", "lte", quoted(s.End)))
	}
	if t.err == nil && t.entities == 0 {
		t.err = oplog.Errorf(oplog.Invalid, "filters: name one of user_id, agent_id, app_id or run_id, with * for any")
	}
	if t.err != nil {
		return nil, t.err
	}
	all = slices.DeleteFunc(all, func(part any) bool { return part == nil })
	raw, err := json.Marshal(object{"and": all})
	return raw, err
}

func quoted(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // a string always encodes
	return raw
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// A translation translates one filter. Its err is the first part that has no equivalent. A nil part matches
// everything.
type translation struct {
	entities int // number of comparisons of an entity's name, outside of NOT
	err      error
}

func (t *translation) reject(format string, args ...any) any {
	if t.err == nil {
		t.err = oplog.Errorf(oplog.Invalid, "filters: "+format, args...)
	}
	return nil
}

// tree translates a filter.
func (t *translation) tree(raw json.RawMessage, depth int) any {
	var members fields
	if json.Unmarshal(raw, &members) != nil || depth > filter.MaxDepth {
		return t.reject("want an object, at most %d deep", filter.MaxDepth)
	}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v := members[name]
		var part any
		switch strings.ToUpper(strings.TrimPrefix(name, "$")) {
		case "AND":
			part = group("and", t.list(v, depth))
		case "OR":
			before := t.entities
			list := t.list(v, depth)
			if part = group("or", list); slices.Contains(list, nil) || len(list) == 0 {
				part, t.entities = nil, before // one alternative matches everything
			}
		case "NOT":
			before := t.entities
			if list := t.list(v, depth); !slices.Contains(list, nil) && len(list) > 0 {
				part = object{"not": group("or", list)}
			} else if t.err == nil {
				return t.reject("NOT: want filters that do not let all pass")
			}
			t.entities = before
		default:
			part = t.leaf(name, v, depth)
		}
		if part != nil {
			all = append(all, part)
		}
	}
	return group("and", all)
}

// list translates a list of filters, or a single one.
func (t *translation) list(raw json.RawMessage, depth int) (parts []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, one := range list {
		parts = append(parts, t.tree(one, depth+1))
	}
	return parts
}

// group joins parts with and or or. Nil parts, which match everything, are dropped.
func group(op string, parts []any) any {
	parts = slices.DeleteFunc(slices.Clone(parts), func(part any) bool { return part == nil })
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return object{op: parts}
}

// leaf translates the comparisons of a field.
func (t *translation) leaf(name string, raw json.RawMessage, depth int) any {
	if absent(raw) {
		return nil
	}
	switch name {
	case "session_id":
		name = "run_id"
	case "created_at", "updated_at":
		name = "@" + name
	case "metadata":
		return t.metadata(raw, depth)
	case "keywords", "memory_ids", "memory":
		return t.reject("%s: not supported; the query of a search finds words", name)
	default:
		if !filter.ValidName(name) {
			return t.reject("%.40q is not a field", name)
		}
	}
	var tests fields
	switch {
	case raw[0] == '[':
		return t.comparison(name, "in", raw)
	case raw[0] != '{':
		return t.comparison(name, "eq", raw)
	case json.Unmarshal(raw, &tests) != nil:
		return t.reject("%.40q: want a value or operators", name)
	}
	var all []any
	for _, op := range slices.Sorted(maps.Keys(tests)) {
		all = append(all, t.comparison(name, op, tests[op]))
	}
	return group("and", all)
}

// metadata translates {key: value, …}, also below contains.
func (t *translation) metadata(raw json.RawMessage, depth int) any {
	var members, inner fields
	if json.Unmarshal(raw, &members) != nil || depth > filter.MaxDepth {
		return t.reject("metadata: want an object")
	}
	if len(members) == 1 && json.Unmarshal(members["contains"], &inner) == nil {
		members = inner
	}
	var all []any
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "metadata" || isID(name) {
			return t.reject("metadata: %s is not a key of metadata", name)
		}
		all = append(all, t.leaf(name, members[name], depth+1))
	}
	return group("and", all)
}

// wildcard is the value that matches any value.
const wildcard = `"*"`

// comparison translates one operator and its value.
func (t *translation) comparison(name, op string, raw json.RawMessage) any {
	op = strings.TrimPrefix(op, "$")
	if isID(name) && (op == "eq" || op == "in") {
		t.entities++
	}
	var list []json.RawMessage
	switch _ = json.Unmarshal(raw, &list); {
	case string(raw) == wildcard && (op == "eq" || op == "contains" || op == "icontains"),
		op == "in" && slices.ContainsFunc(list, func(v json.RawMessage) bool { return string(v) == wildcard }):
		return object{name: object{"exists": true}}
	case string(raw) == wildcard && op == "ne":
		return object{name: object{"exists": false}}
	case isID(name), name[0] == '@':
		for i := range list {
			list[i] = asField(name, list[i])
		}
		if raw = asField(name, raw); list != nil {
			raw, _ = json.Marshal(list) // raw messages that were decoded always encode
		}
	}
	part := object{name: object{op: raw}}
	encoded, err := json.Marshal(part)
	if err == nil {
		_, err = filter.Parse(encoded)
	}
	if err != nil {
		return t.reject("%s", strings.TrimPrefix(err.Error(), "filter: "))
	}
	return part
}

// asField converts a value to the type of a field: an id to a string, and a time in other formats to RFC 3339.
func asField(name string, raw json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		if isID(name) && len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
			return quoted(string(raw))
		}
		return raw
	}
	if name[0] == '@' {
		for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00"} {
			if at, err := time.Parse(layout, s); err == nil {
				return quoted(at.UTC().Format(time.RFC3339Nano))
			}
		}
	}
	return raw
}

// everything returns a filter that matches all memories of this namespace.
func everything() field.Map { return fmt.Appendf(nil, `{"@namespace":%q}`, oplog.Mem0Namespace) }
