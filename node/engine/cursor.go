package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A timeScan tracks how far one request has scanned a walk by time.
type timeScan struct {
	scanned int
	last    state.TimePosition // position of the last row that it has passed
	own     state.TimePosition // position of the last row that the caller may read
	cut     bool               // it ended at its bound, before the end of the walk
}

// atLimit reports whether the scan is at its bound. It is called for each row, so the walk has not ended.
func (w *timeScan) atLimit() bool {
	w.cut = w.scanned == maxScan
	return w.cut
}

// advance notes a row that later pages skip.
func (w *timeScan) advance(c api.Caller, m *oplog.Memory, at oplog.Time) {
	w.scanned, w.last = w.scanned+1, state.TimePosition{At: at, Seq: m.Seq}
	if c.Spaces.Has(m.Namespace) {
		w.own = w.last
	}
}

// cursor returns the position where the next page begins. At the bound that may be a memory that the caller may not
// read: a time and a number reveal neither the memory nor its namespace.
func (w *timeScan) cursor() string {
	at := w.own
	if w.scanned == maxScan || at == (state.TimePosition{}) {
		at = w.last
	}
	return fmt.Sprintf("%d.%d", at.At, at.Seq)
}

// parseCursor reads a cursor.
func parseCursor(cursor string) (state.TimePosition, error) {
	time, number, _ := strings.Cut(cursor, ".")
	at, err := strconv.ParseInt(time, 10, 64)
	seq, err2 := strconv.ParseUint(number, 10, 64)
	if err != nil || err2 != nil {
		return state.TimePosition{}, oplog.Errorf(oplog.Invalid, "cursor: %.64q is not a cursor of this list: pass the one of its previous page", cursor)
	}
	return state.TimePosition{At: oplog.Time(at), Seq: oplog.Seq(seq)}, nil
}
