package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft"
)

// A member that steps aside may hold acknowledged records that the cluster has lost. They stay in its log, which its
// next start moves aside, and a note next to the log names their range. An operator imports them, or removes them
// with the log.

// lostFile is the name of the note: first in the home, and next to the log once that is moved aside. After an import
// the note is renamed to importedFile.
const (
	lostFile     = "lost-records"
	importedFile = "imported-records"
)

// LostRecords are the records in a set-aside log that the cluster lacks.
type LostRecords struct {
	Log string // name of the log's directory in the home
	raft.Lost
}

// NoteLost writes a note about the records in this node's log that the cluster lacks.
func NoteLost(cfg Config, lost raft.Lost) error {
	if lost.First == 0 {
		return nil
	}
	b, err := json.Marshal(lost)
	if err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(cfg.Dir, lostFile), syncwriter.AppendSum(append(b, '\n')), 0o600)
}

// moveLostNote moves the note next to the log that was moved aside, by this start or by an earlier one that ended
// before it moved the note.
func moveLostNote(cfg Config, log string) error {
	from := filepath.Join(cfg.Dir, lostFile)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if log == "" || !exists(filepath.Join(log, "log")) {
		logs, _ := filepath.Glob(filepath.Join(cfg.Dir, "raft.corrupt-*", "log")) // the pattern is valid; the newest is the last
		if len(logs) == 0 {
			return nil
		}
		log = filepath.Dir(logs[len(logs)-1])
	}
	return errors.Join(os.Rename(from, filepath.Join(log, lostFile)), syncwriter.Dir(log))
}

// Lost returns the records in the logs of a home that the cluster lacks and that were not imported.
func Lost(home string) (all []LostRecords) {
	notes, _ := filepath.Glob(filepath.Join(home, "raft.corrupt-*", lostFile)) // the pattern is valid
	for _, path := range notes {
		l := LostRecords{Log: filepath.Base(filepath.Dir(path))}
		if text, intact, err := readNote(path); err == nil && intact && json.Unmarshal(text, &l.Lost) == nil {
			all = append(all, l)
		}
	}
	return all
}

// Imported is the result of importing lost records.
type Imported struct {
	Entries  int            // entries that the cluster accepted
	Replayed int            // entries that the cluster already had, by their keys
	Refused  map[string]int // number of rejected entries by reason
	Left     map[string]int // number of operations that were not imported, by name
}

// ImportLost sends the entries of lost records that change databases to the cluster, in their order. It skips changes
// of the cluster itself. If the records create or drop a database, it also skips entries of all databases but the
// first, because their numbers may belong to other databases now. The node may run.
func ImportLost(ctx context.Context, cfg Config, lost LostRecords, to *raft.Client) (done Imported, err error) {
	done.Refused, done.Left = map[string]int{}, map[string]int{}
	entries, err := lostEntries(ctx, cfg, lost)
	if err != nil {
		return done, err
	}
	renumbered := slices.ContainsFunc(entries, func(e oplog.Entry) bool { return slices.ContainsFunc(e.Ops, createsOrDropsDatabase) })
	for i, e := range entries {
		if e.Key == "" { // makes repeating the command safe
			e.Key = fmt.Sprintf("imported/%s/%d", lost.Log, i)
		}
		if e.Ops = slices.DeleteFunc(e.Ops, isAudit); len(e.Ops) == 0 {
			continue
		}
		if e.DB == 0 || renumbered && e.DB > 1 {
			for _, op := range e.Ops {
				done.Left[op.Kind().String()]++
			}
			continue
		}
		o, err := commit.Send(ctx, to, e)
		switch refusal, ok := errors.AsType[*oplog.Error](err); {
		case ok && slices.Contains(permanentKinds, refusal.Kind):
			done.Refused[refusal.Text]++
		case err != nil:
			return done, err
		case o.Err != nil:
			done.Refused[o.Err.Text]++
		case o.Replayed:
			done.Replayed++
		default:
			done.Entries++
		}
	}
	dir := filepath.Join(cfg.Dir, lost.Log)
	return done, errors.Join(os.Rename(filepath.Join(dir, lostFile), filepath.Join(dir, importedFile)), syncwriter.Dir(dir))
}

// permanentKinds are the kinds of rejections that a retry cannot change.
var permanentKinds = []oplog.Kind{oplog.Invalid, oplog.NotFound, oplog.Denied, oplog.Conflict, oplog.TooLarge, oplog.OverQuota}

func createsOrDropsDatabase(op oplog.Op) bool {
	return op.Kind() == oplog.KindOf[oplog.CreateDB]() || op.Kind() == oplog.KindOf[oplog.DropDB]()
}

func isAudit(op oplog.Op) bool { return op.Kind() == oplog.KindOf[oplog.Audit]() }

// lostEntries decodes the entries of lost records.
func lostEntries(ctx context.Context, cfg Config, lost LostRecords) (entries []oplog.Entry, err error) {
	keys, err := OpenKeys(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if !isSealed(filepath.Join(cfg.Dir, lost.Log, "log", "meta")) { // it was moved aside before the home was encrypted
		keys = nil
	}
	err = raft.RecordsAside(filepath.Join(cfg.Dir, lost.Log), keys, lost.First, lost.Last, func(r raft.Record) error {
		if len(r.Data) == 0 {
			return nil
		}
		_, bodies, err := oplog.DecodeRecord(r.Data)
		for _, body := range bodies {
			var e oplog.Entry
			if e, err = oplog.DecodeEntry(body); err != nil {
				return fmt.Errorf("record %d: %w", r.Index, err)
			}
			entries = append(entries, e)
		}
		return err
	})
	return entries, err
}
