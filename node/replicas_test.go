package node_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestReplicasAnswerAlike checks that at one index three nodes return the same rows with bitwise equal scores, one of
// them after a restart.
func TestReplicasAnswerAlike(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	s, caller := c.local(c.leader())
	rng := rand.New(rand.NewPCG(4, 2))
	words := []string{"river", "violin", "harbor", "winter", "letter", "bridge", "candle", "market", "engine", "painter"}
	vec := func() []float32 {
		v := make([]float32, 16)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	var rids []string
	var last oplog.Index
	for range 6 {
		drafts := make([]api.Draft, 50)
		for i := range drafts {
			drafts[i] = api.Draft{Text: words[rng.IntN(10)] + " and " + words[rng.IntN(10)] + " of Ada Lovelace", Importance: rng.Float64(),
				Certainty: 1, HalfLife: 1, Session: fmt.Sprint("s", rng.IntN(6)), Embedding: vec()}
		}
		r, err := remember(t.Context(), s, caller, "", drafts...)
		if err != nil {
			t.Fatal(err)
		}
		rids = append(rids, r.RIDs...)
		f, err := api.Forget.Do(t.Context(), s, caller, &api.ForgetRequest{RID: r.RIDs[rng.IntN(50)]})
		if err != nil {
			t.Fatal(err)
		}
		last = oplog.Index(f.Index)
		text := words[rng.IntN(10)] + " corrected"
		if w, err := api.Correct.Do(t.Context(), s, caller,
			&api.CorrectRequest{RID: rids[rng.IntN(len(rids)/2)], Text: &text, Reason: "better"}); err == nil {
			last = oplog.Index(w.Index)
		} else {
			t.Log("a forgotten memory is not corrected:", err)
		}
	}
	follower := (c.leader() + 1) % 3
	c.stop(follower)
	c.open(follower)
	c.ready(follower)
	now := time.Now()
	type line struct {
		RID   string
		Score float64
	}
	for i := range 60 {
		q := index.Query{Text: words[rng.IntN(10)] + " " + words[rng.IntN(10)], K: 20, Now: now, Expand: i%2 == 0}
		if i%3 == 0 {
			q.Vector = vec()
		}
		var want []line
		for n := range c.nodes {
			s, caller := c.local(n)
			caller.Quiet = true
			a, err := recall(context.Background(), s, caller, q, commit.Freshness{Index: last})
			if err != nil {
				t.Fatal(err)
			}
			var got []line
			for _, h := range a.Hits {
				got = append(got, line{h.Memory.RID, h.Score})
			}
			if want == nil {
				want = got
			}
			if len(got) == 0 || !reflect.DeepEqual(got, want) {
				t.Fatalf("question %d, node %d:\n got %v\nwant %v", i, n+1, got, want)
			}
		}
	}
}
