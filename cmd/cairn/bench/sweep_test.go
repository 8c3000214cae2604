//go:build full || soak

package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestBenchSweep: a node grows threefold, and each figure is there at each size, with a curve and an exponent.
func TestBenchSweep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: measures, which the race detector falsifies")
	}
	dir := filepath.Join(t.TempDir(), "curves")
	out, err := cairntest.Command(t.Context(), "bench", "sweep", "--from", "200", "--to", "700", "--dim", "8", "--asks", "5", "--json", "--svg", dir).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r sweepReport
	if err := json.Unmarshal(out, &r); err != nil || len(r.Sizes) != 2 || r.Sizes[0].Memories != 200 || r.Sizes[1].Memories != 600 {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(r.Sizes[0].Runs) != 5 || len(r.Growth) != len(r.quantities()) || r.Log <= 0 {
		t.Fatalf("got %s", out)
	}
	for i, q := range r.quantities() {
		for _, p := range q.over(r.Sizes) {
			if p.y <= 0 {
				t.Errorf("%s of %.0f memories is %v", q.name, p.x, p.y)
			}
		}
		if e := r.Growth[i].Exponent; math.IsNaN(e) || math.Abs(e) > 20 {
			t.Errorf("%s grows with the power of %v", q.name, e)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(files) != len(r.Growth) {
		t.Fatalf("%v: %d curves of %d figures", err, len(files), len(r.Growth))
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		drawn(t, raw)
	}
}

// TestSweepSizes: sizes grow by factors of three, and go through powers of ten.
func TestSweepSizes(t *testing.T) {
	for _, c := range []struct {
		from, to int
		want     []int
	}{{10, 10, []int{10}}, {10, 29, []int{10}}, {10, 99, []int{10, 30}}, {10, 3000, []int{10, 30, 100, 300, 1000, 3000}}} {
		if got := sweepSizes(c.from, c.to); !slices.Equal(got, c.want) {
			t.Errorf("%d to %d: got %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// drawn fails unless the file is XML whose points lie somewhere.
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
	raw := curve([]loadRun{{Workload: "write", Requests: 1, Rate: 200, P50: 1, P99: 3}, {Workload: "write", Requests: 1, Rate: 100, P50: .5, P99: 40}, {Workload: "a<b", Requests: 1, Rate: 50, P50: 2, P99: 2}})
	drawn(t, raw)
	if n := strings.Count(string(raw), "<polyline"); n != 4 || !strings.Contains(string(raw), "a&lt;b: median") {
		t.Errorf("%d lines in %s", n, raw)
	}
	drawn(t, curve([]loadRun{{Workload: "write", Requests: 1, Rate: 200, P50: 1, P99: 1}}))
}

// TestExponent: y = 3·x² grows with the power of 2.
func TestExponent(t *testing.T) {
	if e := exponent([]point{{1, 3}, {3, 27}, {9, 243}}); math.Abs(e-2) > 1e-9 {
		t.Errorf("got %v", e)
	}
}
