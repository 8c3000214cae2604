//go:build full || soak

package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestSweep: after growing a node threefold, each figure has a value at each size, a curve and an exponent.
func TestSweep(t *testing.T) {
	t.Parallel()
	suite.NotShort(t, "measures, which the race detector falsifies")
	dir := filepath.Join(t.TempDir(), "curves")
	r := figuresOf[sweepReport](t, "sweep", "--from", "200", "--to", "700", "--dim", "8", "--asks", "5", "--svg", dir)
	if len(r.Sizes) != 2 || r.Sizes[0].Memories != 200 || r.Sizes[1].Memories != 600 {
		t.Fatalf("got %+v", r)
	}
	if len(r.Sizes[0].Runs) != 5 || len(r.Growth) != len(r.quantities()) || r.Log <= 0 {
		t.Fatalf("got %+v", r)
	}
	for i, q := range r.quantities() {
		for _, p := range q.over(r.Sizes) {
			if p.Y <= 0 {
				t.Errorf("%s of %.0f memories is %v", q.name, p.X, p.Y)
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
		if s := string(raw); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || !strings.Contains(s, "<polyline") {
			t.Errorf("%s has %s", f, s)
		}
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

// TestExponent: the exponent of y = 3·x² is 2.
func TestExponent(t *testing.T) {
	if e := exponent([]bench.Point{{X: 1, Y: 3}, {X: 3, Y: 27}, {X: 9, Y: 243}}); math.Abs(e-2) > 1e-9 {
		t.Errorf("got %v", e)
	}
}
