package node_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// flaky is an embedder that fails on request.
type flaky struct {
	embed.Embedder
	name  string // overrides the embedder's name if not empty
	fails atomic.Bool
}

func (f *flaky) Identity() embed.Identity {
	id := f.Embedder.Identity()
	id.Name = cmp.Or(f.name, id.Name)
	return id
}

func (f *flaky) fail(yes bool) { f.fails.Store(yes) }

func (f *flaky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.fails.Load() {
		return nil, errors.New("no answer")
	}
	return f.Embedder.Embed(ctx, texts)
}

func builtin(t *testing.T, dim int) *flaky {
	t.Helper()
	e, err := embed.NewHashed(dim)
	if err != nil {
		t.Fatal(err)
	}
	return &flaky{Embedder: e}
}

func TestEmbedderOfADatabase(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "h")
	open := func(e embed.Embedder) *node.Node {
		n, err := node.Open(t.Context(),
			node.Config{Home: home, Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"},
				Seams: node.Seams{NoSync: true}, Embedder: e})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		if err := n.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	caller := api.Caller{DB: oplog.DefaultDB, Scopes: []api.Scope{api.Read, api.Write}}
	e := builtin(t, 64)
	e.name = "ours"
	n := open(e)
	remember := func(n *node.Node, text string) error {
		_, err := remember(t.Context(), n.Service(), caller, "", api.Draft{Text: text, Importance: .5, Certainty: 1})
		return err
	}
	if err := remember(n, "we run kubernetes on three nodes"); err != nil {
		t.Fatal(err)
	}
	// Two words written as one: the typo search does not match, but vectors of letters do.
	a, err := explained(t.Context(), n, caller, "kuberneteshosting")
	if err != nil || len(a.Results) != 1 || a.Results[0].Parts.Vector <= 0 || a.Results[0].Parts.Words != 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	e.fail(true)
	if err := remember(n, "kept although the embedder fails"); err != nil {
		t.Fatal(err)
	}
	if a, err := recall(t.Context(), n.Service(), caller, index.Query{Text: "kept", K: 1}, commit.Stale); err != nil ||
		!strings.HasPrefix(a.Hits[0].Memory.Text, "kept") {
		t.Fatalf("%+v, %v", a.Hits, err)
	}
	n.Close()
	n = open(builtin(t, 128))
	if err := remember(n, "no"); err == nil || !strings.Contains(err.Error(), "ours/1 (64 dimensions)") ||
		!strings.Contains(err.Error(), "builtin/1 (128 dimensions)") {
		t.Errorf("another embedder: %v", err)
	}
	if a, err := recall(t.Context(), n.Service(), caller, index.Query{Text: "kubernetes", K: 1}, commit.Stale); err != nil ||
		len(a.Hits) != 1 {
		t.Errorf("by words: %+v, %v", a.Hits, err)
	}
}

