package state

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/store"
)

// txn reads the rows of the store at one point. One with a batch writes, counts for the Sum and can undo an entry:
// every replicated key goes through it. It is for one goroutine at a time.
type txn struct {
	r           store.Reader
	b           *store.Batch // nil: it only reads
	tally       *tally
	undo        []change                     // of the current entry, newest last
	embeddings  map[oplog.DB]oplog.Embedding // as far as asked
	counters    map[oplog.DB]*oplog.Stats    // of databases that the batch is about
	namespaces  map[namespaceID]oplog.Counts // what the batch changes
	stateExpiry map[oplog.DB]uint64          // State's expiry, and what the batch changes of it: 0 forgets what was known
	expiry      map[oplog.DB]uint64
	databases   map[oplog.DB][]byte      // rows of databases, which every entry reads, as far as asked
	stale       []oplog.DB               // databases of which a row was written that a Current has
	cache       lookupCache              // see State
	prefetched  map[string][]byte        // rows that were read ahead, until they are written
	erased      map[oplog.DB]oplog.Index // see State.apply

	row   []byte // of the key that is read or written
	value []byte // of the row that is written
}

type change struct {
	table    tableID
	db       oplog.DB
	key, old []byte // old is nil where there was no row
}

func newTxn(r store.Reader) *txn {
	return &txn{r: r, embeddings: map[oplog.DB]oplog.Embedding{}, databases: map[oplog.DB][]byte{}, cache: newLookupCache()}
}

// rowKey is a row's in the store, until the next one is requested.
func (t *txn) rowKey(table tableID, db oplog.DB, key []byte) []byte {
	t.row = appendRow(t.row[:0], table, db, key)
	return t.row
}

// rowKeyForWrite is the key of a row that is written: what was read of it ahead holds no more.
func (t *txn) rowKeyForWrite(table tableID, db oplog.DB, key []byte) []byte {
	row := t.rowKey(table, db, key)
	if isPrefetched(table) {
		delete(t.prefetched, string(row))
	}
	return row
}

// failDisk stops what is under way: the store could not be read or written.
func failDisk(table tableID, db oplog.DB, err error) {
	panic(diskFault{fmt.Errorf("table %s of database %d: %w", tableNames[table], db, stateError(err))})
}

// peek returns the value of a key, until a row is next read or written.
func (t *txn) peek(table tableID, db oplog.DB, key []byte) (v []byte, ok bool) {
	row := t.rowKey(table, db, key)
	if v, known := t.prefetched[string(row)]; known {
		return v, v != nil
	}
	v, ok, err := t.r.Peek(row)
	if err != nil {
		failDisk(table, db, err)
	}
	return v, ok
}

// get returns the value of a key, which belongs to the caller; nil for none.
func (t *txn) get(table tableID, db oplog.DB, key []byte) []byte {
	return clone(t.peek(table, db, key))
}

// getNew is get for a row that is mostly not there, in a transaction that writes: the id or the idempotency key of a
// new memory.
func (t *txn) getNew(table tableID, db oplog.DB, key []byte) []byte {
	row := t.rowKey(table, db, key)
	if v, known := t.prefetched[string(row)]; known {
		return clone(v, v != nil)
	}
	v, ok, err := t.b.PeekNew(row)
	if err != nil {
		failDisk(table, db, err)
	}
	return clone(v, ok)
}

func clone(v []byte, ok bool) []byte {
	if !ok {
		return nil
	}
	return append(make([]byte, 0, len(v)), v...)
}

// exists reports whether there is a row.
func (t *txn) exists(table tableID, db oplog.DB, key []byte) bool {
	_, ok := t.peek(table, db, key)
	return ok
}

// set stores a row that is not part of the Sum, or that the Sum knows of.
func (t *txn) set(table tableID, db oplog.DB, key, value []byte) {
	if err := t.b.Set(t.rowKeyForWrite(table, db, key), value); err != nil {
		failDisk(table, db, err)
	}
}

// unset takes such a row away.
func (t *txn) unset(table tableID, db oplog.DB, key []byte) {
	if err := t.b.Delete(t.rowKeyForWrite(table, db, key)); err != nil {
		failDisk(table, db, err)
	}
}

// maxEntryKey leaves room for the time before an idempotency key in the row of its expiry.
const maxEntryKey = oplog.MaxKey - 8

