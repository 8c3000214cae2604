package client_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// rewritten is the notice in each generated file, which says how to make it.
const rewritten = "Made from the table of operations (node/api): CAIRN_UPDATE=1 go test ./wire/client -run TestSDKs writes it again."

// TestSDKs: the generated files of the TypeScript and Python clients match the table of operations. CAIRN_UPDATE=1
// rewrites them.
func TestSDKs(t *testing.T) {
	t.Parallel()
	table := readTable()
	for name, want := range map[string]string{
		"typescript/operations.js": scriptTable(table), "typescript/types.d.ts": scriptTypes(table),
		"python/cairn_client/types.py": pythonTypes(table), "python/cairn_client/_operations.py": pythonOperations(table),
	} {
		if os.Getenv("CAIRN_UPDATE") != "" {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s does not match the table (%v): CAIRN_UPDATE=1 go test ./wire/client -run TestSDKs", name, err)
		}
	}
}

// An operation is a row of the table in the form that the clients need.
type operation struct {
	*api.Op
	about  string   // the heading that it is the first of
	repeat string   // read, key, safe or once: when it may be sent again after its outcome was lost
	key    string   // the field with the idempotency key
	fresh  bool     // it takes min_index
	query  []string // the fields of a request with a body that come in the URL
	answer string   // lines, events or bytes, if it is not a JSON object
	must   field.Object
	may    field.Object
}

// repeatable lists the writes without an idempotency key that name all they change, so that a second one changes
// nothing more. The Go client repeats the same.
var repeatable = []string{"forget", "relate", "ingest_claim", "add_alias"}

type table struct {
	ops     []operation
	shapes  map[string]field.Object // of requests and answers, by name
	asked   []string                // the shapes that a request holds
	request map[string]bool         // the shapes that are a request
}

func (o operation) request() string { return reflect.TypeOf(o.New()).Elem().Name() }
func (o operation) result() string  { return reflect.TypeOf(o.Answer()).Elem().Name() }

func readTable() (t table) {
	t.shapes, t.request = map[string]field.Object{}, map[string]bool{}
	for _, s := range api.Subjects {
		about := s.About
		for _, op := range s.Ops {
			if op.HTTP == "" {
				continue
			}
			o := describe(op)
			o.about, about = about, ""
			t.ops = append(t.ops, o)
			inside := map[string]field.Object{}
			op.Takes().Shapes(inside, false)
			for name, of := range inside {
				t.shapes[name], t.asked = of, append(t.asked, name)
			}
			t.shapes[o.request()], t.request[o.request()] = op.Takes(), true
		}
	}
	for _, o := range t.ops {
		if o.answer == "" {
			o.Gives().Shapes(t.shapes, true)
			t.shapes[o.result()] = o.Gives()
		}
	}
	return t
}

func describe(op *api.Op) operation {
	o := operation{Op: op, repeat: "once"}
	for _, f := range op.Takes() {
		switch {
		case f.Idle:
			continue
		case f.Name == "idempotency_key" || op == api.Import.Op && f.Name == "key":
			o.key = f.Name
		case f.Name == "min_index":
			o.fresh = true
		}
		if f.Name == "key" && f.Must {
			o.must = slices.Insert(o.must, 0, f) // put(key, text)
		} else if f.Must || f.In == "path" {
			o.must = append(o.must, f)
		} else {
			o.may = append(o.may, f)
		}
	}
	switch {
	case op.Method() == "GET" || op.Scope == api.Read && !op.Writes:
		o.repeat = "read"
	case o.key != "":
		o.repeat = "key"
	case slices.Contains(repeatable, op.Name):
		o.repeat = "safe"
	}
	if op.Method() != "GET" {
		for _, f := range op.InQuery() {
			if !slices.ContainsFunc(op.InBody(), func(b field.Field) bool { return b.Name == f.Name }) {
				o.query = append(o.query, f.Name)
			}
		}
	}
	o.answer = map[string]string{"application/x-ndjson": "lines", "text/event-stream": "events",
		"application/octet-stream": "bytes"}[op.Media]
	return o
}

