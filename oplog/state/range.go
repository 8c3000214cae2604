package state

import (
	"io"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// ErrTrimmed says that the log does not reach back as far as was asked: a snapshot is needed instead.
var ErrTrimmed = &oplog.Error{Kind: oplog.Conflict, Text: "the log no longer holds records that old"}

// Point is the state's.
func (s *State) Point() Point { return s.mark().Point }

// Point is the view's.
func (v *View) Point() Point { return v.mark().Point }

// WriteRange streams the records after since, up to the view. There is no range over a purge: it lacks entries that
// were erased, and what it would be added to has what was purged.
func (v *View) WriteRange(w io.Writer, since oplog.Index) error {
	if since > v.mark().Index {
		return oplog.Errorf(oplog.Invalid, "the log ends at %d, before %d", v.mark().Index, since)
	} else if _, trimmed := v.Trimmed(); trimmed && since+1 < v.begins() || since < v.Purged() {
		return ErrTrimmed
	}
	head := snapshot.Head{Since: since, Index: v.mark().Index, Term: v.mark().Term, Hash: v.mark().Sum}
	return snapshot.WriteRange(w, head, func(record func(oplog.Index, oplog.HLC, []byte) error) error {
		return v.records(since+1, func(at oplog.Index, r *retained, data []byte, _ [][]byte) (bool, error) {
			return true, record(at, r.HLC, data)
		})
	})
}
