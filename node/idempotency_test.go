package node_test

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
)

func TestGatewayIdempotency(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	first := w.ok("POST", "/v1/remember", obj{"text": "once", "idempotency_key": "k"})["rid"]
	if again := w.ok("POST", "/v1/remember", obj{"text": "once", "idempotency_key": "k"})["rid"]; again != first {
		t.Errorf("the same again: %v, first %v", again, first)
	}
	status, other := w.send("POST", "/v1/remember", obj{"text": "other", "idempotency_key": "k"})
	if status != http.StatusOK || other["stored"] != false || other["idempotency_conflict"] != true || other["rid"] != first ||
		other["code"] != "conflict" {
		t.Errorf("another under the same key: %d, %v", status, other)
	}
	if n := w.ok("GET", "/v1/stats", nil)["active_memories"]; n != 1.0 {
		t.Errorf("%v memories", n)
	}
	asHeader := func(key string, body string) (int, obj) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", w.base+"/v1/remember", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + w.token}, "Idempotency-Key": {key}}
		return w.do(r)
	}
	for _, body := range []string{`{"text":"once"}`, `{"text":"once","idempotency_key":"k"}`, `{"text":"once","idempotency_key":""}`} {
		if status, got := asHeader("k", body); status != http.StatusOK || got["rid"] != first {
			t.Errorf("the same under the header, %s: %d %v", body, status, got)
		}
	}
	if status, got := asHeader("k", `{"text":"other"}`); status != http.StatusConflict || got["rid"] != first {
		t.Errorf("another under the header: %d %v", status, got)
	}
	if status, got := asHeader("k", `{"text":"once","idempotency_key":"l"}`); status != http.StatusBadRequest {
		t.Errorf("two keys: %d %v", status, got)
	}
}

// TestARepeatedAnswerTellsAsMuch checks that the answer to a repeated idempotency key names the superseded memory,
// like the first answer.
func TestARepeatedAnswerTellsAsMuch(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, text := range []string{"Ada lives in Rome", "Bob lives in Rome"} {
		w.ok("POST", "/v1/remember", obj{"text": text})
	}
	carl := w.ok("POST", "/v1/remember", obj{"text": "The bridge is red"})["rid"]
	w.ok("POST", "/v1/remember", obj{"text": "Carl lives in Oslo", "created_at": "2020-01-01"})
	for path, ask := range map[string]obj{
		"/v1/remember":       {"text": "Ada lives in Oslo", "idempotency_key": "one"},
		"/v1/remember/batch": {"memories": []obj{{"text": "Bob lives in Oslo"}, {"text": "The river is high"}}, "idempotency_key": "batch"},
		"/v1/correct":        {"rid": carl, "new_text": "Carl lives in Lisbon", "reason": "r", "idempotency_key": "correct"},
	} {
		first, again := w.ok("POST", path, ask), w.ok("POST", path, ask)
		if first["superseded"] == nil || toJSON(t, again["superseded"]) != toJSON(t, first["superseded"]) {
			t.Errorf("%s supersedes %v, repeated %v", path, first["superseded"], again["superseded"])
		}
	}
}

// TestKeysInLatin1: a header in Latin-1, as JavaScript sends it, has the key that the same text in UTF-8 is, and two
// such keys are two.
func TestKeysInLatin1(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for path, body := range map[string]string{"/v1/remember": `{"text":"tea"}`, "/v3/memories/add/": `{"messages":"tea","user_id":"ada"}`} {
		rids := map[string]any{}
		for _, key := range []string{"Jos\xe9", "Jos\xe8", "José"} {
			r, err := http.NewRequestWithContext(t.Context(), "POST", w.base+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Authorization": {"Bearer " + w.token}, "Content-Type": {"application/json"}, "Idempotency-Key": {path + key}}
			status, out := w.do(r)
			if rids[key] = cmp.Or(out["rid"], out["event_id"]); status != http.StatusOK || rids[key] == nil {
				t.Fatalf("%s: %d %v", path, status, out)
			}
		}
		if rids["Jos\xe9"] == rids["Jos\xe8"] || rids["Jos\xe9"] != rids["José"] {
			t.Errorf("%s: %q", path, rids)
		}
	}
}