// TestZerosFromAClient checks that a zero vector counts as none, so the embedder makes one.
func TestZerosFromAClient(t *testing.T) {
	t.Parallel()
	n, err := node.Open(t.Context(),
		node.Config{Home: filepath.Join(t.TempDir(), "h"),
			Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"},
			Seams:     node.Seams{NoSync: true}, Embedder: builtin(t, 64),
			Raft: node.Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(200 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	caller := api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: []api.Scope{api.Read, api.Write, api.Admin}}
	for _, d := range []api.Draft{{Text: "violin in the attic"}, {Text: "key in the cellar", Embedding: make([]float32, 64)}} {
		if _, err := remember(t.Context(), n.Service(), caller, "", d); err != nil {
			t.Fatal(err)
		}
	}
	if a, err := api.Embedding.Do(t.Context(), n.Service(), caller, &api.EmbeddingRequest{Name: "default"}); err != nil || a.Done != 2 ||
		a.Missing != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestEmbedsAfterwards checks that a memory that was stored while the embedder failed gets its vector later, and that
// a database that switches its embedder is re-embedded while old vectors and words still find everything.
func TestEmbedsAfterwards(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "h")
	open := func(e embed.Embedder) *node.Node {
		n, err := node.Open(t.Context(),
			node.Config{Home: home, Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"},
				Seams: node.Seams{NoSync: true}, Embedder: e,
				Background: engine.Background{Embed: 20 * time.Millisecond},
				Raft:       node.Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(200 * time.Millisecond)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		if err := n.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	caller := api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: []api.Scope{api.Read, api.Write, api.Admin}}
	byVector := func(n *node.Node, text string) bool {
		t.Helper()
		a, err := explained(t.Context(), n, caller, text)
		if err != nil || len(a.Results) != 1 || a.Results[0].Text != text {
			t.Fatalf("%q: %+v, %v", text, a, err)
		}
		return a.Results[0].Parts.Vector > .99
	}
	byWords := func(n *node.Node, i int) {
		t.Helper()
		a, err := explained(t.Context(), n, caller, fmt.Sprintf("shelf%dq", i))
		if err != nil || len(a.Results) != 1 || a.Results[0].Parts.Words == 0 {
			t.Fatalf("shelf %d: %+v, %v", i, a, err)
		}
	}
	e := builtin(t, 384)
	n := open(e)
	drafts := make([]api.Draft, 300)
	for i := range drafts {
		drafts[i] = api.Draft{Text: fmt.Sprintf("box of shelf%dq", i), Importance: .5, Certainty: 1}
	}
	if _, err := remember(t.Context(), n.Service(), caller, "", drafts...); err != nil {
		t.Fatal(err)
	}
	e.fail(true)
	if _, err := remember(t.Context(), n.Service(), caller, "",
		api.Draft{Text: "violin in the attic", Importance: .5, Certainty: 1}); err != nil {
		t.Fatal(err)
	}
	e.fail(false)
	suite.Eventually(t, "the memory's vector", func() bool { return byVector(n, "violin in the attic") })
	n.Close()

	e = builtin(t, 512)
	n = open(e)
	found := func() {
		t.Helper()
		if !byVector(n, "violin in the attic") {
			t.Error("the vectors that the database has do not answer")
		}
	}
	found()
	e.fail(true)
	if _, err := api.Reembed.Do(t.Context(), n.Service(), caller, &api.ReembedRequest{Name: "default"}); err != nil {
		t.Fatal(err)
	}
	at, err := api.Embedding.Do(t.Context(), n.Service(), caller, &api.EmbeddingRequest{Name: "default"})
	if err != nil || !at.Rebound || at.Of != 301 || at.Embedder == nil || !strings.Contains(*at.Embedder, "384") ||
		!strings.Contains(*at.ChangesTo, "512") {
		t.Fatalf("%+v, %v", at, err)
	}
	byWords(n, 7)
	found()
	n.Close() // while it re-embeds
	e = builtin(t, 512)
	e.fail(true)
	n = open(e)
	found()
	e.fail(false)
	for i := 0; ; i++ {
		byWords(n, i%300)
		if at, err = api.Embedding.Do(t.Context(), n.Service(), caller, &api.EmbeddingRequest{Name: "default"}); err != nil {
			t.Fatal(err)
		} else if !at.Rebound {
			break
		}
	}
	suite.Eventually(t, "every memory's new vector", func() bool { // the index follows the state
		at, err := api.Embedding.Do(t.Context(), n.Service(), caller, &api.EmbeddingRequest{Name: "default"})
		return err == nil && at.Done == 301 && at.Of == 301
	})
	for range 2 { // and after a restart
		suite.Eventually(t, "the memory by its new vector", func() bool { return byVector(n, "violin in the attic") })
		n.Close()
		n = open(builtin(t, 512))
	}
	if _, err := api.Reembed.Do(t.Context(), n.Service(), caller, &api.ReembedRequest{Name: "default"}); err != nil {
		t.Errorf("to the embedder it has: %v", err)
	}
}

// explained returns the best match, with the parts of its score.
func explained(ctx context.Context, n *node.Node, c api.Caller, text string) (*api.Recalled, error) {
	return api.Recall.Do(ctx, n.Service(), c, &api.RecallRequest{Question: api.Question{Text: text, K: 1, Quiet: true}, Explain: true})
}
