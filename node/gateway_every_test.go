package node_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// operation is an operation as the OpenAPI document describes it.
type operation struct {
	method, path string
	doc          map[string]any
}

func (o operation) String() string { return o.method + " " + o.path }

// url fills the path with names that do not exist.
func (o operation) url() string {
	return strings.NewReplacer("{rid}", "none", "{id}", "none", "{name}", "none", "{verb}", "acknowledge").Replace(o.path)
}

// scope returns the required scope, "" if the operation needs no token.
func (o operation) scope() string {
	for _, s := range o.doc["security"].([]any) {
		return s.(map[string]any)["token"].([]any)[0].(string)
	}
	return ""
}

func (o operation) takesBody() bool { return o.method != "GET" && o.path != "/v1/import" } // import reads lines, not an object

// needs returns the required fields of the body, or parameters of the query, with their types.
func (o operation) needs(doc map[string]any) (body, query map[string]string) {
	body, query = map[string]string{}, map[string]string{}
	if rb, ok := o.doc["requestBody"].(map[string]any); ok && o.takesBody() {
		schema := rb["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
		must, _ := schema["required"].([]any)
		for _, name := range must {
			body[name.(string)] = typeName(schema["properties"].(map[string]any)[name.(string)].(map[string]any))
		}
	}
	params, _ := o.doc["parameters"].([]any)
	for _, p := range params {
		if p := p.(map[string]any); p["in"] == "query" && p["required"] == true {
			query[p["name"].(string)] = typeName(p["schema"].(map[string]any))
		}
	}
	return body, query
}

func operations(doc map[string]any) (all []operation) {
	paths := doc["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			o := operation{strings.ToUpper(method), path, methods[method].(map[string]any)}
			params, _ := o.doc["parameters"].([]any)
			for i, p := range params {
				if ref, ok := p.(map[string]any)["$ref"].(string); ok { // a parameter that many operations have
					params[i] = doc["components"].(map[string]any)["parameters"].(map[string]any)[strings.TrimPrefix(ref, "#/components/parameters/")]
				}
			}
			all = append(all, o)
		}
	}
	return all
}

// An invalidRequest has the expected answer. Every route must reject it.
type invalidRequest struct {
	method, url, token, kind, body string
	status                         int
	code, text                     string
}

// ask sends the request and compares the answer with the document.
func (c invalidRequest) ask(t *testing.T, base string, doc map[string]any, o operation) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, base+c.url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.kind != "" {
		req.Header.Set("Content-Type", c.kind)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", c.method, c.url, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprintf("%s %s: %d %s", c.method, c.url, resp.StatusCode, raw)
	var got struct{ Error, Code string }
	var whole any
	if err := json.Unmarshal(raw, &got); err != nil || json.Unmarshal(raw, &whole) != nil {
		t.Fatalf("%s: %v", said, err)
	}
	if resp.StatusCode != c.status || got.Code != c.code || !strings.Contains(got.Error, c.text) {
		t.Errorf("%s, want %d %s %q", said, c.status, c.code, c.text)
	}
	if resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: no request id", said)
	}
	if c.status == http.StatusMethodNotAllowed {
		if !slices.Contains(strings.Split(resp.Header.Get("Allow"), ", "), o.method) {
			t.Errorf("%s: allows %q", said, resp.Header.Get("Allow"))
		}
		return
	}
	answer, ok := documented(doc, o.doc, c.status)
	if !ok {
		t.Errorf("%s: the document of %s knows no answer %d", said, o, c.status)
		return
	}
	schema := answer["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
	for _, bad := range mismatches(doc, schema, whole, "", true) {
		t.Errorf("%s: %s", said, bad)
	}
}

// documented returns the documented response of an operation for a status, which may be a shared one.
func documented(doc, operation map[string]any, status int) (answer map[string]any, ok bool) {
	said := operation["responses"].(map[string]any)
	if answer, ok = said[strconv.Itoa(status)].(map[string]any); !ok {
		answer, ok = said[fmt.Sprintf("%dXX", status/100)].(map[string]any)
	}
	if ref, shared := answer["$ref"].(string); shared {
		all := doc["components"].(map[string]any)["responses"].(map[string]any)
		answer, ok = all[strings.TrimPrefix(ref, "#/components/responses/")].(map[string]any)
	}
	return answer, ok
}

