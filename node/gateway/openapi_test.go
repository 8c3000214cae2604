package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A linter checks a document against OpenAPI 3.1 and requires a description of everything.
type linter struct {
	t       *testing.T
	shapes  map[string]any
	answers map[string]any
	params  map[string]any
	used    map[string]bool // shapes and answers with a reference to them
	ids     map[string]bool
	tags    map[string]bool
	missing int // number of missing descriptions
}

// TestOpenAPI lints the document.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(openAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	l := &linter{t: t, shapes: at(doc, "components", "schemas"), answers: at(doc, "components", "responses"),
		params: at(doc, "components", "parameters"), used: map[string]bool{}, ids: map[string]bool{}, tags: map[string]bool{}}
	l.head(doc)
	for path, ops := range at(doc, "paths") {
		for method, op := range ops.(map[string]any) {
			l.operation(method+" "+path, path, op.(map[string]any))
		}
	}
	for name, shape := range l.shapes {
		l.schema("components/"+name, shape.(map[string]any))
	}
	for name := range l.shapes {
		if !l.used[name] {
			t.Errorf("components/%s: nothing refers to it", name)
		}
	}
	for name, answer := range l.answers {
		l.described("components/"+name, answer.(map[string]any))
		l.content("components/"+name, answer.(map[string]any))
		if !l.used["answer "+name] {
			t.Errorf("components/%s: no operation answers so", name)
		}
	}
	for name := range l.params {
		if !l.used["parameter "+name] {
			t.Errorf("components/%s: no operation has it", name)
		}
	}
	if len(openAPI()) > 300_000 {
		t.Errorf("the document has %d bytes: programs load it at each start", len(openAPI()))
	}
	for name, used := range l.tags {
		if !used {
			t.Errorf("tag %s: no operation has it", name)
		}
	}
	if l.missing > 0 || len(l.ids) < 70 {
		t.Errorf("%d operations, %d descriptions are missing", len(l.ids), l.missing)
	}
}

// at returns a nested object.
func at(m map[string]any, path ...string) map[string]any {
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

func (l *linter) described(where string, m map[string]any) {
	l.t.Helper()
	if s, _ := m["description"].(string); strings.TrimSpace(s) == "" {
		l.missing++
		l.t.Errorf("%s: no description", where)
	}
}

func (l *linter) head(doc map[string]any) {
	if v, _ := doc["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		l.t.Errorf("openapi: %q", v)
	}
	info := at(doc, "info")
	l.described("info", info)
	if info["title"] == "" || info["version"] == "" {
		l.t.Errorf("info: %v", info)
	}
	servers, _ := doc["servers"].([]any)
	for _, s := range servers {
		l.described("server", s.(map[string]any))
		if s.(map[string]any)["url"] == "" {
			l.t.Error("a server without a URL")
		}
	}
	if len(servers) == 0 {
		l.t.Error("no servers")
	}
	for _, tag := range doc["tags"].([]any) {
		tag := tag.(map[string]any)
		l.described("tag", tag)
		l.tags[tag["name"].(string)] = false
	}
	for name, scheme := range at(doc, "components", "securitySchemes") {
		l.described("security scheme "+name, scheme.(map[string]any))
	}
}

var place = regexp.MustCompile(`\{([a-z_]+)\}`)

func (l *linter) operation(where, path string, op map[string]any) {
	id, _ := op["operationId"].(string)
	if l.ids[id] || id == "" {
		l.t.Errorf("%s: operationId %q, which is none or another's", where, id)
	}
	l.ids[id] = true
	if s, _ := op["summary"].(string); !strings.HasSuffix(s, ".") {
		l.t.Errorf("%s: summary %q is no sentence", where, s)
	}
	l.described(where, op)
	tags, _ := op["tags"].([]any)
	for _, tag := range tags {
		if _, known := l.tags[tag.(string)]; !known {
			l.t.Errorf("%s: tag %s is not declared", where, tag)
		}
		l.tags[tag.(string)] = true
	}
	if len(tags) == 0 {
		l.t.Errorf("%s: no tag", where)
	}
	l.parameters(where, path, op)
	l.confirm(where, op)
	if rb, ok := op["requestBody"].(map[string]any); ok {
		l.content(where+" body", rb)
		l.bounded(where+" body", at(rb, "content", "application/json", "schema"))
	}
	l.responses(where, op)
}

// bounded requires a minimum for every number in a request. Dates and vectors are exempt.
func (l *linter) bounded(where string, s map[string]any) {
	l.t.Helper()
	if ref, ok := s["$ref"].(string); ok {
		s = at(l.shapes, strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	if (s["type"] == "number" || s["type"] == "integer") && s["minimum"] == nil && s["exclusiveMinimum"] == nil {
		l.t.Errorf("%s: a number from where on?", where)
	}
	if items := at(s, "items"); items["type"] != "number" {
		for name, p := range at(items, "properties") {
			l.bounded(where+"[]."+name, p.(map[string]any))
		}
		if items["$ref"] != nil {
			l.bounded(where+"[]", items)
		}
	}
	for name, p := range at(s, "properties") {
		l.bounded(where+"."+name, p.(map[string]any))
	}
}

func (l *linter) parameters(where, path string, op map[string]any) {
	var places []string
	seen := map[string]bool{}
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		p := p.(map[string]any)
		if ref, ok := p["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/components/parameters/")
			l.used["parameter "+name], p = true, at(l.params, name)
		}
		name, in := p["name"].(string), p["in"].(string)
		here := fmt.Sprintf("%s: %s parameter %s", where, in, name)
		l.described(here, p)
		if seen[in+" "+name] {
			l.t.Errorf("%s: twice", here)
		}
		seen[in+" "+name] = true
		switch in {
		case "path":
			places = append(places, name)
			if p["required"] != true {
				l.t.Errorf("%s: not required", here)
			}
		case "query":
		default:
			l.t.Errorf("%s: in %q", here, in)
		}
		l.schema(here, p["schema"].(map[string]any))
		l.bounded(here, p["schema"].(map[string]any))
	}
	var want []string
	for _, m := range place.FindAllStringSubmatch(path, -1) {
		want = append(want, m[1])
	}
	if slices.Sort(places); !slices.Equal(places, slices.Sorted(slices.Values(want))) {
		l.t.Errorf("%s: the path has places %v, the parameters %v", where, want, places)
	}
}

// confirm checks that a field that confirms an operation is required, and that all deletions have one.
func (l *linter) confirm(where string, op map[string]any) {
	name, _ := op["x-confirm"].(string)
	if name == "" {
		if strings.HasPrefix(where, "delete ") && op["operationId"] != "session_end" { // ending a session deletes nothing
			l.t.Errorf("%s: deletes and asks for no name", where)
		}
		return
	}
	list, _ := op["parameters"].([]any)
	if slices.ContainsFunc(list, func(p any) bool {
		return at(p.(map[string]any))["name"] == name && at(p.(map[string]any))["required"] == true
	}) {
		return
	}
	required, _ := at(op, "requestBody", "content", "application/json", "schema")["required"].([]any)
	if !slices.Contains(required, any(name)) {
		l.t.Errorf("%s: asks for %q, which requests may leave out", where, name)
	}
}

func (l *linter) responses(where string, op map[string]any) {
	all := at(op, "responses")
	if all["200"] == nil {
		l.t.Errorf("%s: no answer", where)
	}
	for _, status := range []string{"4XX", "5XX"} {
		if all[status] == nil {
			l.t.Errorf("%s: no answer %s", where, status)
		}
	}
	for status, r := range all {
		r := r.(map[string]any)
		here := where + " " + status
		if ref, ok := r["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/components/responses/")
			l.used["answer "+name] = true
			r = at(l.answers, name)
		}
		l.described(here, r)
		l.content(here, r)
		if n, err := strconv.Atoi(strings.Replace(status, "XX", "00", 1)); err != nil || n < 200 || n > 599 {
			l.t.Errorf("%s: no status", here)
		} else if n >= 300 && at(r, "content", "application/json", "schema")["$ref"] == nil {
			l.t.Errorf("%s: a refusal without a body that is described", here)
		}
	}
}

