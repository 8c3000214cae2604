package node_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestTheLeaderDividesVectors checks that a leader learns a partition of many vectors, stores it through the log, and
// uses it at once.
func TestTheLeaderDividesVectors(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("-short: 50,000 vectors")
	}
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background = engine.Background{Partition: 20 * time.Millisecond} })
	s, caller := c.service(0)
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() []float32 {
		v := make([]float32, 8)
		for d := range v {
			v[d] = float32(.02 * rng.NormFloat64())
		}
		v[rng.IntN(8)]++
		v[rng.IntN(8)]--
		return v
	}
	divided := func() (p oplog.Partitions) {
		if err := c.nodes[0].State().Read(func(v *state.View) error {
			p = v.Partitions(caller.DB)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for n := 0; n < vector.PartitionedRows; n += 5000 {
		if p := divided(); p.Rows != 0 {
			t.Fatalf("divided with %d vectors: %d", n, p.Rows)
		}
		q := &api.RememberBatchRequest{}
		for i := range 5000 {
			q.Memories = append(q.Memories, api.Draft{Text: fmt.Sprint("memory ", n+i), Embedding: draw()})
		}
		if _, err := api.RememberBatch.Do(t.Context(), s, caller, q); err != nil {
			t.Fatal(err)
		}
	}
	suite.Eventually(t, "divided", func() bool { return divided().Rows != 0 })
	if p := divided(); p.Rows != vector.PartitionedRows || p.Dim != 8 || p.Count() == 0 {
		t.Errorf("divided %d vectors of %d dimensions into %d partitions", p.Rows, p.Dim, p.Count())
	}
	if a, err := api.Recall.Do(t.Context(), s, caller, &api.RecallRequest{Question: api.Question{Embedding: draw(), K: 10}}); err != nil ||
		len(a.Results) != 10 {
		t.Errorf("%v, %v", a, err)
	}
}
