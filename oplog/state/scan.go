package state

import (
	"bytes"
	"iter"

	"github.com/cairndb/cairn/oplog"
)

// A span is the range between two keys of the store, the upper not included.
type span struct{ lower, upper []byte }

// prefixSpan returns the span of a table's keys that begin with a prefix.
func prefixSpan(table tableID, db oplog.DB, prefix []byte) span {
	lower := appendRow(nil, table, db, prefix)
	return span{lower, prefixEnd(lower)}
}

// prefixEnd is the smallest key behind all keys with a prefix.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// rows are keys and values. Each is valid until the next one. A walk over them sees nothing that is written after it
// began, so a loop may change what it walks.
type rows = iter.Seq2[[]byte, []byte]

// walk gives the rows of a span by their keys in the store, from the first to the last, or back.
func (t *txn) walk(r span, back bool) rows {
	return func(yield func(key, v []byte) bool) {
		if err := t.r.Walk(r.lower, r.upper, back, yield); err != nil {
			table, db, _, _ := rowOf(r.lower)
			failDisk(table, db, err)
		}
	}
}

// walkTable is walk by the keys of a table.
func (t *txn) walkTable(r span, back bool) rows {
	return func(yield func(k, v []byte) bool) {
		t.walk(r, back)(func(key, v []byte) bool { return yield(key[rowHead:], v) })
	}
}

// scan walks the keys with a prefix in order.
func (t *txn) scan(table tableID, db oplog.DB, prefix []byte) rows {
	return t.walkTable(prefixSpan(table, db, prefix), false)
}

// scanBack walks the keys with a prefix in reverse order.
func (t *txn) scanBack(table tableID, db oplog.DB, prefix []byte) rows {
	return t.walkTable(prefixSpan(table, db, prefix), true)
}

// scanBelow is scanBack from below prefix and below together; nil is from the last on.
func (t *txn) scanBelow(table tableID, db oplog.DB, prefix, below []byte) rows {
	r := prefixSpan(table, db, prefix)
	if below != nil {
		r.upper = append(bytes.Clone(r.lower), below...)
	}
	return t.walkTable(r, true)
}

// scanFrom walks the keys of a table from one on.
func (t *txn) scanFrom(table tableID, db oplog.DB, start []byte) rows {
	return t.walkTable(span{appendRow(nil, table, db, start), prefixSpan(table, db, nil).upper}, false)
}

// scanBehind is scanFrom without the first key.
func (t *txn) scanBehind(table tableID, db oplog.DB, key []byte) rows {
	return t.scanFrom(table, db, append(bytes.Clone(key), 0)) // the smallest key behind it
}

// first is the first of some rows; its key is nil when there is none.
func first(all rows) (k, v []byte) {
	for k, v := range all {
		return bytes.Clone(k), bytes.Clone(v)
	}
	return nil, nil
}

// has reports whether a table has a key with a prefix.
func (t *txn) has(table tableID, db oplog.DB, prefix []byte) bool {
	k, _ := first(t.scan(table, db, prefix))
	return k != nil
}

// each gives f what rows hold, until it says stop.
func each[T any](all rows, f func(T) bool) {
	for _, v := range all {
		if !f(decode[T](v)) {
			return
		}
	}
}

// list returns a table's rows under a prefix, in order.
func list[T any](t *txn, table tableID, db oplog.DB, prefix []byte) (all []T) {
	for _, v := range t.scan(table, db, prefix) {
		all = append(all, decode[T](v))
	}
	return all
}

// eachIndexed gives f the rows of a table whose keys are in the rows of another one, until f returns false. A row that is
// not there is passed over. more is false when f has ended the walk.
func eachIndexed[T any](t *txn, table tableID, db oplog.DB, list rows, in func(key, value []byte) []byte, f func(T) bool) (more bool) {
	for k, v := range list {
		if x, ok := read[T](t, table, db, in(k, v)); ok && !f(x) {
			return false
		}
	}
	return true
}

// inValue finds a key in the value of a row.
func inValue(_, value []byte) []byte { return value }

// inKey finds a key in that of a row, behind so many bytes.
func inKey(n int) func(key, _ []byte) []byte {
	return func(key, _ []byte) []byte { return key[n:] }
}