func (l *linter) content(where string, m map[string]any) {
	all := at(m, "content")
	if len(all) == 0 {
		l.t.Errorf("%s: no content", where)
	}
	for media, c := range all {
		schema, ok := c.(map[string]any)["schema"].(map[string]any)
		if !ok && media != "application/octet-stream" {
			l.t.Errorf("%s: %s without a schema", where, media)
		}
		l.schema(where, schema)
	}
}

var types = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "object": true, "array": true, "null": true}

func (l *linter) schema(where string, s map[string]any) {
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if l.shapes[name] == nil {
			l.t.Errorf("%s: %s is nowhere", where, ref)
		}
		l.used[name] = true
		return
	}
	kinds, listed := s["type"].([]any)
	if one, ok := s["type"].(string); ok {
		kinds = []any{one}
	} else if s["type"] != nil && !listed {
		l.t.Errorf("%s: type %v", where, s["type"])
	}
	for _, k := range kinds {
		if name, _ := k.(string); !types[name] {
			l.t.Errorf("%s: type %v", where, k)
		}
	}
	if lo, ok := s["minimum"].(float64); ok && s["maximum"] != nil && s["maximum"].(float64) < lo {
		l.t.Errorf("%s: from %v to %v", where, lo, s["maximum"])
	}
	if enum, there := s["enum"].([]any); there {
		if len(enum) == 0 || s["default"] != nil && !slices.Contains(enum, s["default"]) {
			l.t.Errorf("%s: default %v of %v", where, s["default"], enum)
		}
	}
	if slices.Contains(kinds, any("array")) {
		items, ok := s["items"].(map[string]any)
		if !ok {
			l.t.Errorf("%s: a list of what?", where)
		}
		l.schema(where+"[]", items)
	}
	props := at(s, "properties")
	for _, name := range slices.Sorted(maps.Keys(props)) {
		p := props[name].(map[string]any)
		l.described(where+"."+name, p)
		l.schema(where+"."+name, p)
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if props[name.(string)] == nil {
			l.t.Errorf("%s: requires %v, which it has not", where, name)
		}
	}
}
