package peerport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

// engine is the service behind a port in a test: a state and a log of a single node.
type engine struct {
	t       *testing.T
	st      *statetest.State
	follows bool
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	st, err := statetest.Open(filepath.Join(t.TempDir(), "state.db"), state.Options{NoSync: true}, statetest.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	e := &engine{t: t, st: st}
	e.apply(0, &oplog.Init{Cluster: oplog.NewID(), At: oplog.At(time.Now())})
	return e
}

func (e *engine) apply(db oplog.DB, ops ...oplog.Op) []oplog.Result {
	e.t.Helper()
	body, err := oplog.Entry{Node: 1, DB: db, Ops: ops}.Encode()
	if err != nil {
		e.t.Fatal(err)
	}
	at, _ := e.st.Applied()
	out, err := e.st.Apply([]oplog.Record{{Index: at + 1, Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(1_700_000_000_000+at), 0, 1), body)}})
	if err != nil {
		e.t.Fatal(err)
	}
	return out[0].Results
}

func (e *engine) push(_ context.Context, _ string, foreign []*oplog.Foreign, _ func(*oplog.Foreign, error)) (applied uint64, err error) {
	if e.follows {
		return 0, oplog.Errorf(oplog.NotLeader, "not the leader")
	}
	ops := make([]oplog.Op, len(foreign))
	for i, op := range foreign {
		ops[i] = op
	}
	for _, r := range e.apply(oplog.DefaultDB, ops...) {
		if r.Changed {
			applied++
		}
	}
	return applied, nil
}

func (e *engine) port() *Port {
	return New(Config{State: e.st.State, WaitOpen: func(context.Context) error { return nil },
		Status: func() (*wire.ClusterStatusResult, error) {
			return &wire.ClusterStatusResult{SelfID: 1, SelfRole: "voter", Peers: []wire.PeerStatus{}}, nil
		},
		Record: func(d *api.Draft) (*oplog.Remember, error) {
			if d.Text == "" {
				return nil, oplog.Errorf(oplog.Invalid, "no text")
			}
			return &oplog.Remember{Content: oplog.Content{RID: d.RID, Text: d.Text, Type: d.Type, HalfLife: d.HalfLife,
				Namespace: "default",
				Metadata:  d.Metadata, Created: oplog.At(d.Created.Time), Updated: oplog.At(d.Created.Time)}}, nil
		},
		Push: e.push, Turns: large.NewTurns(),
		Errors: func(err error) (wire.Op, *wire.Error) {
			var x *oplog.Error
			if errors.As(err, &x) && x.Kind == oplog.NotLeader {
				return wire.OpReadonlyError, &wire.Error{Code: wire.CodeReadonlyNode, Message: x.Text}
			}
			return wire.OpError, &wire.Error{Code: wire.CodeInvalidPayload, Message: err.Error()}
		}})
}

