package oplog

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// What is read says by its sum that it is what was written, once: where a bit flipped by which bbolt finds its way it may come to
// an older page, to none, or past a row. So that way is looked at first; and whoever says that there is no row, or none
// between two, has looked at what lies beside.

// guarded are a transaction's guard and where a table lies.
type guarded struct {
	guard *boltfile.Guard
	tree  boltfile.Tree
}

// way is the way to a table, which is looked at before bbolt goes there.
func (t *txn) way(id bucketID) guarded {
	path := id.path()
	tree, err := t.guarding().Tree(false, path...)
	if err != nil {
		panic(diskError{fmt.Errorf("%w: bucket %q: %w", ErrState, path, err)})
	}
	return guarded{t.guard, tree}
}

// look looks at the way to the keys from one to another, and reads the rows beside a third. Keys are as they are stored.
func (b *bucket) look(from, to, key []byte) boltfile.Reach {
	r, err := b.way.guard.Look(b.way.tree, from, to, key, b.sound)
	if err != nil {
		b.damaged(from, err)
	}
	return r
}

// lead looks at the way to a key, as it is stored, before bbolt is asked for it.
func (b *bucket) lead(key []byte) {
	if err := b.way.guard.Lead(b.way.tree, key); err != nil {
		b.damaged(key, err)
	}
}

// beside looks at the pages that change when a key goes.
func (b *bucket) beside(key []byte) {
	if err := b.way.guard.Beside(b.way.tree, key); err != nil {
		b.damaged(key, err)
	}
}

// sound reads a row, and so says whether it is what was written.
func (b *bucket) sound(stored, value []byte) {
	if b.id.table != tMeta {
		b.open(stored, value)
		return
	}
	switch string(stored) { // some are as they are, to be read before anything else
	case string(keyMark), string(keyFmt), string(keyMarkSum), string(keyTrimmed), string(keySealed):
	default:
		b.damaged(stored, errors.New("not a key of this table"))
	}
}

// path is where a bucket lies: bucketAt's other way.
func (id bucketID) path() [][]byte {
	switch {
	case id.table == tMeta:
		return [][]byte{bktMeta}
	case id.table == tLog:
		return [][]byte{bktLog}
	case id.db == 0:
		return [][]byte{tableNames[id.table]}
	}
	return [][]byte{bktDatabases, dbKey(id.db), tableNames[id.table]}
}

// A sight is the keys between which a walk knows that nothing is hidden.
type sight struct {
	b           *bucket
	first, last []byte
	bottom, top bool // and before the first, behind the last
}

// from begins a walk at a key, or at an end when it is nil, where a row was found, or none.
func (s *sight) from(b *bucket, key, found []byte, up bool) {
	lo, hi := key, found
	if !up {
		lo, hi = found, key
	}
	r := b.look(lo, hi, key)
	*s = sight{b: b, first: r.First, last: r.Last, bottom: lo == nil, top: hi == nil}
	s.widen(found)
}

// up goes on to the row that follows, nil for none; down to the one before.
func (s *sight) up(k []byte) {
	if s.top || k != nil && bytes.Compare(k, s.last) <= 0 {
		return
	}
	s.last = s.b.look(s.last, k, nil).Last
	s.top = k == nil
	s.widen(k)
}

func (s *sight) down(k []byte) {
	if s.bottom || k != nil && bytes.Compare(k, s.first) >= 0 {
		return
	}
	s.first = s.b.look(k, s.first, nil).First
	s.bottom = k == nil
	s.widen(k)
}

// widen takes in a row that this transaction has made, beyond those of the file.
func (s *sight) widen(k []byte) {
	if k == nil {
		return
	}
	if s.first == nil || bytes.Compare(k, s.first) < 0 {
		s.first = k
	}
	if bytes.Compare(k, s.last) > 0 {
		s.last = k
	}
}

// missing looks for what hides a bucket: at the way to it, and at the names beside it, one of which may be its own.
func (t *txn) missing(path [][]byte) {
	around, name := path[:len(path)-1], path[len(path)-1]
	tree, err := t.guarding().Tree(true, around...)
	if err == nil {
		_, err = t.guard.Look(tree, name, name, name, func(key, _ []byte) {
			if oneBit(key, name) && !t.isDatabase(path, key) {
				panic(diskError{fmt.Errorf("%w: a bucket %x, where none belongs", ErrState, key)})
			}
		})
	}
	if err != nil {
		panic(diskError{fmt.Errorf("%w: bucket %q: %w", ErrState, path, err)})
	}
}

// small looks at all of a bucket that lies in a page of another.
func (t *txn) small(path [][]byte, dir bool) {
	tree, err := t.guarding().Tree(dir, path...)
	if err == nil {
		_, err = t.guard.Look(tree, nil, nil, nil, nil)
	}
	if err != nil {
		panic(diskError{fmt.Errorf("%w: bucket %q: %w", ErrState, path, err)})
	}
}

// isDatabase says whether a name beside the last of a path can be a database's number: they may be one bit apart.
func (t *txn) isDatabase(path [][]byte, name []byte) bool {
	if len(path) != 2 {
		return false
	}
	next := t.get(tControl, 0, []byte("next-db"))
	return next == nil || uint64(beUint32(name)) < beUint64(next)
}

// oneBit says whether two names of equal length differ in one bit.
func oneBit(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	n := 0
	for i := range a {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n == 1
}

func (t *txn) guarding() *boltfile.Guard {
	if t.guard == nil {
		t.guard = boltfile.NewGuard(t.tx, t.ways)
	}
	return t.guard
}
