package node_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// A generator draws random requests of any operation of the table, from the fields that its row declares. Ids and
// names are mostly those of earlier answers in fields of the same name.
type generator struct {
	*rand.Rand
	known   map[string][]string // by field; "id" by the subject of the operation that returned it
	subject map[*api.Op]string
	about   string // subject of the current operation
}

func newGenerator(seed uint64) *generator {
	d := &generator{Rand: rand.New(rand.NewPCG(seed, 2)), known: map[string][]string{}, subject: map[*api.Op]string{}}
	for _, s := range api.Subjects {
		for _, op := range s.Ops {
			d.subject[op] = s.Name
		}
	}
	return d
}

// operations returns the operations over HTTP on the content of a database: writes, and reads.
func (d *generator) operations() (writes, reads []*api.Op) {
	not := []string{"databases", "tokens", "transfer", "cluster", "health", "host", "events"}
	for _, op := range api.Ops {
		switch {
		case op != api.Purge.Op && op != api.Settings.Op && slices.Contains(not, d.subject[op]), op.HTTP == "", op.Stream:
		case op.Writes:
			writes = append(writes, op)
		default:
			reads = append(reads, op)
		}
	}
	return writes, reads
}

// learn collects the names and ids in an answer.
func (d *generator) learn(name string, v any) {
	switch x := v.(type) {
	case map[string]any:
		for k, of := range x {
			d.learn(k, of)
		}
	case []any:
		for _, of := range x {
			d.learn(name, of)
		}
	case string:
		if name == "id" || strings.HasSuffix(name, "_id") || name == "rid" {
			d.keep(d.about+".id", x)
		}
		d.keep(name, x)
	}
}

func (d *generator) keep(name, value string) {
	const most, longest = 200, 200
	if l := d.known[name]; value != "" && len(value) < longest && len(l) < most && !slices.Contains(l, value) {
		d.known[name] = append(l, value)
	}
}

// one returns an element of a list, rarely none.
func (d *generator) one(of []string) (s string, ok bool) {
	if len(of) == 0 || d.IntN(8) == 0 {
		return "", false
	}
	return of[d.IntN(len(of))], true
}

var drawnWords = strings.Fields("Ada Alice Bob Rust Lisbon Lovelace river violin harbor winter letter bridge candle leads owns moved now is the 2024 9am")

const drawnNames = 6 // number of names in use

func (d *generator) phrase() string {
	words := make([]string, 1+d.IntN(7))
	for i := range words {
		words[i] = drawnWords[d.IntN(len(drawnWords))]
	}
	return strings.Join(words, " ")
}

// drawnFrom holds the values of fields with their own form. Fields with an empty list are left out, because their
// effect depends on the moment.
var drawnFrom = map[string][]any{
	"namespace": {"default", "work", "home/den"}, "to": {"/a", "/notes/y"}, "key": {"/a", "/b/c", "/b/d", "/notes/x", "/z"},
	"folder": {"/b", "/notes"}, "prefix": {"/b", "/notes"},
	"verb": {"acknowledge", "act", "dismiss"}, "strategy": {"keep_a", "keep_b", "keep_both", "dismiss"}, "action": {"query"},
	"skip_reinforce": {true},
	"skill_id":       {"release.notes.write", "deploy.app.now"}, "skill_type": {"procedure"}, "applies_to": {[]any{"go"}},
	"new_text": {"what is right"}, "body": {strings.Repeat("First look, then act. ", 4)},
	"expected_revision": {0.0, 1.0}, "if_revision": {0.0, 1.0}, "before": {"2024-05-01", "2026-11-01", 1.7e9},
	"min_index": nil, "dry_run": nil, "idempotency_key": nil, "explain": nil, "verbose": nil, "without": nil,
	"time_window": nil, "after": nil, "if_sha256": nil,
	"ttl": nil, "expires_at": nil, "new_ttl": nil, "new_expires_at": nil, "refresh_on_read": nil, "new_refresh_on_read": nil,
	"expected_revisions": nil, "database": nil,
}

