package raft

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/transport"
)

// unsyncedRecord is a cluster of three whose followers have a record that the leader's disk is still writing. The
// disk returns the errors that are sent to goOn.
type unsyncedRecord struct {
	*cluster
	leader  *Node
	index   uint64
	before  []string
	record  string
	goOn    chan error
	outcome chan error
}

func startUnsynced(t *testing.T) *unsyncedRecord {
	disks := map[int]*faultyDisk{0: {}, 1: {}, 2: {}}
	u := &unsyncedRecord{cluster: startOn(t, 3, disks), record: "under way", goOn: make(chan error, 1), outcome: make(chan error, 1)}
	u.before = u.propose(0, 3)
	u.leader = u.cluster.leader()
	for _, sm := range u.sms {
		u.wait("all to have what came before", func() bool { return slices.Equal(sm.items(), u.before) })
	}
	disks[int(u.leader.cfg.NodeID-1)].set(func(step string) error {
		if step != "sync" {
			return nil
		}
		err := <-u.goOn
		u.goOn <- err // for later steps
		return err
	})
	t.Cleanup(func() {
		select {
		case u.goOn <- nil:
		default:
		}
	})
	u.index = u.leader.raft.LastIndex() + 1
	f := u.leader.Propose(t.Context(), []byte(u.record))
	go func() { // ends with the record, or with its node
		_, _, err := f.Wait()
		u.outcome <- err
	}()
	for _, n := range u.nodes {
		u.wait("the members to have the record", func() bool { return n.raft.LastIndex() == u.index })
	}
	u.wait("the library to count it", func() bool { return u.leader.raft.CommitIndex() == u.index })
	return u
}

func TestNothingIsSeenBeforeTheLeadersDiskHasIt(t *testing.T) {
	t.Parallel()
	u := startUnsynced(t)
	for i, n := range u.nodes {
		if n == u.leader {
			continue
		}
		req := &hraft.AppendEntriesRequest{Term: u.leader.Term(), PrevLogEntry: u.index, PrevLogTerm: u.leader.Term(),
			LeaderCommitIndex: u.index}
		var resp hraft.AppendEntriesResponse
		if err := u.leader.transport.AppendEntries(transport.ServerID(n.cfg.NodeID), hraft.ServerAddress(u.addrs[i]), req,
			&resp); err != nil || !resp.Success {
			t.Fatalf("%+v, %v", resp, err)
		}
		if at := n.raft.CommitIndex(); at >= u.index {
			t.Errorf("node %d was told that record %d is committed", n.cfg.NodeID, at)
		}
	}
	for i, sm := range u.sms {
		if got := sm.items(); !slices.Equal(got, u.before) {
			t.Errorf("node %d has %q", i+1, got)
		}
	}
	select {
	case err := <-u.outcome:
		t.Errorf("answered: %v", err)
	default:
	}
	u.goOn <- nil
	if err := <-u.outcome; err != nil {
		t.Error(err)
	}
	for _, sm := range u.sms {
		u.wait("all to have it", func() bool { return slices.Equal(sm.items(), append(slices.Clone(u.before), u.record)) })
	}
}

func TestALeadersDiskFailsWhenOthersHaveTheRecord(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	u := startUnsynced(t)
	u.goOn <- syscall.EIO
	if err := <-u.outcome; !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
	if err := u.leader.disk.Err(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the node says %v of its disk", err)
	}
	if err := u.leader.Snapshot(); err == nil {
		t.Error("it took a snapshot of what it has not applied")
	}
	if err := u.leader.Close(); err != nil && !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	want := append(append(slices.Clone(u.before), u.record), u.propose(3, 5)...)
	for i, n := range u.nodes {
		if n == u.leader {
			if got := u.sms[i].items(); !slices.Equal(got, u.before) {
				t.Errorf("what its disk has not is applied: %q", got)
			}
			continue
		}
		u.wait("the others to go on", func() bool { return slices.Equal(u.sms[i].items(), want) })
	}
}
