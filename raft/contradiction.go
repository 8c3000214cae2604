package raft

import (
	"fmt"

	hraft "github.com/hashicorp/raft"
)

// A record applied anywhere is in the log of every later leader. When a leader's log has another record there, acknowledged records
// were lost: too many members came back with less than they had acknowledged, or this member applied a record that was never
// committed. The library would replace the log's records, skip those that the state has applied already, and answer from a state
// that no other member has. So this member stops at once. Its next start moves its state and log aside, for the operator to look
// at, and it rejoins as a member without state.

// contradicts stops this member: it takes nothing and votes no more.
func (n *Node) contradicts(err error) error {
	if n.contradiction.CompareAndSwap(nil, &err) {
		n.amnesia.Store(true) // no votes, no records
		n.admitted.Store(false)
		n.log.Error("the leader's log contradicts what this node has applied, this node stops", "err", err)
		if n.cfg.Contradicted != nil {
			n.cfg.Contradicted(fmt.Errorf("the leader's log contradicts what this node has applied: %w", err))
		}
	}
	return err
}

// checkApplied finds a record in a leader's request that differs from the one applied here at the same index.
func (n *Node) checkApplied(req *hraft.AppendEntriesRequest) error {
	if req.Term < n.Term() {
		return nil // of a leader that was deposed: the library refuses it
	}
	at, atTerm := n.sm.Applied()
	applied, from := max(at, n.raft.AppliedIndex()), n.supersededTo.Load()
	one := func(index, term uint64) error {
		if index == 0 || index <= from || index > applied {
			return nil
		}
		var l hraft.Log
		if n.logs.GetLog(index, &l) == nil && l.Term != term {
			return fmt.Errorf("record %d has term %d here, where it is applied, and term %d in the leader's log", index, l.Term, term)
		}
		if index == at && term != atTerm {
			return fmt.Errorf("the state is at record %d of term %d, which has term %d in the leader's log", index, atTerm, term)
		}
		return nil
	}
	if err := one(req.PrevLogEntry, req.PrevLogTerm); err != nil {
		return n.contradicts(err)
	}
	for _, e := range req.Entries {
		if e.Index > applied {
			break
		}
		if err := one(e.Index, e.Term); err != nil {
			return n.contradicts(err)
		}
	}
	return nil
}
