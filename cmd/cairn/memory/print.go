package memory

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/wire/field"
)

// printValues prints an answer for people: a list as a table, an object as one line per field.
func (v verb) printValues(s *cli.Streams, raw json.RawMessage) error {
	fields, shapes := v.shownFields()
	if v.rowsField != "" {
		whole := raw
		var answer map[string]json.RawMessage
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		for name := range strings.SplitSeq(v.rowsField, "|") {
			if answer[name] != nil {
				raw = answer[name]
			}
		}
		var rows []map[string]any
		if decode(raw, &rows) == nil {
			if err := v.printRows(s, fields, shapes, rows); err != nil {
				return err
			}
			return v.printMore(s, whole, len(rows))
		}
	}
	var one map[string]any
	if err := decode(raw, &one); err != nil {
		return err
	}
	lines := linesOf(fields, one, shapes)
	if len(v.columns) == 1 && len(lines) > 0 {
		if _, err := fmt.Fprintln(s.Out, lines[0][1]); err != nil { // only the value, for scripts
			return err
		}
		return printNear(s, raw)
	}
	if err := cli.Lines(s.Out, lines); err != nil || !v.listsToCheck {
		return err
	}
	return printToCheck(s, raw)
}

// printNear prints on stderr the older memories that the new one may replace.
func printNear(s *cli.Streams, raw json.RawMessage) error {
	var answer struct {
		Near []api.Near `json:"near"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Near) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(s.Err, "it may replace:"); err != nil {
		return err
	}
	return cli.Lines(s.Err, api.Each(answer.Near, func(n api.Near) []string { return []string{n.RID, n.Text} }))
}

// linesOf returns the names and values of an answer's fields. The fields of a nested object are inlined.
func linesOf(fields field.Object, one map[string]any, shapes map[string]field.Object) (lines [][]string) {
	for _, f := range fields {
		inside, ok := one[f.Name].(map[string]any)
		if of := shapes[f.Kind.Shape]; ok && of != nil {
			lines = append(lines, linesOf(of, inside, shapes)...)
		} else if text := formatCell(f, one[f.Name], shapes); text != "" {
			lines = append(lines, []string{f.Name, text})
		}
	}
	return lines
}

// printToCheck prints the relations that a correction leaves in place, each with the command that removes it.
func printToCheck(s *cli.Streams, raw json.RawMessage) error {
	var answer struct {
		Check []api.Edge `json:"relations_to_check"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Check) == 0 {
		return err
	}
	lines := api.Each(answer.Check, func(e api.Edge) []string {
		return []string{"cairn unrelate " + private.Quote(e.ID),
			fmt.Sprintf("%s %s %s", cli.Escape(e.Src), cli.Escape(strings.ReplaceAll(e.Type, "_", " ")), cli.Escape(e.Dst))}
	})
	if _, err := fmt.Fprintln(s.Out,
		"relations that the old text stated are still there; to remove one that does not hold any more:"); err != nil {
		return err
	}
	return cli.Lines(s.Out, lines)
}

func (v verb) printRows(s *cli.Streams, fields field.Object, shapes map[string]field.Object, rows []map[string]any) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(s.Err, "nothing found")
		return err
	}
	if v.idsOnly {
		for _, row := range rows {
			if _, err := fmt.Fprintln(s.Out, formatCell(fields[0], row[fields[0].Name], shapes)); err != nil {
				return err
			}
		}
		return nil
	}
	head := api.Each(fields, func(f field.Field) string { return strings.ToUpper(strings.ReplaceAll(f.Name, "_", " ")) })
	return cli.Rows(s.Out, rows, strings.Join(head, "|"), func(row map[string]any) []any {
		return api.Each(fields, func(f field.Field) any {
			return cmp.Or(strings.Join(strings.Fields(formatCell(f, row[f.Name], shapes)), " "), "-") // no line breaks in a row
		})
	})
}

// limit returns the number of rows that a request asks for; 0 if the operation has no limit.
func (v verb) limit(given Given) int {
	i := slices.IndexFunc(v.op.Takes(), func(f field.Field) bool { return f.Name == "limit" })
	if i < 0 {
		return 0
	}
	texts := append(slices.Clone(given["limit"]), v.op.Takes()[i].Default)
	n, _ := strconv.Atoi(texts[0])
	return n
}

