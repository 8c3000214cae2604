package raft

import (
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
)

// AcceptLoss repairs the log of a stopped node that is alone, and returns the lost records; nil if none were lost.
func AcceptLoss(cfg Config, sm StateMachine) (lost *recovery.LossError, err error) {
	cfg.Alone, cfg.acceptLoss = true, true
	err = offline(cfg, sm, func(n *Node) error {
		lost = n.loss
		return nil
	})
	return lost, err
}

// salvage makes and opens a new log in place of one that is damaged or lacks its end. ok is false if the rest of the
// log shows that this node is not alone: then the other members have every record.
func (n *Node) salvage(path string, why error) (ok bool, err error) {
	if !n.cfg.Alone {
		return false, nil
	}
	last, err := n.snaps.newest()
	if err != nil {
		return false, err
	}
	applied, term := n.sm.Applied()
	base, snapshot := applied, last.Index >= applied
	if snapshot {
		base, term = last.Index, last.Term
	}
	r := logstore.Salvage(path, n.storeOptions(), applied+1)
	r.Open = r.Open || n.logs != nil // the log was readable, so only the state shows that its end is missing
	if recovery.NamesOthers(last, r, transport.ServerID(n.cfg.NodeID)) {
		return false, nil
	}
	if err := n.closeStore(); err != nil {
		return false, err
	}
	n.logs, n.votes = nil, nil
	if base == 0 && r.End > 0 && r.Records[1] == nil { // the first record of a log names its founding members
		r.Records[1] = &hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration,
			Data: hraft.EncodeConfiguration(n.onlyMember()), AppendedAt: time.Now()}
	}
	rest, lost := recovery.RebuildLog(r, base, term)
	n.loss = nil
	if len(lost) > 0 || r.Open {
		n.loss = &recovery.LossError{Lost: lost, After: max(base, r.End), Open: r.Open, Cause: why}
		n.log.Error("records lost", "records", n.loss.Ranges(), "err", why)
		if !n.cfg.acceptLoss {
			return false, n.loss
		}
	}
	if !snapshot { // a log that does not begin with record 1 needs a snapshot
		if err := n.snapshotState(base, term); err != nil {
			return false, err
		}
	}
	term = max(term, logstore.VotedTerm(path, n.cfg.Keys))
	if len(rest) > 0 {
		term = max(term, rest[len(rest)-1].Term)
	}
	if err := recovery.WriteSalvaged(n.cfg.Dir, n.storeOptions(), rest, term); err != nil {
		return false, fmt.Errorf("new log: %w", err)
	}
	n.log.Warn("log rebuilt from the files of this node", "index", base, "records", len(rest), "err", why)
	if err := recovery.FinishSalvage(n.cfg.Dir, path); err != nil {
		return false, err
	}
	covered, err := n.snaps.usable(applied)
	if err == nil {
		err = n.openStore(path, covered)
	}
	return true, err
}

// missingTail returns an error if a readable log ends before its state or snapshot does, and so cannot be used.
func (n *Node) missingTail(covered uint64) error {
	last, err := n.logs.LastIndex()
	if err != nil {
		return err
	}
	term, err := n.votes.GetUint64([]byte(logstore.KeyTerm))
	if err != nil {
		return err
	}
	switch applied, _ := n.sm.Applied(); {
	case last == 0 && term == 0 && max(applied, covered) > 0:
		return errors.New("the log's files are gone")
	case max(last, covered) < applied:
		return fmt.Errorf("state and log disagree: the log ends at %d, the state says %d", max(last, covered), applied)
	}
	return nil
}

func (n *Node) onlyMember() hraft.Configuration {
	return hraft.Configuration{Servers: []hraft.Server{{ID: transport.ServerID(n.cfg.NodeID),
		Address: hraft.ServerAddress(n.cfg.Advertise)}}}
}
