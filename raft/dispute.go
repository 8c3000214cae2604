package raft

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog/pause"
)

// A record that is applied anywhere is in the log of every later leader. A request that says otherwise comes from a
// member that is wrong, or reaches one, and it does not show which. So this node rejects it and changes nothing: one
// peer's word takes no vote, no state and no log. Then it asks the other voters what they hold (compare.go). Where a
// majority of all voters holds something else, this node is wrong: it steps aside. Where a majority holds what this
// node holds, the peer is wrong.
//
// A leader that is rejected again and again could lead for ever and have nothing committed: its heartbeats would
// still be answered. So after some rejections this node neither follows that peer nor votes for it for a while, and
// the others elect another.

// A Dispute is a message of a peer that this node rejected.
type Dispute struct {
	Peer    uint32
	Index   uint64 // of the record or state that the two do not agree about; 0 for none
	Says    string // what was rejected, and why
	Times   uint64
	Verdict string // what the other voters hold; empty while too few have said
	Last    time.Time
}

const (
	disputeShown   = 10 * time.Minute // after the last rejection
	distrustAfter  = 3                // rejections, each within distrustWithin elections of the one before
	distrustWithin = 10
)

type dispute struct {
	Dispute
	row    uint64          // how many rejections came soon behind each other
	logged map[string]bool // what was logged about the peer
}

// disputes holds the messages that this node rejected, by peer.
type disputes struct {
	mu    sync.Mutex
	by    map[uint32]*dispute
	total atomic.Uint64
	wake  chan struct{} // holds a token when a peer has been rejected
	aside atomic.Bool   // this node has stepped aside

	against atomic.Int32 // rounds in a row in which the states of a majority differed from this node's
}

// Disputes returns the messages that this node has rejected lately, by peer.
func (n *Node) Disputes() (all []Dispute) {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.by)) {
		if p := d.by[id]; time.Since(p.Last) < disputeShown {
			all = append(all, p.Dispute)
		}
	}
	return all
}

// Disputed counts the requests and answers of peers that this node has rejected since its start.
func (n *Node) Disputed() uint64 { return n.disputes.total.Load() }

// refuse notes that a peer's request or answer was rejected, and returns the error for its sender. index names a
// record that is applied here and that the others can be asked about; 0 names none. The first rejection is logged.
func (n *Node) refuse(peer uint32, index uint64, why error) error {
	p := n.note(Dispute{Peer: peer, Index: index, Says: why.Error()}, true)
	n.disputes.total.Add(1)
	if n.logsFirst(peer, "request") {
		n.log.Error("refused what a peer sent, and changed nothing", "peer", peer, "index", index, "err", why)
	}
	if p.row == distrustAfter {
		n.log.Error("this node does not follow or elect this peer for now", "peer", peer, "for", n.distrustFor(), "err", why)
	}
	return fmt.Errorf("node %d refuses this: %w", n.cfg.NodeID, why)
}

// disbelieve notes what a peer says of itself or of this node, when that is not a request.
func (n *Node) disbelieve(d Dispute) {
	n.note(d, false)
	if n.logsFirst(d.Peer, "word") {
		n.log.Error("a peer says what this node does not believe", "peer", d.Peer, "index", d.Index, "says", d.Says, "verdict", d.Verdict)
	}
}

// logsFirst reports whether this is the first time that something is logged about a peer: it may send the same again
// and again.
func (n *Node) logsFirst(peer uint32, what string) bool {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.by[peer]
	if at == nil || at.logged[what] {
		return false
	}
	at.logged[what] = true
	return true
}

// note stores a dispute. Only rejected requests count against a peer's being followed.
func (n *Node) note(now Dispute, request bool) dispute {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.by[now.Peer]
	if now.Last = time.Now(); at == nil || now.Last.Sub(at.Last) >= disputeShown {
		if d.by == nil {
			d.by = map[uint32]*dispute{}
		}
		at = &dispute{logged: map[string]bool{}}
		d.by[now.Peer] = at
	}
	if now.Last.Sub(at.Last) > n.distrustFor() {
		at.row = 0
	}
	if now.Verdict == "" && now.Index == at.Index {
		now.Verdict = at.Verdict
	}
	now.Times = at.Times + 1
	if at.Dispute = now; request {
		at.row++
	}
	pause.Offer(d.wake, struct{}{})
	return *at
}

