package raft

import (
	"context"
	"errors"
	"sync"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
)

// The library confirms a leader by any answer to a heartbeat, even one that was sent before the read. Such an answer
// may predate a hand-over, and would confirm a leader that has been replaced. So this leader asks the voters after
// the read has arrived. A voter that says yes had not voted in a newer term by then. With a quorum of such answers no
// other member can have led before the read arrived.

// confirmations runs rounds in which the leader asks the voters, one round at a time. Reads that arrive during a
// round share the next one: an answer counts for a read only if the question was sent after the read arrived.
type confirmations struct {
	turn chan struct{} // holds a token while a round runs
	mu   sync.Mutex
	next *round // not begun yet; nil when no read waits
}

// maxProbes bounds the unanswered questions to a silent member.
const maxProbes = 8

type round struct {
	done chan struct{}
	err  error
}

var errDeposed = errors.New("a quorum does not follow this node")

// confirm returns nil when this node led in a term at some moment after the call.
func (n *Node) confirm(ctx context.Context, term uint64) error {
	n.rounds.mu.Lock()
	if n.ctx.Err() != nil {
		n.rounds.mu.Unlock()
		return errDeposed
	}
	r := n.rounds.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		n.rounds.next = r
		n.tasks.Go(func() { // ends with the round, whose requests have deadlines
			n.rounds.turn <- struct{}{}
			defer func() { <-n.rounds.turn }()
			n.rounds.mu.Lock()
			n.rounds.next = nil // a read that comes now must wait for the next round
			n.rounds.mu.Unlock()
			r.err = n.checkQuorum(n.voters(), n.readyTerm.Load())
			close(r.done)
		})
	}
	n.rounds.mu.Unlock()
	select {
	case <-r.done:
		if r.err == nil && n.readyTerm.Load() != term {
			return errDeposed
		}
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkQuorum asks these voters, which may include this node, whether they follow this node in a term. It returns
// nil when a quorum does.
func (n *Node) checkQuorum(voters []hraft.Server, term uint64) error {
	follows := func(s hraft.Server) bool {
		var questions chan struct{}
		n.withPeer(transport.NodeID(s.ID), func(p *peerState) { questions = p.probes })
		select {
		case questions <- struct{}{}:
			defer func() { <-questions }()
		default: // the member is silent
			return false
		}
		_, ok := n.probeFollower(s, term, 0, 0)
		return ok
	}
	if term == 0 || !n.quorum(voters, follows) {
		return errDeposed
	}
	return nil
}

// quorum asks these voters concurrently and reports whether a majority says yes. If this node is one of them, it
// counts as a yes. quorum returns as soon as the result is known; each question has a deadline.
func (n *Node) quorum(voters []hraft.Server, ask func(hraft.Server) bool) bool {
	answers := make(chan bool, len(voters)) // buffered for all, so that no task blocks
	for _, s := range voters {
		if transport.NodeID(s.ID) == n.cfg.NodeID {
			answers <- true
			continue
		}
		n.tasks.Go(func() { answers <- ask(s) })
	}
	yes, no := 0, 0
	for yes <= len(voters)/2 && no < (len(voters)+1)/2 {
		if <-answers {
			yes++
		} else {
			no++
		}
	}
	return yes > len(voters)/2
}

// probeFollower asks one member whether it follows this node in a term. Unless index is 0, it also asks whether the
// member's log has the record with that index and term. It returns the index of the last record in the member's log.
func (n *Node) probeFollower(s hraft.Server, term, index, indexTerm uint64) (last uint64, ok bool) {
	var resp hraft.AppendEntriesResponse
	err := n.transport.Append(transport.ForAppend, s.ID, s.Address,
		&hraft.AppendEntriesRequest{Term: term, PrevLogEntry: index, PrevLogTerm: indexTerm}, &resp)
	return resp.LastLog, err == nil && resp.Success && resp.Term == term
}
