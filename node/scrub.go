package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/state"
)

// scrubRest is between two steps of a scrub: what it costs is a few hundredths of a processor.
const scrubRest = 10 * time.Millisecond

// healWait is between two looks at whether the others can heal this node.
const healWait = time.Second

// scrub is the task that goes through the state at the start, every now and then, and when a reader met damage, and counts
// whether it still holds what was written. A member of a cluster that finds damage stops: at the next start it moves state and
// log aside, and is made whole by the others like one that lost its disk. It does so only while the others hold what was
// written, and are enough without it: what all of them find at once is no broken disk, and must cost no member its state. Until
// then, and where a node is alone, it says what it found and goes on; what is damaged is not answered. The next start of one
// that is alone builds the state anew from the snapshot and the log, which hold what was written.
func (n *Node) scrub(ctx context.Context) error {
	for look := n.state.Scrub; ; {
		start := time.Now()
		err := look(ctx, scrubRest)
		look = n.state.Scrub
		wait, noticed := n.cfg.Storage.ScrubEvery, n.state.Damaged()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, state.ErrState):
			n.service.Counted(false)
			n.log.Error("the state on disk is damaged", "err", err)
			if n.healable(ctx) {
				return errors.Join(fmt.Errorf("the state is damaged; the next start heals it: %w", err), home.LeaveWord(n.cfg.Files(), home.DamageFile, err))
			}
			n.selfHeal(err)
			wait, noticed = min(wait, max(healWait, time.Since(start))), nil
		case err != nil:
			n.log.Warn("the state could not be verified", "err", err)
		default:
			n.service.Counted(true)
			n.log.Debug("the state is verified", "took", time.Since(start))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		case <-noticed:
			n.log.Error("a row of the state is damaged, all rows are verified now")
			look = func(context.Context, time.Duration) error { return n.state.Verify() }
		}
	}
}

// selfHeal leaves word for the next start of a node that is alone. Where it cannot, on a full disk perhaps, the node goes on: what
// is damaged is found again.
func (n *Node) selfHeal(why error) {
	if !home.SoleNode(n.cfg.Files(), n.state) {
		n.log.Error("the state is damaged, and too few members can replace it now; if they do not come back, restore a backup")
		return
	}
	if err := home.LeaveWord(n.cfg.Files(), home.RebuildFile, home.PlaceOf(n.state, why)); err != nil {
		n.log.Error("the next start is not told to rebuild the state", "err", err)
		return
	}
	n.log.Error("restart this node: it rebuilds the state from the log")
}

// healable says whether enough other voters are there, hold what was written, and can go on without this node.
func (n *Node) healable(ctx context.Context) bool {
	st := n.service.Status(ctx)
	whole := 0
	for _, p := range st.Peers {
		if p.Voter && p.Reachable && p.Whole {
			whole++
		}
	}
	return whole > 0 && whole >= st.QuorumSize
}
