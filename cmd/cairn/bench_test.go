package main

import (
	"encoding/json"
	"testing"
)

// TestBenchSurfaces measures every protocol for a moment: each answers, and none refuses.
func TestBenchSurfaces(t *testing.T) {
	out, err := command(t.Context(), "bench", "surfaces", "--clients", "2", "--warm-up", "0s", "--for", "200ms", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r loadReport
	if err := json.Unmarshal(out, &r); err != nil || len(r.Runs) != len(dialects) {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, n := range r.Runs {
		if n.Requests == 0 || n.Failed > 0 {
			t.Errorf("%s: %d answered, %d failed", n.Workload, n.Requests, n.Failed)
		}
	}
}
