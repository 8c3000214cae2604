package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// mirrors are the arguments by which a proxy may route a call, and the headers in which clients that speak 2026-07-28
// send them as well.
var mirrors = map[string]string{"namespace": "Namespace", "database": "Database"}

const mirrorPrefix = "Mcp-Param-"

// mirrored marks these arguments in a tool's schema.
func mirrored(schema map[string]any) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	for name, header := range mirrors {
		if p, ok := properties[name].(map[string]any); ok && p["type"] == "string" {
			p["x-mcp-header"] = header
		}
	}
	return schema
}

// mismatched says which header differs from the argument that it mirrors, and returns the message's id: a proxy that
// looked at the header would have let another call pass. The library compares them too, but only for tools whose schema
// has one type for each argument. A header may be absent; a batch has none.
func mismatched(h http.Header, message []byte) (id json.RawMessage, wrong string) {
	// Maps tell apart names that differ by case, as the library does.
	var call, params, arguments map[string]json.RawMessage
	for name, header := range mirrors {
		said, there := h[mirrorPrefix+header]
		if !there {
			continue
		}
		if call == nil {
			_ = json.Unmarshal(message, &call) // what is wrong with a message the library says
			_ = json.Unmarshal(call["params"], &params)
			_ = json.Unmarshal(params["arguments"], &arguments)
		}
		var argument *string
		value, err := unwrapped(strings.Join(said, ", "))
		if json.Unmarshal(arguments[name], &argument) != nil || err != nil || argument == nil || *argument != value {
			return call["id"], "header mismatch: " + mirrorPrefix + header + " is not the argument " + name
		}
	}
	return nil, ""
}

// unwrapped reads a header's value. One that a header cannot hold as it is comes in base64.
func unwrapped(value string) (string, error) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if inner, whole := strings.CutSuffix(inner, "?="); ok && whole {
		b, err := base64.StdEncoding.DecodeString(inner)
		return string(b), err
	}
	return value, nil
}
