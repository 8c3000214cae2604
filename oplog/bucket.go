package oplog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/seal"
)

// bucket is a table as those above it see it: plain keys and values, whatever is in the file.
type bucket struct {
	*bolt.Bucket
	id bucketID
	c  *codec

	way guarded

	// The key that was sealed last: what is read is mostly written next.
	was, as []byte
}

// A number for each bucket that is no table: they enter the places of values, and nothing else.
const (
	tMeta tableID = 254
	tLog  tableID = 255
)

func (t *txn) meta() *bucket { return t.bucket(tMeta, 0) }
func (t *txn) log() *bucket  { return t.bucket(tLog, 0) }

// damaged stops what is under way: the file is not what was written.
func (b *bucket) damaged(stored []byte, err error) {
	name := tableNames[b.id.table]
	switch b.id.table {
	case tMeta:
		name = bktMeta
	case tLog:
		name = bktLog
	}
	key := fmt.Sprintf("%x", stored)
	if layouts[b.id.table] != "" && !b.c.seals() { // it may be a name, and this goes into logs
		key = fmt.Sprintf("of %d bytes", len(stored))
	}
	err = fmt.Errorf("table %s of database %d, key %s: %w", name, b.id.db, key, err)
	// A key that is missing for the mark, which the newest key seals, is no damage: nothing is to be moved aside for it. When
	// the mark could be read, the keyring is the right one, and a value that names another key was changed.
	if b.id.table != tMeta || !errors.Is(err, seal.ErrKey) {
		err = fmt.Errorf("%w: %w", ErrState, err)
	}
	panic(diskError{err})
}

// Get returns a value, valid until the key is written or the transaction ends; nil for none.
func (b *bucket) Get(key []byte) []byte {
	stored := b.key(key)
	b.lead(stored)
	value := b.Bucket.Get(stored)
	if value == nil {
		b.look(stored, stored, stored)
		return nil
	}
	return b.open(stored, value)
}

// key is how a key is stored. Nobody changes what it returns.
func (b *bucket) key(plain []byte) []byte {
	if b.c.layout(b.id.table) == "" {
		return plain
	}
	if b.as == nil || !bytes.Equal(b.was, plain) {
		b.was, b.as = append(b.was[:0], plain...), b.c.key(b.id, plain)
	}
	return b.as
}

func (b *bucket) open(stored, value []byte) []byte {
	plain, err := b.c.plainValue(b.id, stored, value)
	if err != nil {
		b.damaged(stored, err)
	}
	return plain
}

// Put stores a value.
func (b *bucket) Put(key, value []byte) error {
	stored := b.key(key)
	return b.Bucket.Put(stored, b.c.value(b.id, stored, value))
}

// Delete takes a key away.
func (b *bucket) Delete(key []byte) error {
	stored := b.key(key)
	b.beside(stored)
	return b.Bucket.Delete(stored)
}

// Cursor walks in the file's order, which is the order of plain keys as far as nothing of them is sealed.
func (b *bucket) Cursor() *cursor { return &cursor{Cursor: b.Bucket.Cursor(), b: b} }

type cursor struct {
	*bolt.Cursor
	b *bucket

	seen sight

	// The beginning that was opened last, for rows that share it.
	was, plain []byte
}

func (c *cursor) row(k, v []byte) ([]byte, []byte) {
	if k == nil || c.b.c == nil {
		return k, v
	}
	return c.key(k), c.b.open(k, v)
}

// key reads a stored key. Neighbours mostly begin with the same name, which is opened once.
func (c *cursor) key(k []byte) []byte {
	n := 0
	if c.b.c.layout(c.b.id.table) == "n*" && len(k) > 4 {
		n = 4 + int(beUint32(k))
	}
	if n > 0 && n <= len(k) && bytes.Equal(c.was, k[:n]) {
		return append(slices.Clip(c.plain), k[n:]...)
	}
	p, _, err := c.b.c.plainKey(c.b.id, k)
	if err != nil {
		c.b.damaged(k, err)
	}
	if n > 0 {
		c.was, c.plain = bytes.Clone(k[:n]), bytes.Clone(p[:len(p)-(len(k)-n)])
	}
	return p
}

// First, and the others, are those of bbolt's cursor.
func (c *cursor) First() (k, v []byte) {
	k, v = c.Cursor.First()
	c.seen.from(c.b, nil, k, true)
	return c.row(k, v)
}

