package commit

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/oplog/state"
)

// TestASnapshotThatIsNotSummedIsRefused: a leader whose rows were altered without its Sum sends a snapshot. The
// member rejects it, keeps its own state, continues, and counts the rejection.
func TestASnapshotThatIsNotSummedIsRefused(t *testing.T) {
	t.Parallel()
	sender, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	var body []byte
	for _, e := range []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}, remember("harbour")} {
		if body, err = e.Encode(); err != nil {
			t.Fatal(err)
		}
		at, _ := sender.Applied()
		if _, err := sender.Apply([]oplog.Record{{Index: at + 1, Term: 1,
			Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(at)+1, 0, 1), body)}}); err != nil {
			t.Fatal(err)
		}
	}
	var whole, altered bytes.Buffer
	if err := sender.Read(func(v *state.View) error { return v.WriteSnapshot(&whole) }); err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Write(&altered, 1, func(row func(k, v []byte) error) error {
		return snapshot.Read(bytes.NewReader(whole.Bytes()), nil, func(k, v []byte) error {
			return row(k, bytes.ReplaceAll(v, []byte("harbour"), []byte("herbour")))
		})
	}); err != nil {
		t.Fatal(err)
	}
	m := startLeader(t, nil)
	was, _ := m.state.Applied()
	if err := m.machine.Restore(&altered); !errors.Is(err, state.ErrNotSummed) {
		t.Errorf("got %v", err)
	}
	if n := m.RejectedSnapshots(); n != 1 {
		t.Errorf("%d were refused", n)
	}
	if at, _ := m.state.Applied(); at < was {
		t.Errorf("the state went from %d to %d", was, at)
	}
	m.propose(t, remember("it runs on"))
}
