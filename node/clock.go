package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/wire"
)

// A clockWatch detects that this node's clock is off (raft/clock.go explains how that is known), logs it, and makes a
// leader with such a clock hand leadership over. Until then such a leader stamps by the others' clocks.
type clockWatch struct {
	off        int       // consecutive checks that found the clock off; a single one may be a delayed heartbeat
	logged     bool      // whether that is logged
	handedOver time.Time // last attempt to hand leadership over
}

const (
	minOffChecks     = 3                // consecutive checks that must agree
	handOverInterval = 10 * time.Second // between two attempts to hand over
)

// check is called about once a heartbeat.
func (w *clockWatch) check(n *Node, leads bool) {
	r := n.raft.Clock()
	if !r.Off {
		if w.logged {
			n.log.Info("this node's clock is within the limit again", "offset", r.Offset.Round(time.Millisecond))
		}
		w.off, w.logged = 0, false
		return
	}
	if w.off++; w.off < minOffChecks {
		return
	}
	if !w.logged {
		w.logged = true
		n.log.Error("this node's clock is off; run a time service on every node", "offset", r.Offset.Round(time.Millisecond))
	}
	if leads && time.Since(w.handedOver) > handOverInterval {
		w.handedOver = time.Now()
		n.spawn("hand over", func(ctx context.Context) error {
			n.handOverForClock(ctx)
			return nil
		})
	}
}

// handOverForClock transfers leadership to a voter whose clock is right.
func (n *Node) handOverForClock(ctx context.Context) {
	id, ok := n.raft.VoterWithAccurateClock()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Limits.ApplyTimeout)
	defer cancel()
	if _, err := n.raft.Change(ctx, wire.Membership{Action: "transfer", NodeID: id}); err != nil {
		n.log.Warn("leadership not handed over, though this node's clock is off", "peer", id, "err", err)
		return
	}
	n.log.Info("leadership handed over, because this node's clock is off", "peer", id)
}

// now returns the cluster's time. It must not be called before the commit log is created.
func (n *Node) now() time.Time { return n.commit.Now() }
