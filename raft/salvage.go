package raft

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/transport"
)

// The log of a node that is alone exists once. When it is damaged, a new log is made of every record that its files, the snapshots
// and the state still prove. A record that none of them has is lost, and the node does not start before its operator has accepted
// that (see AcceptLoss). The damaged log is moved aside when the new one is whole, not before.

// salvageDir is where the new log is made: under its first name until it is whole, under its second until it has taken the place
// of the damaged one.
const (
	salvageWork = "salvaged.tmp"
	salvageDir  = "salvaged"
)

// A LossError says which records a node that is alone has lost.
type LossError struct {
	Lost  []Span // records that were in the log, and are in no file any more
	After uint64 // when Open: records behind this one may have been lost as well
	Open  bool   // how far the log went is not known
	Cause error  // what is damaged
}

// A Span is a range of records, both ends included.
type Span struct{ First, Last uint64 }

func (s Span) String() string {
	if s.First == s.Last {
		return fmt.Sprint(s.First)
	}
	return fmt.Sprintf("%d-%d", s.First, s.Last)
}

// Ranges names what is lost: "812-840, 901, any from 951 on".
func (e *LossError) Ranges() string {
	var all []string
	for _, s := range e.Lost {
		all = append(all, s.String())
	}
	if e.Open {
		all = append(all, fmt.Sprintf("any from %d on", e.After+1))
	}
	return strings.Join(all, ", ")
}

func (e *LossError) Error() string {
	return fmt.Sprintf("records lost: %s; no file of this node has them: %v", e.Ranges(), e.Cause)
}

func (e *LossError) Unwrap() error { return e.Cause }

// AcceptLoss repairs the log of a node that is alone and does not run, and says what is lost by it: nil when nothing is.
func AcceptLoss(cfg Config, sm StateMachine) (lost *LossError, err error) {
	cfg.Alone, cfg.acceptLoss = true, true
	err = offline(cfg, sm, func(n *Node, _ hraft.SnapshotStore) error {
		lost = n.loss
		return nil
	})
	return lost, err
}

// remains is what the files of a damaged log still prove.
type remains struct{ logstore.Remains }

// salvage makes a new log in the place of a damaged one. ok is false when this node is not alone after all: what is left of
// its log names other members, which have everything.
func (n *Node) salvage(snaps hraft.SnapshotStore, path string, why error, open bool) (ok bool, err error) {
	list, err := snaps.List()
	if err != nil {
		return false, err
	}
	base, term := n.sm.Applied()
	snapshot := len(list) > 0 && list[0].Index >= base
	if snapshot {
		base, term = list[0].Index, list[0].Term
	}
	applied, _ := n.sm.Applied()
	r := remains{logstore.Salvage(path, n.storeOptions(), applied+1)}
	r.Open = r.Open || open
	if n.namesOthers(list, r) {
		return false, nil
	}
	if base == 0 && r.End > 0 && r.Records[1] == nil { // the first record of a log says who founds it
		r.Records[1] = &hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(n.onlyMember()), AppendedAt: time.Now()}
	}
	rest, lost := r.continues(base, term)
	n.loss = nil
	if len(lost) > 0 || r.Open {
		n.loss = &LossError{Lost: lost, After: max(base, r.End), Open: r.Open, Cause: why}
		n.log.Error("records lost", "records", n.loss.Ranges(), "err", why)
		if !n.cfg.acceptLoss {
			return false, n.loss
		}
	}
	if !snapshot && base > 0 { // a log that does not begin with the first record needs one
		if err := n.snapshotState(snaps, base, term); err != nil {
			return false, err
		}
	}
	if err := n.writeSalvaged(rest, max(term, r.Term)); err != nil {
		return false, fmt.Errorf("new log: %w", err)
	}
	n.log.Warn("log made anew from what the files of this node hold", "index", base, "records", len(rest), "err", why)
	return true, n.finishSalvage()
}