// TestEveryRouteRefuses sends every kind of invalid request to every route of the table.
func TestEveryRouteRefuses(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	w := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.FailedLogins = 10_000 }).web(0)
	doc := w.ok("GET", "/openapi.json", nil)
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	mint := func(scopes ...string) string {
		return w.ok("POST", "/v1/admin/tokens", obj{"scopes": scopes})["token"].(string)
	}
	plain, revoked, reader, writer, owner := mint("read", "write"), mint("read", "write", "admin"), mint("read"), mint("write"), mint("read", "write", "owner")
	w.ok("POST", "/v1/admin/tokens/revoke", obj{"token": revoked})
	const js = "application/json"
	all := operations(doc)
	if len(all) < 60 {
		t.Fatalf("%d routes", len(all))
	}
	for _, o := range all {
		url := o.url()
		ask := func(c invalidRequest) {
			t.Helper()
			if c.method == "" {
				c.method = o.method
			}
			if c.url == "" {
				c.url = url
			}
			c.ask(t, w.base, doc, o)
		}
		if o.path != "/v1/batch" { // where mem0's clients send it
			ask(invalidRequest{method: "PUT", token: secret, status: 405, code: "method_not_allowed"})
		}
		if o.scope() != "" {
			ask(invalidRequest{status: 401, code: "unauthenticated", text: "missing Bearer token"})
			ask(invalidRequest{token: "ydb_" + strings.Repeat("0", 64), status: 401, code: "unauthenticated", text: "invalid or revoked token"})
			ask(invalidRequest{token: revoked, status: 401, code: "unauthenticated", text: "invalid or revoked token"})
			weak := map[string]string{"read": writer, "write": reader, "owner": plain, "admin": plain}[o.scope()]
			ask(invalidRequest{token: weak, status: 403, code: "insufficient_scope", text: "token has no "})
			if o.scope() != "admin" { // administrators may use any database
				ask(invalidRequest{url: url + "?database=other", token: owner, status: 404, code: "not_found", text: "database 'other' not found"})
			}
			ask(invalidRequest{url: url + "?database=nowhere", token: secret, status: 404, code: "not_found", text: "database 'nowhere' not found"})
		}
		if o.takesBody() {
			ask(invalidRequest{token: secret, kind: js, body: `{"text":`, status: 400, code: "invalid_body", text: "malformed at byte 8"})
			ask(invalidRequest{token: secret, kind: js, body: `[1]`, status: 400, code: "invalid_body",
				text: "body is not a JSON object: got a list"})
			ask(invalidRequest{token: secret, kind: "text/plain", body: `{}`, status: 415, code: "invalid_body",
				text: "Content-Type: application/json"})
			ask(invalidRequest{token: secret, body: `{}`, status: 415, code: "invalid_body"})
			if o.path != "/v1/remember/batch" && o.path != "/v1/batch" { // bodies of up to 64 MiB, see below
				ask(invalidRequest{token: secret, kind: js, body: `{"text":"` + strings.Repeat("x", 4<<20) + `"}`, status: 413,
					code: "too_large", text: "body is over 4194304 bytes"})
			}
		}
		body, query := o.needs(doc)
		with := func(name string, value any) string {
			given := obj{}
			for other, kind := range body {
				given[other] = rightType(kind)
			}
			given[name] = value
			raw, err := json.Marshal(given)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		for name := range body {
			ask(invalidRequest{token: secret, kind: js, body: with(name, nil), status: 400, code: "invalid_request", text: "missing '" + name + "'"})
		}
		for name := range query {
			ask(invalidRequest{token: secret, status: 400, code: "invalid_request", text: "missing '" + name + "' query parameter"})
		}
		for key, kind := range o.typesOfFields(doc) {
			from, name, _ := strings.Cut(key, " ")
			switch {
			case from == "query" && (kind == "string" || kind == "[]string" || name == "database"):
			case from == "query":
				code := map[string]string{"min_seq": "invalid_min_seq", "min_index": "invalid_min_seq"}[name]
				if name == "from" && o.path == "/v1/events" {
					code = "invalid_cursor"
				}
				ask(invalidRequest{token: secret, url: url + "?" + name + "=soon", status: 400,
					code: cmp.Or(code, "invalid_query_parameter"), text: name + `: want `})
			case kind != "any" || name != "metadata" && o.has(name):
				if o.has(name) {
					ask(invalidRequest{token: secret, kind: js, body: with(name, wrongType(kind)), status: 400,
						code: "invalid_request", text: name + ": want "})
				}
			}
		}
		if o.takesBody() {
			ask(invalidRequest{token: secret, kind: js, body: with("colour", "red"), status: 400, code: "invalid_request",
				text: "unknown field 'colour'"})
		}
		if o.scope() != "" {
			ask(invalidRequest{token: secret, url: url + "?colour=red", status: 400, code: "invalid_query_parameter",
				text: "unknown field 'colour'"})
		}
	}
	for _, o := range all {
		if o.path == "/v1/remember/batch" {
			invalidRequest{method: "POST", url: o.path, token: secret, kind: js,
				body: `{"memories":[{"text":"` + strings.Repeat("x", 64<<20) + `"}]}`, status: 413, code: "too_large",
				text: "body is over 67108864 bytes"}.ask(t, w.base, doc, o)
			invalidRequest{method: "POST", url: o.path, kind: js,
				body: `{"memories":[{"text":"` + strings.Repeat("x", 5<<20) + `"}]}`, status: 401,
				code: "unauthenticated"}.ask(t, w.base, doc, o)
		}
	}
}