// values returns the names and values that a client needs to send an operation, as literals of both languages. yes is
// the literal of true.
func (o operation) values(yes string) (list [][2]string) {
	add := func(name, value string) { list = append(list, [2]string{name, value}) }
	add("method", fmt.Sprintf("%q", o.Method()))
	add("path", fmt.Sprintf("%q", o.Path()))
	add("repeat", fmt.Sprintf("%q", o.repeat))
	if o.key != "" {
		add("key", fmt.Sprintf("%q", o.key))
	}
	if o.fresh {
		add("fresh", yes)
	}
	if len(o.query) > 0 {
		add("query", `["`+strings.Join(o.query, `", "`)+`"]`)
	}
	return list
}

// fieldDoc returns the description of a field, with its default and bounds.
func fieldDoc(f field.Field) string {
	d := f.Doc
	if f.Default != "" && f.Default != "false" {
		d += " Default: " + f.Default + "."
	}
	plain := strings.HasSuffix(f.Kind.Want, " to 4294967295") || strings.HasSuffix(f.Kind.Want, "at least 0")
	if strings.ContainsAny(f.Kind.Want, "0123456789") && strings.Contains(f.Kind.Want, "number") && !plain &&
		!strings.Contains(f.Doc, "from ") {
		d += " Takes " + f.Kind.Want + "."
	}
	return d
}

// scriptType returns the type of a field in TypeScript.
func scriptType(k field.Kind, answer bool) string {
	of := ""
	switch {
	case k.Item != nil:
		of = scriptType(*k.Item, answer)
		if strings.Contains(of, "|") {
			of = "(" + of + ")"
		}
		of += "[]"
	case k.Shape != "":
		return k.Shape
	case k.Name == "date":
		return "string | number | Date"
	case k.Name == "window":
		return "[from: string | number | Date | null, to: string | number | Date | null]"
	case k.Name == "token" && answer:
		return "string"
	case k.Name == "token":
		return "string | number"
	case k.Enum != nil:
		return `"` + strings.Join(k.Enum, `" | "`) + `"`
	default:
		of = map[string]string{"": "unknown", "string": "string", "number": "number", "integer": "number",
			"boolean": "boolean", "object": "{ [name: string]: unknown }", "array": "unknown[]"}[k.Type]
	}
	if list, _ := k.Schema()["type"].([]any); len(list) == 2 && list[1] == "null" {
		of += " | null"
	}
	return of
}

var word = regexp.MustCompile(`_(\w)`)

// camelCase returns the name of an operation in JavaScript.
func camelCase(name string) string {
	return word.ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
}

func scriptTable(t table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\n/** How each operation is sent, by its name. */\nexport const operations = {\n", rewritten)
	for _, o := range t.ops {
		var words []string
		for _, v := range o.values("true") {
			words = append(words, v[0]+": "+v[1])
		}
		fmt.Fprintf(&b, "  %s: { %s },\n", o.Name, strings.Join(words, ", "))
	}
	b.WriteString("};\n")
	return b.String()
}

func scriptTypes(t table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s\n\nimport type { CallOptions, Feed, Line, Lines } from \"./index.js\";\n", rewritten)
	for _, name := range names(t.shapes) {
		answer := !t.request[name] && !slices.Contains(t.asked, name)
		fmt.Fprintf(&b, "\nexport interface %s {\n", name)
		for _, f := range t.shapes[name] {
			if f.Idle {
				continue
			}
			is, optional := scriptType(f.Kind, answer), ""
			if f.Nullable {
				is += " | null"
			}
			if !f.Must && f.In != "path" {
				optional = "?"
			}
			fmt.Fprintf(&b, "  /** %s */ %s%s: %s;\n", fieldDoc(f), f.Name, optional, is)
		}
		b.WriteString("}\n")
	}
	b.WriteString("\n/** One method for each operation that a gateway serves. */\nexport interface Operations {\n")
	for i, o := range t.ops {
		if o.about != "" {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "  // %s\n\n", o.about)
		}
		request, result := "request: "+o.request(), "Promise<"+o.result()+">"
		if len(o.must) == 0 {
			request = "request?: " + o.request()
		}
		switch o.answer {
		case "lines":
			result = "AsyncGenerator<Line, void>"
		case "events":
			result = "Feed"
		case "bytes":
			result = "Promise<ReadableStream<Uint8Array>>"
		}
		if o.Body != "" {
			request = "lines: Lines, " + request
		}
		fmt.Fprintf(&b, "  /** %s */\n  %s(%s, options?: CallOptions): %s;\n", o.Does, camelCase(o.Name), request, result)
	}
	b.WriteString("}\n")
	return b.String()
}

func names(shapes map[string]field.Object) (list []string) {
	for name := range shapes {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
