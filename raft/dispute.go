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

// A record that is applied anywhere is in the log of every later leader. If a request contradicts that, either its
// sender or this node is wrong, and the request does not show which. So this node rejects the request and changes
// nothing: the claim of one peer never costs this node its vote, state or log. Then it asks the other voters for
// their records (compare.go). If a majority of all voters holds other data, this node is wrong and steps aside. If a
// majority holds the same data as this node, the peer is wrong.
//
// A leader whose records are always rejected could lead for ever without committing anything, because its heartbeats
// are still answered. So after some rejections this node neither follows that peer nor votes for it for a while, and
// the others elect another leader.

// A Dispute is a message of a peer that this node rejected.
type Dispute struct {
	Peer    uint32
	Index   uint64 // of the record or state in dispute; 0 for none
	Says    string // the rejected message and the reason
	Times   uint64
	Verdict string // the data that the other voters hold; empty until enough of them have answered
	Last    time.Time
}

const (
	disputeShown   = 10 * time.Minute // how long a dispute is reported after its last rejection
	distrustAfter  = 3                // rejections, each within distrustWithin elections of the previous one
	distrustWithin = 10
)

type dispute struct {
	Dispute
	streak uint64          // consecutive rejections, each soon after the previous one
	logged map[string]bool // the kinds of messages about the peer that were logged
}

// disputes holds the messages that this node rejected, by peer.
type disputes struct {
	mu           sync.Mutex
	byPeer       map[uint32]*dispute
	total        atomic.Uint64
	wake         chan struct{} // holds a token when a peer has been rejected
	steppedAside atomic.Bool   // this node has stepped aside

	roundsAgainst atomic.Int32 // rounds in a row in which the states of a majority differed from this node's
}

// Disputes returns the recent rejections, one for each peer.
func (n *Node) Disputes() (all []Dispute) {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(d.byPeer)) {
		if p := d.byPeer[id]; time.Since(p.Last) < disputeShown {
			all = append(all, p.Dispute)
		}
	}
	return all
}

// Disputed returns the number of requests and answers of peers that this node has rejected since its start.
func (n *Node) Disputed() uint64 { return n.disputes.total.Load() }

// reject records the rejection of a peer's request or answer, and returns the error for its sender. index names a
// record that is applied here, about which this node can ask the others; 0 names none. Only the first rejection is
// logged.
func (n *Node) reject(peer uint32, index uint64, why error) error {
	p := n.storeDispute(Dispute{Peer: peer, Index: index, Says: why.Error()}, true)
	n.disputes.total.Add(1)
	if n.logOnce(peer, "request") {
		n.log.Error("refused what a peer sent, and changed nothing", "peer", peer, "index", index, "err", why)
	}
	if p.streak == distrustAfter {
		n.log.Error("this node does not follow or elect this peer for now", "peer", peer, "for", n.distrustFor(), "err", why)
	}
	return fmt.Errorf("node %d refuses this: %w", n.cfg.NodeID, why)
}

// noteClaim records a claim that a peer makes about itself or this node outside a request, and that this node
// rejects.
func (n *Node) noteClaim(d Dispute) {
	n.storeDispute(d, false)
	if n.logOnce(d.Peer, "word") {
		n.log.Error("a peer says what this node does not believe", "peer", d.Peer, "index", d.Index, "says", d.Says, "verdict", d.Verdict)
	}
}

// logOnce reports whether a kind of message about a peer is logged for the first time. The peer may send the same
// message many times.
func (n *Node) logOnce(peer uint32, what string) bool {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.byPeer[peer]
	if at == nil || at.logged[what] {
		return false
	}
	at.logged[what] = true
	return true
}

