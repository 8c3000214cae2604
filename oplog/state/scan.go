package state

import (
	"bytes"

	"github.com/cairndb/cairn/oplog"
)

// A span is what lies between two keys of the store, the upper not included.
type span struct{ lower, upper []byte }

// under is what begins with a key of a table.
func under(table tableID, db oplog.DB, prefix []byte) span {
	lower := appendRow(nil, table, db, prefix)
	return span{lower, after(lower)}
}

// after is the smallest key behind all keys with a prefix.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// walk visits the rows of a span, by their keys in the store, until f says stop. What f is given is valid until it returns. It
// sees nothing that is written meanwhile.
func (t *txn) walk(r span, f func(key, v []byte) bool) { t.step(r, false, f) }

// walkBack is walk from the last row to the first.
func (t *txn) walkBack(r span, f func(key, v []byte) bool) { t.step(r, true, f) }

func (t *txn) step(r span, back bool, f func(key, v []byte) bool) {
	table, db, _, _ := rowOf(r.lower)
	it, err := t.r.Iter(r.lower, r.upper)
	if err != nil {
		failDisk(table, db, err)
	}
	defer it.Close()
	begin, next := it.First, it.Next
	if back {
		begin, next = it.Last, it.Prev
	}
	for ok := begin(); ok; ok = next() {
		v := it.Value()
		if v == nil && it.Err() != nil {
			break
		}
		if !f(it.Key(), v) {
			return
		}
	}
	if err := it.Err(); err != nil {
		failDisk(table, db, err)
	}
}

// tableRows gives a function of the keys of a table those of the store.
func tableRows(f func(k, v []byte) bool) func(key, v []byte) bool {
	return func(key, v []byte) bool { return f(key[rowHead:], v) }
}

// scan walks the keys with a prefix in order until f says stop.
func (t *txn) scan(table tableID, db oplog.DB, prefix []byte, f func(k, v []byte) bool) {
	t.walk(under(table, db, prefix), tableRows(f))
}

// scanBack walks the keys with a prefix in reverse order.
func (t *txn) scanBack(table tableID, db oplog.DB, prefix []byte, f func(k, v []byte) bool) {
	t.walkBack(under(table, db, prefix), tableRows(f))
}

// scanBelow is scanBack from below prefix and below together; nil is from the last on.
func (t *txn) scanBelow(table tableID, db oplog.DB, prefix, below []byte, f func(k, v []byte) bool) {
	r := under(table, db, prefix)
	if below != nil {
		r.upper = append(bytes.Clone(r.lower), below...)
	}
	t.walkBack(r, tableRows(f))
}

// scanFrom walks the keys of a table from one on.
func (t *txn) scanFrom(table tableID, db oplog.DB, start []byte, f func(k, v []byte) bool) {
	t.walk(span{appendRow(nil, table, db, start), under(table, db, nil).upper}, tableRows(f))
}

// scanBehind is scanFrom without the first key.
func (t *txn) scanBehind(table tableID, db oplog.DB, key []byte, f func(k, v []byte) bool) {
	t.scanFrom(table, db, append(bytes.Clone(key), 0), f) // the smallest key behind it
}

// has says whether a table has a key with a prefix.
func (t *txn) has(table tableID, db oplog.DB, prefix []byte) (yes bool) {
	t.scan(table, db, prefix, func([]byte, []byte) bool { yes = true; return false })
	return yes
}

// list is what a table has under a prefix, in order.
func list[T any](t *txn, table tableID, db oplog.DB, prefix []byte) (all []T) {
	t.scan(table, db, prefix, func(_, v []byte) bool {
		all = append(all, decode[T](v))
		return true
	})
	return all
}
