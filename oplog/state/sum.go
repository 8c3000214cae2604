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
type Sum [4]uint64

func element(table tableID, db oplog.DB, key, value []byte) (e Sum) {
	var head [1 + 4 + 4]byte
	head[0] = byte(table)
	binary.BigEndian.PutUint32(head[1:], uint32(db))
	binary.BigEndian.PutUint32(head[5:], uint32(len(key)))
	h := sha256.New()
	h.Write(head[:])
	h.Write(key)
	h.Write(value)
	var d [32]byte
	h.Sum(d[:0])
	for i := range e {
		e[i] = binary.BigEndian.Uint64(d[i*8:])
	}
	return e
}

func (s *Sum) add(e Sum) {
	var c uint64
	for i := range s {
		s[i], c = bits.Add64(s[i], e[i], c)
	}
}

func (s *Sum) sub(e Sum) {
	var b uint64
	for i := range s {
		s[i], b = bits.Sub64(s[i], e[i], b)
	}
}

// Bytes are the number, big-endian.
func (s Sum) Bytes() (b [32]byte) {
	for i, v := range s {
		binary.BigEndian.PutUint64(b[i*8:], v)
	}
	return b
}

func sumFrom(b []byte) (s Sum) {
	if len(b) == 32 {
		for i := range s {
			s[i] = binary.BigEndian.Uint64(b[i*8:])
		}
	}
	return s
}

// String is 64 hex digits.
func (s Sum) String() string { b := s.Bytes(); return hex.EncodeToString(b[:]) }
