package oplog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrUnapplied says that a committed record meets a fault of ours: every node stops at it. An operator may have it skipped.
var ErrUnapplied = &Error{Kind: Corrupt, Text: "log record cannot be applied"}

// A Digest is the SHA-256 of a record's bytes. It names the record that is to be skipped: an index alone would name another
// record in a log that was begun anew.
type Digest [sha256.Size]byte

// DigestOf is the digest of a record.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// skips says whether the operator has given up a record.
func (s *State) skips(r Record) bool {
	d, ok := s.opts.Skip[r.Index]
	return ok && len(r.Data) > 0 && d == DigestOf(r.Data)
}

// skip passes over a record and audits that. Its row is a function of the record alone, so that nodes which skip it have one
// state, and a node which does not is seen to differ. The log window begins anew
// behind it: a backup of the window could not be replayed over it.
func (t *txn) skip(r Record, next *mark) {
	h := next.last.Add(1)
	if len(r.Data) >= headLen { // its time is readable whatever follows
		var own HLC
		copy(own[:], r.Data[2:])
		if next.last.Less(own) {
			h = own
		}
	}
	next.last = h
	t.cutLog(next)
	next.ops = 0
	t.undo = t.undo[:0]
	a := &applying{txn: t, hlc: h, index: r.Index}
	row := &Audit{By: "operator", What: "skip_record", On: fmt.Sprintf("record %d", r.Index), How: "sha256 " + DigestOf(r.Data).String(), At: h.Time()}
	if _, err := row.apply(a); err != nil {
		panic("oplog: an audit was refused: " + err.Text)
	}
}

// Try says what Apply would answer, and changes nothing.
func (s *State) Try(batch []Record) error {
	_, err := s.apply(batch, true)
	if errors.Is(err, errTried) {
		return nil
	}
	return err
}

var errTried = errors.New("tried")
