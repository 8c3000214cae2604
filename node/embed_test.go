package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog"
)

// flaky is an embedder that fails when told to.
type flaky struct {
	embed.Embedder
	fails bool
}

func (f *flaky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.fails {
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
	home := t.TempDir()
	open := func(e embed.Embedder) *node.Node {
		n, err := node.Open(t.Context(), node.Config{Home: home, Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0",
			NoSync: true, Embedder: e})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		if err := n.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	caller := node.Caller{DB: oplog.DefaultDB, Scopes: []node.Scope{node.Read, node.Write}}
	e := builtin(t, 64)
	n := open(e)
	remember := func(n *node.Node, text string) error {
		_, err := n.Service().Remember(t.Context(), caller, "", node.Draft{Text: text, Importance: .5, Certainty: 1})
		return err
	}
	if err := remember(n, "the violin is in the attic"); err != nil {
		t.Fatal(err)
	}
	// Misspelt: no word is shared, the letters are.
	a, err := n.Service().Recall(t.Context(), caller, index.Query{Text: "violinn atttic", K: 1}, node.Stale)
	if err != nil || len(a.Hits) != 1 || a.Hits[0].Parts.Vector <= 0 || a.Hits[0].Parts.Words != 0 {
		t.Fatalf("%+v, %v", a.Hits, err)
	}
	e.fails = true
	if err := remember(n, "kept although the embedder fails"); err != nil {
		t.Fatal(err)
	}
	if a, err := n.Service().Recall(t.Context(), caller, index.Query{Text: "kept", K: 1}, node.Stale); err != nil || !strings.HasPrefix(a.Hits[0].Memory.Text, "kept") {
		t.Fatalf("%+v, %v", a.Hits, err)
	}
	n.Close()
	n = open(builtin(t, 128))
	if err := remember(n, "no"); err == nil || !strings.Contains(err.Error(), "builtin/1 (64 dimensions)") || !strings.Contains(err.Error(), "builtin/1 (128 dimensions)") {
		t.Errorf("another embedder: %v", err)
	}
	if a, err := n.Service().Recall(t.Context(), caller, index.Query{Text: "violin", K: 1}, node.Stale); err != nil || len(a.Hits) != 1 {
		t.Errorf("by words: %+v, %v", a.Hits, err)
	}
}
