//go:build full || soak

package bench

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestRecallAgainst: each set has its own figures, and a run compared with itself shows no difference.
func TestRecallAgainst(t *testing.T) {
	suite.NotShort(t, "measures what is found, one question after the other")
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := []string{"bench", "recall", "--json"}
	for _, set := range []string{"a", "b"} { // the same conversation and ids in both: they must not mix
		args = append(args, "--corpus",
			file(set+"-corpus", `{"conv":"c","id":"1","speaker":"ann","text":"the boat of set `+set+`"}`,
				`{"conv":"c","id":"2","speaker":"bob","text":"a car"}`),
			"--queries", file(set+"-queries", `{"conv":"c","qid":"`+set+`","category":"x","query":"boats","evidence":["1"]}`))
	}
	run := func(more ...string) (r RecallReport) {
		out, err := cairntest.Command(t.Context(), append(args, more...)...).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	ranked := filepath.Join(dir, "ranked")
	run("--out", ranked)
	r := run("--against", ranked)
	if len(r.Sets) != 2 {
		t.Fatalf("got %+v", r)
	}
	for _, set := range r.Sets {
		if set.Memories != 2 || len(set.Against) != 3 {
			t.Errorf("got %+v", set)
		}
		for _, d := range set.Against {
			if d.Ours != 1 || d.Theirs != 1 || d.Mean != 0 {
				t.Errorf("got %+v", d)
			}
		}
	}
}

func TestDifferences(t *testing.T) {
	var p qualityPairs
	for _, ours := range []float64{1, 0, 1, 1} {
		p.add(quality{Recall10: ours}, quality{Recall10: .5})
	}
	d := p.differences("peer")[1]
	// Differences of .5, -.5, .5, .5: a deviation of .5, of the mean .25.
	if d.Measure != "recall@10" || d.Ours != .75 || d.Theirs != .5 || d.Mean != .25 || math.Abs(d.High-d.Mean-1.96*.25) > 1e-9 ||
		math.Abs(d.Mean-d.Low-1.96*.25) > 1e-9 {
		t.Errorf("got %+v", d)
	}
}
