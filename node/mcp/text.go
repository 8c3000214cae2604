package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/prompt"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// textOf formats an answer as text for a model: its values, then its lists. Package prompt formats memories, ids are
// short, times are days, and every text of a client is quoted, so that it cannot begin a line or look like ours.
// Fields that only programs need are dropped; see the tag tool of the answers' fields.
func (s *Server) textOf(ctx context.Context, c api.Caller, op *api.Op, got any, whole json.RawMessage) (string, error) {
	if block, ok := got.(*api.PromptAnswer); ok {
		return promptText(block), nil
	}
	w := &textWriter{shapes: map[string]field.Object{}, ids: map[string]string{}}
	gives := op.Gives().ForTools()
	gives.Shapes(w.shapes, true)
	var rids []string
	w.visitIDs(gives, whole, func(id string) { rids = append(rids, id) })
	if len(rids) > 0 {
		a, err := api.IDs.Do(ctx, s.cfg.Door, c, &api.IDsRequest{RIDs: rids})
		switch {
		case errors.Is(err, &oplog.Error{Kind: oplog.Denied}): // callers that may not read numbers get full ids
			a = &api.IDsAnswer{}
		case err != nil:
			return "", err
		}
		for i, seq := range a.Numbers {
			if seq > 0 {
				w.ids[rids[i]] = prompt.ID(uint64(seq))
			}
		}
	}
	w.object(gives, membersOf(whole))
	return cmp.Or(w.b.String(), "done\n"), nil
}

// promptText returns the block of a prompt, and the number of matches that did not fit.
func promptText(a *api.PromptAnswer) string {
	if a.Text == "" {
		return "Nothing is known about it.\n"
	}
	left := 0
	for _, l := range a.Left {
		if l.Reason == "budget" {
			left++
		}
	}
	if left == 0 {
		return a.Text
	}
	return fmt.Sprintf("%s%d more matches: ask with a larger max_tokens.\n", a.Text, left)
}

// A textWriter formats one answer.
type textWriter struct {
	shapes map[string]field.Object // the shapes of the answer's objects
	ids    map[string]string       // short forms of ids
	b      strings.Builder
}

// membersOf returns the members of an object, or nil.
func membersOf(raw json.RawMessage) (m map[string]json.RawMessage) {
	_ = json.Unmarshal(raw, &m) // an answer of ours is valid
	return m
}

func itemsOf(raw json.RawMessage) (list []json.RawMessage) {
	_ = json.Unmarshal(raw, &list) // an answer of ours is valid
	return list
}

func textIn(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // an answer of ours is valid
	return s
}

// visitIDs calls f for each memory id in an object.
func (w *textWriter) visitIDs(o field.Object, raw json.RawMessage, f func(id string)) {
	v := membersOf(raw)
	for _, d := range o {
		w.visitValue(d.Kind, v[d.Name], f)
	}
}

func (w *textWriter) visitValue(k field.Kind, raw json.RawMessage, f func(id string)) {
	switch {
	case isBlank(raw):
	case k.Item != nil:
		if k.Item.RID || k.Item.Shape != "" {
			for _, item := range itemsOf(raw) {
				w.visitValue(*k.Item, item, f)
			}
		}
	case k.RID:
		f(textIn(raw))
	case k.Shape != "":
		o := w.shapes[k.Shape]
		w.visitIDs(o, raw, f)
		for _, why := range itemsOf(membersOf(raw)["why_retrieved"]) {
			if other, _, ok := contradicted(why); ok {
				f(other)
			}
		}
	}
}

// contradicted returns the memory that a row contradicts and its relative age, if the reason names one.
func contradicted(why json.RawMessage) (rid, age string, ok bool) {
	if rid, ok = strings.CutPrefix(textIn(why), "contradicts "); ok {
		rid, age, ok = strings.Cut(rid, ", which is ")
	}
	return rid, age, ok
}

