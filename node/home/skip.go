package home

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft"
)

// skipFile is the name of the file that lists the records of the log to skip, one a line. It stays in the home,
// because a state that returns to its last checkpoint, or is rebuilt from its log, reaches the record again.
const skipFile = "skipped-records"

type skipLine struct {
	Index  oplog.Index `json:"index"`
	Digest string      `json:"sha256"`
	At     time.Time   `json:"at"`
	Fault  string      `json:"fault"` // the reason why it cannot be applied
}

// Skipped reads the skipped records of a home.
func Skipped(home string) (map[oplog.Index]oplog.Digest, error) {
	path := filepath.Join(home, skipFile)
	raw, err := readIfExists(path)
	if raw == nil {
		return nil, err
	}
	skip := map[oplog.Index]oplog.Digest{}
	for line := range bytes.Lines(wholeLines(raw)) {
		var l skipLine
		err := json.Unmarshal(line, &l)
		digest, herr := hex.DecodeString(l.Digest)
		if err = errors.Join(err, herr); err != nil || len(digest) != len(oplog.Digest{}) || l.Index == 0 {
			return nil, fmt.Errorf("%s: a line that names no record: write it with `cairn recover --skip-record`", path)
		}
		skip[l.Index] = oplog.Digest(digest)
	}
	return skip, nil
}

// wholeLines cuts off an incomplete last line.
func wholeLines(raw []byte) []byte { return raw[:bytes.LastIndexByte(raw, '\n')+1] }

// Unapplied is a record that a stopped node cannot apply.
type Unapplied struct {
	Index  oplog.Index
	Digest oplog.Digest
	Bytes  int
	Fault  error // the error of applying it
}

// ErrApplies reports that a record can be applied, so it must not be skipped.
var ErrApplies = errors.New("this record can be applied")

// FindUnapplied checks that a stopped node fails at the record with the given index, and returns it. It changes
// nothing.
func FindUnapplied(cfg Config, at oplog.Index) (u Unapplied, err error) {
	_, err = withFiles(cfg, func(rc raft.Config, sm commit.Offline) error {
		applied, _ := sm.State.Applied()
		if at <= applied {
			return fmt.Errorf("record %d was applied: the state is at %d", at, applied)
		}
		var before []oplog.Record
		err := raft.Records(rc, sm, uint64(applied)+1, uint64(at), func(r raft.Record) error {
			before = append(before, oplog.Record{Index: oplog.Index(r.Index), Term: oplog.Index(r.Term), Data: r.Data})
			return nil
		})
		if err != nil {
			return err
		}
		last := before[len(before)-1]
		if err := sm.Try(before[:len(before)-1]); err != nil {
			return fmt.Errorf("a record before %d cannot be applied: %w", at, err)
		}
		u = Unapplied{Index: at, Digest: oplog.DigestOf(last.Data), Bytes: len(last.Data), Fault: sm.Try(before)}
		if u.Fault == nil {
			return fmt.Errorf("record %d: %w", at, ErrApplies)
		}
		if !errors.Is(u.Fault, state.ErrUnapplied) && !errors.Is(u.Fault, oplog.ErrRecord) {
			return fmt.Errorf("record %d is not what stops this node: %w", at, u.Fault) // a failing disk, or a damaged state
		}
		return nil
	})
	return u, err
}

// SkipRecord makes a stopped node skip a record at its next start.
func SkipRecord(cfg Config, u Unapplied) error {
	line, err := json.Marshal(skipLine{Index: u.Index, Digest: u.Digest.String(), At: time.Now().UTC(), Fault: u.Fault.Error()})
	if err != nil {
		return err
	}
	_, err = withFiles(cfg, func(raft.Config, commit.Offline) error { // withFiles holds the lock, so the node does not run
		path := filepath.Join(cfg.Dir, skipFile)
		raw, err := readIfExists(path)
		if err != nil {
			return err
		}
		return syncwriter.Replace(path, append(append(wholeLines(raw), line...), '\n'), 0o600)
	})
	return err
}
