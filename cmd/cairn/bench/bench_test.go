//go:build full || soak

package bench

import (
	"encoding/json"
	"math"
	"runtime"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestBenchSurfaces measures every protocol for a moment: each answers, and none refuses.
func TestBenchSurfaces(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in -short: measures")
	}
	t.Parallel()
	out, err := cairntest.Command(t.Context(), "bench", "surfaces", "--clients", "2", "--warm-up", "0s", "--for", "200ms", "--json").Output()
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

// TestBenchFailover: the silence that is measured is there, and ends.
func TestBenchFailover(t *testing.T) {
	t.Parallel()
	out, err := cairntest.Command(t.Context(), "bench", "failover", "--rounds", "1", "--heartbeat-ms", "50", "--election-ms", "300", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r failoverReport
	if err := json.Unmarshal(out, &r); err != nil || len(r.Rounds) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if r.Max <= 0 || r.Median != r.Max || r.Writes == 0 || r.Rounds[0].Leader == 0 {
		t.Errorf("got %s", out)
	}
}

// TestBenchFollowerReads: each turn writes, and the followers answer.
func TestBenchFollowerReads(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: measures, which the race detector falsifies")
	}
	out, err := cairntest.Command(t.Context(), "bench", "write", "--nodes", "3", "--follower-reads", "50", "--rounds", "1", "--clients", "1", "--for", "300ms", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r besideReport
	if err := json.Unmarshal(out, &r); err != nil || len(r.Runs) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	n := r.Runs[0]
	for i, f := range []figures{n.Alone, n.Stray, n.Beside} {
		if f.P50 <= 0 || f.Rate <= 0 {
			t.Errorf("%s: %+v", besides[i], f)
		}
	}
	if n.Recalls <= 0 || n.ToAlone.P50 <= 0 || n.ToStray.P50 <= 0 {
		t.Errorf("got %s", out)
	}
}

// TestBenchSnapshot: writes go on beside a snapshot and a backup, and none fails.
func TestBenchSnapshot(t *testing.T) {
	t.Parallel()
	out, err := cairntest.Command(t.Context(), "bench", "snapshot", "--size", "2000", "--rounds", "1", "--clients", "2", "--rate", "500", "--for", "200ms", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r snapshotReport
	if err := json.Unmarshal(out, &r); err != nil || len(r.Runs) != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, n := range r.Runs {
		if n.Writes == 0 || n.Failed > 0 || n.Ratio <= 0 {
			t.Errorf("%+v", n)
		}
	}
}

func TestPausesAreThoseOfTheTimeBetween(t *testing.T) {
	before := pauses{Counts: []float64{5, 1, 0}, Bounds: []float64{0, .001, .002, math.Inf(1)}}
	after := pauses{Counts: []float64{104, 1, 1}, Bounds: before.Bounds}
	if got, want := after.since(before), (pauseReport{Count: 100, P99: 1, Max: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	now := readPauses()
	runtime.GC()
	if got := readPauses().since(now); got.Count == 0 || got.Max <= 0 {
		t.Errorf("a collection was not seen: %+v", got)
	}
}

// TestOutputKeys pins the keys that programs read.
func TestOutputKeys(t *testing.T) {
	got, err := json.Marshal(writeReport{Target: "t", Bytes: 200, Runs: []writeRun{{1, 10, 2, 5, 0.5, 1}}, Ratio: 1})
	if want := `{"target":"t","text_bytes":200,"runs":[{"clients":1,"writes":10,"seconds":2,"writes_per_second":5,"p50_ms":0.5,"p99_ms":1}],"ratio":1}`; err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}
