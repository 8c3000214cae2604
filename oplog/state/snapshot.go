package state

import (
	"bytes"
	"fmt"
	"io"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// WriteSnapshot streams the state as the view has it.
func (v *View) WriteSnapshot(w io.Writer) error {
	err := recoverDamage(func() error { return snapshot.Write(w, v.gen.Size(), v.snapshotRows) })
	v.state.reportDamage(err)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// snapshotRows walks the rows of a snapshot: all but those of the log's window, whose records stay on this node. On
// the node that restores it, the window begins after it.
func (v *View) snapshotRows(f func(k, v []byte) error) error {
	m := v.position()
	m.First, m.Ops, m.Oldest, m.Trimmed = m.Index+1, 0, oplog.HLC{}, m.Last
	mark, window := appendRow(nil, tMeta, 0, keyPosition), prefixSpan(tLog, 0, nil)
	return v.rows(func(k, val []byte) error {
		switch {
		case bytes.Compare(k, window.lower) >= 0 && bytes.Compare(k, window.upper) < 0:
			return nil
		case bytes.Equal(k, mark):
			return f(k, oplog.Pack(nil, &m))
		}
		return f(k, val)
	})
}

// LastOf returns the time of the newest entry in a snapshot.
func LastOf(r io.Reader) (last oplog.HLC, err error) {
	at := appendRow(nil, tMeta, 0, keyPosition)
	err = recoverDamage(func() error {
		return snapshot.Read(r, nil, func(k, v []byte) error {
			if bytes.Equal(k, at) {
				last = decode[position](v).Last
			}
			return nil
		})
	})
	return last, err
}

// rows walks all rows of the state until f fails.
func (v *View) rows(f func(k, v []byte) error) error {
	return recoverDamage(func() (err error) {
		for k, val := range v.walk(span{}, false) {
			if err := f(k, val); err != nil {
				return err
			}
		}
		return nil
	})
}
