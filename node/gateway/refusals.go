package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// A documentedError describes an error answer and the operations that may return it.
type documentedError struct {
	name    string // name in the document
	status  string
	text    string
	codes   []string
	schema  string
	applies func(*api.Op) bool
}

// documentedErrors holds the errors of all operations. If several have the same status, an operation documents the
// last that applies.
var documentedErrors = []documentedError{
	{"invalid", "400", "A field or a parameter is missing, unknown or wrong. The text names it.",
		[]string{"invalid_request", "invalid_body", "invalid_query_parameter", "invalid_cursor", "invalid_min_seq"}, "Error", always},
	{"unauthorized", "401", "The token is missing, invalid or revoked.", []string{"unauthenticated"}, "Error", needsToken},
	{"forbidden", "403", "The token does not have the scope, or may not reach what the request names.",
		[]string{"insufficient_scope", "namespace_denied", "trust_denied", "quarantined", "forbidden"}, "Error", needsToken},
	{"not_found", "404", "There is no such database, or nothing of that name.", []string{"not_found", "revision_not_found"},
		"Error", needsToken},
	{"method", "405", "The path does not have this method.", []string{"method_not_allowed"}, "Error", none},
	{"conflict", "409", "The request conflicts with what is stored.",
		[]string{"conflict", "precondition_failed", "key_taken", "revision_conflict", "skill_exists", "version_upgrade"},
		"Error", func(op *api.Op) bool { return needsToken(op) && hasBody(op) }},
	{"behind", "412", "This node has not applied the log up to min_index. With log_end the cluster's log ends there, before min_index, which is of another cluster or from before a restore: leave it out.", []string{"replica_behind"}, "Error", func(op *api.Op) bool {
		return slices.ContainsFunc(op.InQuery(), func(f field.Field) bool { return f.Name == "min_index" })
	}},
	{"too_large", "413", "The body is too large.", []string{"too_large"}, "Error", hasBody},
	{"not_json", "415", "The request lacks the header Content-Type: application/json.", []string{"invalid_body"}, "Error", hasBody},
	{"too_many", "429", "Too many operations for this token, too many wrong tokens from this address, or a quota is used up. Retry-After says how long to wait; without it the same request is rejected again.",
		[]string{"rate_limited"}, "Error", needsToken},
	{"failed", "500", "The node failed; its log says why.", []string{"internal_error"}, "Error", always},
	{"busy", "503", "The node is overloaded, starting or stopping: try again.", []string{"cluster_unavailable"}, "Error", always},
	{"elsewhere", "307", "This node does not lead and does not forward writes. Location and leader_addr name the leader.",
		[]string{"not_leader"}, "NotLeader", writes},
	{"no_leader", "503", "This node knows of no leader: try again.", []string{"not_leader"}, "NotLeader", writes},
	{"unknown", "504", "The write may or may not have happened. Repeat the request with the same idempotency_key.",
		[]string{"commit_timeout"}, "Error", writes},
}

func always(*api.Op) bool        { return true }
func none(*api.Op) bool          { return false }
func needsToken(op *api.Op) bool { return op.Scope != "" }
func hasBody(op *api.Op) bool    { return op.Method() != http.MethodGet }
func writes(op *api.Op) bool     { return op.Writes }

// class returns the name that the document gives to common errors, 4XX or 5XX; "" for an error that it lists by its
// status.
func (r documentedError) class() string {
	switch r.name {
	case "invalid", "unauthorized", "forbidden", "not_found", "too_large", "not_json", "too_many", "failed", "busy":
		return r.status[:1] + "XX"
	}
	return ""
}

// errorResponses returns the errors as OpenAPI components.
func errorResponses() map[string]any {
	texts, shapes := map[string]string{}, map[string]string{}
	for _, r := range documentedErrors {
		name, text := r.name, r.text
		switch {
		case r.status == "405": // the document lists the methods of each path
			continue
		case r.class() != "":
			name = r.class()
			text = strings.TrimSpace(texts[name] + " " + r.status + ": " + text)
		}
		texts[name], shapes[name] = text, r.schema
	}
	all := map[string]any{}
	for name, text := range texts {
		all[name] = map[string]any{"description": text,
			"content": content(jsonType, map[string]any{"$ref": "#/components/schemas/" + shapes[name]})}
	}
	return all
}

// responses returns the answers of an operation: the successful one, and references to its errors.
func responses(op *api.Op) map[string]any {
	ok := map[string]any{"description": "Done."}
	switch {
	case op.Media == "":
		ok["content"] = content(jsonType, op.Gives().Schema())
	case op.Media == "application/octet-stream":
		ok["content"] = map[string]any{op.Media: map[string]any{}}
	default:
		ok["content"] = content(op.Media, textSchema)
	}
	all := map[string]any{"200": ok}
	for _, r := range documentedErrors {
		if r.applies(op) {
			status, name := r.status, r.name
			if class := r.class(); class != "" {
				status, name = class, class
			}
			all[status] = map[string]any{"$ref": "#/components/responses/" + name}
		}
	}
	return all
}
