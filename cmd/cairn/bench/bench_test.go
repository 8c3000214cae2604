//go:build full || soak

package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestBenchWrite: the bench starts nodes and writes with each number of clients.
func TestBenchWrite(t *testing.T) {
	t.Parallel()
	r, code := cairntest.RunForJSON[writeReport](t, "bench", "write", "--clients", "1,2", "--for", "200ms", "--json")
	if code != 0 || len(r.Runs) != 2 || r.Ratio <= 0 {
		t.Fatalf("exit %d, got %+v", code, r)
	}
	for i, n := range r.Runs {
		if n.Clients != i+1 || n.Writes == 0 || n.P50 <= 0 || n.P99 < n.P50 {
			t.Errorf("got %+v", n)
		}
	}
}

// TestOutputKeys pins the keys that programs read.
func TestOutputKeys(t *testing.T) {
	got, err := json.Marshal(writeReport{Target: "t", Bytes: 200, Runs: []WriteRun{{1, 10, 2, 5, 0.5, 1}}, Ratio: 1})
	if want := `{"target":"t","text_bytes":200,"runs":[{"clients":1,"writes":10,"seconds":2,"writes_per_second":5,"p50_ms":0.5,"p99_ms":1}],"ratio":1}`; err != nil ||
		string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}

// drawn fails the test unless the file is XML with valid points.
func drawn(t *testing.T, raw []byte) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(string(raw))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
	}
	if s := string(raw); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || !strings.Contains(s, "<polyline") {
		t.Errorf("got %s", s)
	}
}

// TestCurve: a load's curve has a line for the median and one for the tail of each workload.
func TestCurve(t *testing.T) {
	raw := loadCurve([]LoadRun{{Workload: "write", Requests: 1, Rate: 200, P50: 1, P99: 3},
		{Workload: "write", Requests: 1, Rate: 100, P50: .5, P99: 40}, {Workload: "a<b", Requests: 1, Rate: 50, P50: 2, P99: 2}})
	drawn(t, raw)
	if n := strings.Count(string(raw), "<polyline"); n != 4 || !strings.Contains(string(raw), "a&lt;b: median") {
		t.Errorf("%d lines in %s", n, raw)
	}
	drawn(t, loadCurve([]LoadRun{{Workload: "write", Requests: 1, Rate: 200, P50: 1, P99: 1}}))
}