// has reports whether a field is in the body itself, not in the objects of a list.
func (o operation) has(name string) bool {
	rb, ok := o.doc["requestBody"].(map[string]any)
	if !ok || !o.takesBody() {
		return false
	}
	_, own := rb["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)["properties"].(map[string]any)[name]
	return own
}

func wrongType(kind string) any {
	if kind == "string" {
		return 7
	}
	return "seven"
}

func rightType(kind string) any {
	return map[string]any{"string": "x", "array": []any{}, "integer": 1, "number": 1.5, "boolean": true, "object": obj{},
		"any": "2020-01-01", "[]object": []any{}, "[]any": []any{}, "[]string": []any{"x"}}[kind]
}

// TestEveryWriteNamesTheLeader checks that a follower that does not forward writes redirects every client to the
// leader, and names the leader in all fields that clients read.
func TestEveryWriteNamesTheLeader(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, refuse)
	l := c.leader()
	f := c.web((l + 1) % 3)
	doc := f.ok("GET", "/openapi.json", nil)
	suite.Eventually(t, "the follower knows the leader's gateway", func() bool {
		_, out := f.send("POST", "/v1/remember", obj{})
		return out["leader_addr"] == c.web(l).base
	})
	writes := 0
	for _, o := range operations(doc) {
		answer, ok := documented(doc, o.doc, http.StatusTemporaryRedirect)
		if !ok {
			continue
		}
		schema := answer["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
		if schema["$ref"] != "#/components/schemas/NotLeader" {
			continue
		}
		writes++
		for _, token := range []string{"", "wrong", secret} {
			status, out := (&web{t, f.base, token}).send(o.method, o.url(), nil)
			if status != http.StatusTemporaryRedirect || out["leader"] != float64(l+1) || out["leader_id"] != float64(l+1) ||
				out["leader_node_id"] != float64(l+1) ||
				out["leader_addr"] != c.web(l).base || out["code"] != "not_leader" ||
				out["error"] != fmt.Sprintf("read-only: not the leader (current leader: node %d)", l+1) ||
				keys(out) != "code error leader leader_addr leader_id leader_node_id retry_after_ms" {
				t.Errorf("%s: %d %v", o, status, out)
			}
		}
	}
	if writes < 20 {
		t.Errorf("%d routes write", writes)
	}
}

// TestFollowersForwardOnRequest checks that a follower that rejects writes forwards one that has the header for it.
func TestFollowersForwardOnRequest(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, refuse)
	f := c.web((c.leader() + 1) % 3)
	ask := func(path, body string) (int, map[string]any) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", f.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Cairn-Forward", "1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var out map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, out
	}
	status, out := ask("/v1/remember", `{"text":"passed on"}`)
	if status != http.StatusOK {
		t.Fatalf("remember: %d %v", status, out)
	}
	if got := f.ok("GET", "/v1/memory/"+out["rid"].(string), nil); got["text"] != "passed on" {
		t.Errorf("read back: %v", got)
	}
	if status, out := ask("/v1/think", `{}`); status != http.StatusOK || out["triggers"] == nil {
		t.Errorf("think: %d %v", status, out)
	}
}

// typesOfFields returns the fields and parameters of an operation with their types, including those of objects in
// lists.
func (o operation) typesOfFields(doc map[string]any) map[string]string {
	told := map[string]string{}
	params, _ := o.doc["parameters"].([]any)
	for _, p := range params {
		if p := p.(map[string]any); p["in"] == "query" {
			told["query "+p["name"].(string)] = typeName(p["schema"].(map[string]any))
		}
	}
	if rb, ok := o.doc["requestBody"].(map[string]any); ok && o.takesBody() {
		props := rb["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)["properties"].(map[string]any)
		for name, p := range props {
			told["body "+name] = typeName(p.(map[string]any))
			items, _ := p.(map[string]any)["items"].(map[string]any)
			if ref, ok := items["$ref"].(string); ok {
				shape := doc["components"].(map[string]any)["schemas"].(map[string]any)[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
				for name, p := range shape["properties"].(map[string]any) {
					told["body "+name] = typeName(p.(map[string]any))
				}
			}
		}
	}
	return told
}

func typeName(schema map[string]any) string {
	kind, _ := schema["type"].(string)
	if items, ok := schema["items"].(map[string]any); ok {
		return "[]" + typeName(items)
	}
	return cmp.Or(kind, "any")
}
