package node_test

import (
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
)

// TestAFollowerEmbedsForALeaderWithout: a member that has the model embeds what the leader, which has none, stored.
func TestAFollowerEmbedsForALeaderWithout(t *testing.T) {
	t.Parallel()
	const has = 2 // the member with the model
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		cfg.Background.Embed = 20 * time.Millisecond
		if i == has {
			cfg.Embedder = builtin(t, 64)
		}
	})
	c.agree()
	eventually(t, "a leader without the model", func() bool {
		if c.leader() != has {
			return true
		}
		_ = c.change(has, api.ChangeMembersRequest{Verb: "transfer", NodeID: 1}) // asked again when it was refused
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
	eventually(t, "all memories have a vector on the leader", func() bool {
		at, err := api.Embedding.Do(t.Context(), s, caller, &api.EmbeddingRequest{Name: "default"})
		return err == nil && at.Of == 3 && at.Done == 3
	})
}
