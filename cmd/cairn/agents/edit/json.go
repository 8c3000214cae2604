package edit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/cairndb/cairn/local/kit"
)

// JSON edits JSON, with or without comments.
type JSON struct{}

// walk follows a path of names from the root. It returns the values on the path, the root first, and the number of
// names at the end of the path that do not exist.
func walk(doc []byte, root value, at []string) (way []value, missing int, err error) {
	way = []value{root}
	for i, name := range at {
		v := way[len(way)-1]
		if v.kind != '{' {
			return nil, 0, errorAt(doc, v.start, "%s is not an object", cmp.Or(strings.Join(at[:i], "."), "the document"))
		}
		next := v.child(name)
		if next < 0 {
			return way, len(at) - i, nil
		}
		way = append(way, v.members[next].value)
	}
	return way, 0, nil
}

// equal compares decoded JSON.
func equal(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// Find implements Format. For an element of a list, taken equals same: other elements do not conflict.
func (JSON) Find(doc []byte, e Entry) (taken, same bool, err error) {
	root, blank, err := parse(doc)
	if err != nil || blank {
		return false, false, err
	}
	way, missing, err := walk(doc, root, e.At)
	if err != nil || missing > 0 {
		return false, false, err
	}
	v := way[len(way)-1]
	if !e.List {
		return true, equal(v.plain(doc), []byte(e.Value)), nil
	}
	i, err := v.element(doc, e)
	return i >= 0, i >= 0, err
}

// element returns the index of the entry in a list; -1 if it is absent.
func (v value) element(doc []byte, e Entry) (int, error) {
	if v.kind != '[' {
		return -1, errorAt(doc, v.start, "%s is not a list", e)
	}
	for i, m := range v.members {
		if equal(m.value.plain(doc), []byte(e.Value)) {
			return i, nil
		}
	}
	return -1, nil
}

// Put implements Format.
func (JSON) Put(doc []byte, e Entry) ([]byte, Trace, error) {
	root, blank, err := parse(doc)
	if err != nil {
		return nil, Trace{}, err
	}
	nl := lineEnd(doc)
	if blank {
		text := render(nested(e, e.At), "", "  ", nl) + nl
		return append(bytes.Clone(doc), text...), Trace{Made: len(e.At) + 1}, nil
	}
	way, missing, err := walk(doc, root, e.At)
	if err != nil {
		return nil, Trace{}, err
	}
	in, t := way[len(way)-1], Trace{}
	name, raw := "", []byte(e.Value)
	switch {
	case missing > 0 && in.kind != '{':
		return nil, t, errorAt(doc, in.start, "want an object")
	case missing > 0:
		rest := e.At[len(e.At)-missing:]
		name, raw = rest[0], nested(e, rest[1:])
		t.Made = missing
		if !e.List {
			t.Made--
		}
	case !e.List:
		return nil, t, errorAt(doc, in.start, "%s is there already", e)
	case in.kind != '[':
		return nil, t, errorAt(doc, in.start, "%s is not a list", e)
	}
	out, wrapped := insert(doc, way, in, name, raw, nl)
	t.Wrapped = wrapped
	return out, t, nil
}

// nested returns the entry's value wrapped in objects with these names.
func nested(e Entry, names []string) []byte {
	raw := []byte(e.Value)
	if e.List {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	for i := len(names) - 1; i >= 0; i-- {
		raw = kit.MustJSON(kit.Object{names[i], json.RawMessage(raw)})
	}
	return raw
}

// render indents JSON. prefix is the indentation of the enclosing line.
func render(raw []byte, prefix, unit, nl string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, prefix, unit); err != nil {
		panic("edit: an entry is not JSON: " + err.Error())
	}
	return strings.ReplaceAll(b.String(), "\n", nl)
}

// insert adds a member to the end of a container. wrapped reports that it had to add a line end for the closing
// bracket.
func insert(doc []byte, way []value, in value, name string, raw []byte, nl string) (out []byte, wrapped bool) {
	unit := indentUnit(doc, way[0])
	outer := indentationAt(doc, lineBegin(doc, in.start))
	inner := outer + unit
	label := ""
	if in.kind == '{' {
		label = string(kit.MustJSON(name)) + ": "
	}
	if len(in.members) == 0 {
		at := in.end - 1
		for at > in.start+1 && strings.IndexByte(" \t\r\n", doc[at-1]) >= 0 {
			at--
		}
		text := nl + inner + label + render(raw, inner, unit, nl)
		if wrapped = !bytes.Contains(doc[at:in.end], []byte{'\n'}); wrapped {
			text += nl + outer
		}
		return splice(doc, at, at, text), wrapped
	}
	first, last := in.members[0], in.members[len(in.members)-1]
	if !bytes.Contains(doc[in.start:first.start], []byte{'\n'}) { // all on one line
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			panic("edit: an entry is not JSON: " + err.Error())
		}
		return splice(doc, last.value.end, last.value.end, ", "+label+b.String()), false
	}
	inner = indentationAt(doc, first.start)
	text := nl + inner + label + render(raw, inner, unit, nl)
	if last.comma >= 0 {
		at := afterLineComment(doc, last.comma+1)
		return splice(doc, at, at, text+","), false
	}
	at := afterLineComment(doc, last.value.end)
	out = splice(doc, at, at, text)
	return splice(out, last.value.end, last.value.end, ","), false
}

