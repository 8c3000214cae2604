package commit

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// TestForwardedOutcome: a forwarded outcome comes back from the leader unchanged.
func TestForwardedOutcome(t *testing.T) {
	for _, want := range []forwarded{
		{},
		{Index: 1 << 40, Results: []oplog.Result{{ID: "m", Num: 7, Changed: true}, {Session: &oplog.SessionSummary{ID: "s"}}},
			Replayed: true},
		{Index: 7, Err: oplog.ErrKeyReused},
	} {
		var got forwarded
		if err := oplog.Unpack(oplog.Pack(nil, &want), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v (%v)", want, got, err)
		}
	}
	if err := oplog.Unpack([]byte("\x81\xa1e\x01"), new(forwarded)); err == nil {
		t.Error("a number is read as a refusal")
	}
}

// TestNothingEntersThatMayNotBeStored: the leader checks forwarded entries before they reach any disk, and rejects
// those that must not be stored.
func TestNothingEntersThatMayNotBeStored(t *testing.T) {
	t.Parallel()
	m := startLeader(t, nil)
	m.propose(t, remember("first"))
	before := m.raft.Status().LastIndex
	for _, op := range []oplog.Op{
		&oplog.Relate{ID: "e", Src: "a", Dst: "b", Type: "c", Weight: math.NaN()},
		&oplog.Claim{ID: "c", Src: "a", Dst: "b", Type: "c", Weight: math.Inf(1)},
		&oplog.Remember{Content: oplog.Content{RID: "m", Text: "x"}, Vector: make(oplog.Vector, 4<<20)},
		&oplog.Remember{Content: oplog.Content{RID: "m", Text: strings.Repeat("x", 14<<20)}},
	} {
		body, err := oplog.Entry{DB: oplog.DefaultDB, Ops: []oplog.Op{op}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		answer, err := m.Forwarded(t.Context(), 2, wire.Forward{Entry: body})
		var r forwarded
		if err == nil {
			err = oplog.Unpack(answer, &r)
		}
		if err != nil || r.Index != 0 || r.Err == nil || r.Err.Kind != oplog.Invalid && r.Err.Kind != oplog.TooLarge {
			t.Errorf("%s: %v, %+v", op.Kind(), err, r)
		}
	}
	if after := m.raft.Status().LastIndex; after != before {
		t.Errorf("the log went from %d to %d", before, after)
	}
}
