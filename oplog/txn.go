package oplog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// txn is a bbolt transaction that keeps the Sum and can undo an entry. Every replicated key goes through it.
type txn struct {
	tx      *bolt.Tx
	c       *codec
	sum     Sum
	buckets map[bucketID]*bucket
	undo    []change       // of the current entry, newest last
	tables  map[DB]tableID // where the vectors are, as far as asked
	sums    map[DB]named   // of namespaces, what the batch changes
	ways    *boltfile.Ways // what is known of the file's; nil: nothing
	guard   *boltfile.Guard

	cut     bool    // a purge erased what records of the window hold
	watched bool    // a scrub is under way and wants to know
	moves   []moved // what was done to the Sum
	dropped bool    // a database, whose keys are not in moves
}

type bucketID struct {
	table tableID
	db    DB
}

type change struct {
	bucketID
	key, old []byte
	had      bool
}

var bktDatabases = []byte("db")

func newTxn(tx *bolt.Tx, c *codec, ways *boltfile.Ways) *txn {
	return &txn{tx: tx, c: c, ways: ways, buckets: map[bucketID]*bucket{}, tables: map[DB]tableID{}}
}

// bucket finds a table's bucket; nil when it does not exist and the transaction only reads.
func (t *txn) bucket(table tableID, db DB) *bucket {
	id := bucketID{table, db}
	if b, ok := t.buckets[id]; ok {
		return b
	}
	way := t.way(id)
	var b *bucket // a transaction that reads sees none come into being either
	if in := t.open(id); in != nil {
		b = &bucket{Bucket: in, id: id, c: t.c, way: way}
	}
	t.buckets[id] = b
	return b
}

// open finds a table's bucket, and makes it where the transaction may.
func (t *txn) open(id bucketID) (b *bolt.Bucket) {
	path := id.path()
	for i, name := range path {
		in := b
		if in == nil {
			b = t.tx.Bucket(name)
		} else {
			b = in.Bucket(name)
		}
		if b != nil {
			if b.Root() == 0 { // bbolt has copied it, and would look for rows behind the copy's end
				t.small(path[:i+1], i+1 < len(path))
			}
			continue
		}
		t.missing(path[:i+1])
		if !t.tx.Writable() {
			return nil
		}
		var err error
		if in == nil {
			b, err = t.tx.CreateBucket(name)
		} else {
			b, err = in.CreateBucket(name)
		}
		if err != nil {
			panic(diskError{fmt.Errorf("open table %s: %w", tableNames[id.table], err)})
		}
	}
	if ascending[id.table] {
		b.FillPercent = 0.95
	}
	return b
}

// ascending tables get their keys in growing order, so their pages can be filled.
var ascending = map[tableID]bool{tMemory: true, tVector: true, tVectorOdd: true, tCreated: true, tRID: true, tForeign: true, tEvent: true, tKeyExpiry: true}

func dbKey(db DB) []byte { return binary.BigEndian.AppendUint32(nil, uint32(db)) }

// get returns the value of a key, valid until the key is written or the transaction ends; nil for none.
func (t *txn) get(table tableID, db DB, key []byte) []byte {
	b := t.bucket(table, db)
	if b == nil {
		return nil
	}
	return b.Get(key)
}

// MaxKey bounds the key of a row, in bytes as operations make it: encrypted it is longer by less than a twentieth, and no store
// of ours takes one over 32 KiB. The bound is part of what Apply is, the same on every replica whatever its file is like.
const MaxKey = 16 << 10

// maxEntryKey leaves room for what stands before an idempotency key in the row of its expiry.
const maxEntryKey = MaxKey - 8

// unstorable is panicked with by txn.put, and caught by perform, which refuses the entry with it.
type unstorable struct{ refusal *Error }

func (t *txn) put(table tableID, db DB, key, value []byte) {
	if len(key) == 0 {
		panic(unstorable{Errorf(Invalid, "an id or a name is missing: a row of %s would have no key", tableNames[table])})
	}
	if len(key) > MaxKey {
		panic(unstorable{Errorf(TooLarge, "ids and names of %d bytes together are over %d: they would be a key of %s", len(key), MaxKey, tableNames[table])})
	}
	b := t.bucket(table, db)
	old := b.Get(key)
	if old != nil && bytes.Equal(old, value) {
		return
	}
	t.remember(table, db, key, old)
	t.count(b, key, old, value, old != nil, true)
	if value == nil {
		value = []byte{}
	}
	if err := b.Put(key, value); err != nil {
		panic(diskError{err})
	}
}

