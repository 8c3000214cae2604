package raft

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// This file notes the records that members acknowledged, stores them, and reports them to the members.
// recovery.Acknowledged gives the reason.

// logEnd returns the position of the log's last record.
func (n *Node) logEnd() recovery.Position {
	index, term := n.lastRecord()
	return recovery.Position{Term: term, Index: index}
}

func (n *Node) acknowledgedFile() string { return filepath.Join(n.cfg.Dir, "acknowledged") }

// storeAcknowledged is the task that writes two things to disk: the positions that members acknowledged, every few
// seconds while they change, and the commit index, once no record was appended for half a second. Appended records
// store the commit index as well. The task writes both once more when the node closes.
func (n *Node) storeAcknowledged() {
	const every = 500 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := uint64(0)
	for i, over := 0, false; !over; i++ {
		select {
		case <-n.ctx.Done():
			over = true
		case <-tick.C:
		}
		if i%10 == 0 || over {
			if err := n.acks.Store(n.acknowledgedFile(), !n.cfg.NoSync); err != nil {
				n.log.Warn("acknowledged records of members not saved", "err", err)
			}
		}
		if at, _ := n.lastRecord(); at == last && !over {
			_ = n.disk.Try(n.logs.StoreCommitted) // a failure of the disk stops this member
		} else {
			last = at
		}
	}
}

// acknowledgedPositions returns the positions that a leader's heartbeats carry, one for each member. The leader
// counts its own log only up to the last synced record, because a crash may lose the rest.
func (n *Node) acknowledgedPositions() (all []wire.RaftPlace) {
	if end := n.logEnd(); n.logs.Synced() { // logEnd first: Synced does not cover records that are appended after the call
		n.acks.Note(n.cfg.NodeID, toPosition(n.receipt(end)))
	}
	for id, p := range n.acks.All() {
		all = append(all, wire.RaftPlace{Node: id, Term: p.Term, Index: p.Index, Receipt: p.Receipt})
	}
	return all
}

func toPosition(p *wire.RaftPlace) recovery.Position {
	return recovery.Position{Term: p.Term, Index: p.Index, Receipt: p.Receipt}
}

// receiptKey derives the key of a member's receipts from the identity in its home. An old copy of the home has the
// same key; no other member has it.
func receiptKey(identity ed25519.PrivateKey) []byte {
	if identity == nil {
		return nil
	}
	key := sha256.Sum256(append([]byte("cairn receipt "), identity.Seed()...))
	return key[:]
}

// receipt returns the position of a record that this member has, with an HMAC that proves the acknowledgement to
// this member later.
func (n *Node) receipt(p recovery.Position) *wire.RaftPlace {
	out := &wire.RaftPlace{Node: n.cfg.NodeID, Term: p.Term, Index: p.Index}
	if n.receipts != nil {
		h := hmac.New(sha256.New, n.receipts)
		h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, p.Term), p.Index))
		out.Receipt = hex.EncodeToString(h.Sum(nil))
	}
	return out
}

// noteAcknowledged stores the positions in a leader's heartbeat.
func (n *Node) noteAcknowledged(all []wire.RaftPlace) {
	for _, p := range all {
		if p.Node != n.cfg.NodeID {
			n.acks.Note(p.Node, toPosition(&p))
		}
	}
}

// newestKnown returns the newest record, by term and index, that this member's files mention. The log may end before
// it: conflicting records are deleted before their replacements are stored, and a snapshot may replace records with a
// higher term.
func (n *Node) newestKnown() recovery.Position {
	log, snapshot := n.logAndSnapshotEnds()
	var cut recovery.Position
	cut.Term, cut.Index = n.logs.LastCut()
	return slices.MaxFunc([]recovery.Position{log, snapshot, cut}, recovery.Position.Compare)
}

// checkRolledBack compares the record that this member acknowledged, as a peer remembers it, with the newest record
// in its files. If the files end earlier, they are an old copy, and the member gives up its vote until it has
// rejoined. The peer must show the member's own receipt: its claim alone does not count.
func (n *Node) checkRolledBack(peer uint32, h *wire.RaftHello) {
	if h == nil || n.raft == nil || n.stateless() {
		return
	}
	end, said := n.newestKnown(), recovery.Position{Term: h.AckTerm, Index: h.AckIndex}
	if !end.Before(said) {
		return
	}
	if own := n.receipt(said); own.Receipt == "" || !hmac.Equal([]byte(own.Receipt), []byte(h.Receipt)) {
		n.noteClaim(Dispute{Peer: peer,
			Says: fmt.Sprintf("this node acknowledged record %d of term %d, but the receipt is not this node's", said.Index, said.Term)})
		return
	}
	n.log.Error("this member's files are older than what it acknowledged: it has no vote until it has rejoined",
		"peer", peer, "acknowledged", said.Index, "term", said.Term, "index", end.Index, "err", errRolledBack)
	if err := n.markAmnesiac(); err != nil {
		_ = n.disk.Fail(fmt.Errorf("amnesia mark: %w", err))
	}
}

var errRolledBack = errors.New("the home, or a part of it, was replaced by an old copy")
