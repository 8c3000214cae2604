package state

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"sync"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/spread"
)

// Sum is a 256-bit hash of a multiset: the SHA-256 of each element, added modulo 2^256. Adding and
// removing an element cost the same whatever else is in the set, and order never matters.
//
// It is four big-endian words, the least significant first.
type Sum [sha256.Size]byte

func element(table tableID, db oplog.DB, key, value []byte) (e Sum) {
	return sha256.Sum256(appendElement(nil, table, db, key, value))
}

// appendElement appends the bytes of a row that are hashed.
func appendElement(dst []byte, table tableID, db oplog.DB, key, value []byte) []byte {
	dst = binary.BigEndian.AppendUint32(append(dst, byte(table)), uint32(db))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(key)))
	return append(append(dst, key...), value...)
}

// A tally computes the Sum. It buffers added and removed rows, and hashes many at a time on all processors.
type tally struct {
	sum     Sum // without the buffered rows
	rows    []byte
	ends    []int  // of each element in rows
	removed []bool // whether each is subtracted
}

// The most bytes that are buffered, and the least rows that are worth a processor.
const (
	tallyBytes = 1 << 20
	tallyRows  = 256
)

// reset empties the tally and sets its sum.
func (t *tally) reset(sum Sum) *tally {
	if t.sum = sum; cap(t.rows) > 2*tallyBytes { // there was a large row
		t.rows = nil
	}
	t.rows, t.ends, t.removed = t.rows[:0], t.ends[:0], t.removed[:0]
	return t
}

func (t *tally) count(removed bool, table tableID, db oplog.DB, key, value []byte) {
	t.rows = appendElement(t.rows, table, db, key, value)
	t.ends, t.removed = append(t.ends, len(t.rows)), append(t.removed, removed)
	if len(t.rows) >= tallyBytes {
		t.flush()
	}
}

// flush hashes the buffered rows and returns the sum with them.
func (t *tally) flush() Sum {
	var mu sync.Mutex
	spread.Over(len(t.ends), tallyRows, func(from, to int) {
		var sum Sum
		begin := 0
		if from > 0 {
			begin = t.ends[from-1]
		}
		for i := from; i < to; i++ {
			e := Sum(sha256.Sum256(t.rows[begin:t.ends[i]]))
			if begin = t.ends[i]; t.removed[i] {
				sum.sub(e)
			} else {
				sum.add(e)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		t.sum.add(sum)
	})
	t.rows, t.ends, t.removed = t.rows[:0], t.ends[:0], t.removed[:0]
	return t.sum
}

func (s *Sum) add(e Sum) { s.each(e, bits.Add64) }

// addRow adds a row of the store, unless its table is local to the node.
func (s *Sum) addRow(row, value []byte) {
	if table, db, key, ok := rowOf(row); ok && table != tMeta && table != tLog {
		s.add(element(table, db, key, value))
	}
}

func (s *Sum) sub(e Sum) { s.each(e, bits.Sub64) }

func (s *Sum) each(e Sum, word func(x, y, carry uint64) (sum, out uint64)) {
	var w, carry uint64
	for i := 0; i < len(s); i += 8 {
		w, carry = word(binary.BigEndian.Uint64(s[i:]), binary.BigEndian.Uint64(e[i:]), carry)
		binary.BigEndian.PutUint64(s[i:], w)
	}
}

// String returns 64 hex digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }
