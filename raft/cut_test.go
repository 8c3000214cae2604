package raft

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestTheLogIsCutByBytesAndAge: a few records make a snapshot due if they are large or old.
func TestTheLogIsCutByBytesAndAge(t *testing.T) {
	t.Parallel()
	for name, timing := range map[string]Timing{
		"bytes": {SnapshotBytes: 16 << 10},
		"age":   {SnapshotAge: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKept(t, nil)
			timing.SnapshotThreshold, timing.SnapshotInterval, timing.SegmentBytes, timing.TrailingLogs = 1<<20, 100*time.Millisecond, 4<<10, 10
			timing.Heartbeat, timing.Election = k.cfg.Heartbeat, k.cfg.Election
			k.cfg.Timing = timing
			k.start()
			k.propose(0, 1)
			suite.Eventually(t, "a snapshot of the newest records", func() bool {
				k.propose(1, 21)
				end, err := k.n.snaps.newest()
				first, ferr := k.n.logs.FirstIndex()
				return err == nil && ferr == nil && end.Index > 20 && first > 10
			})
		})
	}
}

// TestASnapshotNamesTheLastRecordItHolds: a saved state includes the records that were applied during the save, and
// the snapshot names the last of them. A start from it has every record exactly once.
func TestASnapshotNamesTheLastRecordItHolds(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	want := c.propose(0, 20)
	l := c.leader()
	c.sms[0].beforeSaving = func() {
		c.sms[0].beforeSaving = nil
		want = append(want, c.propose(20, 30)...)
	}
	if err := l.Snapshot(); err != nil {
		t.Fatal(err)
	}
	end, err := l.snaps.newest()
	if index, term := c.sms[0].Applied(); err != nil || end.Index != index || end.Term != term || len(end.Configuration.Servers) != 1 ||
		end.ConfigurationIndex == 0 {
		t.Errorf("it is %+v, %v, and the list ends at %d", end, err, index)
	}
	want = append(want, c.propose(30, 40)...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c.sms[0] = &listMachine{} // its state is lost
	c.reopen(0, "secret", nil)
	c.wait("the list from the snapshot and the log", func() bool { return slices.Equal(c.sms[0].items(), want) })
	if c.sms[0].restored != 1 {
		t.Errorf("the snapshot was restored %d times", c.sms[0].restored)
	}
}

// TestMembersThatChangeWhileAStateIsSaved: a snapshot has the members as of its last record: those in a later record,
// or else those that the library gave. Without the log's records the snapshot fails.
func TestMembersThatChangeWhileAStateIsSaved(t *testing.T) {
	t.Parallel()
	s, _ := newSnapshotDir(t)
	was := hraft.Configuration{Servers: []hraft.Server{{ID: "1", Address: "10.0.0.1:7440"}}}
	now := hraft.Configuration{Servers: []hraft.Server{{ID: "1", Address: "10.0.0.1:7440"}, {ID: "9", Address: "10.0.0.9:7440"}}}
	taken := func(changed uint64, err error) (string, error) {
		sink, cerr := s.Create(hraft.SnapshotVersionMax, 5000, 7, was, 1234, nil)
		if cerr != nil {
			t.Fatal(cerr)
		}
		err = sink.(*snapshotSink).save(image{dir: s.states.(*listMachine).dir, index: 5010, term: 8},
			func(after, upTo uint64) (hraft.Configuration, uint64, error) {
				if after != 5000 || upTo != 5010 {
					t.Errorf("it looks from %d to %d", after, upTo)
				}
				return now, changed, err
			})
		if err != nil {
			return "", errors.Join(err, sink.Cancel())
		}
		return sink.ID(), sink.Close()
	}
	if id, err := taken(0, errors.New("no such record")); err == nil {
		t.Errorf("%s was made, with members that are not known", id)
	}
	if left := snapshotsIn(t, s.states.(*listMachine).dir); len(left) != 0 {
		t.Errorf("a state without a snapshot is left: %v", left)
	}
	for changed, want := range map[uint64]string{0: "5010 8 1234 1", 5005: "5010 8 5005 2"} {
		id, err := taken(changed, nil)
		if err != nil {
			t.Fatal(err)
		}
		meta, in, err := s.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		in.Close()
		if got := fmt.Sprint(meta.Index, meta.Term, meta.ConfigurationIndex, len(meta.Configuration.Servers)); got != want {
			t.Errorf("it is described as %s, want %s", got, want)
		}
	}
}
