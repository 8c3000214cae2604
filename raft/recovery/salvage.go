package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/logstore"
)

// The log of a node that is alone exists only once. If it is damaged, a new log is made of every record that is still
// intact in its files, the snapshots and the state. A record that is in none of them is lost, and the node does not
// start before its operator has accepted that (see AcceptLoss). The damaged log is moved aside only when the new one
// is complete.

// WriteSalvaged makes the new log under salvageWork and renames it to salvageDir when it is complete. FinishSalvage
// then replaces the damaged log with it.
const (
	salvageWork = "salvaged.tmp"
	salvageDir  = "salvaged"
)

// batchSize is the number of records stored at once.
const batchSize = 512

// RebuildLog returns the log after the record base, and the ranges in it that are lost. A noop replaces each lost
// record, so that no later record gets its index.
func RebuildLog(r logstore.Remains, base, term uint64) (logs []*hraft.Log, lost []Span) {
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

// NamesOthers reports whether the newest snapshot, or the rest of a log after it, names a member other than this
// node.
func NamesOthers(last hraft.SnapshotMeta, r logstore.Remains, self hraft.ServerID) bool {
	members := last.Configuration.Servers
	for _, i := range slices.Sorted(maps.Keys(r.Records)) {
		if l := r.Records[i]; l.Type == hraft.LogConfiguration && i > last.Index {
			var err error
			if members, err = decodeConfiguration(l.Data); err != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(members, func(s hraft.Server) bool { return s.ID != self })
}

// decodeConfiguration decodes a configuration. It returns an error where the library would panic.
func decodeConfiguration(b []byte) (members []hraft.Server, err error) {
	defer RecoverPanic(&err)
	return hraft.DecodeConfiguration(b).Servers, nil
}

// RecoverPanic turns a panic into an error; defer it.
func RecoverPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("unreadable: %v", p)
	}
}

// WriteSalvaged makes the new log, and renames it when it is complete.
func WriteSalvaged(dir string, o logstore.Options, rest []*hraft.Log, term uint64) error {
	work := filepath.Join(dir, salvageWork)
	if err := os.RemoveAll(work); err != nil {
		return err
	}
	s, err := logstore.Open(work, o)
	if err != nil {
		return err
	}
	votes, err := logstore.OpenVotes(s, false)
	if err == nil {
		err = votes.SetUint64([]byte(logstore.KeyTerm), term)
	}
	if err != nil {
		return errors.Join(err, s.Close()) // the next start makes it again
	}
	for batch := range slices.Chunk(rest, batchSize) {
		if err = s.StoreLogs(batch); err != nil {
			break
		}
	}
	if err = errors.Join(err, votes.Close(), s.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(work, filepath.Join(dir, salvageDir)), logstore.OS{}.SyncDir(dir))
}

// FinishSalvage replaces the damaged log with the new one. It may run again after a crash.
func FinishSalvage(dir, path string) error {
	made := filepath.Join(dir, salvageDir)
	if _, err := os.Stat(made); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := SetAside(path, AsideName(path)); err != nil {
		return err
	}
	return errors.Join(os.Rename(made, path), logstore.OS{}.SyncDir(dir))
}