// afterLineComment moves an offset past a comment that follows it on the same line.
func afterLineComment(doc []byte, at int) int {
	p := at
	for p < len(doc) && (doc[p] == ' ' || doc[p] == '\t') {
		p++
	}
	switch rest := doc[p:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return at
		}
		return p + len(bytes.TrimRight(rest[:end], "\r"))
	case bytes.HasPrefix(rest, []byte("/*")):
		end := bytes.Index(rest, []byte("*/"))
		if end >= 0 && !bytes.Contains(rest[:end], []byte{'\n'}) {
			return p + end + 2
		}
	}
	return at
}

// lineBegin returns the offset of the beginning of a line.
func lineBegin(doc []byte, at int) int { return bytes.LastIndexByte(doc[:at], '\n') + 1 }

// indentationAt returns the indentation of the line at an offset.
func indentationAt(doc []byte, at int) string {
	from := lineBegin(doc, at)
	to := from
	for to < len(doc) && (doc[to] == ' ' || doc[to] == '\t') {
		to++
	}
	return string(doc[from:to])
}

// indentUnit returns the indentation of one level: that of the root's first member, or else two blanks.
func indentUnit(doc []byte, root value) string {
	if len(root.members) > 0 {
		if first := root.members[0].start; bytes.Contains(doc[root.start:first], []byte{'\n'}) {
			if unit := strings.TrimPrefix(indentationAt(doc, first), indentationAt(doc, root.start)); unit != "" {
				return unit
			}
		}
	}
	return "  "
}

// Remove implements Format.
func (JSON) Remove(doc []byte, e Entry, t Trace) ([]byte, error) {
	root, _, err := parse(doc)
	if err != nil {
		return nil, err
	}
	way, missing, err := walk(doc, root, e.At)
	if err != nil {
		return nil, err
	}
	if missing > 0 {
		return nil, errorAt(doc, root.start, "%s is not there", e)
	}
	index := make([]int, len(e.At), len(e.At)+1) // the member's index in each container on the path
	for i, name := range e.At {
		index[i] = way[i].child(name)
	}
	if e.List {
		i, err := way[len(way)-1].element(doc, e)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			return nil, errorAt(doc, root.start, "%s does not have the entry", e)
		}
		index = append(index, i)
	}
	level := len(index) - 1 // index into way of the container to edit
	for made := t.Made; made > 0 && level >= 0 && len(way[level].members) == 1; made-- {
		level--
	}
	if level < 0 { // Put created the whole text
		end := root.end
		if bytes.HasPrefix(doc[end:], []byte("\r\n")) {
			end += 2
		} else if bytes.HasPrefix(doc[end:], []byte("\n")) {
			end++
		}
		return splice(doc, root.start, end, ""), nil
	}
	return remove(doc, way[level], index[level], t.Wrapped), nil
}

// remove removes a member from a container, with its line and its comma.
func remove(doc []byte, in value, i int, wrapped bool) []byte {
	m, last := in.members[i], i == len(in.members)-1
	from, to := m.start, m.value.end
	ownLine := bytes.Contains(doc[precedingLineEnd(doc, from):from], []byte{'\n'})
	switch {
	case ownLine:
		from = precedingLineEnd(doc, from)
		if m.comma >= 0 {
			to = m.comma + 1
		}
	case !last:
		return splice(doc, from, in.members[i+1].start, "")
	case i > 0:
		return splice(doc, in.members[i-1].comma, to, "")
	case m.comma >= 0:
		to = m.comma + 1
	}
	if end := lineEnd(doc) + indentationAt(doc, in.start); len(in.members) == 1 && wrapped &&
		bytes.HasPrefix(doc[to:in.end-1], []byte(end)) {
		to += len(end)
	}
	out := splice(doc, from, to, "")
	if last && i > 0 && m.comma < 0 {
		out = splice(out, in.members[i-1].comma, in.members[i-1].comma+1, "")
	}
	return out
}
