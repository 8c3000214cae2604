package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// A surface is one of several ways to send the same request, each with its own database. Requests and outcomes
// replace ids by their order, which is the same on all surfaces.
type surface struct {
	*web
	wire  *client.Client
	known []string // ids in the order of their creation
}

var (
	drawnID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	ordinalID = regexp.MustCompile(`00000000-0000-7000-8000-(\d{12})`)

	// timed matches the fields that make a memory expire in one database a moment before another.
	timed = regexp.MustCompile(`ttl$|expires_at$|refresh_on_read$`)

	// ownFields matches the fields of an answer that differ between databases.
	ownFields = regexp.MustCompile(`^(created_at.*|updated_at.*|first_seen|.*ed_at|until|from|duration_.*|writer|dialect|near|sha256|operations|last_maintenance|cursor|metadata_json)$`)
)

func (s *surface) ordinals(text string) string {
	return drawnID.ReplaceAllStringFunc(text, func(id string) string {
		if ordinalID.MatchString(id) { // an id of a request
			return id
		}
		if !slices.Contains(s.known, id) {
			s.known = append(s.known, id)
		}
		return fmt.Sprintf("00000000-0000-7000-8000-%012d", slices.Index(s.known, id))
	})
}

func (s *surface) own(text string) string {
	return ordinalID.ReplaceAllStringFunc(text, func(id string) string {
		if n, err := strconv.Atoi(ordinalID.FindStringSubmatch(id)[1]); err == nil && n < len(s.known) {
			return s.known[n]
		}
		return id
	})
}

// An outcome is an answer or the text of an error.
type outcome struct{ refused, answer string }

func (s *surface) outcome(op *api.Op, refused string, answer obj) outcome {
	if refused != "" {
		refused, _, _ = strings.Cut(strings.TrimPrefix(refused, op.Name+": "), ", got ") // in a URL every value is a text
		refused, _, _ = strings.Cut(refused, ": did you mean")                           // the hints for a body do not include fields of the path
		return outcome{refused: s.ordinals(strings.TrimSuffix(refused, " query parameter"))}
	}
	if err := checkAnswer("answer", op.Gives(), shapesOf(op), answer); err != nil {
		s.t.Errorf("%s: %v", op.Name, err)
	}
	without(answer)
	return outcome{answer: s.ordinals(toJSON(s.t, removeVolatile(answer)))}
}

// without removes the fields that are specific to a database.
func without(v any) {
	switch x := v.(type) {
	case obj:
		for k, of := range x {
			if without(of); ownFields.MatchString(k) {
				delete(x, k)
			}
		}
	case []any:
		for _, of := range x {
			without(of)
		}
	}
}

func shapesOf(op *api.Op) map[string]field.Object {
	shapes := map[string]field.Object{}
	op.Gives().Shapes(shapes, true)
	return shapes
}