// storeDispute stores a dispute. Only rejected requests count towards distrustAfter.
func (n *Node) storeDispute(now Dispute, request bool) dispute {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.byPeer[now.Peer]
	if now.Last = time.Now(); at == nil || now.Last.Sub(at.Last) >= disputeShown {
		if d.byPeer == nil {
			d.byPeer = map[uint32]*dispute{}
		}
		at = &dispute{logged: map[string]bool{}}
		d.byPeer[now.Peer] = at
	}
	if now.Last.Sub(at.Last) > n.distrustFor() {
		at.streak = 0
	}
	if now.Verdict == "" && now.Index == at.Index {
		now.Verdict = at.Verdict
	}
	now.Times = at.Times + 1
	if at.Dispute = now; request {
		at.streak++
	}
	pause.Offer(d.wake, struct{}{})
	return *at
}

func (n *Node) distrustFor() time.Duration { return distrustWithin * n.cfg.Election }

// checkTrusted returns an error while this node does not follow or elect a peer because of recent rejections.
func (n *Node) checkTrusted(peer uint32) error {
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.byPeer[peer]; p != nil && p.streak >= distrustAfter && time.Since(p.Last) < n.distrustFor() {
		return fmt.Errorf("node %d does not follow or elect node %d for now: %s", n.cfg.NodeID, peer, p.Says)
	}
	return nil
}

// resolveDisputes is the task that asks the other voters about disputes, once a second while one has no verdict.
func (n *Node) resolveDisputes() {
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
			if p.Verdict == "" && p.Index > 0 && p.Index <= n.committed() { // this node asks only about records that it has
				n.resolveDispute(p)
			}
		}
	}
}

// resolveDispute asks the other voters about a dispute.
func (n *Node) resolveDispute(p Dispute) {
	v := n.askVoters(p.Index)
	if len(v.differ) >= v.majority {
		n.stepAside(fmt.Errorf("%s another record %d: %s", holdPhrase(v.differ), p.Index, p.Says), n.lostFrom(p.Index))
		return
	}
	if len(v.agree) < v.majority {
		return
	}
	verdict := fmt.Sprintf("%s the same record: what node %d sent is wrong", holdPhrase(v.agree), p.Peer)
	if n.logOnce(p.Peer, verdict) {
		n.log.Error("a majority agrees with this node, the peer is ignored", "peer", p.Peer, "index", p.Index, "verdict", verdict)
	}
	d := &n.disputes
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.byPeer[p.Peer]; at != nil && at.Index == p.Index {
		at.Verdict = verdict
	}
}

// VerifyWithVoters asks the other voters about a committed record that cannot be applied here, and returns a summary
// of their answers. If a majority holds another record, this node's log is wrong and the node steps aside.
func (n *Node) VerifyWithVoters(ctx context.Context, index uint64, why error) (said string) {
	for {
		v := n.askVoters(index)
		switch {
		case len(v.differ) >= v.majority:
			n.stepAside(fmt.Errorf("%s another record %d: %w", holdPhrase(v.differ), index, why), n.lostFrom(index))
			return holdPhrase(v.differ) + " another record"
		case len(v.agree) >= v.majority:
			return holdPhrase(v.agree) + " the same record"
		}
		if pause.For(ctx, compareTimeout/4) != nil {
			return "too few other voters say what they hold"
		}
	}
}

// stepAside stops this member, because a majority of the voters holds other data. At its next start the member moves
// its files aside, with the records that the others lack.
func (n *Node) stepAside(why error, lost Lost) {
	why = fmt.Errorf("a majority of the voters holds something else than this node: %w", why)
	if n.cfg.StepAside == nil || n.disputes.steppedAside.Swap(true) {
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
	n.amnesia.Store(true) // from now on the node gives no votes and accepts no records
	n.admitted.Store(nil)
	n.log.Error("this node steps aside, and stops; its next start keeps its state and log as *.corrupt-* and gets the cluster's",
		"err", why)
}

// holdPhrase returns the beginning of a sentence about members: "nodes 1 and 3 hold".
func holdPhrase(ids []uint32) string {
	if len(ids) == 1 {
		return nodeList(ids) + " holds"
	}
	return nodeList(ids) + " hold"
}

// nodeList returns a list of members for a sentence: "nodes 1 and 3".
func nodeList(ids []uint32) string {
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
