package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// scrubRest is between two steps of a scrub: what it costs is a few hundredths of a processor.
const scrubRest = 10 * time.Millisecond

// healWait is between two looks at whether the others can heal this node. Damage is logged again after toldAgain.
const (
	healWait  = time.Second
	toldAgain = 10 * time.Minute

	unprovenWait = time.Minute // until damage is looked for again of which the second read failed
)

// scrub is the task that verifies all rows of the state: at the start, at intervals, and when a reader met a damaged
// row. A member of a cluster that finds damage stops; its next start moves state and log aside, and the other members
// send it both, as after the loss of a disk. It reads a second time before it believes the first, and stops only while
// a quorum of the others has verified its own state: damage that all members find at once is a bug and no broken disk,
// and must not cost every member its state. Until then, and on a node that is alone, it logs the damage and goes on;
// reads of damaged rows fail. The next start of a node that is alone rebuilds the state from a checkpoint and its log.
// The files of the index are verified as well, and rebuilt from the state where they are damaged.
func (n *Node) scrub(ctx context.Context) error {
	var told time.Time
	for look := n.state.Scrub; ; {
		start := time.Now()
		err := look(ctx, scrubRest)
		found := verdict(err, n.state.Verify)
		look = n.state.Scrub
		wait, noticed := n.cfg.Storage.ScrubEvery, n.state.Damaged()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case found == misread:
			n.log.Error("a row of the state was read wrong, and is intact when it is read again: test the memory", "err", err)
		case found == damaged:
			n.service.Cluster().ScrubDone(false)
			level := slog.LevelDebug
			if time.Since(told) >= toldAgain {
				told, level = time.Now(), slog.LevelError
			}
			n.log.Log(ctx, level, "the state on disk is damaged", "err", err)
			if n.healable(ctx) {
				return errors.Join(fmt.Errorf("the state is damaged; the next start heals it: %w", err),
					home.LeaveWord(n.cfg.Files(), home.DamageFile, err))
			}
			n.selfHeal(ctx, level, err)
			wait, noticed = min(wait, max(healWait, time.Since(start))), nil
		case found == unknown:
			n.log.Warn("the state could not be verified", "err", err)
			if errors.Is(err, state.ErrState) { // the second read failed: it is tried again soon
				n.service.Cluster().ScrubDone(false)
				wait = min(wait, unprovenWait)
			}
		default:
			told = time.Time{}
			n.service.Cluster().ScrubDone(true)
			n.log.Debug("the state is verified", "took", time.Since(start))
			n.verifyIndex(ctx)
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

// A finding is what a scrub has found of the rows.
type finding int

const (
	intact  finding = iota
	misread         // the disk has what was written: a memory or a cable erred
	damaged         // by two reads
	unknown         // a read failed, so that nothing is proven
)

// verdict judges the error of a scrub. Damage is read a second time before it is believed; rows are intact only when
// that read succeeds.
func verdict(first error, again func() error) finding {
	if first == nil {
		return intact
	}
	if !errors.Is(first, state.ErrState) {
		return unknown
	}
	switch second := again(); {
	case second == nil:
		return misread
	case errors.Is(second, state.ErrState):
		return damaged
	}
	return unknown
}

func (n *Node) verifyIndex(ctx context.Context) {
	if err := n.index.Verify(ctx, scrubRest); err != nil && ctx.Err() == nil {
		n.log.Warn("the files of the index could not be verified, or not be rebuilt", "err", err)
	}
}

// watchIndex is the task that verifies the files of the index when damage was found between two scrubs.
func (n *Node) watchIndex(ctx context.Context) error {
	for range pause.Received(ctx.Done(), n.index.Noticed()) {
		n.verifyIndex(ctx)
	}
	return ctx.Err()
}

// selfHeal has the next start of a node that is alone rebuild the state. Where the note cannot be written, perhaps
// because the disk is full, the node goes on: the next scrub finds the damage again.
func (n *Node) selfHeal(ctx context.Context, level slog.Level, why error) {
	sole, err := home.SoleNode(n.cfg.Files(), n.state)
	if err != nil { // the damage is in the list of nodes: Raft knows its members without the state
		sole = n.raft.Alone()
	}
	if !sole {
		n.log.Log(ctx, level, "the state is damaged, and too few members can replace it now; if they do not come back, restore a backup")
		return
	}
	if err := home.LeaveWord(n.cfg.Files(), home.RebuildFile, home.DamageAt(n.state, why)); err != nil {
		n.log.Log(ctx, level, "the next start is not told to rebuild the state", "err", err)
		return
	}
	n.log.Log(ctx, level, "restart this node: it rebuilds the state from the log")
}

// healable reports whether a quorum of the other voters answers and has verified its state, so that the cluster goes
// on without this node and heals it.
func (n *Node) healable(ctx context.Context) bool {
	st := n.service.Cluster().Status(ctx)
	whole := 0
	for _, p := range st.Peers {
		if p.Voter && p.Reachable && p.Whole {
			whole++
		}
	}
	return whole > 0 && whole >= st.QuorumSize
}