// openSalvaged opens the log that was made.
func (n *Node) openSalvaged(snaps hraft.SnapshotStore, path string, err error) error {
	if err != nil {
		return fmt.Errorf("raft log %s: %w", path, err)
	}
	covered, err := n.usable(snaps)
	if err == nil {
		n.logs, err = n.openStore(path, covered)
	}
	return err
}

// caught makes an error of a panic.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("unreadable: %v", p)
	}
}

// shortfall says what is wrong with a log that reads well: it ends before its state or its snapshot does.
func (n *Node) shortfall(covered uint64) error {
	last, err := n.logs.LastIndex()
	if err != nil {
		return err
	}
	_, err = n.logs.GetUint64([]byte(logstore.KeyTerm))
	switch applied, _ := n.sm.Applied(); {
	case last == 0 && err != nil && max(applied, covered) > 0:
		return errors.New("the log's files are gone")
	case max(last, covered) < applied:
		return fmt.Errorf("state and log disagree: the log ends at %d, the state says %d", max(last, covered), applied)
	}
	return nil
}

// continues is the log behind a record, and what of it is lost. In the place of a lost record is one that changes nothing,
// so that no later record takes its number.
func (r remains) continues(base, term uint64) (logs []*hraft.Log, lost []Span) {
	for i := base + 1; i <= r.End; i++ {
		l := r.Records[i]
		switch {
		case l != nil && l.Term >= term:
			term = l.Term
		case len(lost) > 0 && lost[len(lost)-1].Last == i-1:
			lost[len(lost)-1].Last = i
			l = nil
		default:
			lost = append(lost, Span{i, i})
			l = nil
		}
		if l == nil {
			l = &hraft.Log{Index: i, Term: max(term, 1), Type: hraft.LogNoop, AppendedAt: time.Now()}
		}
		logs = append(logs, l)
	}
	return logs, lost
}

// namesOthers says whether what is left names a member that is not this node.
func (n *Node) namesOthers(list []*hraft.SnapshotMeta, r remains) bool {
	var members []hraft.Server
	if len(list) > 0 {
		members = list[0].Configuration.Servers
	}
	for _, i := range slices.Sorted(maps.Keys(r.Records)) {
		if l := r.Records[i]; l.Type == hraft.LogConfiguration && (len(list) == 0 || i > list[0].Index) {
			var err error
			if members, err = decodeConfiguration(l.Data); err != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(members, func(s hraft.Server) bool { return s.ID != transport.ServerID(n.cfg.NodeID) })
}

// decodeConfiguration reads a record that the library panics on when it is not one.
func decodeConfiguration(b []byte) (members []hraft.Server, err error) {
	defer caught(&err)
	return hraft.DecodeConfiguration(b).Servers, nil
}

func (n *Node) onlyMember() hraft.Configuration {
	return hraft.Configuration{Servers: []hraft.Server{{ID: transport.ServerID(n.cfg.NodeID), Address: hraft.ServerAddress(n.cfg.Advertise)}}}
}

// writeSalvaged makes the new log, and gives it its name when it is whole.
func (n *Node) writeSalvaged(rest []*hraft.Log, term uint64) error {
	work := filepath.Join(n.cfg.Dir, salvageWork)
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	s, err := logstore.Open(work, n.storeOptions())
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(rest, copyBatch) {
		if err = s.StoreLogs(batch); err != nil {
			break
		}
	}
	if err == nil && term > 0 {
		err = s.SetUint64([]byte(logstore.KeyTerm), term)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(work, filepath.Join(n.cfg.Dir, salvageDir)), syncDir(n.cfg.Dir))
}

// finishSalvage puts a new log in the place of the damaged one; a crash may have come in between.
func (n *Node) finishSalvage() error {
	made, path := filepath.Join(n.cfg.Dir, salvageDir), logDir(n.cfg.Dir)
	if _, err := os.Stat(made); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := setAside(path, asideName(path)); err != nil {
		return err
	}
	return errors.Join(os.Rename(made, path), syncDir(n.cfg.Dir))
}
