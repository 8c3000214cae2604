package raft

import (
	"errors"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestALogWithAHole: a start detects missing records that no snapshot covers.
func TestALogWithAHole(t *testing.T) {
	t.Parallel()
	n := &Node{cfg: Config{Dir: t.TempDir()}.withDefaults()}
	if err := n.openStore(logDir(n.cfg.Dir), 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.logs.StoreLog(&hraft.Log{Index: 101, Term: 1}), n.closeStore()); err != nil {
		t.Fatal(err)
	}
	if err := n.openStore(logDir(n.cfg.Dir), 99); !errors.Is(err, logstore.ErrDamaged) {
		_ = n.closeStore()
		t.Errorf("a log that begins at 101 behind a snapshot at 99: %v", err)
	}
	if err := n.openStore(logDir(n.cfg.Dir), 100); err != nil {
		t.Fatal(err)
	}
	if err := n.closeStore(); err != nil {
		t.Fatal(err)
	}
}

// TestAMemberStopsAtARecordThatHasChanged: a record changes on disk while the process runs and is about to be sent.
// The member stops; the others go on, and complete its log after its next start.
func TestAMemberStopsAtARecordThatHasChanged(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startStableLeader(t, 3)
	want := c.propose(0, 20)
	l := c.leader()
	at := int(l.cfg.NodeID - 1)
	away := (at + 1) % 3
	if err := c.nodes[away].Close(); err != nil {
		t.Fatal(err)
	}
	want = append(want, c.propose(20, 20+2*logstore.CacheRecords)...)
	rafttest.Flip(t, segments(t, c.dirs[at])[0], "entry-30")
	c.reopen(away, "secret", slices.Delete(slices.Clone(c.addrs), away, away+1))
	c.wait("the member to notice", func() bool { return l.disk.Err() != nil })
	if err := l.disk.Err(); !errors.Is(err, logstore.ErrDamaged) {
		t.Errorf("it says %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	want = append(want, c.propose(1000, 1010)...)
	c.wait("the member that was away to have all", func() bool { return slices.Equal(c.sms[away].items(), want) })
	c.sms[at] = &listMachine{}
	c.reopen(at, "secret", slices.Delete(slices.Clone(c.addrs), at, at+1))
	c.wait("the member to be whole again", func() bool { return c.nodes[at].HasState() && slices.Equal(c.sms[at].items(), want) })
}

// TestWhatIsErasedLeavesTheLogsFiles: after a purge no segment of a running node contains the purged records, not
// even the segment in which the log then begins.
func TestWhatIsErasedLeavesTheLogsFiles(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	c.propose(0, 40)
	n := c.nodes[0]
	purge, _ := c.sms[0].Applied()
	want := c.propose(40, 45)
	if got := countText(t, logDir(c.dirs[0]), "entry-17"); got == 0 {
		t.Fatal("it was never there")
	}
	if err := n.PurgeBefore(purge, eraseItem); err != nil {
		t.Fatal(err)
	}
	if got := countText(t, logDir(c.dirs[0]), "entry-1"); got != 0 {
		t.Errorf("%d records before the purge are in the log's files", got)
	}
	want = append(want, c.propose(50, 52)...)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	c.reopen(0, "secret", nil)
	c.leader()
	if got := c.sms[0].items(); !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("it has %q", got)
	}
}