// checkAnswer returns an error if an answer differs from the reference: a field is missing, null or of another type.
func checkAnswer(name string, fields field.Object, shapes map[string]field.Object, answer obj) error {
	for _, f := range fields {
		v, there := answer[f.Name]
		switch {
		case !there && f.Must:
			return fmt.Errorf("%s has no %s", name, f.Name)
		case there && (v != nil || !f.Nullable):
			if err := checkValue(name+"."+f.Name, f.Kind, shapes, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkValue(name string, k field.Kind, shapes map[string]field.Object, v any) error {
	types := map[string]string{"string": "string", "integer": "float64", "number": "float64", "boolean": "bool",
		"array": "[]interface {}", "object": "map[string]interface {}"}
	if is, want := fmt.Sprintf("%T", v), types[k.Type]; want != "" && is != want {
		return fmt.Errorf("%s is %v, want %s", name, v, k.Type)
	}
	items, _ := v.([]any)
	for i, item := range items {
		if k.Item == nil {
			break
		}
		if err := checkValue(fmt.Sprintf("%s[%d]", name, i), *k.Item, shapes, item); err != nil {
			return err
		}
	}
	if o, ok := v.(obj); ok && k.Shape != "" {
		return checkAnswer(name, shapes[k.Shape], shapes, o)
	}
	return nil
}

// overHTTP sends a request with each field in its place.
func (s *surface) overHTTP(op *api.Op, fields obj) outcome {
	path, query, body := op.Path(), url.Values{}, any(nil)
	for _, f := range op.InPath() {
		path = strings.ReplaceAll(path, "{"+f.Name+"}", url.PathEscape(fmt.Sprint(fields[f.Name])))
		delete(fields, f.Name)
	}
	if op.InBody() != nil {
		body = fields
	} else {
		for name, v := range fields {
			list, many := v.([]any)
			if !many {
				list = []any{v}
			}
			for _, v := range list {
				text, isText := v.(string)
				if !isText {
					text = toJSON(s.t, v)
				}
				query.Add(name, text)
			}
		}
	}
	status, out := s.send(op.Method(), path+"?"+query.Encode(), body)
	if status != http.StatusOK {
		return s.outcome(op, fmt.Sprint(out["error"]), nil)
	}
	return s.outcome(op, "", out)
}

func (s *surface) overWire(op *api.Op, fields obj) outcome {
	var out obj
	err := s.wire.Query(s.t.Context(), op.Name, fields, &out)
	var e *client.Error
	switch {
	case errors.As(err, &e):
		return s.outcome(op, e.Message, nil)
	case err != nil:
		s.t.Fatal(err)
	}
	return s.outcome(op, "", out)
}

// overMCP calls the tool of an operation, if it has one.
func (s *surface) overMCP(op *api.Op, fields obj) outcome {
	if op.Tool == nil {
		return s.overWire(op, fields)
	}
	fields["format"] = "json"
	_, said := post(s.t, s.base+"/mcp?tools=full", s.token,
		toJSON(s.t, obj{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": obj{"name": op.Tool.Name, "arguments": fields}}))
	var got struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil || len(got.Result.Content) != 1 {
		s.t.Fatalf("%s: %s", op.Name, said)
	}
	text, out := got.Result.Content[0].Text, obj{}
	if got.Result.IsError {
		return s.outcome(op, text, nil)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		s.t.Fatal(err)
	}
	return s.outcome(op, "", out)
}

// odd makes a request invalid: a field has another type, an unusual form or is out of bounds, or there is an unknown
// one. A URL has only texts.
func (d *generator) odd(op *api.Op, takes field.Object, fields obj) {
	values := []any{nil, " ", 0.0, -1.0, 1.5, 1e300, json.Number("-0"), json.Number("-0.0"), json.Number("2.0"), true,
		[]any{nil}, []any{json.Number("1.0")}, []any{"a", 1.0}, obj{"a": 1.0},
		"5", "abc", "null", "a\u0000b", "\u202eZoë 日本", strings.Repeat("é", 600), "default", "work", "a,b", "%2F",
		"2024-13-40", "0001-01-01", "9999-12-31T23:59:59.9999999Z", "1970-01-01", " 2024-05-01 ", "tomorrow",
		[]any{"2024-01-01", nil}, []any{nil, nil}}
	f := takes[d.IntN(len(takes))]
	v := values[d.IntN(len(values))]
	text, isText := v.(string)
	in := func(o field.Object) bool {
		return slices.ContainsFunc(o, func(g field.Field) bool { return g.Name == f.Name })
	}
	switch {
	case f.Idle || f.Name == "min_index" || timed.MatchString(f.Name):
	case in(op.InBody()):
		fields[f.Name] = v
		if d.IntN(8) == 0 {
			fields["colour"] = v
		}
	case isText && f.Kind.Type == "string" && strings.TrimSpace(text) != "":
		fields[f.Name] = v
	}
}

// fieldsOf draws the fields of a request, wherever they are sent.
func (d *generator) fieldsOf(op *api.Op) obj {
	d.about = d.subject[op]
	takes, shapes := op.Takes(), map[string]field.Object{}
	if op.Tool != nil {
		takes = takes.ForTools()
	}
	takes.Shapes(shapes, false)
	fields := d.object(takes, shapes)
	for _, f := range op.InPath() {
		if fields[f.Name] == nil {
			fields[f.Name] = d.value(f, f.Kind, shapes)
		}
	}
	d.statement(request{body: fields})
	if len(takes) > 0 && d.IntN(3) == 0 {
		d.odd(op, takes, fields)
	}
	return fields
}

// TestSurfacesAnswerAlike sends random requests over HTTP, over the wire and as a model's tool. The outcome is the
// same: the same answer, which conforms to the reference, or the same error.
func TestSurfacesAnswerAlike(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]obj{
		"owner": {"scopes": []string{"read", "write", "owner"}}, "reader": {"scopes": []string{"read"}},
		"bound": {"namespaces": []string{"work", "home/den"}}, "quarantined": {"quarantine": "tool"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, all := start(t, 1), make([]*surface, 3)
			for i := range all {
				of := maps.Clone(of)
				of["database"], of["trust"] = fmt.Sprint("db", i), "agent"
				c.web(0).ok("POST", "/v1/databases", obj{"name": of["database"]})
				w := c.web(0).with(c.web(0).createToken(of))
				cl, err := wireClient(t, c.nodes[0].Addrs().Wire, w.token)
				if err != nil {
					t.Fatal(err)
				}
				all[i] = &surface{web: w, wire: cl}
			}
			d := newGenerator(*alikeSeed)
			writes, reads := d.operations()
			ops := slices.DeleteFunc(slices.Concat(writes, reads),
				func(op *api.Op) bool { return op == api.Think.Op || op.Body != "" || op.Media != "" })
			for range suite.Count(100, 500, 5000) {
				op := ops[d.IntN(len(ops))]
				if slices.Contains([]*api.Op{api.Purge.Op, api.ForgetMatching.Op, api.Erase.Op}, op) || d.IntN(4) == 0 {
					op = []*api.Op{api.Remember.Op, api.RememberBatch.Op, api.Put.Op}[d.IntN(3)]
				}
				d.askAll(t, all, op, toJSON(t, d.fieldsOf(op)))
			}
		})
	}
}

// askAll sends a request on all surfaces, and collects names from the answer.
func (d *generator) askAll(t *testing.T, all []*surface, op *api.Op, fields string) {
	t.Helper()
	fields = strings.ReplaceAll(fields, `"trust":"operator"`, `"trust":"tool"`) // models may not write as an operator
	var got []outcome
	for i, ask := range []func(*surface, *api.Op, obj) outcome{(*surface).overHTTP, (*surface).overWire, (*surface).overMCP} {
		var own obj
		in := json.NewDecoder(strings.NewReader(all[i].own(fields)))
		in.UseNumber()
		if err := in.Decode(&own); err != nil {
			t.Fatal(err)
		}
		got = append(got, ask(all[i], op, own))
	}
	for _, other := range got[1:] {
		if got[0] != other {
			at := 0
			for at < min(len(got[0].answer), len(other.answer)) && got[0].answer[at] == other.answer[at] {
				at++
			}
			from := max(0, at-200)
			t.Fatalf("%s %s\n%s … %.500s\n%s … %.500s", op.Name, fields, got[0].refused, got[0].answer[from:], other.refused,
				other.answer[from:])
		}
	}
	var answer any
	if json.Unmarshal([]byte(got[0].answer), &answer) == nil {
		d.about = d.subject[op]
		d.learn("", answer)
	}
}
