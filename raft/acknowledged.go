package raft

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// What members acknowledged is heard, told and kept here; why it is, recovery.Acknowledged says.

// end is the place of the log's last record.
func (n *Node) end() recovery.Place {
	index, term := n.lastRecord()
	return recovery.Place{Term: term, Index: index}
}

func (n *Node) acknowledgedFile() string { return filepath.Join(n.cfg.Dir, "acknowledged") }

// keepAcknowledged writes it every few seconds, while it changes, and when the node stops.
func (n *Node) keepAcknowledged() {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-n.ctx.Done():
			over = true
		case <-tick.C:
		}
		if err := n.acks.Store(n.acknowledgedFile(), !n.cfg.NoSync); err != nil {
			n.log.Warn("what the members acknowledged is not written", "err", err)
		}
	}
}

// tellAcknowledged is what a leader's heartbeats say of all members. Its own log counts as far as its disk has it: a crash may
// take the rest.
func (n *Node) tellAcknowledged() (all []wire.RaftPlace) {
	if n.logs.Synced() {
		n.acks.Note(n.cfg.NodeID, n.end())
	}
	for id, p := range n.acks.All() {
		all = append(all, wire.RaftPlace{Node: id, Term: p.Term, Index: p.Index})
	}
	return all
}

// hearAcknowledged notes what a leader says of all members.
func (n *Node) hearAcknowledged(all []wire.RaftPlace) {
	for _, p := range all {
		if p.Node != n.cfg.NodeID {
			n.acks.Note(p.Node, recovery.Place{Term: p.Term, Index: p.Index})
		}
	}
}

// reminded compares what a peer says that this member acknowledged with what its log holds.
func (n *Node) reminded(peer uint32, h *wire.RaftHello) {
	if h == nil || n.raft == nil || n.amnesiac() {
		return
	}
	end := n.end()
	if said := (recovery.Place{Term: h.AckTerm, Index: h.AckIndex}); end.Before(said) {
		n.log.Error("this member's files are older than what it acknowledged: it has no vote until it has rejoined",
			"peer", peer, "acknowledged", said.Index, "term", said.Term, "index", end.Index, "err", errRolledBack)
		if err := n.markAmnesiac(); err != nil {
			_ = n.disk.Break(fmt.Errorf("amnesia mark: %w", err))
		}
	}
}

var errRolledBack = errors.New("an old copy of the home, or of a part of it, was put in its place")
