package oplog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A purge erases entries from the records that are kept for readers of the log. It replaces each with its checksum
// and the number of its database. So the record can still be compared with the applied one, a backup of the log knows
// for which databases it lacks entries, and entries of other databases in the record do not change.

// erasedMark is the first byte of the replacement. No entry begins with it: msgpack never uses this byte.
const erasedMark = 0xC1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Erased reports whether an entry was erased from its record, and the database that it was of.
func Erased(body []byte) (of DB, erased bool) {
	if len(body) != 1+4+4 || body[0] != erasedMark {
		return 0, false
	}
	return DB(binary.BigEndian.Uint32(body[5:])), true
}

// SumOf returns the checksum of a record's entries. Erasing entries does not change it.
func SumOf(bodies [][]byte) uint32 {
	sums := make([]byte, 0, 4*len(bodies))
	for _, b := range bodies {
		sums = appendSum(sums, b)
	}
	return crc32.Checksum(sums, castagnoli)
}

// appendSum appends the checksum of an entry.
func appendSum(dst, body []byte) []byte {
	if _, erased := Erased(body); erased {
		return append(dst, body[1:5]...)
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(body, castagnoli))
}

// EraseEntries erases the entries of some databases from a record. It returns nil where the record has none.
func EraseEntries(rec []byte, of func(DB) bool) ([]byte, error) {
	h, bodies, err := DecodeRecord(rec)
	if err != nil {
		return nil, err
	}
	changed := false
	for i, b := range bodies {
		if _, erased := Erased(b); erased {
			continue
		}
		u, head := &unpacker{b: b, size: len(b)}, entryHead{}
		if u.value(&head); u.err != nil {
			return nil, fmt.Errorf("%w: head: %w", ErrRecord, u.err)
		}
		if of(head.DB) {
			bodies[i], changed = binary.BigEndian.AppendUint32(appendSum([]byte{erasedMark}, b), uint32(head.DB)), true
		}
	}
	if !changed {
		return nil, nil
	}
	return EncodeRecord(h, bodies...), nil
}