// ask sends a frame to a port, decodes the answer, and fails the test if the answer has another opcode than want.
func ask(t *testing.T, p *Port, op wire.Op, m wire.Message, want wire.Op, to wire.Message) wire.Frame {
	t.Helper()
	f, err := wire.Pack(op, 5, m, false)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Peer(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if a.Op != want || a.Stream != 5 {
		var e wire.Error
		_ = wire.Unpack(a, &e, wire.MaxPlainPeer)
		t.Fatalf("%s is answered with %s: %s", op, a.Op, e.Message)
	}
	if err := wire.Unpack(a, to, wire.MaxPlainPeer); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPulledIsPushed: a log that is pulled page by page and pushed to another node has the same effects there.
// Pushing it again has none. An operation that this version cannot decode is stored unchanged.
func TestPulledIsPushed(t *testing.T) {
	t.Parallel()
	from, to := newEngine(t), newEngine(t)
	at := oplog.At(time.Unix(1_700_000_000, 0))
	from.apply(oplog.DefaultDB,
		&oplog.Remember{Content: oplog.Content{RID: "m1", Text: "the heron is back", Type: "semantic", HalfLife: 3600,
			Namespace: "default", Created: at, Updated: at}},
		&oplog.Remember{Content: oplog.Content{RID: "m2", Text: "forgotten", Namespace: "default", Created: at, Updated: at}})
	from.apply(oplog.DefaultDB, &oplog.Relate{ID: "e1", Src: "heron", Dst: "mill", Type: "nests_at", Weight: 1, At: at})
	from.apply(oplog.DefaultDB, &oplog.Forget{RID: "m2", At: at})
	from.apply(oplog.DefaultDB, &oplog.Foreign{OpID: "theirs", Type: "unheard_of", Payload: []byte(`[1]`), Actor: "a", Origin: "elsewhere"})
	source, sink := from.port(), to.port()
	var ops []wire.OplogEntry
	q := &wire.OplogPull{Database: "default", Limit: 2}
	for more := true; more; {
		var page wire.OplogPullResult
		ask(t, source, wire.OpOplogPull, q, wire.OpOplogPullResult, &page)
		if more = page.HasMore; more != (len(ops) < 4) || len(page.Ops) == 0 {
			t.Fatalf("a page of %d behind %d, more: %t", len(page.Ops), len(ops), more)
		}
		ops = append(ops, page.Ops...)
		last := page.Ops[len(page.Ops)-1]
		q.SinceHLC, q.SinceOpID = last.HLC, &last.OpID
	}
	var types []string
	for _, op := range ops {
		types = append(types, op.OpType)
	}
	if want := []string{"record", "record", "relate", "forget", "unheard_of"}; !reflect.DeepEqual(types, want) {
		t.Fatalf("pulled %v, want %v", types, want)
	}
	for round, applied := range []int{5, 0} {
		var ok wire.OplogPushOK
		ask(t, sink, wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: ops}, wire.OpOplogPushOK, &ok)
		if int(ok.Applied) != applied || ok.LastOpID != "theirs" {
			t.Errorf("round %d: %+v", round, ok)
		}
	}
	if err := to.st.Read(func(v *state.View) error {
		m, ok := v.Memory(oplog.DefaultDB, "m1")
		if !ok || m.Text != "the heron is back" || m.HalfLife != 1 || m.Created != at { // this engine keeps hours
			t.Errorf("m1: %+v", m)
		}
		if edges := v.Edges(oplog.DefaultDB, "heron", 9); len(edges) != 1 || edges[0].ID != "e1" {
			t.Errorf("relations: %v", edges)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	origin := "elsewhere"
	var page wire.OplogPullResult
	ask(t, source, wire.OpOplogPull, &wire.OplogPull{Database: "default", Limit: 100, ExcludeActor: &origin}, wire.OpOplogPullResult, &page)
	if len(page.Ops) != 4 || page.HasMore {
		t.Errorf("without those of one actor: %d", len(page.Ops))
	}
}

func TestRefusalsToPeers(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	p := e.port()
	var said wire.Error
	ask(t, p, wire.OpOplogPull, &wire.OplogPull{Database: "none", Limit: 1}, wire.OpError, &said)
	if said.Code != wire.CodeInternal || said.Message != "database 'none' not found" {
		t.Errorf("a database that is not there: %+v", said)
	}
	ask(t, p, wire.OpOplogPull, &wire.OplogPull{Database: "default", SinceHLC: []byte{1}, Limit: 1}, wire.OpError, &said)
	if !strings.Contains(said.Message, "an HLC has") {
		t.Errorf("half a cursor: %+v", said)
	}
	record := wire.OplogEntry{OpID: "x", OpType: "record", Payload: wire.JSON(`{"rid":"r"}`)}
	good := wire.OplogEntry{OpID: "y", OpType: "record", Payload: wire.JSON(`{"rid":"r","text":"t"}`)}
	var ok wire.OplogPushOK
	ask(t, p, wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{record, good}}, wire.OpOplogPushOK, &ok)
	if ok.Applied != 1 || len(ok.Refused) != 1 || ok.Refused[0].OpID != "x" || !strings.Contains(ok.Refused[0].Message, "no text") ||
		ok.Refused[0].Code != wire.CodeInvalidPayload {
		t.Errorf("a record that no client could store, and one more: %+v", ok)
	}
	ask(t, p, wire.OpOplogPush, &wire.OplogPush{Database: "none", Ops: []wire.OplogEntry{record}}, wire.OpError, &said)
	if said.Message != "database 'none' not found" {
		t.Errorf("pushed into a database that is not there: %+v", said)
	}
	ask(t, p, wire.OpRemember, &wire.Nothing{}, wire.OpError, &said)
	if said.Message != "unsupported cluster opcode: Remember" {
		t.Errorf("what only clients ask: %+v", said)
	}
	e.follows = true
	ask(t, p, wire.OpOplogPush, &wire.OplogPush{Database: "default"}, wire.OpReadonlyError, &said)
	if said.Code != wire.CodeReadonlyNode {
		t.Errorf("pushed to a follower: %+v", said)
	}
	var list wire.DatabaseList
	ask(t, p, wire.OpClusterDatabaseList, &wire.Nothing{}, wire.OpClusterDatabaseListResult, &list)
	if !reflect.DeepEqual(list.Databases, []string{"default"}) {
		t.Errorf("databases: %v", list.Databases)
	}
	var status wire.ClusterStatusResult
	ask(t, p, wire.OpClusterStatus, &wire.Nothing{}, wire.OpClusterStatusResult, &status)
	if status.SelfID != 1 {
		t.Errorf("status: %+v", status)
	}
}

// TestPagesInAnyOrderOfIDs: operations that another product pushed in one entry have ids in any order. Pages that end
// between them omit none.
func TestPagesInAnyOrderOfIDs(t *testing.T) {
	t.Parallel()
	p := newEngine(t).port()
	var pushed []wire.OplogEntry
	for _, id := range []string{"c", "a", "d", "b"} {
		pushed = append(pushed, wire.OplogEntry{OpID: id, OpType: "unheard_of", Payload: wire.JSON(`[1]`)})
	}
	var ok wire.OplogPushOK
	ask(t, p, wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: pushed}, wire.OpOplogPushOK, &ok)
	q, got := &wire.OplogPull{Database: "default", Limit: 1}, ""
	for range pushed {
		var page wire.OplogPullResult
		ask(t, p, wire.OpOplogPull, q, wire.OpOplogPullResult, &page)
		for _, op := range page.Ops {
			got += op.OpID
			q.SinceHLC, q.SinceOpID = op.HLC, &op.OpID
		}
	}
	var page wire.OplogPullResult
	if ask(t, p, wire.OpOplogPull, q, wire.OpOplogPullResult, &page); got != "cadb" || len(page.Ops) != 0 {
		t.Errorf("pulled %s and %d more, want cadb", got, len(page.Ops))
	}
}

// TestAPageOfVectorsFitsIntoAFrame: memories with long vectors can be pulled, whatever page size a peer requests.
func TestAPageOfVectorsFitsIntoAFrame(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	rng, at := rand.New(rand.NewPCG(1, 2)), oplog.At(time.Unix(1_700_000_000, 0))
	const rounds, each = 6, 100
	for i := range rounds {
		var ops []oplog.Op
		for j := range each {
			v := make([]float32, oplog.MaxDim)
			for k := range v {
				v[k] = float32(rng.NormFloat64())
			}
			ops = append(ops, &oplog.Remember{Content: oplog.Content{RID: fmt.Sprintf("m%d-%d", i, j), Text: "a heron",
				Type: "semantic", HalfLife: 3600, Namespace: "default",
				Created: at, Updated: at}, Vector: oplog.MakeVector(v)})
		}
		e.apply(oplog.DefaultDB, ops...)
	}
	p, q, n := e.port(), &wire.OplogPull{Database: "default", Limit: wire.MaxOps}, 0
	for more := true; more; {
		var page wire.OplogPullResult
		ask(t, p, wire.OpOplogPull, q, wire.OpOplogPullResult, &page)
		n, more = n+len(page.Ops), page.HasMore
		if last := page.Ops[len(page.Ops)-1]; more {
			q.SinceHLC, q.SinceOpID = last.HLC, &last.OpID
		}
	}
	if n != rounds*each {
		t.Errorf("%d operations, want %d", n, rounds*each)
	}
}
