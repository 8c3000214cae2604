package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// routingHeaders maps the arguments by which a proxy may route a call to the suffixes of the headers in which clients
// of protocol version 2026-07-28 repeat them.
var routingHeaders = map[string]string{"namespace": "Namespace", "database": "Database"}

const routingPrefix = "Mcp-Param-"

// markRouting marks these arguments in a tool's schema.
func markRouting(schema map[string]any) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	for name, header := range routingHeaders {
		if p, ok := properties[name].(map[string]any); ok && p["type"] == "string" {
			p["x-mcp-header"] = header
		}
	}
	return schema
}

// headerMismatch returns the message's id and an error text if a routing header differs from its argument, because a
// proxy would have checked another call than the one executed. The library compares them too, but only for tools
// whose arguments have one type each. A header may be absent. A batch has none.
func headerMismatch(h http.Header, message []byte) (id json.RawMessage, wrong string) {
	// Unlike structs, maps distinguish names that differ by case, as the library does.
	var call, params, arguments map[string]json.RawMessage
	for name, header := range routingHeaders {
		values, sent := h[routingPrefix+header]
		if !sent {
			continue
		}
		if call == nil {
			_ = json.Unmarshal(message, &call) // the library reports malformed messages
			_ = json.Unmarshal(call["params"], &params)
			_ = json.Unmarshal(params["arguments"], &arguments)
		}
		var argument *string
		value, err := decodeHeader(strings.Join(values, ", "))
		if json.Unmarshal(arguments[name], &argument) != nil || err != nil || argument == nil || *argument != value {
			return call["id"], "header mismatch: " + routingPrefix + header + " is not the argument " + name
		}
	}
	return nil, ""
}

// decodeHeader decodes the value of a routing header. Clients send values that a header cannot hold in base64.
func decodeHeader(value string) (string, error) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if inner, whole := strings.CutSuffix(inner, "?="); ok && whole {
		b, err := base64.StdEncoding.DecodeString(inner)
		return string(b), err
	}
	return value, nil
}
