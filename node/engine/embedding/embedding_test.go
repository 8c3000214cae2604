package embedding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
)

// A failingEmbedder fails while fails is set.
type failingEmbedder struct {
	embed.Embedder
	fails atomic.Bool
}

func (m *failingEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if m.fails.Load() {
		return nil, errors.New("no answer")
	}
	return m.Embedder.Embed(ctx, texts)
}

// newTestVectors returns the Vectors of a state with an index and an empty database. Writes are applied and indexed
// at once.
func newTestVectors(t *testing.T, e embed.Embedder) *Vectors {
	t.Helper()
	st, err := statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog())
	must(t, err)
	t.Cleanup(func() { st.Close() })
	at := oplog.Index(0)
	var x *index.Index
	write := func(ctx context.Context, c api.Caller, op oplog.Op) (oplog.Index, error) {
		body, err := (&oplog.Entry{Node: 1, DB: c.DB, Ops: []oplog.Op{op}}).Encode()
		if err != nil {
			return 0, err
		}
		at++
		out, err := st.Apply([]oplog.Record{{Index: at, Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(at), 0, 1), body)}})
		if err == nil && x != nil {
			err = x.Follow(ctx, out)
		}
		if err == nil && out[0].Err != nil {
			err = out[0].Err
		}
		return at, err
	}
	_, err = write(t.Context(), api.Caller{}, &oplog.Init{Cluster: "c"})
	must(t, err)
	x, _, err = index.Open(t.Context(),
		index.Config{Dir: filepath.Join(t.TempDir(), "index"), State: st.State, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(func() { x.Close() })
	return New(Config{Logger: slog.New(slog.DiscardHandler), State: st.State, Index: x, Embedder: e, Folder: t.TempDir(),
		Leads: func() bool { return true }, Write: write,
		Select: func(c api.Caller, _ string) (api.Caller, error) { return c, nil },
		Peers: func(context.Context) []api.Peer {
			return []api.Peer{{NodeID: 2, Reachable: true}, {NodeID: 3}}
		}})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestADatabaseIsEmbedded checks that the first memory binds a database to its embedder, that a memory stored while
// the embedder fails gets its vector later, and that a change of embedder replaces all vectors.
func TestADatabaseIsEmbedded(t *testing.T) {
	t.Parallel()
	hashed, err := embed.NewHashed(64)
	must(t, err)
	former := identity(hashed)
	e := &failingEmbedder{Embedder: hashed}
	v, c := newTestVectors(t, e), api.Caller{DB: oplog.DefaultDB, Database: "default"}
	store := func(text string) (embedded bool) {
		t.Helper()
		op := &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: text, Namespace: "default", Importance: .5,
			HalfLife: 604800, Type: "semantic", Created: 1}}
		must(t, v.Add(t.Context(), c, []*oplog.Remember{op}))
		_, err := v.cfg.Write(t.Context(), c, op)
		must(t, err)
		return len(op.Vector) > 0
	}
	progress := func() *api.EmbeddingAnswer {
		t.Helper()
		a, err := v.Progress(t.Context(), c, &api.EmbeddingRequest{Name: "default"})
		must(t, err)
		return a
	}
	if !store("the violin is in the attic") {
		t.Error("an embedder that answers: no vector")
	}
	e.fails.Store(true)
	if store("the key is in the cellar") {
		t.Error("an embedder that fails: a vector")
	}
	if a := progress(); a.Done != 1 || a.Missing != 1 || a.Queue != 1 || a.Failures != 1 {
		t.Errorf("while it fails: %+v %+v", a, a.EmbedderState)
	}
	e.fails.Store(false)
	later := v.NewBackfill()
	must(t, later.Round()(t.Context(), c))
	if a := progress(); a.Done != 2 || a.Missing != 0 || !a.Up {
		t.Errorf("once it answers: %+v %+v", a, a.EmbedderState)
	}
	is, err := v.cfg.State.Current(c.DB)
	must(t, err)
	q := index.Query{Text: "violin"}
	if must(t, v.Question(t.Context(), is, &q)); len(q.Vector) != 64 {
		t.Errorf("a question has a vector of %d numbers", len(q.Vector))
	}
	changed, err := v.Change(t.Context(), c, &api.ReembedRequest{Name: "default", Embedder: "builtin"})
	must(t, err)
	if len(changed.Lacking) != 0 || !changed.Rebound { // every node has the built-in embedder
		t.Errorf("the change begins: %+v", changed)
	}
	must(t, later.Round()(t.Context(), c))
	if a := progress(); a.Rebound || a.Done != 2 || *a.Embedder == former.String() {
		t.Errorf("after the change: %+v", a)
	}
}

// TestZerosAreNoVector checks that a vector of zeros, which older versions stored, counts as no vector in the index,
// and that the background task does not search for such memories in every round.
func TestZerosAreNoVector(t *testing.T) {
	t.Parallel()
	hashed, err := embed.NewHashed(64)
	must(t, err)
	v, c := newTestVectors(t, hashed), api.Caller{DB: oplog.DefaultDB, Database: "default"}
	for _, vector := range []oplog.Vector{nil, make(oplog.Vector, 4*64)} {
		op := &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "the violin is in the attic",
			Namespace: "default", Importance: .5, HalfLife: 604800, Type: "semantic", Created: 1}, Vector: vector}
		if vector == nil {
			must(t, v.Add(t.Context(), c, []*oplog.Remember{op}))
		}
		_, err := v.cfg.Write(t.Context(), c, op)
		must(t, err)
	}
	later := v.NewBackfill()
	must(t, later.Round()(t.Context(), c))
	looked := later.scannedAt[c.DB]
	must(t, later.Round()(t.Context(), c))
	if again := later.scannedAt[c.DB]; looked.IsZero() || !again.Equal(looked) {
		t.Errorf("looked for at %v, and again at %v", looked, again)
	}
	if len(oplog.MakeVector([]float32{0, 0})) != 0 || len(oplog.MakeVector([]float32{0, -1})) != 8 {
		t.Error("zeros are a vector, or another vector is none")
	}
}

// TestABlankQuestionStaysAList: a question of spaces lists the newest memories, even if the embedder returns a vector
// for it.
func TestABlankQuestionStaysAList(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data": [{"index": 0, "embedding": [1, 0, 0, 0, 0, 0, 0, 0]}]}`)
	}))
	t.Cleanup(server.Close)
	e, err := embed.NewHTTP(embed.Config{URL: server.URL, Model: "m", Dim: 8})
	must(t, err)
	v, c := newTestVectors(t, e), api.Caller{DB: oplog.DefaultDB, Database: "default"}
	op := &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "the violin is in the attic", Namespace: "default",
		Importance: .5, HalfLife: 604800, Type: "semantic", Created: 1}}
	if must(t, v.Add(t.Context(), c, []*oplog.Remember{op})); len(op.Vector) == 0 {
		t.Fatal("the server makes no vector")
	}
	_, err = v.cfg.Write(t.Context(), c, op)
	must(t, err)
	is, err := v.cfg.State.Current(c.DB)
	must(t, err)
	for _, blank := range []string{"", " ", "\n\t\u00a0"} {
		q := index.Query{Text: blank, K: 10}
		must(t, v.Question(t.Context(), is, &q))
		hits, _, err := v.cfg.Index.Search(t.Context(), c.DB, q)
		if must(t, err); !q.Lists() || len(hits) != 1 || hits[0].Score != 0 {
			t.Errorf("%q: %d numbers, %d memories", blank, len(q.Vector), len(hits))
		}
	}
}
