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

// scrubPause is the pause between two steps of a scrub, so that it costs a few hundredths of a processor.
const scrubPause = 10 * time.Millisecond

// healWait is the interval at which a damaged node checks whether the others can heal it. It logs the damage again
// after logInterval.
const (
	healWait    = time.Second
	logInterval = 10 * time.Minute

	unprovenWait = time.Minute // before the next scrub, if the second read of supposed damage failed
)

// scrub is the task that verifies all rows of the state: at the start, at intervals, and when a reader found a
// damaged row. A second read must confirm damage. A member of a cluster then stops; its next start moves state and
// log aside, and the other members send it both, as after the loss of a disk. It stops only if a quorum of the others
// has verified their own states: damage that all members find at once is a bug rather than a broken disk, and must
// not cost every member its state. Until then, and on a single node, it logs the damage and goes on; reads of damaged
// rows fail. The next start of a single node rebuilds the state from a checkpoint and its log. The scrub also
// verifies the files of the index, and rebuilds damaged ones from the state.
func (n *Node) scrub(ctx context.Context) error {
	var lastLogged time.Time
	for scrub := n.state.Scrub; ; {
		start := time.Now()
		err := scrub(ctx, scrubPause)
		found := verdict(err, n.state.Verify)
		scrub = n.state.Scrub
		wait, noticed := n.cfg.Storage.ScrubEvery, n.state.Damaged()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case found == misread:
			n.log.Error("a row of the state was read wrong, and is intact when it is read again: test the memory", "err", err)
		case found == damaged:
			n.service.Cluster().ScrubDone(false)
			level := slog.LevelDebug
			if time.Since(lastLogged) >= logInterval {
				lastLogged, level = time.Now(), slog.LevelError
			}
			n.log.Log(ctx, level, "the state on disk is damaged", "err", err)
			if n.healable(ctx) {
				return errors.Join(fmt.Errorf("the state is damaged; the next start heals it: %w", err),
					home.WriteNote(n.cfg.Files(), home.DamageFile, err))
			}
			n.requestRebuild(ctx, level, err)
			wait, noticed = min(wait, max(healWait, time.Since(start))), nil
		case found == unknown:
			n.log.Warn("the state could not be verified", "err", err)
			if errors.Is(err, state.ErrState) { // the second read failed, so try again soon
				n.service.Cluster().ScrubDone(false)
				wait = min(wait, unprovenWait)
			}
		default:
			lastLogged = time.Time{}
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
			scrub = func(context.Context, time.Duration) error { return n.state.Verify() }
		}
	}
}

// A finding is the result of a scrub.
type finding int

const (
	intact  finding = iota
	misread         // the data on disk is intact: memory or a cable caused the error
	damaged         // confirmed by a second read
	unknown         // a read failed, which proves nothing
)

// verdict interprets the error of a scrub. again reads a second time to confirm damage.
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
	if err := n.index.Verify(ctx, scrubPause); err != nil && ctx.Err() == nil {
		n.log.Warn("the files of the index could not be verified, or not be rebuilt", "err", err)
	}
}

// watchIndex is the task that verifies the files of the index when a reader finds damage between two scrubs.
func (n *Node) watchIndex(ctx context.Context) error {
	for range pause.Received(ctx.Done(), n.index.Noticed()) {
		n.verifyIndex(ctx)
	}
	return ctx.Err()
}

// requestRebuild makes the next start of a single node rebuild the state. If the note cannot be written, for example
// on a full disk, the node goes on and the next scrub finds the damage again.
func (n *Node) requestRebuild(ctx context.Context, level slog.Level, why error) {
	sole, err := home.SoleNode(n.cfg.Files(), n.state)
	if err != nil { // the list of nodes is damaged, but Raft knows its members without the state
		sole = n.raft.Alone()
	}
	if !sole {
		n.log.Log(ctx, level, "the state is damaged, and too few members can replace it now; if they do not come back, restore a backup")
		return
	}
	if err := home.WriteNote(n.cfg.Files(), home.RebuildFile, home.DamageNote(n.state, why)); err != nil {
		n.log.Log(ctx, level, "the next start is not told to rebuild the state", "err", err)
		return
	}
	n.log.Log(ctx, level, "restart this node: it rebuilds the state from the log")
}

// healable reports whether a quorum of the other voters is reachable and has verified its state, so that the cluster
// continues without this node and can heal it.
func (n *Node) healable(ctx context.Context) bool {
	st := n.service.Cluster().Status(ctx)
	healthy := 0
	for _, p := range st.Peers {
		if p.Voter && p.Reachable && p.Whole {
			healthy++
		}
	}
	return healthy > 0 && healthy >= st.QuorumSize
}
