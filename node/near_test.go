package node_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestNear checks that the answer to a new memory, over HTTP on request and always to a model, names similar memories
// of its namespace that it may replace, with their texts. It does not name memories that share only a word, those of
// other namespaces, or the memory itself, and nothing for captures or for callers that may not read or do not want
// it.
func TestNear(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	old := w.ok("POST", "/v1/remember", obj{"text": "The staging database listens on port 5432"})["rid"].(string)
	for _, text := range []string{"The office plants are watered on Monday", "Port of Oslo ferry tickets are in the drawer"} {
		w.ok("POST", "/v1/remember", obj{"text": text})
	}
	w.ok("POST", "/v1/remember", obj{"text": "The staging database listens on port 1111", "namespace": "elsewhere"})
	next := "The staging database now listens on port 6543"
	rids := func(answer obj) string {
		var out []string
		if list, ok := answer["near"].([]any); ok {
			for _, n := range list {
				out = append(out, n.(obj)["rid"].(string))
			}
		}
		return strings.Join(out, " ")
	}
	if a := w.ok("POST", "/v1/remember", obj{"text": next}); rids(a) != "" {
		t.Errorf("unasked: %v", a)
	}
	w.ok("POST", "/v1/forget", obj{"rid": w.ok("POST", "/v1/recall", obj{"query": next})["results"].([]any)[0].(obj)["rid"]})
	writer := w.ok("POST", "/v1/admin/tokens", obj{"scopes": []string{"write"}})["token"].(string)
	if _, a := w.with(writer).send("POST", "/v1/remember",
		obj{"text": "The staging database listens on port 7777", "near": true,
			"rid": "01900000-0000-7000-8000-000000000001"}); strings.Contains(fmt.Sprint(a), "5432") {
		t.Errorf("a caller who may not read is told %v", a)
	}
	w.ok("POST", "/v1/forget", obj{"rid": "01900000-0000-7000-8000-000000000001"})
	if a := w.ok("POST", "/v1/remember", obj{"text": next, "near": true, "memory_type": "capture"}); rids(a) != "" {
		t.Errorf("of a capture: %v", a)
	} else {
		w.ok("POST", "/v1/forget", obj{"rid": a["rid"]})
	}
	first := w.ok("POST", "/v1/remember", obj{"text": next, "near": true, "idempotency_key": "k"})
	if rids(first) != old {
		t.Errorf("got %v, want %s", first, old)
	}
	if n := first["near"].([]any)[0].(obj); n["text"] != "The staging database listens on port 5432" || n["created_at"].(float64) == 0 ||
		n["score"].(float64) < .3 {
		t.Errorf("%v", n)
	}
	if again := w.ok("POST", "/v1/remember",
		obj{"text": next, "near": true, "idempotency_key": "k"}); strings.Contains(rids(again), first["rid"].(string)) {
		t.Errorf("it may replace itself: %v", again)
	}
	if a := w.ok("POST", "/v1/remember", obj{"text": next + strings.Repeat(" and more", 300), "near": true}); rids(a) != "" {
		t.Errorf("of a document: %v", a)
	}
	_, quiet := post(t, w.base+"/mcp", w.token,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"text":"Port of Oslo ferry tickets are in the desk","near":false}}}`)
	if strings.Contains(quiet, "in the drawer") {
		t.Errorf("to a model that does not want to know: %s", quiet)
	}
	_, model := post(t, w.base+"/mcp", w.token,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"text":"The office plants are watered on Tuesday"}}}`)
	if !strings.Contains(model, "watered on Monday") {
		t.Errorf("over MCP: %s", model)
	}
}
