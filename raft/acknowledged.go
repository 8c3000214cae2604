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

// This file notes which records members acknowledged, stores them, and tells them to the members;
// recovery.Acknowledged says why.

// end is the place of the log's last record.
func (n *Node) end() recovery.Place {
	index, term := n.lastRecord()
	return recovery.Place{Term: term, Index: index}
}

func (n *Node) acknowledgedFile() string { return filepath.Join(n.cfg.Dir, "acknowledged") }

// storeAcknowledged is the task that writes to disk which places members have acknowledged, every few seconds while
// they change, and what is committed, soon after the last record: the records themselves bring it there while more of
// them come. Both are written once more in the end.
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

// acknowledgedPlaces are the places that a leader's heartbeats carry, one for each member. The leader's own log
// counts only as far as its disk has it: a crash may take the rest.
func (n *Node) acknowledgedPlaces() (all []wire.RaftPlace) {
	if end := n.end(); n.logs.Synced() { // in this order: what is appended after the question was not asked about
		n.acks.Note(n.cfg.NodeID, place(n.receipt(end)))
	}
	for id, p := range n.acks.All() {
		all = append(all, wire.RaftPlace{Node: id, Term: p.Term, Index: p.Index, Receipt: p.Receipt})
	}
	return all
}

func place(p *wire.RaftPlace) recovery.Place {
	return recovery.Place{Term: p.Term, Index: p.Index, Receipt: p.Receipt}
}

// receiptKey is the key of a member's receipts. It is made of the identity in its home, so an old copy of the home has
// it as well, and no other member does.
func receiptKey(identity ed25519.PrivateKey) []byte {
	if identity == nil {
		return nil
	}
	key := sha256.Sum256(append([]byte("cairn receipt "), identity.Seed()...))
	return key[:]
}

// receipt is a record that this member has, with what proves that to the member itself later.
func (n *Node) receipt(p recovery.Place) *wire.RaftPlace {
	out := &wire.RaftPlace{Node: n.cfg.NodeID, Term: p.Term, Index: p.Index}
	if n.receipts != nil {
		h := hmac.New(sha256.New, n.receipts)
		h.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, p.Term), p.Index))
		out.Receipt = hex.EncodeToString(h.Sum(nil))
	}
	return out
}

// noteAcknowledged takes over the places that a leader's heartbeat carries.
func (n *Node) noteAcknowledged(all []wire.RaftPlace) {
	for _, p := range all {
		if p.Node != n.cfg.NodeID {
			n.acks.Note(p.Node, place(&p))
		}
	}
}

// reached is the newest record, by term and index, that this member's files know of. The log may end before it:
// another leader's records are taken away before those that replace them are stored, and a snapshot may take the
// place of some with a higher term.
func (n *Node) reached() recovery.Place {
	log, snapshot := n.ends()
	var cut recovery.Place
	cut.Term, cut.Index = n.logs.Cut()
	return slices.MaxFunc([]recovery.Place{log, snapshot, cut}, recovery.Place.Compare)
}

// checkRolledBack compares the record that a peer knows this member to have acknowledged with those that its files
// know of. If they do not reach so far they are an old copy: the member gives up its vote until it has rejoined. The
// peer's word is not enough for that: it must show the member's own receipt.
func (n *Node) checkRolledBack(peer uint32, h *wire.RaftHello) {
	if h == nil || n.raft == nil || n.stateless() {
		return
	}
	end, said := n.reached(), recovery.Place{Term: h.AckTerm, Index: h.AckIndex}
	if !end.Before(said) {
		return
	}
	if own := n.receipt(said); own.Receipt == "" || !hmac.Equal([]byte(own.Receipt), []byte(h.Receipt)) {
		n.disbelieve(Dispute{Peer: peer,
			Says: fmt.Sprintf("this node acknowledged record %d of term %d, but the receipt is not this node's", said.Index, said.Term)})
		return
	}
	n.log.Error("this member's files are older than what it acknowledged: it has no vote until it has rejoined",
		"peer", peer, "acknowledged", said.Index, "term", said.Term, "index", end.Index, "err", errRolledBack)
	if err := n.markAmnesiac(); err != nil {
		_ = n.disk.Break(fmt.Errorf("amnesia mark: %w", err))
	}
}

var errRolledBack = errors.New("the home, or a part of it, was replaced by an old copy")