// isBlank reports whether a value is empty. False and zero are not.
func isBlank(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// object writes an object: a line with its values, then a line for each object in its lists.
func (w *textWriter) object(o field.Object, v map[string]json.RawMessage) {
	if isMemory(o) {
		w.b.WriteString(prompt.List("", []prompt.Row{w.row(v)}))
		return
	}
	var line []string
	var lists []field.Field
	for _, f := range o {
		switch raw := v[f.Name]; {
		case f.Kind.Item != nil && isMemory(w.shapes[f.Kind.Item.Shape]):
			lists = append(lists, f) // even if empty
		case isBlank(raw) || f.Kind.Name == "token":
		case f.Kind.Item != nil && f.Kind.Item.Shape != "":
			lists = append(lists, f)
		default:
			line = append(line, f.Name+": "+w.value(f.Kind, raw))
		}
	}
	if len(line) > 0 {
		w.b.WriteString(strings.Join(line, ", ") + "\n")
	}
	for _, f := range lists {
		w.list(f, itemsOf(v[f.Name]))
	}
}

// list writes the objects of a list. If the field's description begins with "The", it tells the order: "The best
// first."
func (w *textWriter) list(f field.Field, items []json.RawMessage) {
	of := w.shapes[f.Kind.Item.Shape]
	if !isMemory(of) {
		w.b.WriteString(f.Name + ":\n")
		for _, item := range items {
			w.b.WriteString("- " + w.inline(of, membersOf(item)) + "\n")
		}
		return
	}
	if len(items) == 0 {
		w.b.WriteString(f.Name + ": none\n")
		return
	}
	rows := make([]prompt.Row, len(items))
	for i, item := range items {
		rows[i] = w.row(membersOf(item))
	}
	order := ""
	if first, ok := strings.CutPrefix(f.Doc, "The "); ok && len(items) > 1 {
		order = strings.ToUpper(first[:1]) + first[1:] + " "
	}
	w.b.WriteString(prompt.List(order, rows))
}

// inline returns an object on one line.
func (w *textWriter) inline(o field.Object, v map[string]json.RawMessage) string {
	if isMemory(o) {
		row := w.row(v)
		return strings.TrimSuffix(strings.TrimPrefix(row.Line(), "- "), "\n")
	}
	var line []string
	for _, f := range o {
		if raw := v[f.Name]; !isBlank(raw) && f.Kind.Name != "token" {
			line = append(line, f.Name+": "+w.value(f.Kind, raw))
		}
	}
	return strings.Join(line, ", ")
}

// value returns a value on one line.
func (w *textWriter) value(k field.Kind, raw json.RawMessage) string {
	switch {
	case k.Item != nil:
		var items []string
		for _, item := range itemsOf(raw) {
			items = append(items, w.value(*k.Item, item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case k.Shape != "":
		return "{" + w.inline(w.shapes[k.Shape], membersOf(raw)) + "}"
	case k.RID:
		return w.shortID(textIn(raw))
	case k.Type == "string" && k.Enum == nil:
		return api.Quoted(textIn(raw))
	case k.Type == "string":
		return textIn(raw)
	case k.Time:
		return formatTime(raw)
	case k.Type == "number":
		v, _ := strconv.ParseFloat(string(raw), 64) // an answer of ours is valid
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return api.OneLine(string(raw))
}

// shortID returns the short form of a memory's id, or the quoted id if it has none.
func (w *textWriter) shortID(id string) string {
	if s := w.ids[id]; s != "" {
		return s
	}
	return api.Quoted(id)
}

// formatTime returns a time to the minute, in UTC.
func formatTime(raw json.RawMessage) string {
	v, _ := strconv.ParseFloat(string(raw), 64) // an answer of ours is valid
	return field.UnixOrNone(v).UTC().Format("2006-01-02T15:04Z")
}

// isMemory reports whether an object has all fields of a memory that a row of a block shows.
func isMemory(o field.Object) bool {
	n := 0
	for _, f := range o {
		switch f.Name {
		case "rid", "text", "source", "namespace":
			n++
		}
	}
	return n == 4
}

// row returns a memory as a row of a block.
func (w *textWriter) row(v map[string]json.RawMessage) prompt.Row {
	created, _ := strconv.ParseFloat(string(v["created_at"]), 64) // an answer of ours is valid
	r := prompt.Row{ID: w.shortID(textIn(v["rid"])), Namespace: textIn(v["namespace"]), Source: textIn(v["source"]),
		Text: textIn(v["text"]), Created: field.UnixOrNone(created)}
	mark := func(name, text string) {
		if raw := v[name]; !isBlank(raw) && string(raw) != "false" && string(raw) != "0" {
			r.Marks = append(r.Marks, text)
		}
	}
	if score, err := strconv.ParseFloat(string(v["score"]), 64); err == nil && score > 0 {
		mark("score", strconv.FormatFloat(score, 'f', 2, 64))
	}
	for _, why := range itemsOf(v["why_retrieved"]) {
		if other, age, ok := contradicted(why); ok {
			r.Marks = append(r.Marks, prompt.Contradicts(w.shortID(other), age))
		}
		for _, newer := range []func(id string) string{prompt.SupersededBy, prompt.Outdated} {
			before, after, _ := strings.Cut(newer("\x00"), "\x00")
			if by, ok := strings.CutPrefix(strings.TrimSuffix(textIn(why), after), before); ok {
				r.Marks = append(r.Marks, newer(w.shortID(by)))
			}
		}
		if said := textIn(why); strings.HasPrefix(said, prompt.CorrectedOn) {
			r.Marks = append(r.Marks, said)
		}
		if class, ok := strings.CutPrefix(textIn(why), prompt.From("")); ok {
			r.Marks = append(r.Marks, prompt.From(class))
		}
	}
	mark("revision", "revision "+string(v["revision"]))
	mark("key", "key "+api.Quoted(textIn(v["key"])))
	mark("pin", "pinned")
	if class := textIn(v["trust"]); class == oplog.TrustTool || class == oplog.TrustWeb {
		mark("trust", prompt.From(class))
	}
	mark("consolidated_into", "merged into "+w.shortID(textIn(v["consolidated_into"])))
	if textIn(v["consolidation_status"]) == "tombstoned" {
		r.Marks = append(r.Marks, "forgotten")
	}
	mark("due_at", "due "+formatTime(v["due_at"]))
	mark("expires_at", "expires "+formatTime(v["expires_at"]))
	return r
}
