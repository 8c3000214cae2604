package node_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestMetadataIsLiftedWhenItIsCorrected checks that concurrent corrections of one memory all succeed, and that its
// attributes match its metadata in the end. A repeated request gets the first answer.
func TestMetadataIsLiftedWhenItIsCorrected(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	w.ok("POST", "/v1/admin/settings", obj{"lift": []string{"room"}})
	rid := w.ok("POST", "/v1/remember", obj{"text": "The lamp is broken.", "metadata": obj{"room": "attic"}})["rid"].(string)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			status, out := w.send("POST", "/v1/correct",
				obj{"rid": rid, "reason": "moved", "metadata_merge": obj{"room": fmt.Sprint("room ", i)}})
			if status != 200 {
				t.Errorf("%d: %d %v", i, status, out)
			}
		})
	}
	all.Wait()
	last := obj{"rid": rid, "reason": "moved", "metadata_merge": obj{"room": "cellar"}, "idempotency_key": "the last"}
	first, again := w.ok("POST", "/v1/correct", last)["revision"], w.ok("POST", "/v1/correct", last)["revision"]
	if first != 9.0 || again != first {
		t.Errorf("revision %v, and %v when it is repeated", first, again)
	}
	m := w.ok("GET", "/v1/memory/"+rid, nil)
	if room := m["attributes"].(obj)["room"]; room != "cellar" || m["metadata"].(obj)["room"] != room {
		t.Errorf("attributes %v, metadata %v", m["attributes"], m["metadata"])
	}
	w.ok("POST", "/v1/correct", obj{"rid": rid, "reason": "lost", "metadata_merge": obj{"room": nil}})
	if m := w.ok("GET", "/v1/memory/"+rid, nil); m["attributes"] != nil {
		t.Errorf("without a room: %v", m["attributes"])
	}
}
