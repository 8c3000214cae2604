package raft

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// The log of a node that is alone exists once. When its file or its journal is damaged, a new log is made of every record
// that the file, the journal, the snapshots and the state still prove. A record that none of them has is lost, and the node
// does not start before its operator has accepted that (see AcceptLoss). The damaged files are moved aside when the new log
// is whole, not before.

// salvageDir is where the new log is made: under its first name until it is whole, under its second until its files have
// taken the places of the damaged ones.
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
type remains struct {
	records map[uint64]*hraft.Log
	end     uint64 // the last record that is known to have been there
	term    uint64 // the last term that the node is known to have been in
	open    bool   // there may have been records behind end
}

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
	r := n.remains(path)
	r.open = r.open || open
	if n.namesOthers(list, r) {
		return false, nil
	}
	if base == 0 && r.end > 0 && r.records[1] == nil { // the first record of a log says who founds it
		r.records[1] = &hraft.Log{Index: 1, Term: 1, Type: hraft.LogConfiguration, Data: hraft.EncodeConfiguration(n.onlyMember()), AppendedAt: time.Now()}
	}
	rest, lost := r.continues(base, term)
	n.loss = nil
	if len(lost) > 0 || r.open {
		n.loss = &LossError{Lost: lost, After: max(base, r.end), Open: r.open, Cause: why}
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
	if err := n.writeSalvaged(rest, max(term, r.term)); err != nil {
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
	if err != nil {
		return fmt.Errorf("raft log %s: %w", path, err)
	}
	return nil
}

// shortfall says what is wrong with a log that reads well: it ends before its state or its snapshot does.
func (n *Node) shortfall(covered uint64) error {
	last, err := n.logs.LastIndex()
	if err != nil {
		return err
	}
	_, err = n.logs.GetUint64([]byte(keyTerm))
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
	for i := base + 1; i <= r.end; i++ {
		l := r.records[i]
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
	for _, i := range slices.Sorted(maps.Keys(r.records)) {
		if l := r.records[i]; l.Type == hraft.LogConfiguration && (len(list) == 0 || i > list[0].Index) {
			var err error
			if members, err = decodeConfiguration(l.Data); err != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(members, func(s hraft.Server) bool { return s.ID != serverID(n.cfg.NodeID) })
}

// decodeConfiguration reads a record that the library panics on when it is not one.
func decodeConfiguration(b []byte) (members []hraft.Server, err error) {
	defer caught(&err)
	return hraft.DecodeConfiguration(b).Servers, nil
}

func (n *Node) onlyMember() hraft.Configuration {
	return hraft.Configuration{Servers: []hraft.Server{{ID: serverID(n.cfg.NodeID), Address: hraft.ServerAddress(n.cfg.Advertise)}}}
}

// remains reads the log's file and its journal, past what is damaged in them. Every record has a sum of its own.
func (n *Node) remains(path string) remains {
	r := remains{records: map[uint64]*hraft.Log{}}
	applied, _ := n.sm.Applied()
	fileEnd, fileErr := n.readFile(path, applied+1, &r)
	raw, err := readAtMost(journalPath(path), maxJournal)
	logs, began, headed := remnants(raw)
	for i, l := range logs {
		if n.cfg.Keys != nil {
			l, err = n.unsealed(l)
		}
		if err == nil && r.records[i] == nil {
			r.records[i] = l
		}
		r.end = max(r.end, i)
	}
	r.end = max(r.end, began, fileEnd)
	// Without a journal, what it had is not known; without the file, only the journal's header knows where it ended.
	r.open = len(raw) < journalHead || fileErr != nil && !headed
	return r
}

// readFile reads what a log's file has from a record on, and where it ends.
func (n *Node) readFile(path string, from uint64, r *remains) (end uint64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the map of a file that was cut short
	defer caught(&err)
	s, err := raftboltdb.New(raftboltdb.Options{Path: path, MsgpackUseNewTimeFormat: true,
		BoltOptions: &bbolt.Options{Timeout: 2 * time.Second, ReadOnly: true, OpenFile: n.cfg.OpenFile}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	file := &summed{BoltStore: s}
	for _, key := range []string{keyTerm, keyVoteTerm} {
		if term, err := n.readTerm(file, key); err == nil {
			r.term = max(r.term, term)
		}
	}
	end, err = file.lastForState(math.MaxUint64)
	for i := from; i <= end; i++ {
		if l, err := n.readRecord(file, i); err == nil {
			r.records[i] = l
		}
	}
	return end, err
}

func (n *Node) readTerm(file *summed, key string) (term uint64, err error) {
	defer caught(&err)
	if n.cfg.Keys == nil {
		return file.GetUint64([]byte(key))
	}
	val, err := file.Get([]byte(key))
	if err == nil {
		val, err = n.cfg.Keys.Open(nil, val, append([]byte("raft vote "), key...))
	}
	return number(val, err)
}

func (n *Node) readRecord(file *summed, index uint64) (l *hraft.Log, err error) {
	defer caught(&err)
	l = &hraft.Log{}
	if err := file.GetLog(index, l); err != nil || n.cfg.Keys == nil {
		return l, err
	}
	return n.unsealed(l)
}

func (n *Node) unsealed(l *hraft.Log) (*hraft.Log, error) {
	out := *l
	return &out, unsealLog(n.cfg.Keys, &out)
}

func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// writeSalvaged makes the new log, and gives it its name when it is whole.
func (n *Node) writeSalvaged(rest []*hraft.Log, term uint64) error {
	work := filepath.Join(n.cfg.Dir, salvageWork)
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	s, err := n.openFile(filepath.Join(work, "raft.db"))
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(rest, copyBatch) {
		if err = s.StoreLogs(batch); err != nil {
			break
		}
	}
	if err == nil && term > 0 {
		err = s.SetUint64([]byte(keyTerm), term)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	return errors.Join(syncDir(work), os.Rename(work, filepath.Join(n.cfg.Dir, salvageDir)), syncDir(n.cfg.Dir))
}

// finishSalvage puts a new log in the place of the damaged one. Each step may have been done before a crash: a file that is
// still here has not taken its place.
func (n *Node) finishSalvage() error {
	made := filepath.Join(n.cfg.Dir, salvageDir)
	if _, err := os.Stat(made); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at := time.Now().Unix()
	for _, name := range []string{journalPath("raft.db"), "raft.db"} { // a file that knows of no journal is never beside one
		from, to := filepath.Join(made, name), filepath.Join(n.cfg.Dir, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Rename(to, fmt.Sprintf("%s.corrupt-%d", to, at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(n.cfg.Dir), os.RemoveAll(made), syncDir(n.cfg.Dir))
}

// remnants are the records of every whole frame in a journal, also of those from before it last began anew that were not
// written over; of one record, the one in the newest frame. began is the last record that the log's file had then, and is
// known when headed.
func remnants(raw []byte) (logs map[uint64]*hraft.Log, began uint64, headed bool) {
	logs = map[uint64]*hraft.Log{}
	if len(raw) < journalHead+frameHead {
		return logs, 0, false
	}
	gen, began, _, err := readHeader(raw)
	first := binary.BigEndian.Uint64(raw[journalHead+8:])
	if err != nil {
		gen = first
	}
	gens := map[uint64]uint64{}
	take := func(gen uint64, records []byte) {
		found, _ := readRecords(records, nil)
		for _, l := range found {
			if logs[l.Index] == nil || gen > gens[l.Index] {
				logs[l.Index], gens[l.Index] = l, gen
			}
		}
	}
	rest := raw[journalHead:]
	for { // of this generation, one after the other, a flipped bit put right
		records, ok := frameOf(rest, gen)
		if !ok {
			// A sector that was not written may look like it: then the frame is one that was about to be acknowledged.
			if records, ok = frameOf(aBitOff(rest, gen, len(raw)-len(rest), 0), gen); !ok {
				break
			}
		}
		take(gen, records)
		rest = rest[frameHead+len(records):]
	}
	for _, near := range []uint64{gen, first} { // generations count up: the upper bytes stay
		mark := binary.BigEndian.AppendUint64(nil, near)[:6]
		for b := raw[journalHead:]; len(b) > frameHead; b = b[1:] {
			i := bytes.Index(b[frameHead-8:], mark)
			if i < 0 {
				break
			}
			b = b[i:]
			gen := binary.BigEndian.Uint64(b[frameHead-8:])
			if records, ok := frameOf(b, gen); ok {
				take(gen, records)
			}
		}
	}
	return logs, began, err == nil
}
