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

// print shows an answer to a person: a list as a table, one thing as a line a field.
func (v verb) print(s *cli.Streams, raw json.RawMessage) error {
	fields, shapes := v.described()
	if v.rows != "" {
		whole := raw
		var answer map[string]json.RawMessage
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		for name := range strings.SplitSeq(v.rows, "|") {
			if answer[name] != nil {
				raw = answer[name]
			}
		}
		var rows []map[string]any
		if decode(raw, &rows) == nil {
			if err := v.printRows(s, fields, shapes, rows); err != nil {
				return err
			}
			return v.printRest(s, whole, len(rows))
		}
	}
	var one map[string]any
	if err := decode(raw, &one); err != nil {
		return err
	}
	lines := linesOf(fields, one, shapes)
	if len(v.shows) == 1 && len(lines) > 0 {
		if _, err := fmt.Fprintln(s.Out, lines[0][1]); err != nil { // for scripts: the id alone
			return err
		}
		return printNear(s, raw)
	}
	if err := cli.Lines(s.Out, lines); err != nil || !v.checks {
		return err
	}
	return printToCheck(s, raw)
}

// printNear shows on stderr the older memories that a new one may replace.
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

// linesOf are the fields of an answer with their names, and those of an object inside it in its place.
func linesOf(fields field.Object, one map[string]any, shapes map[string]field.Object) (lines [][]string) {
	for _, f := range fields {
		inside, ok := one[f.Name].(map[string]any)
		if of := shapes[f.Kind.Shape]; ok && of != nil {
			lines = append(lines, linesOf(of, inside, shapes)...)
		} else if text := cell(f, one[f.Name], shapes); text != "" {
			lines = append(lines, []string{f.Name, text})
		}
	}
	return lines
}

// printToCheck shows the relations that a correction leaves in place, each with the command that removes it.
func printToCheck(s *cli.Streams, raw json.RawMessage) error {
	var answer struct {
		Check []api.Edge `json:"relations_to_check"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Check) == 0 {
		return err
	}
	lines := api.Each(answer.Check, func(e api.Edge) []string {
		return []string{"cairn unrelate " + private.Quote(e.ID),
			fmt.Sprintf("%s %s %s", cli.Show(e.Src), cli.Show(strings.ReplaceAll(e.Type, "_", " ")), cli.Show(e.Dst))}
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
			if _, err := fmt.Fprintln(s.Out, cell(fields[0], row[fields[0].Name], shapes)); err != nil {
				return err
			}
		}
		return nil
	}
	head := api.Each(fields, func(f field.Field) string { return strings.ToUpper(strings.ReplaceAll(f.Name, "_", " ")) })
	return cli.Rows(s.Out, rows, strings.Join(head, "|"), func(row map[string]any) []any {
		return api.Each(fields, func(f field.Field) any {
			return cmp.Or(strings.Join(strings.Fields(cell(f, row[f.Name], shapes)), " "), "-") // a row is one line
		})
	})
}

// limit is how many rows a request asks for; 0 where it has no limit.
func (v verb) limit(given Given) int {
	i := slices.IndexFunc(v.op.Takes(), func(f field.Field) bool { return f.Name == "limit" })
	if i < 0 {
		return 0
	}
	texts := append(slices.Clone(given["limit"]), v.op.Takes()[i].Default)
	n, _ := strconv.Atoi(texts[0])
	return n
}

// printRest says on stderr that a list goes on, and which flag shows what follows. Scripts read stdout alone.
func (v verb) printRest(s *cli.Streams, raw json.RawMessage, rows int) error {
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
	paged, flag := gives("next") || gives("next_offset") || gives("incomplete"), "" // the node says when there are more
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
	case !paged && rows == api.MaxList && v.most > rows:
		_, err := fmt.Fprintf(s.Err, "the first %d, which is as many as a list has: narrow it, if there are more\n", rows)
		return err
	case a.More, !paged && !gives("more") && v.most > 0 && rows >= v.most:
		_, err := fmt.Fprintf(s.Err, "the first %d: --limit shows more, if there are more\n", rows)
		return err
	default:
		return nil
	}
	_, err := fmt.Fprintf(s.Err, "there are more: %s shows the next\n", flag)
	return err
}

// described are the fields that are shown, as node/api describes them, and the objects inside the answer by shape.
func (v verb) described() (all field.Object, shapes map[string]field.Object) {
	all, shapes = v.op.Gives(), map[string]field.Object{}
	all.Shapes(shapes, true)
	if v.rows != "" {
		name, _, _ := strings.Cut(v.rows, "|")
		k := all.Named(name).Kind
		if k.Item != nil {
			k = *k.Item
		}
		all = shapes[k.Shape]
	}
	if v.shows == nil {
		return all, shapes
	}
	list := make(field.Object, len(v.shows))
	for i, name := range v.shows {
		list[i] = all.Named(name)
	}
	return list, shapes
}

// cell is a value as people read it; blank for none. An object is its text, or else its fields one after the other, and
// each object or sentence of a list has a line.
func cell(f field.Field, v any, shapes map[string]field.Object) string {
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
		case f.Kind.Type == "number" && math.Abs(x) >= 1000: // three digits would cut it
			return strconv.FormatFloat(x, 'f', -1, 64)
		case f.Kind.Type == "number":
			return fmt.Sprintf("%.3g", x)
		}
		return v.String()
	case map[string]any:
		if text, has := v["text"]; has {
			return cell(field.Field{}, text, nil) // of what no longer exists it is null
		}
		if of := shapes[f.Kind.Shape]; of != nil {
			var parts []string
			for _, f := range of {
				if text := cell(f, v[f.Name], shapes); text != "" {
					parts = append(parts, text)
				}
			}
			return strings.Join(parts, "  ")
		}
	case []any:
		var item field.Field
		if f.Kind.Item != nil {
			item.Kind = *f.Kind.Item
		}
		texts := api.Each(v, func(x any) string { return cell(item, x, shapes) })
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
