package node

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strings"
	"sync"
)

// openAPI describes the gateway. It is made of the route table, so that it cannot tell of another gateway.
var openAPI = sync.OnceValue(func() []byte {
	paths := map[string]map[string]any{}
	for _, r := range routes() {
		op := map[string]any{"summary": r.summary, "operationId": r.name,
			"responses": responses(r)}
		var params []any
		for _, seg := range strings.Split(r.path, "/") {
			if name, ok := strings.CutPrefix(seg, "{"); ok {
				params = append(params, map[string]any{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": map[string]any{"type": "string"}})
			}
		}
		for _, f := range described(r.query) {
			params = append(params, map[string]any{"name": f.name, "in": "query", "required": f.must, "schema": map[string]any{"type": f.kind}})
		}
		if params != nil {
			op["parameters"] = params
		}
		if r.body != "" {
			schema := schemaOf(r.body)
			op["requestBody"] = map[string]any{"required": schema["required"] != nil, "content": map[string]any{"application/json": map[string]any{"schema": schema}}}
		}
		if r.scope == "" {
			op["security"] = []any{}
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = op
	}
	b, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Cairn gateway", "version": "1",
			"description": "Memory for agents over HTTP. Times are Unix seconds, half-lives hours. A field of the wrong type counts as absent. Writes go to the leader: others answer 503 with its leader_addr."},
		"security":   []any{map[string]any{"token": []string{}}},
		"components": map[string]any{"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}}},
		"paths":      paths,
	}, "", "  ")
	if err != nil {
		panic("openapi: " + err.Error()) // maps of strings always encode
	}
	return b
})

// field is one name of a route's query, body or answer.
type field struct {
	name, kind string
	must       bool // there, always
	nullable   bool
}

func (f field) schema() map[string]any {
	s := map[string]any{}
	switch {
	case f.kind == "any":
	case f.nullable:
		s["type"] = []string{f.kind, "null"}
	default:
		s["type"] = f.kind
	}
	if f.kind == "array" {
		s["items"] = map[string]any{}
	}
	return s
}

// described reads the table's shorthand: name:type, then ! for what must be there or ? for what is there and may be null.
func described(s string) (list []field) {
	for _, w := range strings.Fields(s) {
		name, kind, _ := strings.Cut(w, ":")
		kind, must := strings.CutSuffix(kind, "!")
		kind, null := strings.CutSuffix(kind, "?")
		list = append(list, field{name, kind, must || null, null})
	}
	return list
}

// schemaOf is the object a shorthand describes.
func schemaOf(shorthand string) map[string]any {
	props, must := map[string]any{}, []string{}
	for _, f := range described(shorthand) {
		props[f.name] = f.schema()
		if f.must {
			must = append(must, f.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": props}
	if len(must) > 0 {
		schema["required"] = must
	}
	return schema
}

func responses(r route) map[string]any {
	ok := map[string]any{"description": "done"}
	if r.result != "" {
		ok["content"] = map[string]any{"application/json": map[string]any{"schema": schemaOf(r.result)}}
	}
	all := map[string]any{"200": ok, "503": map[string]any{"description": "overloaded, or nobody leads; retry"}}
	if r.scope != "" {
		all["429"] = map[string]any{"description": "too many requests for this token, or the database is full; Retry-After says how long to wait"}
		all["401"], all["403"] = map[string]any{"description": "token missing, invalid or revoked"}, map[string]any{"description": "the token has not the right"}
	}
	if r.body != "" || r.query != "" {
		all["400"] = map[string]any{"description": "something needed is missing or wrong"}
	}
	if strings.Contains(r.path, "{") {
		all["404"] = map[string]any{"description": "not found"}
	}
	if r.write {
		all["503"] = map[string]any{"description": "this node does not lead; leader_addr names the one that does"}
	}
	return all
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI()) // a client that went away is no failure of ours
}

// docs is the same for people: one page, nothing from elsewhere.
var docs = sync.OnceValue(func() []byte {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Cairn gateway</title><style>` + docsStyle + `</style>
<h1>Cairn gateway</h1><p>Memory for agents over HTTP. Send <code>Authorization: Bearer &lt;token&gt;</code> and JSON bodies. Times are Unix seconds, half-lives hours. A field of the
wrong type counts as absent. A write that reaches a node which does not lead answers 503 with the leader's address in <code>leader_addr</code>. The same as a machine reads it: <a href="/openapi.json">openapi.json</a>.</p>`)
	for _, r := range routes() {
		who := "no token"
		if r.scope != "" {
			who = "token with " + string(r.scope)
		}
		fmt.Fprintf(&b, "<section><h2><b>%s</b> <code>%s</code></h2><p>%s <i>(%s)</i></p>", r.method, html.EscapeString(r.path), html.EscapeString(r.summary), who)
		for _, part := range [][2]string{{"query", r.query}, {"body", r.body}, {"answer", r.result}} {
			if part[1] == "" {
				continue
			}
			fmt.Fprintf(&b, "<p class=f>%s: ", part[0])
			for _, f := range described(part[1]) {
				need := ""
				switch {
				case f.nullable:
					need = " or null"
				case f.must && part[0] != "answer":
					need = " required"
				case !f.must && part[0] == "answer":
					need = " sometimes"
				}
				fmt.Fprintf(&b, "<code>%s</code> <small>%s%s</small> ", f.name, f.kind, need)
			}
			b.WriteString("</p>")
		}
		b.WriteString("</section>\n")
	}
	return []byte(b.String())
})

const docsStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}section{border-top:1px solid #8884;padding:.3rem 0}` +
	`h2{font-size:1rem;margin:.5rem 0 0}p{margin:.2rem 0}code{font-size:.95em}small,i{opacity:.7}.f code{font-weight:600}`

func serveDocs(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(docs()) // a client that went away is no failure of ours
}
