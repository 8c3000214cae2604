package raft

import (
	"fmt"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// A cluster may lose records that it has acknowledged: a majority of members starts from old copies of their homes
// while the members with newer data are down. Nothing brings the records back into that log, but the members that
// return later still have them. So members exchange their commit positions in their hellos, and compare them before a
// leader sends a record. A member that steps aside keeps the records that the others lack.

// Lost is the range of a member's records for which a majority of the voters has different ones.
type Lost struct {
	First, Last  uint64 // 0 if there are none
	Acknowledged uint64 // records up to and including this one are certainly acknowledged
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

// lostFrom returns the records that the others lack. It searches by bisection for the first record that differs. The
// caller knows that the others have another record at index.
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

// committedPosition returns the last record that this node knows to be committed.
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

// compareCommitted compares a peer's commit position with this node's log. Members do so when they connect, and a new
// leader does so before it sends a record to a member that has come back.
func (n *Node) compareCommitted(peer uint32, h *wire.RaftHello) {
	if h == nil || h.CommitTerm == 0 || n.raft == nil || n.stateless() {
		return
	}
	term, leads := n.readyTerm.Load(), n.IsLeader()
	here, own := n.describeRecord(h.CommitIndex), n.committedPosition()
	last, _ := n.lastRecord()
	says := ""
	switch {
	case here.Term != 0 && here.Term != h.CommitTerm:
		says = fmt.Sprintf("and the one here has term %d", here.Term)
	// the first leader of a term has every record that was committed before, and appends after them
	case own.Term > h.CommitTerm && own.Index <= h.CommitIndex:
		says = fmt.Sprintf("and record %d here has term %d already", own.Index, own.Term)
	case leads && h.CommitTerm <= term && last < h.CommitIndex: // a later term has another leader, which this node has not heard of yet
		says = fmt.Sprintf("and the log of this leader ends at %d", last)
	default:
		return
	}
	n.noteClaim(Dispute{Peer: peer, Index: h.CommitIndex,
		Says: fmt.Sprintf("its record %d of term %d is acknowledged, %s: acknowledged records are lost, or the peer is wrong",
			h.CommitIndex, h.CommitTerm, says)})
}
