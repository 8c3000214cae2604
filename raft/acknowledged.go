package raft

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// A member whose files are an old copy (a machine snapshot, a copied disk) cannot know that. The others do: each remembers the
// last record that each member is known to have acknowledged, and tells a member of its own when they connect, which is before
// it is asked for a vote. A member whose log ends before that is treated as one without state.
//
// What is remembered are the term and the index of a record. The end of a member's log never goes back in that order: records
// are only cut away for records of a newer term. The leader learns it from the answers to its records, and tells all others
// in its heartbeats. It is written to disk every few seconds, so a crash forgets no more than those.

// place is the term and the index of a record, in the order in which votes compare the ends of logs.
type place struct{ Term, Index uint64 }

func (p place) before(q place) bool {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Index, q.Index)) < 0
}

// end is the place of the log's last record.
func (n *Node) end() place {
	index, term := n.lastRecord()
	return place{term, index}
}

// acknowledgements are the last records that members are known to have acknowledged.
type acknowledgements struct {
	mu    sync.Mutex
	last  map[uint32]place
	dirty bool // something is not on disk yet
}

func (a *acknowledgements) note(id uint32, p place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last[id].before(p) {
		if a.last == nil {
			a.last = map[uint32]place{}
		}
		a.last[id], a.dirty = p, true
	}
}

func (a *acknowledgements) of(id uint32) place {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[id]
}

func (n *Node) acknowledgedFile() string { return filepath.Join(n.cfg.Dir, "acknowledged") }

// loadAcknowledged reads what was remembered. What cannot be read is only lost.
func (n *Node) loadAcknowledged() {
	raw, err := os.ReadFile(n.acknowledgedFile())
	if err == nil {
		err = json.Unmarshal(raw, &n.acks.last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("what the members acknowledged is not remembered", "err", err)
	}
}

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
		if err := n.writeAcknowledged(); err != nil {
			n.log.Warn("what the members acknowledged is not written", "err", err)
		}
	}
}

func (n *Node) writeAcknowledged() error {
	n.acks.mu.Lock()
	dirty, last := n.acks.dirty, maps.Clone(n.acks.last)
	n.acks.dirty = false
	n.acks.mu.Unlock()
	if !dirty {
		return nil
	}
	raw, err := json.Marshal(last)
	if err != nil {
		return err
	}
	next := n.acknowledgedFile() + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil && !n.cfg.NoSync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Rename(next, n.acknowledgedFile()))
}

// tellAcknowledged is what a leader's heartbeats say of all members. Its own log counts as far as its disk has it: a crash may
// take the rest.
func (n *Node) tellAcknowledged() (all []wire.RaftPlace) {
	if n.logs.Synced() {
		n.acks.note(n.cfg.NodeID, n.end())
	}
	n.acks.mu.Lock()
	defer n.acks.mu.Unlock()
	for id, p := range n.acks.last {
		all = append(all, wire.RaftPlace{Node: id, Term: p.Term, Index: p.Index})
	}
	return all
}

// hearAcknowledged notes what a leader says of all members.
func (n *Node) hearAcknowledged(all []wire.RaftPlace) {
	for _, p := range all {
		if p.Node != n.cfg.NodeID {
			n.acks.note(p.Node, place{p.Term, p.Index})
		}
	}
}

// reminded compares what a peer says that this member acknowledged with what its log holds.
func (n *Node) reminded(peer uint32, h *wire.RaftHello) {
	if h == nil || n.raft == nil || n.amnesiac() {
		return
	}
	end := n.end()
	if said := (place{h.AckTerm, h.AckIndex}); end.before(said) {
		n.log.Error("this member's files are older than what it acknowledged: it has no vote until it has rejoined",
			"peer", peer, "acknowledged", said.Index, "term", said.Term, "index", end.Index, "err", errRolledBack)
		if err := n.forget(); err != nil {
			_ = n.breaks(fmt.Errorf("amnesia mark: %w", err))
		}
	}
}

var errRolledBack = errors.New("an old copy of the home, or of a part of it, was put in its place")
