package state

import (
	"errors"
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// ErrUnapplied says that a committed record meets a fault of ours: every node stops at it. An operator may have it
// skipped.
var ErrUnapplied = &oplog.Error{Kind: oplog.Corrupt, Text: "log record cannot be applied"}

// skips reports whether the operator has given up a record.
func (s *State) skips(r oplog.Record) bool {
	d, ok := s.opts.Skip[r.Index]
	return ok && len(r.Data) > 0 && d == oplog.DigestOf(r.Data)
}

// skip passes over a record and audits that. Its row is a function of the record alone, so that nodes which skip it
// have one state, and a node which does not is seen to differ. The log window begins again behind it: a backup of the
// window could not be replayed over it.
func (t *txn) skip(r oplog.Record, next *position) {
	h := next.Last.Add(1)
	if own, ok := oplog.RecordTime(r.Data); ok && next.Last.Less(own) { // readable whatever follows
		h = own
	}
	next.Last = h
	t.cutLog(next)
	next.Ops = 0
	t.undo = t.undo[:0]
	a := &entryTxn{txn: t, hlc: h, index: r.Index}
	row := &oplog.Audit{By: "operator", What: "skip_record", On: fmt.Sprintf("record %d", r.Index),
		How: "sha256 " + oplog.DigestOf(r.Data).String(), At: h.Time()}
	applyAudit(a, row)
}

// Try says what Apply would answer, and changes nothing.
func (s *State) Try(batch []oplog.Record) error {
	_, err := s.apply(batch, nil, true)
	if errors.Is(err, errTrial) {
		return nil
	}
	return err
}

var errTrial = errors.New("tried")
