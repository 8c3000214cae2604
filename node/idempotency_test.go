package node_test

import (
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
	if status != http.StatusConflict || other["stored"] != false || other["idempotency_conflict"] != true || other["rid"] != first {
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
	if status, got := asHeader("k", `{"text":"once","idempotency_key":"l"}`); status != http.StatusBadRequest {
		t.Errorf("two keys: %d %v", status, got)
	}
}
