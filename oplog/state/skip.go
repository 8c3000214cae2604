package state

import (
	"errors"
	"fmt"

	"github.com/cairndb/cairn/oplog"
)

// ErrUnapplied says that applying a committed record hit a bug: every node stops at it. An operator may have the
// nodes skip the record.
var ErrUnapplied = &oplog.Error{Kind: oplog.Corrupt, Text: "log record cannot be applied"}

// skips reports whether the operator has this record skipped.
func (s *State) skips(r oplog.Record) bool {
	d, ok := s.opts.Skip[r.Index]
	return ok && len(r.Data) > 0 && d == oplog.DigestOf(r.Data)
}

// skip skips a record and writes an audit row. The row depends on the record alone, so nodes that skip it have equal
// states, and the Sum shows a node that does not. The log's window begins again after it, because a backup of the
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

// Try returns the error that Apply would return, and changes nothing.
func (s *State) Try(batch []oplog.Record) error {
	_, err := s.apply(batch, nil, true)
	if errors.Is(err, errTrial) {
		return nil
	}
	return err
}

var errTrial = errors.New("tried")