func (n *Node) distrustFor() time.Duration { return distrustWithin * n.cfg.Election }

// distrusts returns why this node does not follow or elect a peer for now; nil when it does.
func (n *Node) distrusts(peer uint32) error {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.by[peer]; p != nil && p.row >= distrustAfter && time.Since(p.Last) < n.distrustFor() {
		return fmt.Errorf("node %d does not follow or elect node %d for now: %s", n.cfg.NodeID, peer, p.Says)
	}
	return nil
}

// decideDisputes is the task that asks the other voters about disputes, once a second while one has no verdict.
func (n *Node) decideDisputes() {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.disputes.wake:
		case <-look.C:
		}
		for _, p := range n.Disputes() {
			if p.Verdict == "" && p.Index > 0 && p.Index <= n.committed() { // about what it lacks this node asks nobody
				n.decide(p)
			}
		}
	}
}

// decide asks the other voters about a dispute.
func (n *Node) decide(p Dispute) {
	v := n.askVoters(p.Index)
	if len(v.otherwise) >= v.majority {
		n.stepAside(fmt.Errorf("%s another record %d: %s", hold(v.otherwise), p.Index, p.Says), n.lostFrom(p.Index))
		return
	}
	if len(v.alike) < v.majority {
		return
	}
	verdict := fmt.Sprintf("%s the same record: what node %d sent is wrong", hold(v.alike), p.Peer)
	if n.logsFirst(p.Peer, verdict) {
		n.log.Error("a majority agrees with this node, the peer is ignored", "peer", p.Peer, "index", p.Index, "verdict", verdict)
	}
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.by[p.Peer]; at != nil && at.Index == p.Index {
		at.Verdict = verdict
	}
}

// Doubt asks the other voters about a committed record that cannot be applied here, and returns what they hold. When a
// majority holds another record, this node's log is wrong and the node steps aside.
func (n *Node) Doubt(ctx context.Context, index uint64, why error) (said string) {
	for {
		v := n.askVoters(index)
		switch {
		case len(v.otherwise) >= v.majority:
			n.stepAside(fmt.Errorf("%s another record %d: %w", hold(v.otherwise), index, why), n.lostFrom(index))
			return hold(v.otherwise) + " another record"
		case len(v.alike) >= v.majority:
			return hold(v.alike) + " the same record"
		}
		if pause.For(ctx, compareTimeout/4) != nil {
			return "too few other voters say what they hold"
		}
	}
}

// stepAside ends this member: a majority of the voters has said that it is wrong. Its next start keeps its files under
// other names, and with them the records that the others lack.
func (n *Node) stepAside(why error, lost Lost) {
	why = fmt.Errorf("a majority of the voters holds something else than this node: %w", why)
	if n.cfg.StepAside == nil || n.disputes.aside.Swap(true) {
		return
	}
	if lost.First > 0 {
		n.log.Error("this node holds records that the cluster lacks, and keeps them", "first", lost.First, "last", lost.Last,
			"acknowledged", lost.Count())
	}
	if err := n.cfg.StepAside(why, lost); err != nil {
		n.log.Error("a majority of the voters holds something else than this node, and it goes on", "err", errors.Join(why, err))
		return
	}
	n.amnesia.Store(true) // no votes, no records
	n.admitted.Store(nil)
	n.log.Error("this node steps aside, and stops; its next start keeps its state and log as *.corrupt-* and gets the cluster's",
		"err", why)
}

// hold begins a sentence about members: "nodes 1 and 3 hold".
func hold(ids []uint32) string {
	if len(ids) == 1 {
		return nodes(ids) + " holds"
	}
	return nodes(ids) + " hold"
}

// nodes names members: "nodes 1 and 3".
func nodes(ids []uint32) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = fmt.Sprint(id)
	}
	switch last := len(names) - 1; {
	case last < 0:
		return "no nodes"
	case last == 0:
		return "node " + names[0]
	default:
		return "nodes " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
}