// databaseRow is the row of a database, nil for none. It is not to be changed.
func (t *txn) databaseRow(db oplog.DB) []byte {
	row, ok := t.databases[db]
	if !ok {
		row = t.get(tDatabase, 0, be64(uint64(db)))
		t.databases[db] = row
	}
	return row
}

// put makes a row what it is to be, whatever it was.
func (t *txn) put(table tableID, db oplog.DB, key, value []byte) {
	t.putOver(table, db, slices.Clone(key), t.get(table, db, key), value)
}

// putNew is put for a key that cannot be there, because it has a number or an id that was given out just now: no row
// is looked for. The key belongs to the transaction from then on.
func (t *txn) putNew(table tableID, db oplog.DB, key, value []byte) {
	t.putOver(table, db, key, nil, value)
}

// putOver is put where the caller has read what the row was, nil for none, and nothing has written it since. The key
// belongs to the transaction from then on.
func (t *txn) putOver(table tableID, db oplog.DB, key, old, value []byte) {
	if len(key) == 0 {
		reject(oplog.Errorf(oplog.Invalid, "an id or a name is missing: a row of %s would have no key", tableNames[table]))
	}
	if len(key) > oplog.MaxKey {
		reject(oplog.Errorf(oplog.TooLarge, "ids and names of %d bytes together are over %d: they would be a key of %s",
			len(key), oplog.MaxKey, tableNames[table]))
	}
	if old != nil && bytes.Equal(old, value) {
		return
	}
	t.change(table, db, key, old, value, true)
}

func (t *txn) del(table tableID, db oplog.DB, key []byte) {
	if old := t.get(table, db, key); old != nil {
		t.change(table, db, slices.Clone(key), old, nil, false)
	}
}

// next gives out the number behind the one that a row has.
func (t *txn) next(table tableID, db oplog.DB, key []byte) uint64 {
	n := beUint64(t.get(table, db, key)) + 1
	t.put(table, db, key, be64(n))
	return n
}

// change makes a row what it is to be, and remembers what it was.
func (t *txn) change(table tableID, db oplog.DB, key, old, value []byte, has bool) {
	t.undo = append(t.undo, change{table, db, key, old})
	t.replace(table, db, key, old, value, has)
}

// replace writes a row, or removes it, and counts that for the Sum; old is nil where there was none.
func (t *txn) replace(table tableID, db oplog.DB, key, old, value []byte, has bool) {
	switch table {
	case tDatabase:
		t.stale = append(t.stale, oplog.DB(beUint64(key)))
		clear(t.databases)
	case tMind, tEmbedding:
		t.stale = append(t.stale, db)
	case tActiveSession:
		clear(t.cache.newestActive)
	case tAlias:
		clear(t.cache.hasAliases)
	}
	if old != nil {
		t.tally.count(true, table, db, key, old)
	}
	if !has {
		t.unset(table, db, key)
		return
	}
	t.tally.count(false, table, db, key, value)
	t.set(table, db, key, value)
}

// rollback undoes what the current entry wrote.
func (t *txn) rollback() {
	for _, c := range slices.Backward(t.undo) {
		t.replace(c.table, c.db, c.key, t.get(c.table, c.db, c.key), c.old, c.old != nil)
	}
	t.undo = t.undo[:0]
	clear(t.embeddings)
}

// decode reads a stored value: what cannot be read is corruption.
func decode[T any](b []byte) T {
	var v T
	if err := oplog.Unpack(b, &v); err != nil {
		panic(diskFault{fmt.Errorf("%w: stored %T: %w", ErrState, v, err)})
	}
	return v
}

func read[T any](t *txn, table tableID, db oplog.DB, key []byte) (T, bool) {
	if b, ok := t.peek(table, db, key); ok {
		return decode[T](b), true
	}
	var zero T
	return zero, false
}

// load is read where no row stands for the zero value.
func load[T any](t *txn, table tableID, db oplog.DB, key []byte) T {
	v, _ := read[T](t, table, db, key)
	return v
}

func write[T any](t *txn, table tableID, db oplog.DB, key []byte, v *T) {
	t.put(table, db, key, t.encode(v))
}

// encode is a value as a row has it, until the next one is encoded: the batch copies it.
func (t *txn) encode(v any) []byte {
	t.value = oplog.Pack(t.value[:0], v)
	return t.value
}
