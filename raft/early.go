package raft

import hraft "github.com/hashicorp/raft"

// A leader's disk takes a record while the record is on its way to the others, so a write waits for the slower of two disks
// and not for one after the other. The library counts the record as the leader's at once, and may take it for committed when
// only one other disk has it. So nothing that rests on it is seen before the leader's own disk has the record:
//
//   - the state is given no record, and nobody an answer, before (fsm.go);
//   - the others are told of no commit that reaches so far (packAppend);
//   - a leader that was deposed says of no record that it has it (append, in inbound.go).
//
// What a crash takes from the leader's disk then is a record that nobody knows to be committed, and the members that are
// left may keep it or not. Records that are not commands, which the library acts on by itself, are waited for.

// A flight is records that were sent on before the disk had them. The next are written when it is over.
type flight struct {
	first uint64
	done  chan struct{} // closed when the disk has them, or has failed
	err   error         // which of the two; known when it is done
}

// over says whether the disk has what was under way.
func (f *flight) over() bool {
	if f == nil {
		return true
	}
	select {
	case <-f.done:
		return f.err == nil
	default:
		return false
	}
}

// wait returns when the disk has what was under way.
func (f *flight) wait() error {
	if f == nil {
		return nil
	}
	<-f.done
	return f.err
}

// mayFly says whether records need not be on this disk before they are sent on.
func (j *journal) mayFly(logs []*hraft.Log) bool {
	if !j.leads() {
		return false
	}
	for _, l := range logs {
		if l.Type != hraft.LogCommand {
			return false
		}
	}
	return true
}

// fly syncs what was written while its caller goes on. Whoever has the turn next waits for it.
func (j *journal) fly(first uint64) {
	f := &flight{first: first, done: make(chan struct{})}
	j.flying.Store(f)
	go func() { // ends with the sync, which Close waits for
		defer close(f.done)
		if f.err = j.synced(); f.err != nil {
			j.failed(f.err)
		}
	}()
}

// flight is the last there was, nil for none.
func (j *journal) flight() *flight { return j.flying.Load() }

// leads says whether the library stores records as a leader, in the task that stores them.
func (n *Node) leads() bool { return n.running.Load() && n.raft.State() == hraft.Leader }

// landed waits until this disk has the log's records up to one.
func (n *Node) landed(index uint64) error {
	if f := n.logs.flight(); f != nil && f.first <= index {
		return f.wait()
	}
	return nil
}

// sayable is how far others may be told that records are committed.
func (n *Node) sayable(commit uint64) uint64 {
	if f := n.logs.flight(); f != nil && f.first <= commit && !f.over() {
		return f.first - 1
	}
	return commit
}
