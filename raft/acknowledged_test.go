package raft

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// copyHome copies a node's files. The copy of a running node contains what a crash would leave.
func (c *cluster) copyHome(i int) (files fs.FS) {
	c.t.Helper()
	kept := filepath.Join(c.t.TempDir(), "kept")
	if err := rafttest.CopyHome(kept, c.dirs[i]); err != nil {
		c.t.Fatal(err)
	}
	return os.DirFS(kept)
}

// restoreHome gives a stopped node the copied files, with those that match pattern from another copy.
func (c *cluster) restoreHome(i int, all, others fs.FS, pattern string) {
	c.t.Helper()
	err := errors.Join(os.RemoveAll(c.dirs[i]), os.CopyFS(c.dirs[i], all))
	names, gerr := []string(nil), error(nil)
	if others != nil {
		names, gerr = fs.Glob(others, pattern)
	}
	err = errors.Join(err, gerr)
	for _, name := range names {
		raw, rerr := fs.ReadFile(others, name)
		err = errors.Join(err, rerr, os.WriteFile(filepath.Join(c.dirs[i], name), raw, 0o600))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestAnOldLogUnderANewerState: a voter whose log, or only its segments, were replaced with an old copy has no vote
// until it has rejoined: its state has applied more records than the log has.
func TestAnOldLogUnderANewerState(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, files := range map[string]string{"log": "log/*", "segments": "log/*.seg"} {
		t.Run(name, func(t *testing.T) {
			c := startFastRejoin(t, 3)
			want := c.propose(0, 10)
			l := int(c.leader().cfg.NodeID - 1)
			old := (l + 1) % 3
			c.wait("all records", func() bool { return slices.Equal(c.sms[old].items(), want) })
			then := c.copyHome(old)
			want = append(want, c.propose(10, 20)...)
			c.wait("all records", func() bool { return slices.Equal(c.sms[old].items(), want) })
			now := c.copyHome(old)
			for i := range 3 {
				c.nodes[i].Close()
			}
			c.restoreHome(old, now, then, files)
			c.reopen(old, "secret", c.peers(old))
			if c.nodes[old].HasState() {
				t.Error("a member whose state is ahead of its log calls itself whole")
			}
			other := (l + 2) % 3
			c.reopen(other, "secret", c.peers(other))
			c.requireNoVote(other, old)
			c.reopen(l, "secret", c.peers(l))
			c.electLongestLog()
			want = append(want, c.propose(20, 25)...)
			c.wait("all records, and a vote", func() bool { return slices.Equal(c.sms[old].items(), want) && c.nodes[old].HasState() })
		})
	}
}

// TestAnOldHomeIsToldByTheOthers: a voter whose whole home is an old copy cannot detect that, but the others know
// which records it acknowledged, even after their restart and without the leader that counted its answers.
func TestAnOldHomeIsToldByTheOthers(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startFastRejoin(t, 3)
	want := c.propose(0, 10)
	l := int(c.leader().cfg.NodeID - 1)
	old, other := (l+1)%3, (l+2)%3
	c.wait("all records", func() bool { return slices.Equal(c.sms[old].items(), want) })
	c.nodes[old].Close()
	kept := c.copyHome(old)
	then := &listMachine{Index: c.sms[old].Index, Term: c.sms[old].Term, Items: c.sms[old].items()}
	c.reopen(old, "secret", c.peers(old))
	want = append(want, c.propose(10, 20)...)
	index, term := c.nodes[l].lastRecord()
	c.wait("the other to know what it acknowledged", func() bool {
		return !c.nodes[other].acks.Of(uint32(old + 1)).Before(recovery.Position{Term: term, Index: index})
	})
	for i := range 3 {
		c.nodes[i].Close()
	}
	c.restoreHome(old, kept, nil, "")
	c.sms[old] = then
	c.reopen(other, "secret", c.peers(other))
	if got := c.nodes[other].acks.Of(uint32(old + 1)); got.Before(recovery.Position{Term: term, Index: index}) {
		t.Fatalf("after a restart the other remembers %v, want %v", got, recovery.Position{Term: term, Index: index})
	}
	c.reopen(old, "secret", c.peers(old))
	c.requireNoVote(other, old)
	c.wait("it to be told", func() bool { return !c.nodes[old].HasState() })
	c.requireNoVote(other, old)
	c.reopen(l, "secret", c.peers(l))
	c.electLongestLog()
	want = append(want, c.propose(20, 25)...)
	c.wait("all records, and a vote", func() bool { return slices.Equal(c.sms[old].items(), want) && c.nodes[old].HasState() })
}

// TestACutEndIsNoOldCopy: a member replaces records that it acknowledged with those of a newer leader. For a moment
// its log ends before them. It must not count as an old copy then, even if its machine crashes in that moment.
func TestACutEndIsNoOldCopy(t *testing.T) {
	t.Parallel()
	disks := map[int]*faultyDisk{0: {}, 1: {}, 2: {}}
	c := startOn(t, 3, disks)
	want := c.propose(0, 10)
	l := c.leader()
	i, o := int(l.cfg.NodeID%3), int((l.cfg.NodeID+1)%3)
	f, m, other := c.nodes[i], disks[i], c.nodes[o]
	c.wait("the others to have all", func() bool {
		return slices.Equal(c.sms[i].items(), want) && slices.Equal(c.sms[o].items(), want)
	})
	index, term := f.lastRecord()
	req := &hraft.AppendEntriesRequest{Term: l.Term(), PrevLogEntry: index, PrevLogTerm: term}
	for at := range uint64(3) {
		req.Entries = append(req.Entries,
			&hraft.Log{Index: index + 1 + at, Term: l.Term(), Type: hraft.LogCommand, Data: []byte("never counted")})
	}
	var resp hraft.AppendEntriesResponse
	if err := l.transport.AppendEntries(transport.ServerID(f.cfg.NodeID), hraft.ServerAddress(c.addrs[i]), req, &resp); err != nil ||
		!resp.Success {
		t.Fatalf("%+v, %v", resp, err)
	}
	said := &wire.RaftHello{AckTerm: l.Term(), AckIndex: index + 3}
	cut, between, goOn := false, make(chan struct{}), make(chan struct{})
	m.set(func(step string) error {
		switch {
		case step == "cut":
			cut = true
		case cut && step == "write" && between != nil:
			close(between)
			between = nil
			<-goOn
		}
		return nil
	})
	reached := between
	c.wait("another to lead", func() bool {
		if other.raft.State() == hraft.Follower {
			other.campaign()
		}
		return other.raft.State() == hraft.Leader
	})
	suite.Receive(t, "a write behind the cut", reached)
	f.checkRolledBack(other.cfg.NodeID, said)
	if !f.HasState() {
		t.Error("a member that is replacing the end of its log is taken for an old copy")
	}
	then := c.copyHome(i)
	close(goOn)
	want = append(want, c.propose(10, 20)...)
	c.wait("all records", func() bool { return slices.Equal(c.sms[i].items(), want) })
	for _, n := range c.nodes {
		n.Close()
	}
	c.restoreHome(i, then, nil, "")
	c.sms[i] = &listMachine{Index: index, Term: term, Items: want[:10:10]}
	c.reopen(i, "secret", c.peers(i))
	if at, _ := c.nodes[i].lastRecord(); at != index {
		t.Fatalf("the log ends at %d, not %d", at, index)
	}
	c.nodes[i].checkRolledBack(other.cfg.NodeID, said)
	if !c.nodes[i].HasState() {
		t.Error("a member whose machine ended while it replaced the end of its log is taken for an old copy")
	}
}
