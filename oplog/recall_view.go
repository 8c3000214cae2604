package oplog

import (
	"encoding/binary"
	"math"
)

// Floats unpacks a record's vector into dst, which is grown when it is too short; nil when there is none.
func (v *View) Floats(db DB, seq Seq, dst []float32) []float32 {
	raw := v.get(tVector, db, seqKey(seq))
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
