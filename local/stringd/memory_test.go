package stringd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/reads"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// storage is a memory without a cluster: a state and an index, to which this process applies the entries.
type storage struct {
	state *state.State
	index *index.Index

	lost chan struct{} // receives a value for each event stream that is lost

	mu sync.Mutex // serializes the entries
	at oplog.Index
}

func newStorage(t testing.TB) *storage {
	t.Helper()
	dir := t.TempDir()
	st, err := state.Open(filepath.Join(dir, "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	m := &storage{state: st, lost: make(chan struct{}, 100)}
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
	out, err := m.state.Apply([]oplog.Record{{Index: m.at, Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(time.Now().UnixMilli()), uint32(m.at), 1), body)}})
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

// Local implements api.Host.
func (m *storage) Local(database string) (api.Caller, error) {
	return api.Caller{DB: oplog.DefaultDB, Database: database, Scopes: []api.Scope{api.Read, api.Write}}, nil
}

// May implements api.Door.
func (m *storage) May(c api.Caller, op *api.Op) error {
	if op.Scope != "" && !c.May(op.Scope) {
		return oplog.Errorf(oplog.Denied, "token has no %s scope", op.Scope)
	}
	return nil
}

// Do implements api.Door. It applies the operations that the tests use to the state.
func (m *storage) Do(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	if err := m.May(c, op); err != nil {
		return nil, err
	}
	if read := reads.All[op]; read != nil {
		return read(ctx, m.state, c.DB, request)
	}
	now := oplog.At(time.Now())
	switch q := request.(type) {
	case *api.AwaitRequest:
		if at, _ := m.state.Applied(); field.Token(at) < q.MinIndex {
			return nil, oplog.Errorf(oplog.Unavailable, "this node is at log index %d and has not reached %d", at, q.MinIndex)
		}
		return &api.Nothing{}, nil
	case *api.SearchRequest:
		return m.search(ctx, q)
	case *api.RememberRequest:
		return m.remember(q.Draft)
	case *api.ForgetManyRequest:
		ops := make([]oplog.Op, len(q.RIDs))
		for i, rid := range q.RIDs {
			ops[i] = &oplog.Forget{RID: rid, At: now}
		}
		o, err := m.write("", ops...)
		done := &api.ForgottenMany{}
		for _, r := range o.Results {
			done.Found = append(done.Found, r.Changed)
		}
		return done, err
	case *api.RelateRequest:
		o, err := m.write("", &oplog.Relate{ID: oplog.NewID(), Src: q.Src, Dst: q.Dst, Type: q.Type, Weight: q.Weight, At: now})
		if err != nil {
			return nil, err
		}
		return &api.Related{ID: o.Results[0].ID, New: o.Results[0].Changed}, nil
	case *api.StartSessionRequest:
		id := oplog.NewID()
		_, err := m.write("", &oplog.SessionStart{ID: id, Namespace: q.Namespace, Client: q.Client, At: now})
		return &api.StartedSession{ID: id}, err
	case *api.EndSessionRequest:
		o, err := m.write("", &oplog.SessionEnd{ID: q.ID, Summary: q.Summary, At: now})
		if err != nil {
			return nil, err
		}
		return &api.EndedSession{ID: q.ID, Memories: o.Results[0].Session.Memories}, nil
	case *api.ThinkRequest: // finds nothing, because this storage has no mind
		o, err := m.write("", &oplog.Cognition{Last: true})
		return &api.Thought{Index: o.Index}, err
	case *api.Nothing:
		at, _ := m.state.Applied()
		switch op {
		case api.Place.Op:
			return &api.PlaceAnswer{NodeID: 1, Role: "leader", Leader: new(uint32), Applied: at}, nil
		case api.Cluster.Op:
			id := uint32(1)
			return &api.ClusterStatus{NodeID: id, Role: "Leader", LeaderID: &id, CurrentTerm: 1, Commit: uint64(at),
				Vitals: api.Vitals{Applied: at}}, nil
		case api.LoseStream.Op:
			m.lost <- struct{}{}
			return q, nil
		}
	case *api.HostRequest:
		if q.Run == nil {
			return &api.Nothing{}, nil
		}
		return &api.Nothing{}, q.Run(ctx)
	}
	return nil, fmt.Errorf("this storage has no %s", op.Name)
}

func (m *storage) write(key string, ops ...oplog.Op) (oplog.Outcome, error) {
	return m.apply(oplog.Entry{Node: 1, DB: oplog.DefaultDB, Key: key, Ops: ops})
}

func (m *storage) remember(d api.Draft) (*api.Remembered, error) {
	if d.Created.IsZero() {
		d.Created.Time = time.Now()
	}
	o, err := m.apply(oplog.Entry{Node: 1, DB: oplog.DefaultDB, Key: d.Key, Digest: []byte(d.Text),
		Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: d.Text, Type: d.Type, Tier: d.Tier,
			Source:    d.Source,
			Namespace: d.Namespace, Importance: d.Importance, Metadata: d.Metadata, Created: oplog.At(d.Created.Time),
			HalfLife: d.HalfLife * 3600, Certainty: d.Certainty}}}})
	if err != nil {
		return nil, err
	}
	return &api.Remembered{RID: o.Results[0].ID, Index: field.Token(o.Index), Replayed: o.Replayed}, nil
}

func (m *storage) search(ctx context.Context, q *api.SearchRequest) (*api.Found, error) {
	hits, info, err := m.index.Search(ctx, oplog.DefaultDB,
		index.Query{Text: q.Text, K: q.K,
			Filter:   index.Filter{Types: q.Types, Namespace: q.Namespace, Tier: q.Tier, Since: q.Since, Until: q.Until},
			MinScore: q.MinScore, Now: q.Now, Quiet: q.Quiet})
	found := &api.Found{Matched: info.Matched, Below: info.Below}
	for _, h := range hits {
		found.Hits = append(found.Hits, api.Hit{Memory: h.Memory, Score: h.Score, Why: h.Why})
	}
	if q.Pick != nil {
		found.Hits = q.Pick(found.Hits)
	}
	return found, err
}
