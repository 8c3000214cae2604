package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAFollowerEmbedsForALeaderWithout checks that a member with a model embeds memories that a leader without one
// has stored.
func TestAFollowerEmbedsForALeaderWithout(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const has = 2 // the member with the model
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Background.Embed = 20 * time.Millisecond
		if i == has {
			cfg.Embedder = builtin(t, 64)
		}
	})
	c.agree()
	suite.Eventually(t, "a leader without the model", func() bool {
		if c.leader() != has {
			return true
		}
		_ = c.change(has, api.ChangeMembersRequest{Verb: "transfer", NodeID: 1}) // tried again after a rejection
		return false
	})
	keep := func(i int, text string) {
		t.Helper()
		s, caller := c.local(i)
		caller.Forward = true
		if _, err := remember(t.Context(), s, caller, "", api.Draft{Text: text, Importance: .5, Certainty: 1}); err != nil {
			t.Fatal(err)
		}
	}
	keep(has, "the violin is in the attic") // the database is this embedder's from now on
	without := c.leader()
	for _, text := range []string{"a box of candles", "the key of the cellar"} {
		keep(without, text)
	}
	s, caller := c.local(without)
	suite.Eventually(t, "all memories have a vector on the leader", func() bool {
		at, err := api.Embedding.Do(t.Context(), s, caller, &api.EmbeddingRequest{Name: "default"})
		return err == nil && at.Of == 3 && at.Done == 3
	})
}

// TestThreeNodesChangeTheirEmbedder checks that all members switch to a model that none has configured, and give the
// same answers.
func TestThreeNodesChangeTheirEmbedder(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Background.Embed, cfg.Embedder = 20*time.Millisecond, builtin(t, 64)
	})
	c.agree()
	s, caller := c.service(c.leader())
	drafts := make([]api.Draft, 200)
	for i := range drafts {
		drafts[i] = api.Draft{Text: fmt.Sprintf("box %d of shelf%dq", i, i), Importance: .5, Certainty: 1}
	}
	if _, err := remember(t.Context(), s, caller, "", drafts...); err != nil {
		t.Fatal(err)
	}
	done, err := api.Reembed.Do(t.Context(), s, caller, &api.ReembedRequest{Name: "default", Embedder: "builtin"})
	if err != nil || done.ChangesTo == nil || len(done.Lacking) != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	for i := range 3 {
		s, caller := c.local(i)
		suite.Eventually(t, "a member has changed over", func() bool {
			at, err := api.Embedding.Do(t.Context(), s, caller, &api.EmbeddingRequest{Name: "default"})
			return err == nil && at.ChangesTo == nil && strings.Contains(*at.Embedder, "384") && at.Done == 200
		})
	}
	c.agree()
	var first string
	now := time.Now() // the same for all: scores fade
	for i := range 3 {
		s, caller := c.local(i)
		a, err := recall(t.Context(), s, caller, index.Query{Text: "shelf7qbox", K: 5, Now: now}, commit.Stale)
		if err != nil || len(a.Hits) == 0 {
			t.Fatalf("node %d: %+v, %v", i, a, err)
		}
		var got strings.Builder
		for _, h := range a.Hits {
			fmt.Fprintf(&got, "%s %v\n", h.Memory.RID, h.Score)
		}
		if i == 0 {
			first = got.String()
		} else if got.String() != first {
			t.Errorf("node %d answers\n%snode 0\n%s", i, got.String(), first)
		}
	}
}
