package raft

import (
	"fmt"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// A cluster can go on without records that it has acknowledged: when a majority of members starts from old copies of
// their homes while the members with newer data are down. Nothing brings the records back into that log, but the
// members that come back still have them. So members exchange in their hellos what they know to be committed, and
// compare it before a leader sends a record. A member that steps aside keeps the records that the others lack.

// Lost is the range of a member's records for which a majority of the voters has different ones.
type Lost struct {
	First, Last  uint64 // 0: none
	Acknowledged uint64 // records up to this one are certainly acknowledged
}

func (l Lost) String() string {
	return fmt.Sprintf("records %s, of which %d are surely acknowledged", recovery.Span{First: l.First, Last: l.Last}, l.Count())
}

// Count returns the number of records that are known to be acknowledged.
func (l Lost) Count() uint64 {
	if l.Acknowledged < l.First {
		return 0
	}
	return l.Acknowledged - l.First + 1
}

// lostFrom finds the records that the others lack, by a binary search for the first one that differs. The caller
// knows that the others have another record at index.
func (n *Node) lostFrom(index uint64) Lost {
	same := uint64(0)
	for index-same > 1 && n.ctx.Err() == nil { // two logs are equal up to some record and differ after it
		middle := same + (index-same)/2
		if v := n.askVoters(middle); len(v.differ) >= v.majority {
			index = middle
		} else {
			same = middle
		}
	}
	last, _ := n.lastRecord()
	return Lost{First: index, Last: last, Acknowledged: n.committed()}
}

// committedPosition is the last record that this node knows to be committed.
func (n *Node) committedPosition() (p recovery.Position) {
	if n.raft == nil || n.stateless() {
		return p
	}
	p.Index = n.committed()
	if applied, term := n.sm.Applied(); applied == p.Index {
		p.Term = term
	} else if l, err := n.appliedRecord(p.Index); err == nil {
		p.Term = l.Term
	}
	return p
}

// compareCommitted compares what a peer knows to be committed with this node's log. Members do so when they connect,
// and so does a new leader before it sends a record to a member that has come back.
func (n *Node) compareCommitted(peer uint32, h *wire.RaftHello) {
	if h == nil || h.CommitTerm == 0 || n.raft == nil || n.stateless() {
		return
	}
	term, leads := n.readyTerm.Load(), n.IsLeader()
	here, own := n.heldAt(h.CommitIndex), n.committedPosition()
	last, _ := n.lastRecord()
	says := ""
	switch {
	case here.Term != 0 && here.Term != h.CommitTerm:
		says = fmt.Sprintf("and the one here has term %d", here.Term)
	// the first leader of a term has all that was committed before, and begins behind it
	case own.Term > h.CommitTerm && own.Index <= h.CommitIndex:
		says = fmt.Sprintf("and record %d here has term %d already", own.Index, own.Term)
	case leads && h.CommitTerm <= term && last < h.CommitIndex: // in a later term another leads, and this one has not heard of it
		says = fmt.Sprintf("and the log of this leader ends at %d", last)
	default:
		return
	}
	n.noteClaim(Dispute{Peer: peer, Index: h.CommitIndex,
		Says: fmt.Sprintf("its record %d of term %d is acknowledged, %s: acknowledged records are lost, or the peer is wrong",
			h.CommitIndex, h.CommitTerm, says)})
}