// printMore reports on stderr that there are more rows, and which flag shows the next ones. It leaves stdout to
// scripts.
func (v verb) printMore(s *cli.Streams, raw json.RawMessage, rows int) error {
	var a struct {
		Next       string
		NextCursor string `json:"next_cursor"`
		NextOffset *int   `json:"next_offset"`
		More       bool
		Left       bool `json:"left_out"`
		Cursor     string
		Incomplete string
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return err
	}
	gives := func(name string) bool {
		return slices.ContainsFunc(v.op.Gives(), func(f field.Field) bool { return f.Name == name })
	}
	paged, flag := gives("next") || gives("next_offset") || gives("incomplete"), "" // paged: the answer itself reports more rows
	switch {
	case a.Next != "":
		flag = "--after " + private.Quote(a.Next)
	case a.Incomplete != "":
		_, err := fmt.Fprintln(s.Err, a.Incomplete)
		return err
	case a.NextOffset == nil && a.Cursor != "":
		flag = "--cursor " + private.Quote(a.Cursor)
	case a.NextCursor != "":
		flag = "--since-rid " + private.Quote(a.NextCursor)
	case a.NextOffset != nil:
		flag = fmt.Sprintf("--offset %d", *a.NextOffset)
	case a.Left:
		_, err := fmt.Fprintln(s.Err, "rows were left out, because the answer reached 16 MiB of memories")
		return err
	case !paged && rows == api.MaxList && v.maxRows > rows:
		_, err := fmt.Fprintf(s.Err, "the first %d, which is as many as a list has: narrow it, if there are more\n", rows)
		return err
	case a.More, !paged && !gives("more") && v.maxRows > 0 && rows >= v.maxRows:
		_, err := fmt.Fprintf(s.Err, "the first %d: --limit shows more, if there are more\n", rows)
		return err
	default:
		return nil
	}
	_, err := fmt.Fprintf(s.Err, "there are more: %s shows the next\n", flag)
	return err
}

// shownFields returns the descriptions of the fields to print, and the answer's nested objects by shape.
func (v verb) shownFields() (all field.Object, shapes map[string]field.Object) {
	all, shapes = v.op.Gives(), map[string]field.Object{}
	all.Shapes(shapes, true)
	if v.rowsField != "" {
		name, _, _ := strings.Cut(v.rowsField, "|")
		k := all.Named(name).Kind
		if k.Item != nil {
			k = *k.Item
		}
		all = shapes[k.Shape]
	}
	if v.columns == nil {
		return all, shapes
	}
	list := make(field.Object, len(v.columns))
	for i, name := range v.columns {
		list[i] = all.Named(name)
	}
	return list, shapes
}

// formatCell formats a value for people; blank for null. An object is its text or else its fields in a row. Each
// object or sentence in a list gets a line.
func formatCell(f field.Field, v any, shapes map[string]field.Object) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case json.Number:
		x, err := v.Float64()
		switch {
		case err != nil:
			return v.String()
		case strings.Contains(f.Doc, "Unix seconds"):
			return time.UnixMicro(int64(math.Round(x * 1e6))).Local().Format("2006-01-02 15:04:05")
		case f.Kind.Type == "number" && math.Abs(x) >= 1000: // three digits are too few
			return strconv.FormatFloat(x, 'f', -1, 64)
		case f.Kind.Type == "number":
			return fmt.Sprintf("%.3g", x)
		}
		return v.String()
	case map[string]any:
		if text, has := v["text"]; has {
			return formatCell(field.Field{}, text, nil) // null if the object no longer exists
		}
		if of := shapes[f.Kind.Shape]; of != nil {
			var parts, last []string // a snippet comes last: it has any length, and what follows it would not line up
			for _, f := range of {
				text := formatCell(f, v[f.Name], shapes)
				switch {
				case text != "" && f.Name == "snippet":
					last = append(last, text)
				case text != "":
					parts = append(parts, text)
				}
			}
			parts = append(parts, last...)
			return strings.Join(parts, "  ")
		}
	case []any:
		var item field.Field
		if f.Kind.Item != nil {
			item.Kind = *f.Kind.Item
		}
		texts := api.Each(v, func(x any) string { return formatCell(item, x, shapes) })
		if sentences := strings.Contains(strings.Join(texts, ""), ", "); sentences || shapes[item.Kind.Shape] != nil {
			return strings.Join(texts, "\n")
		}
		return strings.Join(texts, ", ")
	}
	b, err := json.Marshal(v)
	if err != nil || string(b) == "{}" {
		return ""
	}
	return string(b)
}
