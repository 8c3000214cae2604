package sse

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAStream checks the headers of a stream, and events with and without an id.
func TestAStream(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Start(w, "no-store")
	for _, id := range []string{"", "7"} {
		if err := Send(w, Append(nil, id, "memory", []byte(`{"a":1}`))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := w.Body.String(), "event: memory\ndata: {\"a\":1}\n\nid: 7\nevent: memory\ndata: {\"a\":1}\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	h := w.Header()
	if h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" || h.Get("X-Accel-Buffering") != "no" ||
		!w.Flushed {
		t.Errorf("headers %v, sent at once: %v", h, w.Flushed)
	}
}

// TestWanted: a request for a stream names it explicitly; a wildcard does not count.
func TestWanted(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{"": false, "*/*": false, "text/*": false, "application/json": false,
		"text/event-stream": true, "application/json, Text/Event-Stream;q=0.5": true} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Accept", accept)
		if got := Wanted(r); got != want {
			t.Errorf("Accept %q: %v", accept, got)
		}
	}
}
