package mind_test

import (
	"testing"

	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/node/mind/mindtest"
)

// TestPlantedTruth measures the detection of planted contradictions and duplicates, over several seeds.
func TestPlantedTruth(t *testing.T) {
	for seed := uint64(1); seed <= 8; seed++ {
		c := mindtest.New(seed)
		s := &mind.Snapshot{Now: c.At + 1, Rows: c.Rows}
		found, err := mind.Contradictions(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		taken := map[string]bool{}
		text := map[string]string{}
		for _, r := range c.Rows {
			text[r.RID] = r.Text
		}
		got := map[[2]string]bool{}
		for _, f := range found {
			taken[f.A], taken[f.B] = true, true
			p := mindtest.Pair(f.A, f.B)
			got[p] = true
			if c.Conflicts[p] {
				right++
			} else {
				t.Logf("seed %d: false alarm: %q, %q: %s", seed, text[f.A], text[f.B], f.Reason)
			}
		}
		for p := range c.Conflicts {
			if !got[p] {
				t.Logf("seed %d: missed: %q, %q", seed, text[p[0]], text[p[1]])
			}
		}
		if recall := float64(right) / float64(len(c.Conflicts)); recall < .8 {
			t.Errorf("seed %d: %.0f %% of the contradictions found", seed, 100*recall)
		}
		if precision := float64(right) / float64(max(len(found), 1)); precision < .7 {
			t.Errorf("seed %d: precision %.2f", seed, precision)
		}
		var seeds []int
		for i := range c.Rows {
			seeds = append(seeds, i)
		}
		clusters, err := mind.Duplicates(t.Context(), s, seeds, 7*24*3600*1e6, taken)
		if err != nil {
			t.Fatal(err)
		}
		merged, wrong := 0, 0
		for _, cl := range clusters {
			for i, a := range cl {
				if c.Innocent[c.Rows[a].RID] {
					t.Errorf("seed %d: look-alike merged: %q", seed, c.Rows[a].Text)
				}
				for _, b := range cl[i+1:] {
					if c.Duplicates[mindtest.Pair(c.Rows[a].RID, c.Rows[b].RID)] {
						merged++
					} else if wrong++; true {
						t.Logf("seed %d: wrong merge: %q, %q", seed, c.Rows[a].Text, c.Rows[b].Text)
					}
				}
			}
		}
		if share := float64(merged) / float64(len(c.Duplicates)); share < .8 {
			t.Errorf("seed %d: %.0f %% of the duplicates merged", seed, 100*share)
		}
		t.Logf("seed %d: %d memories, %d of %d contradictions, %d false alarms, %d of %d duplicates, %d wrong merges", seed,
			len(c.Rows), right,
			len(c.Conflicts), len(found)-right, merged, len(c.Duplicates), wrong)
	}
}
