package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/wire"
)

// clockWatch notices that this node's clock is off (raft/clock.go says how that is known), says so, and has a leader
// with such a clock hand over. Such a leader stamps by the others' clocks meanwhile.
type clockWatch struct {
	off    int       // checks in a row that found the clock off; one alone may be a heartbeat that was delayed
	told   bool      // the log says so
	handed time.Time // when this node last tried to hand leadership over
}

const (
	looksOff  = 3                // checks in a row that must agree
	handPause = 10 * time.Second // between two attempts to hand over
)

// look is called about once a heartbeat.
func (w *clockWatch) look(n *Node, leads bool) {
	r := n.raft.Clock()
	if !r.Off {
		if w.told {
			n.log.Info("this node's clock is within the limit again", "offset", r.Offset.Round(time.Millisecond))
		}
		w.off, w.told = 0, false
		return
	}
	if w.off++; w.off < looksOff {
		return
	}
	if !w.told {
		w.told = true
		n.log.Error("this node's clock is off; run a time service on every node", "offset", r.Offset.Round(time.Millisecond))
	}
	if leads && time.Since(w.handed) > handPause {
		w.handed = time.Now()
		n.spawn("hand over", func(ctx context.Context) error {
			n.handOverForClock(ctx)
			return nil
		})
	}
}

// handOverForClock gives the lead to a voter whose clock is right.
func (n *Node) handOverForClock(ctx context.Context) {
	id, ok := n.raft.PunctualVoter()
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

// now is the time as the members know it. The log is made after those that ask it.
func (n *Node) now() time.Time { return n.commit.Now() }
