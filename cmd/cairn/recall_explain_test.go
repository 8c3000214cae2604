package main

import (
	"math"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestRecallExplains checks that the printed parts of a score add up to it, and that the filters and the database of
// the query apply.
func TestRecallExplains(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	_, home := cairntest.StartDev(t)
	for _, args := range [][]string{{"db", "create", "garden"},
		{"remember", "Zoe paints the fence", "--db", "garden", "-n", "work"}, {"remember", "Zoe paints the gate", "--db", "garden"}} {
		if out, code := cairntest.Run(t, append(args, "--home", home)...); code != 0 {
			t.Fatal(out)
		}
	}
	found := jsonOf[struct {
		Results []struct {
			Score float64
			Text  string
			api.Explained
		}
	}](t, "recall", "who paints", "--explain", "--db", "garden", "-n", "work", "--since", "2020-01-01", "--home", home)
	if len(found.Results) != 1 || found.Results[0].Text != "Zoe paints the fence" {
		t.Fatalf("found %+v", found)
	}
	r := found.Results[0]
	if sum := r.Shares.Words + r.Shares.Passage + r.Shares.Around + r.Shares.Session + r.Shares.Vector + r.Shares.Graph + r.Shares.Worth; math.Abs(sum-r.Score) > 1e-6 {
		t.Errorf("%+v make %.6f, the score is %.6f", r.Shares, sum, r.Score)
	}
	out, code := cairntest.Run(t, "recall", "who paints", "--explain", "--db", "garden", "--home", home)
	if code != 0 || strings.Count(out, "from the same words 0.") != 2 {
		t.Errorf("with parts: %d\n%s", code, out)
	}
	if out, _ := cairntest.Run(t, "recall", "who paints", "--explain", "--home", home); out != "" {
		t.Errorf("in another database: %s", out)
	}
}
