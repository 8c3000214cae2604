package state

import (
	"bytes"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/store"
)

// Within returns the view of one database: its own rows, its place in the log and its settings are there, and of
// other databases, tokens, limits, members and the log nothing is, whatever it is asked for. It ends with the view
// that it is made of.
func (v *View) Within(db oplog.DB) *View {
	return &View{txn: newTxn(bound{v.r, db}), state: v.state}
}

// bound reads the rows of one database.
type bound struct {
	of store.Reader
	db oplog.DB
}

// Peek implements store.Reader.
func (b bound) Peek(key []byte) ([]byte, bool, error) {
	table, db, rest, ok := rowOf(key)
	own := ok && db != 0 && db == b.db
	shared := ok && db == 0 && (table == tMeta || table == tDatabase && bytes.Equal(rest, be64(uint64(b.db))))
	if !own && !shared {
		return nil, false, nil
	}
	return b.of.Peek(key)
}

// Walk implements store.Reader.
func (b bound) Walk(lower, upper []byte, back bool, f func(key, value []byte) bool) error {
	begin := dbKey(b.db)
	end := after(begin)
	if bytes.Compare(lower, begin) < 0 {
		lower = begin
	}
	if upper == nil || end != nil && bytes.Compare(upper, end) > 0 {
		upper = end
	}
	if b.db == 0 || upper != nil && bytes.Compare(lower, upper) >= 0 {
		return nil
	}
	return b.of.Walk(lower, upper, back, f)
}
