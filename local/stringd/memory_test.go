package stringd_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/local/stringd/command"
	"github.com/cairndb/cairn/oplog"
)

// storage is a memory without a cluster: the state and the index themselves, with this process as the log.
type storage struct {
	state *oplog.State
	index *index.Index

	mu sync.Mutex // one entry at a time
	at oplog.Index
}

func newStorage(t testing.TB) *storage {
	t.Helper()
	dir := t.TempDir()
	st, err := oplog.Open(filepath.Join(dir, "state.db"), oplog.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	m := &storage{state: st}
	if _, err := m.apply(oplog.Entry{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}); err != nil {
		t.Fatal(err)
	}
	if m.index, _, err = index.Open(t.Context(), index.Config{Dir: filepath.Join(dir, "index"), State: st}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.index.Close() })
	return m
}

func (m *storage) apply(e oplog.Entry) (oplog.Outcome, error) {
	body, err := e.Encode()
	if err != nil {
		return oplog.Outcome{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at++
	out, err := m.state.Apply([]oplog.Record{{Index: m.at, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(time.Now().UnixMilli()), uint32(m.at), 1), body)}})
	if err != nil {
		return oplog.Outcome{}, err
	}
	if m.index != nil {
		if err := m.index.Follow(context.Background(), out); err != nil {
			return oplog.Outcome{}, err
		}
	}
	if out[0].Err != nil {
		return out[0], out[0].Err
	}
	return out[0], nil
}

func (m *storage) Remember(_ context.Context, key string, n command.Note) (command.Stored, error) {
	if n.Created.IsZero() {
		n.Created = time.Now()
	}
	o, err := m.apply(oplog.Entry{Node: 1, DB: 1, Key: key, Digest: []byte(n.Text), Ops: []oplog.Op{&oplog.Remember{RID: oplog.NewID(), Text: n.Text,
		Type: n.Type, Tier: n.Tier, Source: n.Source, Namespace: n.Namespace, Importance: n.Importance, Metadata: n.Metadata,
		Created: oplog.At(n.Created), HalfLife: 604800, Certainty: 1}}})
	if err != nil {
		return command.Stored{}, err
	}
	return command.Stored{ID: o.Results[0].ID, Index: o.Index, Replayed: o.Replayed}, nil
}

func (m *storage) Write(_ context.Context, key string, ops ...oplog.Op) ([]oplog.Result, oplog.Index, error) {
	o, err := m.apply(oplog.Entry{Node: 1, DB: 1, Key: key, Ops: ops})
	return o.Results, o.Index, err
}

func (m *storage) View(_ context.Context, f func(*oplog.View, oplog.DB) error) error {
	return m.state.Read(func(v *oplog.View) error { return f(v, 1) })
}

func (m *storage) Recall(ctx context.Context, q index.Query) ([]index.Hit, index.Info, error) {
	return m.index.Search(ctx, 1, q)
}

// Think decides nothing: this storage keeps what is said, and knows no mind.
func (m *storage) Think(ctx context.Context) (command.Thought, error) {
	_, at, err := m.Write(ctx, "", &oplog.Cognition{Last: true})
	return command.Thought{Notes: []string{}, Index: at}, err
}

func (m *storage) Await(_ context.Context, at oplog.Index, _ bool) error {
	if now, _ := m.state.Applied(); now < at {
		return oplog.Errorf(oplog.Unavailable, "this node is at log index %d and has not reached %d", now, at)
	}
	return nil
}

func (m *storage) Role() (string, oplog.Index) {
	at, _ := m.state.Applied()
	return "leader", at
}

func (m *storage) Cluster(context.Context) command.Cluster {
	at, _ := m.state.Applied()
	return command.Cluster{Node: 1, Role: "Leader", Leader: "n1", Term: 1, Commit: uint64(at), Applied: uint64(at)}
}
