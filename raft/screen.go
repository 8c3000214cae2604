package raft

import (
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/wire"
)

// The library trusts a leader: it stores the records that it gets, panics on a configuration that it cannot decode,
// and adopts any term. So this node validates a request before the library sees it. A request that fails changes
// nothing here.

// maxTermJump bounds how far a peer's term may be ahead of this node's. A term never goes back, so one near the
// largest number would end all elections for good.
const maxTermJump = 1 << 32

// validateAppend rejects a request of a leader that this node does not follow, and a request that no leader can send.
func (n *Node) validateAppend(leader uint32, req *hraft.AppendEntriesRequest) error {
	if err := n.checkTrusted(leader); err != nil {
		return err
	}
	if err := errors.Join(n.checkTerm(req.Term), n.checkLeader(leader, req.Term)); err != nil {
		return n.reject(leader, 0, err)
	}
	if err := n.checkRecords(req); err != nil {
		return n.reject(leader, 0, err)
	}
	if index, err := n.checkApplied(req); err != nil {
		return n.reject(leader, index, err)
	}
	return nil
}

// validateSnapshot rejects a snapshot that contradicts the records applied here.
func (n *Node) validateSnapshot(m *wire.SnapshotBegin) error {
	if err := n.checkTrusted(m.Leader); err != nil {
		return err
	}
	if err := errors.Join(n.checkTerm(m.Term), n.checkLeader(m.Leader, m.Term), checkConfiguration(m.Configuration)); err != nil {
		return n.reject(m.Leader, 0, fmt.Errorf("snapshot: %w", err))
	}
	if index, err := n.checkApplied(&hraft.AppendEntriesRequest{Term: m.Term, PrevLogEntry: m.LastIndex,
		PrevLogTerm: m.LastTerm}); err != nil {
		return n.reject(m.Leader, index, fmt.Errorf("snapshot: %w", err))
	}
	at := n.committed()
	if n.stateless() || at == 0 || m.LastIndex <= at {
		return nil
	}
	if v := n.askVoters(at); len(v.differ) >= v.majority { // the snapshot would replace records that the others lack
		return n.reject(m.Leader, at,
			fmt.Errorf("snapshot: %s another record %d than this node, where it is committed", holdPhrase(v.differ), at))
	}
	return nil
}

// checkTerm rejects a term that elections cannot have reached.
func (n *Node) checkTerm(term uint64) error {
	if ours := n.Term(); term > ours && term-ours > maxTermJump {
		return fmt.Errorf("term %d is out of reach of term %d", term, ours)
	}
	return nil
}

// checkLeader rejects a request in a term that another member leads.
func (n *Node) checkLeader(leader uint32, term uint64) error {
	if term != n.Term() {
		return nil
	}
	// the library forgets the leader before it moves to another term
	if id, _, known := n.Leader(); known && id != leader && term == n.Term() {
		return fmt.Errorf("node %d leads term %d", id, term)
	}
	return nil
}

// checkRecords rejects records that do not follow each other, or that this node cannot decode.
func (n *Node) checkRecords(req *hraft.AppendEntriesRequest) error {
	term := req.PrevLogTerm
	for i, e := range req.Entries {
		if want := req.PrevLogEntry + 1 + uint64(i); e.Index != want {
			return fmt.Errorf("record %d is sent in the place of record %d", e.Index, want)
		}
		if e.Term < term || e.Term > req.Term {
			return fmt.Errorf("record %d of term %d is sent behind a record of term %d, by the leader of term %d", e.Index,
				e.Term, term, req.Term)
		}
		term = e.Term
		if err := n.checkRecord(e); err != nil {
			return fmt.Errorf("record %d: %w", e.Index, err)
		}
	}
	return nil
}

func (n *Node) checkRecord(l *hraft.Log) error {
	switch l.Type {
	case hraft.LogNoop, hraft.LogBarrier:
		return nil
	case hraft.LogConfiguration:
		return checkConfiguration(l.Data)
	case hraft.LogCommand:
		if n.cfg.Check == nil {
			return nil
		}
		return n.largeFrames.Decode(n.ctx, oplog.RecordSize(l.Data), func() error { return n.cfg.Check(l.Data) })
	}
	return fmt.Errorf("its kind %d is unknown", l.Type)
}

// checkConfiguration rejects a configuration that the library cannot decode, or that has no voter.
func checkConfiguration(b []byte) (err error) {
	defer recovery.RecoverPanic(&err)
	for _, s := range hraft.DecodeConfiguration(b).Servers {
		if s.Suffrage == hraft.Voter {
			return nil
		}
	}
	return errors.New("it names no voter")
}

// committed returns the last record that this node knows to be committed. After a crash the state may have to apply
// some of them again.
func (n *Node) committed() uint64 {
	applied, _ := n.sm.Applied()
	return max(applied, n.raft.AppliedIndex(), n.logs.Committed())
}

// checkApplied rejects a request whose records differ from those committed here, and returns the index of the first
// difference.
func (n *Node) checkApplied(req *hraft.AppendEntriesRequest) (index uint64, err error) {
	if req.Term < n.Term() {
		return 0, nil // of a deposed leader: the library rejects it
	}
	at, atTerm := n.sm.Applied()
	applied, from := n.committed(), n.supersededTo.Load()
	one := func(index, term uint64) error {
		if index == 0 || index <= from || index > applied {
			return nil
		}
		var l hraft.Log
		if n.logs.GetLog(index, &l) == nil && l.Term != term {
			return fmt.Errorf("record %d has term %d here, where it is committed, and term %d in the request", index, l.Term, term)
		}
		if index == at && term != atTerm {
			return fmt.Errorf("the state here is at record %d of term %d, which has term %d in the request", index, atTerm, term)
		}
		return nil
	}
	if err := one(req.PrevLogEntry, req.PrevLogTerm); err != nil {
		return req.PrevLogEntry, err
	}
	for _, e := range req.Entries {
		if e.Index > applied {
			break
		}
		if err := one(e.Index, e.Term); err != nil {
			return e.Index, err
		}
	}
	return 0, nil
}