func (d *generator) value(f field.Field, k field.Kind, shapes map[string]field.Object) any {
	name := strings.TrimSuffix(f.Name, "s")
	if of := drawnFrom[f.Name]; of != nil {
		return of[d.IntN(len(of))]
	}
	switch k.Type {
	case "string":
		from := d.known[f.Name]
		switch {
		case k.Enum != nil:
			from = k.Enum
		case f.Name == "id":
			from = d.known[d.about+".id"]
		case k.RID || name == "rid":
			from = d.known["rid"]
		case name == "text":
			from = nil
		}
		if one, ok := d.one(from); ok {
			return one
		}
		if slices.Contains([]string{"entity", "src", "dst", "target", "alias", "canonical_name", "source"}, name) {
			return drawnWords[d.IntN(drawnNames)]
		}
		return d.phrase()
	case "integer", "number":
		low, high := math.Max(k.Min, 0), math.Min(k.Max, 20)
		return math.Ceil(low + d.Float64()*(high-low))
	case "boolean":
		return d.IntN(2) == 0
	case "array":
		items := make([]any, 2+d.IntN(3))
		if strings.HasSuffix(name, "embedding") {
			items = make([]any, 8)
		}
		for i := range items {
			items[i] = d.value(field.Field{Name: name}, *k.Item, shapes)
		}
		return items
	case "object":
		if fields, ok := shapes[k.Shape]; ok {
			return d.object(fields, shapes)
		}
		return obj{[]string{"color", "size"}[d.IntN(2)]: []any{"red", 3, true}[d.IntN(3)]}
	}
	return []any{"2024-05-01T00:00:00Z", "2026-11-01", 1.7e9}[d.IntN(3)]
}

// object draws an object: all required fields, and none, some or a third of the others.
func (d *generator) object(fields field.Object, shapes map[string]field.Object) obj {
	out, odds := obj{}, d.IntN(4)
	for _, f := range fields {
		of, special := drawnFrom[f.Name]
		if f.Must || f.Name == "skip_reinforce" || !f.Idle && (!special || of != nil) && d.IntN(10) < odds {
			out[f.Name] = d.value(f, f.Kind, shapes)
		}
	}
	return out
}

// A request is a request of an operation over HTTP.
type request struct {
	op   *api.Op
	path string
	body any
}

func (r request) String() string { return fmt.Sprint(r.op.Name, " ", r.path, " ", r.body) }

func (d *generator) request(op *api.Op) request {
	d.about = d.subject[op]
	shapes := map[string]field.Object{}
	op.Takes().Shapes(shapes, false)
	r := request{op: op, path: op.Path()}
	for _, f := range op.InPath() {
		r.path = strings.ReplaceAll(r.path, "{"+f.Name+"}", url.PathEscape(fmt.Sprint(d.value(f, f.Kind, shapes))))
	}
	query := url.Values{}
	for name, v := range d.object(op.InQuery(), shapes) {
		items, list := v.([]any)
		if !list {
			items = []any{v}
		}
		for _, item := range items {
			b, _ := json.Marshal(item) // JSON values always encode
			query.Add(name, strings.Trim(string(b), `"`))
		}
	}
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	if fields := op.InBody(); fields != nil {
		body := d.object(fields, shapes)
		if oneOf := map[*api.Op][]string{api.Erase.Op: {"rids", "prefix", "entity"}, api.Move.Op: {"rid", "prefix"}}[op]; oneOf != nil {
			d.narrow(fields, body, oneOf, shapes)
		}
		r.body = body
	}
	return r
}

// narrow keeps one of several fields that name the same thing, and drops exclusive ones.
func (d *generator) narrow(fields field.Object, body obj, oneOf []string, shapes map[string]field.Object) {
	for _, name := range append([]string{"filter", "revisions", "confirm", "expected_revision"}, oneOf...) {
		delete(body, name)
	}
	f := fields.Named(oneOf[d.IntN(len(oneOf))])
	body[f.Name] = d.value(f, f.Kind, shapes)
}

// ask sends a request, and collects names from the answer. It confirms where an operation requires that.
func (d *generator) ask(w *web, r request) (status int, out obj) {
	status, out = w.send(r.op.Method(), r.path, r.body)
	if body, ok := r.body.(obj); ok && status == http.StatusOK && r.op == api.Erase.Op && out["confirm"] != "" {
		body["confirm"] = out["confirm"]
		status, out = w.send(r.op.Method(), r.path, body)
	}
	if status == http.StatusOK {
		d.about = d.subject[r.op]
		d.learn("", out)
	}
	return status, out
}