func (c *cursor) Last() (k, v []byte) {
	k, v = c.Cursor.Last()
	c.seen.from(c.b, nil, k, false)
	return c.row(k, v)
}

// Seek finds a key, or the place of one that ends between two parts.
func (c *cursor) Seek(key []byte) (k, v []byte) {
	stored := c.b.c.key(c.b.id, key)
	c.b.lead(stored)
	k, v = c.Cursor.Seek(stored)
	c.seen.from(c.b, stored, k, true)
	return c.row(k, v)
}

func (c *cursor) Next() (k, v []byte) { return c.row(c.above()) }
func (c *cursor) Prev() (k, v []byte) { return c.row(c.below()) }

// above is the next row as it is stored, below the one before.
func (c *cursor) above() (k, v []byte) {
	k, v = c.Cursor.Next()
	c.seen.up(k)
	return k, v
}

func (c *cursor) below() (k, v []byte) {
	k, v = c.Cursor.Prev()
	c.seen.down(k)
	return k, v
}

// walk visits the rows whose keys begin with a prefix that ends between two parts, from the first on or from the last
// back. A backward walk begins below, when that is not nil: what may follow the prefix, of parts that are not sealed.
func (b *bucket) walk(prefix, below []byte, back bool, f func(k, v []byte) bool) {
	stored := b.c.key(b.id, prefix)
	c := &cursor{Cursor: b.Bucket.Cursor(), b: b}
	var k, v []byte
	step := c.below
	if !back {
		step = c.above
		b.lead(stored)
		k, v = c.Cursor.Seek(stored)
		c.seen.from(b, stored, k, true)
	} else {
		end := after(stored)
		if below != nil {
			end = append(bytes.Clone(stored), below...)
		}
		if k, _ = c.Cursor.Seek(end); k == nil {
			k, v = c.Cursor.Last()
		} else {
			k, v = c.Cursor.Prev()
		}
		c.seen.from(b, end, k, false)
	}
	if b.c.seals() && inOrder(b.id.table) {
		k, v = b.runs(stored, k, v, step, back, f)
	} else {
		for ; k != nil && bytes.HasPrefix(k, stored); k, v = step() {
			if !f(c.row(k, v)) {
				return
			}
		}
	}
	if k != nil { // where the walk ends is a row of its own, or one of these with a bit in its key that flipped
		b.open(k, v)
	}
}

// row is a row that waits for its turn.
type row struct{ stored, plain, value []byte }

// runs visits rows so that those which agree in all but their last part come in the order of their plain keys. Nearly all
// such runs are one row, or ids that are not sealed; the others are gathered and sorted. It returns the row behind the last,
// if it came so far.
func (b *bucket) runs(prefix, k, v []byte, step func() ([]byte, []byte), back bool, f func(k, v []byte) bool) (end, value []byte) {
	var run []row
	flush := func() bool {
		slices.SortFunc(run, func(x, y row) int {
			if back {
				x, y = y, x
			}
			return bytes.Compare(x.plain, y.plain)
		})
		for _, r := range run {
			if !f(r.plain, b.open(r.stored, r.value)) {
				return false
			}
		}
		run = run[:0]
		return true
	}
	var head []byte // what the run's rows agree in
	begun, sorted := false, false
	for ; k != nil && bytes.HasPrefix(k, prefix); k, v = step() {
		plain, h, err := b.c.plainKey(b.id, k)
		if err != nil {
			b.damaged(k, err)
		}
		if !begun || !bytes.Equal(head, k[:h]) {
			if !flush() {
				return nil, nil
			}
			begun, head = true, k[:h]
			sorted = b.sorted(k, h, back)
		}
		if run = append(run, row{k, plain, v}); sorted && !flush() {
			return nil, nil
		}
	}
	if !flush() {
		return nil, nil
	}
	return k, v
}

// sorted says whether the run that begins at a row lies in the order of plain keys: none of its ids is sealed. Sealed ones
// lie behind the others.
func (b *bucket) sorted(first []byte, head int, back bool) bool {
	if l := layouts[b.id.table]; l[len(l)-1] != 'I' || len(first) <= head || first[head] != idPlain {
		return false
	}
	if back {
		return true
	}
	sealed := append(bytes.Clone(first[:head]), idSealed)
	k, _ := b.Bucket.Cursor().Seek(sealed)
	b.look(sealed, k, sealed)
	return !bytes.HasPrefix(k, sealed)
}
