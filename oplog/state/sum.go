package state

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/cairndb/cairn/oplog"
)

// Sum is a 256-bit hash of a multiset: the SHA-256 of each element, added modulo 2^256. Adding and
// removing an element cost the same whatever else is in the set, and order never matters.
//
// It is four big-endian words, the least significant first.
type Sum [sha256.Size]byte

func element(table tableID, db oplog.DB, key, value []byte) (e Sum) {
	var head [1 + 4 + 4]byte
	head[0] = byte(table)
	binary.BigEndian.PutUint32(head[1:], uint32(db))
	binary.BigEndian.PutUint32(head[5:], uint32(len(key)))
	h := sha256.New()
	h.Write(head[:])
	h.Write(key)
	h.Write(value)
	h.Sum(e[:0])
	return e
}

func (s *Sum) add(e Sum) { s.each(e, bits.Add64) }

// addRow adds a row of the store, unless it is one that each node has of its own.
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

// String is 64 hex digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }
