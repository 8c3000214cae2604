package state

import (
	"bytes"
	"iter"

	"github.com/cairndb/cairn/oplog"
)

// A span is the range of the store's keys from lower to upper, exclusive.
type span struct{ lower, upper []byte }

// prefixSpan returns the span of a table's keys with a prefix.
func prefixSpan(table tableID, db oplog.DB, prefix []byte) span {
	lower := appendRow(nil, table, db, prefix)
	return span{lower, prefixEnd(lower)}
}

// prefixEnd returns the smallest key after all keys with a prefix; nil if there is none.
func prefixEnd(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// rows is a sequence of keys and values, each valid until the next. It does not see writes after its begin, so a loop
// may change the rows that it walks.
type rows = iter.Seq2[[]byte, []byte]

// walk yields the rows of a span with their keys in the store, in order or backwards.
func (t *txn) walk(r span, back bool) rows {
	return func(yield func(key, v []byte) bool) {
		if err := t.r.Walk(r.lower, r.upper, back, yield); err != nil {
			table, db, _, _ := rowOf(r.lower)
			failDisk(table, db, err)
		}
	}
}

// walkTable is walk with the keys of the table.
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

// scanBelow is scanBack over the keys less than prefix followed by below; nil begins at the last key.
func (t *txn) scanBelow(table tableID, db oplog.DB, prefix, below []byte) rows {
	r := prefixSpan(table, db, prefix)
	if below != nil {
		r.upper = append(bytes.Clone(r.lower), below...)
	}
	return t.walkTable(r, true)
}

// scanFrom walks the keys of a table, beginning at start.
func (t *txn) scanFrom(table tableID, db oplog.DB, start []byte) rows {
	return t.walkTable(span{appendRow(nil, table, db, start), prefixSpan(table, db, nil).upper}, false)
}

// scanBehind walks the keys of a table after one.
func (t *txn) scanBehind(table tableID, db oplog.DB, key []byte) rows {
	return t.scanFrom(table, db, append(bytes.Clone(key), 0)) // the smallest key behind it
}

// first returns the first row; its key is nil if there is none.
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

// each calls f with the decoded values of rows, until f returns false.
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

// eachIndexed calls f with the rows of a table that an index lists, until f returns false. in extracts the key from a
// row of the index. Missing rows are skipped. more is false if f ended the walk.
func eachIndexed[T any](t *txn, table tableID, db oplog.DB, list rows, in func(key, value []byte) []byte, f func(T) bool) (more bool) {
	for k, v := range list {
		if x, ok := read[T](t, table, db, in(k, v)); ok && !f(x) {
			return false
		}
	}
	return true
}

// inValue returns the key in the value of an index row.
func inValue(_, value []byte) []byte { return value }

// inKey returns the key in the key of an index row, after n bytes.
func inKey(n int) func(key, _ []byte) []byte {
	return func(key, _ []byte) []byte { return key[n:] }
}
