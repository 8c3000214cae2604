package state

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/store"
)

// txn reads the rows of the store at one point. With a batch it also writes, counts changes for the Sum and can undo
// an entry: every replicated key goes through it. It is for one goroutine at a time.
type txn struct {
	r           store.Reader
	b           *store.Batch // nil: read only
	tally       *tally
	undo        []change                     // of the current entry, newest last
	embeddings  map[oplog.DB]oplog.Embedding // cached
	counters    map[oplog.DB]*oplog.Stats    // of the batch's databases
	namespaces  map[namespaceID]oplog.Counts // what the batch changes
	stateExpiry map[oplog.DB]uint64          // State.expiry; the next field has the batch's changes, where 0 means unknown
	expiry      map[oplog.DB]uint64
	databases   map[oplog.DB][]byte      // rows of tDatabase that were read
	stale       []oplog.DB               // databases whose Current is out of date
	cache       lookupCache              // see State
	prefetched  map[string][]byte        // rows that prepare has read, until they are written
	erased      map[oplog.DB]oplog.Index // see State.apply

	row   []byte // buffer of rowKey
	value []byte // buffer of encode
}

type change struct {
	table    tableID
	db       oplog.DB
	key, old []byte // old is nil if there was no row
}

func newTxn(r store.Reader) *txn {
	return &txn{r: r, embeddings: map[oplog.DB]oplog.Embedding{}, databases: map[oplog.DB][]byte{}, cache: newLookupCache()}
}

// rowKey returns the store's key of a row, valid until the next call.
func (t *txn) rowKey(table tableID, db oplog.DB, key []byte) []byte {
	t.row = appendRow(t.row[:0], table, db, key)
	return t.row
}

// rowKeyForWrite is rowKey for a write: it drops the prefetched value of the row.
func (t *txn) rowKeyForWrite(table tableID, db oplog.DB, key []byte) []byte {
	row := t.rowKey(table, db, key)
	if isPrefetched(table) {
		delete(t.prefetched, string(row))
	}
	return row
}

// failDisk panics with a diskFault: the store could not be read or written.
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

// getNew is get for a row that mostly does not exist, such as the id or the idempotency key of a new memory. It needs
// a batch.
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

// set writes a row without counting it for the Sum: the row is not part of it, or the caller has counted it.
func (t *txn) set(table tableID, db oplog.DB, key, value []byte) {
	if err := t.b.Set(t.rowKeyForWrite(table, db, key), value); err != nil {
		failDisk(table, db, err)
	}
}

// unset removes a row in the same way.
func (t *txn) unset(table tableID, db oplog.DB, key []byte) {
	if err := t.b.Delete(t.rowKeyForWrite(table, db, key)); err != nil {
		failDisk(table, db, err)
	}
}

// maxEntryKey leaves room for the time before an idempotency key in the row of its expiry.
const maxEntryKey = oplog.MaxKey - 8

// databaseRow returns the row of a database, nil for none. The caller must not change it.
func (t *txn) databaseRow(db oplog.DB) []byte {
	row, ok := t.databases[db]
	if !ok {
		row = t.get(tDatabase, 0, be64(uint64(db)))
		t.databases[db] = row
	}
	return row
}

// put sets a row to a value, whether or not it exists.
func (t *txn) put(table tableID, db oplog.DB, key, value []byte) {
	t.putOver(table, db, slices.Clone(key), t.get(table, db, key), value)
}

// putNew is put for a key that cannot exist yet, because its number or id was just assigned. It saves a read. The
// transaction keeps the key.
func (t *txn) putNew(table tableID, db oplog.DB, key, value []byte) {
	t.putOver(table, db, key, nil, value)
}

// putOver is put for a caller that has just read the row's old value, nil for none. It saves a read. The transaction
// keeps the key.
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

// next increments the number in a row and returns it.
func (t *txn) next(table tableID, db oplog.DB, key []byte) uint64 {
	n := beUint64(t.get(table, db, key)) + 1
	t.put(table, db, key, be64(n))
	return n
}

// change writes or removes a row, and remembers the old value for rollback.
func (t *txn) change(table tableID, db oplog.DB, key, old, value []byte, has bool) {
	t.undo = append(t.undo, change{table, db, key, old})
	t.replace(table, db, key, old, value, has)
}

// replace writes or removes a row and counts that for the Sum. old is nil if the row did not exist.
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

// decode reads a stored value. It panics with a diskFault if the value is corrupt.
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

// load is read, but returns the zero value for a missing row.
func load[T any](t *txn, table tableID, db oplog.DB, key []byte) T {
	v, _ := read[T](t, table, db, key)
	return v
}

func write[T any](t *txn, table tableID, db oplog.DB, key []byte, v *T) {
	t.put(table, db, key, t.encode(v))
}

// encode returns the bytes of a row's value, valid until the next call: the batch copies them.
func (t *txn) encode(v any) []byte {
	t.value = oplog.Pack(t.value[:0], v)
	return t.value
}