func (t *txn) del(table tableID, db DB, key []byte) {
	b := t.bucket(table, db)
	old := b.Get(key)
	if old == nil {
		return
	}
	t.remember(table, db, key, old)
	t.count(b, key, old, nil, true, false)
	if err := b.Delete(key); err != nil {
		panic(diskError{err})
	}
}

func (t *txn) remember(table tableID, db DB, key, old []byte) {
	// Copies: bbolt may move its pages at the next write.
	c := change{bucketID: bucketID{table, db}, key: bytes.Clone(key), had: old != nil}
	if c.had {
		c.old = bytes.Clone(old)
	}
	t.undo = append(t.undo, c)
}

// rollback undoes what the current entry wrote.
func (t *txn) rollback() {
	for i := len(t.undo) - 1; i >= 0; i-- {
		c := t.undo[i]
		b := t.bucket(c.table, c.db)
		now := b.Get(c.key)
		t.count(b, c.key, now, c.old, now != nil, c.had)
		var err error
		if c.had {
			err = b.Put(c.key, c.old)
		} else {
			err = b.Delete(c.key)
		}
		if err != nil {
			panic(diskError{err})
		}
	}
	t.undo = t.undo[:0]
	clear(t.tables)
}

// scan walks the keys with a prefix in order until f says stop. f must not write to the table.
func (t *txn) scan(table tableID, db DB, prefix []byte, f func(k, v []byte) bool) {
	if b := t.bucket(table, db); b != nil {
		b.walk(prefix, nil, false, f)
	}
}

// scanBack walks the keys with a prefix in reverse order.
func (t *txn) scanBack(table tableID, db DB, prefix []byte, f func(k, v []byte) bool) {
	t.scanBelow(table, db, prefix, nil, f)
}

// scanBelow is scanBack from below prefix and below together; nil is from the last on.
func (t *txn) scanBelow(table tableID, db DB, prefix, below []byte, f func(k, v []byte) bool) {
	if b := t.bucket(table, db); b != nil {
		b.walk(prefix, below, true, f)
	}
}

// after is the smallest key behind all keys with a prefix.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return bytes.Repeat([]byte{0xFF}, 64)
}

// dropDatabase removes a database's bucket and takes all its elements out of the Sum. It costs what the
// database holds; it is the one operation that does, and it is rare. It cannot be undone inside an entry,
// so DropDB does all its refusing before it.
func (t *txn) dropDatabase(db DB) {
	all := t.tx.Bucket(bktDatabases)
	if all == nil || all.Bucket(dbKey(db)) == nil {
		return
	}
	t.dropped = true
	for table := range tableNames { // order is free here: the Sum is a set's
		t.scan(table, db, nil, func(k, v []byte) bool {
			t.sum.sub(element(table, db, k, v))
			return true
		})
	}
	delete(t.tables, db)
	for id := range t.buckets {
		if id.db == db {
			delete(t.buckets, id)
		}
	}
	if err := all.DeleteBucket(dbKey(db)); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
		panic(diskError{err})
	}
}

// decode reads a stored value. The file is ours and checksummed by nobody: what cannot be read is corruption.
func decode[T any](b []byte) T {
	var v T
	if err := msgpack.Unmarshal(b, &v); err != nil {
		panic(diskError{fmt.Errorf("%w: stored %T: %w", ErrState, v, err)})
	}
	return v
}

func read[T any](t *txn, table tableID, db DB, key []byte) (T, bool) {
	if b := t.get(table, db, key); b != nil {
		return decode[T](b), true
	}
	var zero T
	return zero, false
}

func write[T any](t *txn, table tableID, db DB, key []byte, v *T) {
	t.put(table, db, key, encode(v))
}

func encode(v any) []byte {
	var buf bytes.Buffer
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(&buf)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("oplog: encode %T: %v", v, err))
	}
	return buf.Bytes()
}
