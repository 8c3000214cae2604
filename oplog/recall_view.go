package oplog

import (
	"encoding/binary"
	"math"
)

// Floats unpacks a record's vector into dst, which is grown when it is too short; nil when there is none.
func (v *View) Floats(db DB, seq Seq, dst []float32) []float32 {
	raw := v.get(v.vectors(db), db, seqKey(seq))
	n := len(raw) / 4
	if n == 0 {
		return nil
	}
	if cap(dst) < n {
		dst = make([]float32, n)
	}
	dst = dst[:n]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return dst
}

// Aliases walks the aliases by namespace.
func (v *View) Aliases(db DB, f func(namespace, alias string, to StoredAlias) bool) {
	v.scan(tAlias, db, nil, func(k, val []byte) bool {
		if len(k) < 4 {
			return true
		}
		n := int(binary.BigEndian.Uint32(k))
		if n > len(k)-4 {
			return true
		}
		return f(string(k[4:4+n]), string(k[4+n:]), decode[StoredAlias](val))
	})
}

// Embedding says how a database stands with its embedders.
func (v *View) Embedding(db DB) Embedding { return v.embedding(db) }

// Unembedded looks at up to look memories from a sequence number on and returns those without a vector that are not
// forgotten, limit at most, and the first that it did not look at; 0 when there are no more.
func (v *View) Unembedded(db DB, from Seq, limit, look int) (list []*Memory, next Seq) {
	table := v.vectors(db)
	v.scanFrom(tMemory, db, seqKey(from), func(k, val []byte) bool {
		seq := Seq(beUint64(k))
		if len(list) == limit || look == 0 {
			next = seq
			return false
		}
		look--
		if v.get(table, db, k) == nil {
			if m := decode[Memory](val); m.Status != Tombstoned {
				list = append(list, &m)
			}
		}
		return true
	})
	return list, next
}
