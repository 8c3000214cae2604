package gateway

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// documentDescription is the description of the whole document.
const documentDescription = "Memory for agents over HTTP. Times in answers are Unix seconds; requests take RFC 3339 dates and times as well. Half-lives are hours. " +
	"Unknown fields, values of another type and numbers out of range are rejected, and the error names the field (`[server] lenient = true` accepts what the oldest clients send). " +
	"Writes go to the leader: a follower forwards them and names it in X-Cairn-Leader, or, with `[server] forward_writes = false`, answers 307 with its address " +
	"unless the request says X-Cairn-Forward: 1. The header Idempotency-Key stands for the field idempotency_key of a body. " +
	"A remember whose key was used with another text stores nothing: under the header the status is 409; under the field it is 200 with idempotency_conflict true, as the oldest clients expect."

// openAPI is the OpenAPI document. It is generated from the table of operations, so it always matches the gateway.
var openAPI = sync.OnceValue(func() []byte {
	paths, tags := map[string]map[string]any{}, []any{}
	for _, s := range httpSubjects() {
		tags = append(tags, map[string]any{"name": s.Name, "description": s.About})
		for _, op := range s.Ops {
			path := op.Path()
			if paths[path] == nil {
				paths[path] = map[string]any{}
			}
			paths[path][strings.ToLower(op.Method())] = describeOp(s, op)
		}
	}
	token := map[string]any{"type": "http", "scheme": "bearer", "description": "A token, or the cluster secret."}
	b, err := json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "Cairn gateway", "version": "1", "description": documentDescription,
			"license": map[string]any{"name": "Apache License 2.0", "identifier": "Apache-2.0"}},
		"servers":  []any{map[string]any{"url": "/", "description": "The node that this document comes from."}},
		"tags":     tags,
		"security": []any{map[string]any{"token": []string{}}},
		"components": map[string]any{"schemas": components(), "parameters": sharedParameters(), "responses": errorResponses(),
			"securitySchemes": map[string]any{"token": token}},
		"paths": paths,
	})
	if err != nil {
		panic("openapi: " + err.Error()) // maps of strings always encode
	}
	return b
})

// describeOp returns the description of an operation.
func describeOp(s api.Subject, op *api.Op) map[string]any {
	d := map[string]any{"summary": summary(op), "description": requirements(op), "operationId": op.Name, "tags": []string{s.Name},
		"responses": responses(op), "security": []any{}}
	if params := append(parameters("path", op.InPath()), parameters("query", queryParams(op))...); len(params) > 0 {
		d["parameters"] = params
	}
	if body := op.InBody(); len(body) > 0 {
		schema := body.Schema()
		d["requestBody"] = map[string]any{"required": schema["required"] != nil, "content": content(jsonType, schema)}
	}
	if op.Body != "" {
		d["requestBody"] = map[string]any{"required": true, "content": content(op.Body, textSchema)}
	}
	if op.Confirm != "" {
		d["x-confirm"] = op.Confirm
	}
	if op.Scope != "" {
		d["security"] = []any{map[string]any{"token": []string{string(op.Scope)}}}
	}
	return d
}

// textSchema is the schema of bodies that are read and written line by line, such as NDJSON.
var textSchema = map[string]any{"type": "string"}

// commonParams are the parameters of every request that needs a token.
type commonParams struct {
	Database string `json:"database" doc:"The database's name, where it is not the token's own: only tokens with the scope admin and the cluster secret reach others."`
}

// queryParams returns the query parameters of an operation.
func queryParams(op *api.Op) field.Object {
	if op.Scope == "" {
		return op.InQuery()
	}
	return slices.Concat(op.InQuery(), field.Of(reflect.TypeFor[commonParams]()))
}

// sharedParams returns the parameters of many operations, by name. The document describes them once.
var sharedParams = sync.OnceValue(func() map[string]field.Field {
	all := map[string]field.Field{}
	for _, f := range slices.Concat(field.Of(reflect.TypeFor[api.Fresh]()), field.Of(reflect.TypeFor[commonParams]())) {
		all[f.Name] = f
	}
	return all
})

// sharedParameters returns sharedParams as OpenAPI components.
func sharedParameters() map[string]any {
	all := map[string]any{}
	for name, f := range sharedParams() {
		all[name] = parameter("query", f)
	}
	return all
}

// parameters returns fields of the path or the query as OpenAPI parameters.
func parameters(in string, o field.Object) (list []any) {
	for _, f := range o {
		if s, ok := sharedParams()[f.Name]; ok && in == "query" && s.Doc == f.Doc {
			list = append(list, map[string]any{"$ref": "#/components/parameters/" + f.Name})
		} else if !f.Idle {
			list = append(list, parameter(in, f))
		}
	}
	return list
}

// parameter returns a field as an OpenAPI parameter.
func parameter(in string, f field.Field) map[string]any {
	schema := f.Schema()
	p := map[string]any{"name": f.Name, "in": in, "required": f.Must || in == "path", "description": schema["description"],
		"schema": schema}
	delete(schema, "description")
	return p
}

// summary returns what an operation does, and the other paths that serve it.
func summary(op *api.Op) string {
	if len(op.Also) == 0 {
		return op.Does
	}
	return strings.TrimSuffix(op.Does, ".") + "; also at " + strings.Join(op.Also, ", ") + "."
}

// requirements tells what a caller needs, how a call is counted, and which node executes it.
func requirements(op *api.Op) string {
	if other := anonymousOps[op]; other != nil {
		return "Any token will do; without one: " + other.Does
	}
	if op.Scope == "" {
		return "Needs no token."
	}
	text := "Needs a token with the scope " + string(op.Scope)
	if op.Reads {
		text += " and the scope " + string(api.Read)
	}
	text += "."
	if op.Adds != nil {
		text += " Each memory that it stores counts as an operation against the token's limits."
	}
	if op.Writes {
		text += " The leader does it."
	}
	return text
}

// components returns the schemas that requests and answers refer to.
func components() map[string]any {
	all := map[string]any{}
	for name, o := range allShapes() {
		all[name] = o.Schema()
	}
	all["Error"] = field.Of(reflect.TypeFor[failure]()).Answered().Schema()
	all["NotLeader"] = field.Of(reflect.TypeFor[readOnly]()).Answered().Schema()
	return all
}

// allShapes returns the objects in requests and answers, by name.
func allShapes() map[string]field.Object {
	all := map[string]field.Object{}
	for _, op := range httpOps() {
		op.Takes().Shapes(all, false)
		op.Gives().Shapes(all, true)
	}
	return all
}

const jsonType = "application/json"

// content returns an OpenAPI content object for a media type.
func content(media string, schema map[string]any) map[string]any {
	return map[string]any{media: map[string]any{"schema": schema}}
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI()) // the client may have left
}
